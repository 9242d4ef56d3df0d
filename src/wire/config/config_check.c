/* SPDX-License-Identifier: Apache-2.0 */
#include "config_keys.h"

#include <string.h>

#include "core/base/stamp.h"

#define MINUTE_MS ((int64_t)60000)

/* --- rules between keys --------------------------------------------------- */

static int
must_exceed(const char *key, int64_t ms, const char *other, int64_t least_ms,
	    struct err *e)
{
	char have[DURATION_BYTES], want[DURATION_BYTES];

	if (ms > least_ms)
		return 0;
	duration_format(ms, have);
	duration_format(least_ms, want);
	return err_set(e, ERR_INPUT, "%s: %s, expected more than %s (%s)", key,
		       have, other, want);
}

int
config_validate(const struct config *c, struct err *e)
{
	/* client-go's rules: it jitters its retries by a factor of 1.2. */
	if (must_exceed("leaderElection.leaseDuration", c->leader.lease_ms,
			"leaderElection.renewDeadline", c->leader.renew_ms,
			e) ||
	    must_exceed("leaderElection.renewDeadline", c->leader.renew_ms,
			"1.2 times leaderElection.retryPeriod",
			c->leader.retry_ms + c->leader.retry_ms / 5, e))
		return -1;
	/* Certificates have times in whole seconds. */
	if (must_exceed("selfSigned.duration", c->self_signed.leaf_ms,
			"a second", 1000, e) ||
	    must_exceed("selfSigned.caDuration", c->self_signed.ca_ms,
			"selfSigned.duration", c->self_signed.leaf_ms, e))
		return -1;
	if (strcmp(c->webhook.address, c->metrics_address) == 0 &&
	    strcmp(strrchr(c->metrics_address, ':'), ":0") != 0)
		return err_set(e, ERR_INPUT,
			       "metrics.address: %.120s, expected another "
			       "than webhook.address",
			       c->metrics_address);
	return 0;
}

/* --- settings that conflict ----------------------------------------------- */

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

	if (r->min_scale_up > 1 && r->scope == SCOPE_NODE)
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

	advise_self_signed(c, warn, ctx);
}

/* --- print ---------------------------------------------------------------- */

static void
print_value(const struct config *c, const struct config_key *k, struct buf *out)
{
	char storage[CONFIG_PATH_BYTES + 1];
	struct buf text;

	buf_init(&text, storage, sizeof(storage));
	config_get(c, k, &text);
	switch (k->type) {
	case TYPE_DURATION:
	case TYPE_COUNT:
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
