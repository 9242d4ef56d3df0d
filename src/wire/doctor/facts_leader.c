/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "wire/api/meta.h"
#include "wire/doctor/facts.h"
#include "wire/json/json.h"

/*
 * Decodes what `holderctl check` reads of a replica's /status, and of the
 * ValidatingAdmissionPolicies that bound our accounts.  A replica may be older
 * than this program or hostile, so a member that is missing or cannot be read
 * counts as unknown, and only an answer of another kind is an error.
 */

/* --- /status -------------------------------------------------------------- */

const char *const told_flags[TOLD_N] = {
	"mode",
	"scope",
	"hold-duration",
	"startup-timeout",
	"replacements",
	"hold-annotation-key",
	"hold-annotation-value",
	"tickets-namespace",
};

static const struct json_keep nodepool_keep[] = {
	{"name", NULL},	   {"waiting", NULL},	  {"unheld", NULL},
	{"held", NULL},	   {"ticketUntil", NULL}, {"annotations", NULL},
	{"leftOut", NULL}, {NULL, NULL}};
static const struct json_keep wait_keep[] = {
	{"reason", NULL}, {"message", NULL}, {NULL, NULL}};
static const struct json_keep scope_keep[] = {
	{"name", NULL}, {"state", NULL}, {"waitsFor", wait_keep}, {NULL, NULL}};
static const struct json_keep status_keep[] = {
	{"kind", NULL},	       {"replica", NULL},
	{"mode", NULL},	       {"leader", NULL},
	{"certificate", NULL}, {"configuration", NULL},
	{"views", NULL},       {"nodePools", nodepool_keep},
	{"time", NULL},	       {"scopes", scope_keep},
	{NULL, NULL}};

/* Reads the part of its configuration that the leader reports.  A value that is
 * missing or too long counts as not reported. */
static void
told_read(const struct json *root, struct leader_facts *l)
{
	const struct json *c = json_member(root, "configuration");
	const struct json *hold = json_member(c, "holdAnnotation");
	const struct json *const at[TOLD_N] = {
		json_member(root, "mode"),
		json_member(c, "scope"),
		json_member(c, "holdDuration"),
		json_member(c, "startupTimeout"),
		json_member(c, "replacements"),
		json_member(hold, "key"),
		json_member(hold, "value"),
		json_member(json_member(c, "tickets"), "namespace"),
	};

	for (int i = 0; i < TOLD_N; i++)
		if (json_string(at[i]) != NULL)
			(void)str_copy(l->told[i], sizeof(l->told[i]),
				       json_string(at[i]));
}

/* Reads the patterns.  Returns -1 if the list is missing or too long, or if one
 * of its elements is no text or too long. */
static int
patterns_read(const struct json *list, struct patterns *out)
{
	for (const struct json *v = json_first(list); v; v = json_next(v)) {
		const char *s = json_string(v);

		if (s == NULL || out->n == NODEPOOL_PATTERNS_MAX ||
		    str_copy(out->at[out->n], sizeof(out->at[0]), s))
			return -1;
		out->n++;
	}
	return json_is_array(list) ? 0 : -1;
}

static void
waits_read(const struct json *nodepools, struct leader_facts *l)
{
	for (const struct json *v = json_first(nodepools); v;
	     v = json_next(v)) {
		const char *name = json_string(json_member(v, "name"));
		long long n = 0;

		(void)json_integer(json_member(v, "waiting"), &n);
		if (n <= 0)
			continue;
		if (l->waiting == 0 && name != NULL)
			str_cut(l->waits, sizeof(l->waits), name);
		l->waiting += (uint64_t)n;
	}
}

static bool
is_later(const struct json *time, const struct json *now)
{
	const char *a = json_string(time), *b = json_string(now);
	int64_t at_ms, now_ms;

	return a != NULL && b != NULL && stamp_parse(a, &at_ms) == 0 &&
	       stamp_parse(b, &now_ms) == 0 && at_ms > now_ms;
}

/* Returns whether the NodePool's scope, a hold-until or a ticket holds it.  A
 * scope that a released-at has released is not held. */
static bool
nodepool_is_held(const struct json *root, const struct json *nodepool)
{
	const struct json *annotations = json_member(nodepool, "annotations");
	const char *name = json_string(json_member(nodepool, "name"));
	const struct json *now = json_member(root, "time");
	const struct json *s = json_first(json_member(root, "scopes"));

	if (name == NULL || !json_is_unset(json_member(nodepool, "leftOut")))
		return false;
	if (is_later(json_member(annotations, OWN_PREFIX "hold-until"), now) ||
	    is_later(json_member(nodepool, "ticketUntil"), now))
		return true;
	for (; s != NULL; s = json_next(s))
		if (json_says(s, "state", "held") &&
		    (json_says(s, "name", "cluster") ||
		     json_says(s, "name", name)))
			return true;
	return false;
}

static void
unheld_read(const struct json *root, struct leader_facts *l)
{
	const struct json *v = json_first(json_member(root, "nodePools"));

	if (!json_says(root, "mode", "enforce"))
		return;
	for (; v != NULL && l->unheld[0] == '\0'; v = json_next(v)) {
		long long held = 0;

		l->bare = 0;
		(void)json_integer(json_member(v, "held"), &held);
		(void)json_integer(json_member(v, "unheld"), &l->bare);
		if (held == 0 && l->bare > 0 && nodepool_is_held(root, v))
			str_cut(l->unheld, sizeof(l->unheld),
				json_string(json_member(v, "name")));
	}
}

static void
views_read(const struct json *views, struct leader_facts *l)
{
	for (const struct json *v = json_first(views); v; v = json_next(v)) {
		const char *name = json_string(json_member(v, "resource"));

		if (name == NULL || (json_is_true(json_member(v, "listed")) &&
				     json_is_true(json_member(v, "watching"))))
			continue;
		str_cut(l->unseen, sizeof(l->unseen), name);
	}
}

/* Each scope has the waits that apply to all. */
static void
unread_read(const struct json *scopes, struct leader_facts *l)
{
	const struct json *waits = json_member(json_first(scopes), "waitsFor");

	for (const struct json *v = json_first(waits); v; v = json_next(v))
		if (json_says(v, "reason", "unread"))
			str_cut(l->unread, sizeof(l->unread),
				json_string(json_member(v, "message")));
}

static uint64_t
authority_read(const struct json *v)
{
	const char *s = json_string(v);

	if (s == NULL || strlen(s) != 16 || strspn(s, "0123456789abcdef") != 16)
		return 0;
	return strtoull(s, NULL, 16);
}

int
facts_leader_decode(const char *bytes, size_t n, struct leader_facts *out,
		    struct err *e)
{
	AUTO_JSON root =
		json_pick(bytes, n, status_keep, &json_bounds_stored, e);
	const struct json *c = json_member(root, "configuration");
	const struct json *cert = json_member(root, "certificate");
	const struct json *pools = json_member(c, "nodePools");
	const char *until = json_string(json_member(cert, "notAfter"));
	char replica[NAME_BYTES];

	if (root == NULL)
		return -1;
	if (!json_says(root, "kind", "HolderStatus"))
		return err_set(e, ERR_INPUT, "no HolderStatus");
	if (meta_text_copy(root, "replica", replica, sizeof(replica), "replica",
			   e))
		return -1;
	memset(out, 0, sizeof(*out));
	memcpy(out->replica, replica, sizeof(replica));
	out->electing = json_is_true(
		json_member(json_member(root, "leader"), "electing"));
	out->valid = json_is_true(json_member(cert, "valid"));
	if (until == NULL || stamp_parse(until, &out->not_after_ms))
		out->not_after_ms = STAMP_NONE;
	out->authority = authority_read(json_member(cert, "authority"));
	out->stale = json_is_true(json_member(c, "fileChanged"));
	told_read(root, out);
	out->patterns_told = patterns_read(json_member(pools, "include"),
					   &out->include) == 0 &&
			     patterns_read(json_member(pools, "exclude"),
					   &out->exclude) == 0;
	waits_read(json_member(root, "nodePools"), out);
	unheld_read(root, out);
	views_read(json_member(root, "views"), out);
	unread_read(json_member(root, "scopes"), out);
	return 0;
}

/* --- admission policies --------------------------------------------------- */

static bool
any_has(const struct json *list, const char *member, const char *text)
{
	for (const struct json *v = json_first(list); v; v = json_next(v)) {
		const char *s = json_string(json_member(v, member));

		if (s != NULL && strstr(s, text) != NULL)
			return true;
	}
	return false;
}

/* Reads the CEL expression of the policy's variable `holds`, and whether it has
 * the key as 'KEY' or "KEY". */
static void
holds_read(const struct json *variables, const char *key,
	   struct policy_facts *out)
{
	const struct json *v = json_first(variables);
	char quoted[KEY_BYTES + 2];
	const char *s;

	while (v != NULL && !json_says(v, "name", "holds"))
		v = json_next(v);
	s = json_string(json_member(v, "expression"));
	if (s == NULL)
		return;
	if (str_copy(out->holds, sizeof(out->holds), s))
		out->holds[0] = '\0';
	for (const char *q = "'\""; *q != '\0'; q++) {
		(void)snprintf(quoted, sizeof(quoted), "%c%s%c", *q, key, *q);
		out->key |= strstr(s, quoted) != NULL;
	}
}

int
facts_policy_decode(const char *bytes, size_t n, const char *namespace_name,
		    const char *hold_key, struct policy_facts *out,
		    struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, e);
	const struct json *spec = json_member(root, "spec");
	char account[NODEPOOL_BYTES + 32];

	if (root == NULL)
		return -1;
	(void)snprintf(account, sizeof(account),
		       "serviceaccount:%s:", namespace_name);
	out->policy = true;
	out->here = any_has(json_member(spec, "matchConditions"), "expression",
			    account);
	holds_read(json_member(spec, "variables"), hold_key, out);
	return 0;
}

int
facts_policy_binding_decode(const char *bytes, size_t n,
			    struct policy_facts *out, struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, e);
	const struct json *spec = json_member(root, "spec");
	const struct json *v =
		json_first(json_member(spec, "validationActions"));

	if (root == NULL)
		return -1;
	out->binding = true;
	for (; v != NULL; v = json_next(v))
		if (json_string(v) != NULL &&
		    strcmp(json_string(v), "Deny") == 0)
			out->denies = true;
	v = json_member(json_member(spec, "matchResources"),
			"namespaceSelector");
	v = json_member(json_member(v, "matchLabels"),
			"kubernetes.io/metadata.name");
	if (json_string(v) != NULL)
		str_cut(out->selects, sizeof(out->selects), json_string(v));
	return 0;
}
