/* SPDX-License-Identifier: Apache-2.0 */
#include "config_keys.h"

#include <stdio.h>
#include <string.h>

#include "core/base/duration.h"

/*
 * Checks the configuration when all sources have been read.  config_validate
 * refuses values that contradict each other, and config_advise warns of values
 * that are allowed, but have no effect or an unwanted one.  config_print writes
 * the configuration as a file that config_file reads back.
 *
 * An error names the place where its key was set, which is a line of the file
 * or a flag (struct config_places).  If its key was not set, the error names
 * the place of the key with which it conflicts.
 */

#define MINUTE_MS ((int64_t)60000)

/* --- rules between keys --------------------------------------------------- */

/* If the key was set, puts the place where it was set before the error text,
 * and returns true. */
static bool
name_place(const struct config_places *places, const char *path, struct err *e)
{
	size_t i = (size_t)(config_key_of_path(path) - config_keys);
	struct err bare = *e;

	if (places->key[i].flag != NULL)
		(void)err_wrap(e, "--%s", places->key[i].flag);
	else if (places->key[i].at.line > 0)
		(void)yaml_fail_at(places->file, places->key[i].at, e,
				   bare.text);
	else
		return false;
	return true;
}

/* Sets the error of two keys that conflict.  `at` is the other key, or NULL.
 * The error names the place of `path` or, if nobody has set that key, the place
 * of `at`. */
static int
conflict(const struct config_places *places, const char *path, const char *at,
	 struct err *e, const char *text)
{
	struct err why;

	(void)err_set(&why, ERR_INPUT, "%s", text);
	if (places != NULL && !name_place(places, path, &why) && at != NULL)
		(void)name_place(places, at, &why);
	if (e != NULL)
		*e = why;
	return -1;
}

/* A duration that must be longer than the duration of another key, or than a
 * constant. */
struct exceeds {
	const char *path;
	int64_t ms;
	const char *words, *other; /* other: the other key, or NULL */
	int64_t least_ms;
};

static int
must_exceed(const struct config_places *places, struct exceeds x, struct err *e)
{
	char have[DURATION_BYTES], want[DURATION_BYTES], text[200];

	if (x.ms > x.least_ms)
		return 0;
	duration_format(x.ms, have);
	duration_format(x.least_ms, want);
	(void)snprintf(text, sizeof(text),
		       "%s: %s, expected more than %s%s (%s)", x.path, have,
		       x.words, x.other ? x.other : "", want);
	return conflict(places, x.path, x.other, e, text);
}

static int
check_lease(const struct config *c, const struct config_places *places,
	    struct err *e)
{
	/* These are the rules of client-go; 1.2 is its JitterFactor. */
	struct exceeds rules[] = {
		{"leaderElection.leaseDuration", c->leader.lease_ms, "",
		 "leaderElection.renewDeadline", c->leader.renew_ms},
		{"leaderElection.renewDeadline", c->leader.renew_ms,
		 "1.2 times ", "leaderElection.retryPeriod",
		 c->leader.retry_ms + c->leader.retry_ms / 5},
	};

	if (must_exceed(places, rules[0], e) ||
	    must_exceed(places, rules[1], e))
		return -1;
	return 0;
}

static int
check_self_signed(const struct config *c, const struct config_places *places,
		  struct err *e)
{
	/* Certificates have times in whole seconds. */
	struct exceeds rules[] = {
		{"selfSigned.duration", c->self_signed.leaf_ms, "a second",
		 NULL, 1000},
		{"selfSigned.caDuration", c->self_signed.ca_ms, "",
		 "selfSigned.duration", c->self_signed.leaf_ms},
	};

	if (must_exceed(places, rules[0], e) ||
	    must_exceed(places, rules[1], e))
		return -1;
	return 0;
}

/* The holder's own Lease names no NodePools and is renewed all the time, so as
 * a ticket it would hold every NodePool for ever. */
static int
check_tickets(const struct config *c, const struct config_places *places,
	      struct err *e)
{
	if (!rules_tickets(&c->rules) ||
	    strcmp(c->rules.tickets, c->leader.namespace_) != 0)
		return 0;
	return conflict(places, "tickets.namespace", "leaderElection.namespace",
			e,
			"tickets.namespace: expected another than "
			"leaderElection.namespace, because the holder's own "
			"Lease there would hold every NodePool");
}

int
config_validate(const struct config *c, const struct config_places *places,
		struct err *e)
{
	char text[200];

	if (check_lease(c, places, e) || check_self_signed(c, places, e) ||
	    check_tickets(c, places, e))
		return -1;
	if (strcmp(c->webhook.address, c->metrics_address) != 0 ||
	    strcmp(strrchr(c->metrics_address, ':'), ":0") == 0)
		return 0;
	(void)snprintf(text, sizeof(text),
		       "metrics.address: %.120s, expected another than "
		       "webhook.address",
		       c->metrics_address);
	return conflict(places, "metrics.address", "webhook.address", e, text);
}

/* --- warnings of settings that are allowed -------------------------------- */

static bool
holds_nothing(const struct rules *r)
{
	size_t left = r->include.n;

	for (size_t i = 0; i < r->exclude.n; i++)
		if (strcmp(r->exclude.at[i], "*") == 0)
			return true;
	for (size_t i = 0; i < r->include.n; i++)
		for (size_t k = 0; k < r->exclude.n; k++)
			if (strcmp(r->include.at[i], r->exclude.at[k]) == 0) {
				left--;
				break;
			}
	return left == 0;
}

static void
advise_hold(const struct hold_key *k, config_warn *warn, void *ctx)
{
	if (strcmp(k->key, "karpenter.sh/do-not-consolidate") == 0)
		warn(ctx,
		     "holdAnnotation.key is karpenter.sh/do-not-"
		     "consolidate, which Karpenter 1 and later ignores: "
		     "nothing will be held back. Use " DEFAULT_HOLD_KEY ".");
	else if (strcmp(k->key, DEFAULT_HOLD_KEY) != 0)
		warn(ctx, "holdAnnotation.key is not " DEFAULT_HOLD_KEY
			  ", the only one that Karpenter 1 and later obeys.");
	else if (strcmp(k->value, DEFAULT_HOLD_VALUE) != 0)
		warn(ctx, "holdAnnotation.value is not \"true\", the only one "
			  "that Karpenter obeys.");
}

static void
advise_self_signed(const struct config *c, config_warn *warn, void *ctx)
{
	int64_t leaf_ms = c->self_signed.leaf_ms;

	if (!c->self_signed.enabled)
		return;
	if (!c->leader.enabled)
		warn(ctx, "selfSigned.enabled without leaderElection.enabled: "
			  "with more than one replica each renews, and they "
			  "get in each other's way.");
	if (leaf_ms < 60 * MINUTE_MS)
		warn(ctx, "selfSigned.duration is under 1h: a kubelet may take "
			  "2m to bring a renewed pair.");
	if (c->self_signed.ca_ms < 3 * leaf_ms)
		warn(ctx, "selfSigned.caDuration is under three times "
			  "selfSigned.duration: pairs end early, with their "
			  "CA.");
}

void
config_advise(const struct config *c, config_warn *warn, void *ctx)
{
	const struct rules *r = &c->rules;

	advise_hold(&r->hold, warn, ctx);
	if (holds_nothing(r))
		warn(ctx, "nodePools leaves no NodePool to hold.");

	if (r->hold_ms < 25000)
		warn(ctx, "holdDuration is under 25s, the time Karpenter may "
			  "take to consolidate anyway: it delays next to "
			  "nothing.");
	if (r->startup_ms < MINUTE_MS)
		warn(ctx, "startupTimeout is under 1m: where a machine takes "
			  "longer to become ready, the quiet period begins "
			  "without it, and again when it is.");

	if ((r->min_scale_up > 1 || r->min_scale_up_percent > 0) &&
	    r->scope == SCOPE_NODE)
		warn(ctx, "minScaleUp has no effect in scope node, where "
			  "every machine holds only itself.");

	if (r->cap.max_ms > 0 && r->cap.max_ms <= r->hold_ms)
		warn(ctx, "maxHoldDuration is not above holdDuration: every "
			  "hold ends at its cap.");
	if (r->cap.max_ms > 0 && r->cap.window_ms < 6 * MINUTE_MS)
		warn(ctx, "releaseWindow is under 6m: Karpenter may take 5m "
			  "after a release to consolidate, so a shorter window "
			  "can pass unused.");

	if (c->webhook.drain_ms <= 90000)
		warn(ctx, "webhook.drainTimeout is not above 90s, the API "
			  "server's idle time: a stop may cut a review, and "
			  "its object is created unheld.");

	if (rules_tickets(r) && c->memory_limit < MEMORY_TICKETS_MIN)
		warn(ctx,
		     "memoryLimit is under 72Mi, the least with "
		     "tickets.namespace. The bounds are those for 72Mi, so "
		     "a flood of requests can end the process.");

	advise_self_signed(c, warn, ctx);
}

/* --- print ---------------------------------------------------------------- */

static void
print_value(const struct config *c, const struct config_key *k, struct buf *out)
{
	char storage[CONFIG_PATH_BYTES + 1];
	struct buf text;

	buf_init(&text, storage, sizeof(storage));
	config_value_get(c, k, &text);
	switch (k->type) {
	case TYPE_DURATION:
	case TYPE_COUNT:
	case TYPE_SHARE:
	case TYPE_BOOL:
	case TYPE_WORD:
		buf_puts(out, storage);
		break;
	default:
		buf_json(out, storage);
	}
}

static void
print_list(const struct config *c, const struct config_key *k, struct buf *out)
{
	const struct patterns *p;

	buf_puts(out, "[");
	if (k->offset != CONFIG_UNSTORED) {
		p = (const void *)((const char *)c + k->offset);
		for (size_t i = 0; i < p->n; i++) {
			buf_puts(out, i ? ", " : "");
			buf_json(out, p->at[i]);
		}
	}
	buf_puts(out, "]");
}

void
config_print(const struct config *c, struct buf *out)
{
	const char *section = "";
	size_t section_n = 0;

	buf_puts(out, "apiVersion: karpenter-node-holder.io/v1\n"
		      "kind: HolderConfig\n");
	for (size_t i = 0; i < config_keys_n; i++) {
		const struct config_key *k = &config_keys[i];
		const char *dot = strchr(k->path, '.');
		size_t n = dot ? (size_t)(dot - k->path) : 0;

		if (n != 0 &&
		    (n != section_n || strncmp(section, k->path, n) != 0))
			buf_printf(out, "%.*s:\n", (int)n, k->path);
		section = k->path;
		section_n = n;
		buf_printf(out, "%s%s: ", dot ? "  " : "",
			   dot ? dot + 1 : k->path);
		if (k->type == TYPE_PATTERNS)
			print_list(c, k, out);
		else
			print_value(c, k, out);
		buf_puts(out, "\n");
	}
}
