/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/karpenter/snapshot.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/object.h"
#include "core/base/stamp.h"
#include "parts.h"

static const struct json_keep labels[] = {{NODEPOOL_LABEL, NULL},
					  {REGISTERED_LABEL, NULL},
					  {INITIALIZED_LABEL, NULL},
					  {NULL, NULL}};
static const struct json_keep owner[] = {
	{"kind", NULL}, {"name", NULL}, {NULL, NULL}};
static const struct json_keep metadata[] = {{"name", NULL},
					    {"creationTimestamp", NULL},
					    {"deletionTimestamp", NULL},
					    {"finalizers", NULL},
					    {"ownerReferences", owner},
					    {"labels", labels},
					    {"resourceVersion", NULL},
					    {NULL, NULL}};
static const struct json_keep condition[] = {{"type", NULL},
					     {"status", NULL},
					     {"reason", NULL},
					     {"lastTransitionTime", NULL},
					     {NULL, NULL}};
static const struct json_keep status[] = {
	{"nodeName", NULL}, {"conditions", condition}, {NULL, NULL}};
static const struct json_keep taint[] = {{"key", NULL}, {NULL, NULL}};
static const struct json_keep spec[] = {{"taints", taint}, {NULL, NULL}};
static const struct json_keep involved[] = {
	{"kind", NULL}, {"name", NULL}, {NULL, NULL}};
const struct json_keep snapshot_keep[] = {{"kind", NULL},
					  {"metadata", metadata},
					  {"spec", spec},
					  {"status", status},
					  {"involvedObject", involved},
					  {"reason", NULL},
					  {"message", NULL},
					  {"firstTimestamp", NULL},
					  {"eventTime", NULL},
					  {"code", NULL},
					  {NULL, NULL}};

struct teller {
	snapshot_fn *fn;
	void *ctx;
	struct err *e;
	bool failed;
};

static void
tell(struct teller *t, const struct fact *f)
{
	if (!t->failed && fact_whole(f))
		t->failed = t->fn(t->ctx, f, t->e) != 0;
}

bool
snapshot_time(const struct json *v, int64_t *out)
{
	const char *text = json_string(v);

	return text != NULL && stamp_parse(text, out) == 0;
}

/* --- NodeClaims ----------------------------------------------------------- */

const struct json *
snapshot_condition(const struct json *object, const char *type, int64_t *at_ms)
{
	static const char *const keys[] = {"status", "conditions"};
	const struct json *v = json_first(json_path(object, keys, 2));

	while (v != NULL && !json_says(v, "type", type))
		v = json_next(v);
	return json_says(v, "status", "True") &&
			       snapshot_time(
				       json_member(v, "lastTransitionTime"),
				       at_ms)
		       ? v
		       : NULL;
}

/* Passes on a fact of this kind if the claim's condition of this type is
 * True. */
static void
tell_condition(struct teller *t, const struct json *claim, const char *type,
	       const struct fact *like, enum fact_kind kind)
{
	struct fact f = *like;

	f.kind = kind;
	if (snapshot_condition(claim, type, &f.at_ms) != NULL)
		tell(t, &f);
}

static bool
tell_claim(struct teller *t, const struct json *claim)
{
	static const char *const pool[] = {"labels", NODEPOOL_LABEL};
	const struct json *meta = json_member(claim, "metadata");
	struct fact f, deleting;

	fact_init(&f, FACT_CREATED, 0);
	if (pieces_take_name(json_member(meta, "name"), NAME_BYTES, &f.claim) ||
	    pieces_take_name(json_path(meta, pool, 2), NODEPOOL_BYTES,
			     &f.pool) ||
	    pieces_take_name(
		    json_member(json_member(claim, "status"), "nodeName"),
		    NAME_BYTES, &f.node) ||
	    f.claim[0] == '\0' ||
	    !snapshot_time(json_member(meta, "creationTimestamp"), &f.at_ms))
		return false;
	tell(t, &f);
	tell_condition(t, claim, "Launched", &f, FACT_LAUNCHED);
	tell_condition(t, claim, "Registered", &f, FACT_REGISTERED);
	tell_condition(t, claim, "Initialized", &f, FACT_READY);
	deleting = f;
	deleting.kind = FACT_DELETING;
	if (snapshot_time(json_member(meta, "deletionTimestamp"),
			  &deleting.at_ms))
		tell(t, &deleting);
	return true;
}

/* --- Events --------------------------------------------------------------- */

#define DISRUPTING "Disrupting NodeClaim: "

/* Finds the reason in a message such as "Disrupting NodeClaim:
 * Underutilized". */
static void
reason_of(const char *message, char reason[NODEPOOL_BYTES])
{
	size_t skip = sizeof(DISRUPTING) - 1;

	if (message == NULL || strncmp(message, DISRUPTING, skip) != 0)
		reason[0] = '\0';
	else
		(void)pieces_take_reason(message + skip, strlen(message + skip),
					 reason);
}

static bool
tell_event(struct teller *t, const struct json *event)
{
	const struct json *about = json_member(event, "involvedObject");
	struct fact_node node = {"", ""};
	char reason[NODEPOOL_BYTES];
	struct fact f;

	fact_init(&f, FACT_CREATED, 0);
	if (!json_says(about, "kind", "NodeClaim") ||
	    pieces_take_name(json_member(about, "name"), NAME_BYTES,
			     &f.claim) ||
	    f.claim[0] == '\0' ||
	    (!snapshot_time(json_member(event, "firstTimestamp"), &f.at_ms) &&
	     !snapshot_time(json_member(event, "eventTime"), &f.at_ms)))
		return false;
	if (json_says(event, "reason", "TerminatingOnInterruption")) {
		f.kind = FACT_DELETING;
		f.reason = "interrupted";
		tell(t, &f);
		return true;
	}
	if (json_says(event, "reason", "DisruptionLaunching")) {
		f.maker = MAKER_DISRUPTION;
		tell(t, &f);
		return true;
	}
	if (!json_says(event, "reason", "DisruptionTerminating"))
		return false;
	reason_of(json_string(json_member(event, "message")), reason);
	node.claim = f.claim;
	f.kind = FACT_DECIDED;
	f.claim = "";
	f.reason = reason;
	f.nodes = &node;
	f.nodes_n = 1;
	tell(t, &f);
	return true;
}

enum snapshot_what
snapshot_object(const struct json *object, const char *kind, snapshot_fn *fn,
		void *ctx, struct err *e)
{
	struct teller t = {.fn = fn, .ctx = ctx, .e = e};
	bool taken = false;

	if (kind == NULL)
		kind = json_string(json_member(object, "kind"));
	if (kind != NULL && strcmp(kind, "NodeClaim") == 0)
		taken = tell_claim(&t, object);
	else if (kind != NULL && strcmp(kind, "Event") == 0)
		taken = tell_event(&t, object);
	if (t.failed)
		return SNAPSHOT_FAILED;
	return taken ? SNAPSHOT_TAKEN : SNAPSHOT_OTHER;
}

enum snapshot_what
snapshot_item(const char *bytes, size_t n, const char *kind, snapshot_fn *fn,
	      void *ctx, struct err *e)
{
	AUTO_JSON root =
		json_pick(bytes, n, snapshot_keep, &json_bounds_stored, NULL);

	return root == NULL ? SNAPSHOT_BROKEN
			    : snapshot_object(root, kind, fn, ctx, e);
}
