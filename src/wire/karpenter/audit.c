/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/base/object.h"
#include "core/base/stamp.h"
#include "parts.h"
#include "wire/karpenter/told.h"

/*
 * Reads events of the API server's audit log (audit.k8s.io/v1).  An event of a
 * write at level RequestResponse has the object after the write.  Each fact
 * that an object shows is told only once, because most writes change nothing
 * that is of use here.
 *
 * An object also shows facts that are older than the log.  These are left out.
 * A fact is first shown by a later event if the log lacks the event of the
 * write that caused the fact.  The fact's time may then be far behind that of
 * the event.  The readers of the facts accept a disorder of at most
 * SIMULATE_DISORDER_MS, so such a fact gets the time BEHIND_MS before the
 * event.
 */
#define BEHIND_MS (SIMULATE_DISORDER_MS / 2)
#define STAMP_MS 1000 /* stamps of objects are cut to seconds */

struct audit {
	struct told told;
	snapshot_fn *fn; /* takes the facts of the current event */
	void *ctx;
	struct err *e;
	size_t told_n; /* how many facts the current event had */
	bool failed;
	int64_t begin_ms, at_ms; /* times of the first and the current event */
	int64_t newest_ms;	 /* the latest time of a write so far */
	bool claims; /* Whether the log has NodeClaims, besides Nodes. */
};

struct audit *
audit_new(void)
{
	struct audit *a = calloc(1, sizeof(*a));

	if (a == NULL || told_init(&a->told, SIMULATE_MACHINES_MAX)) {
		free(a);
		return NULL;
	}
	told_begin(&a->told);
	a->begin_ms = a->newest_ms = STAMP_NONE;
	return a;
}

void
audit_free(struct audit *a)
{
	if (a == NULL)
		return;
	told_done(&a->told);
	free(a);
}

bool
audit_is(const struct json *line)
{
	/* The events in an EventList have no kind. */
	return json_says(line, "apiVersion", "audit.k8s.io/v1")
		       ? json_says(line, "kind", "Event")
		       : json_member(line, "auditID") != NULL &&
				 json_member(line, "stage") != NULL;
}

/* --- facts ---------------------------------------------------------------- */

static void
give(struct audit *a, const struct fact *f)
{
	struct fact later = *f;

	if (later.at_ms < a->at_ms - BEHIND_MS)
		later.at_ms = a->at_ms - BEHIND_MS;
	if (a->failed || !fact_whole(&later))
		return;
	a->told_n++;
	a->failed = a->fn(a->ctx, &later, a->e) != 0;
}

static int
give_news(void *ctx, const struct fact *f, struct err *e)
{
	struct audit *a = ctx;

	(void)e;
	if (told_news(&a->told, f) && f->at_ms > a->begin_ms - STAMP_MS)
		give(a, f);
	return 0;
}

/* Adds the fact that the Node is gone or, if `kind` is FACT_GONE, the fact that
 * the NodeClaim is gone.  No more facts will come about a claim that is gone,
 * so the claim is forgotten. */
static void
give_gone(struct audit *a, const struct fact *like, enum fact_kind kind)
{
	struct fact f = *like;

	f.kind = kind;
	f.at_ms = a->at_ms;
	give(a, &f);
	if (kind == FACT_GONE)
		told_forget(&a->told, f.claim);
}

static void
give_decision(struct audit *a, const struct fact *like, const char *reason)
{
	struct fact_node node = {like->node, like->claim};
	struct fact f = *like;

	f.kind = FACT_DECIDED;
	f.claim = f.node = "";
	f.reason = reason;
	f.nodes = &node;
	f.nodes_n = 1;
	(void)give_news(a, &f, NULL);
}

/* Returns whether the write has removed the last finalizer of an object that is
 * being deleted, which removes the object. */
static bool
is_gone(const struct json *meta)
{
	return !json_is_unset(json_member(meta, "deletionTimestamp")) &&
	       json_first(json_member(meta, "finalizers")) == NULL;
}

static void
read_claim(struct audit *a, const struct json *claim)
{
	const struct json *meta = json_member(claim, "metadata"), *disrupted;
	char reason[NODEPOOL_BYTES];
	const char *text;
	struct fact f;

	fact_init(&f, FACT_GONE, 0);
	if (snapshot_object(claim, "NodeClaim", give_news, a, NULL) !=
		    SNAPSHOT_TAKEN ||
	    pieces_take_name(json_member(meta, "name"), NAME_BYTES, &f.claim) ||
	    pieces_take_name(
		    json_member(json_member(claim, "status"), "nodeName"),
		    NAME_BYTES, &f.node))
		return;
	a->claims = true;
	disrupted = snapshot_condition(claim, "DisruptionReason", &f.at_ms);
	if (disrupted != NULL) {
		text = json_string(json_member(disrupted, "reason"));
		if (text == NULL)
			text = "";
		(void)pieces_take_reason(text, strlen(text), reason);
		give_decision(a, &f, reason);
	}
	if (is_gone(meta))
		give_gone(a, &f, FACT_GONE);
}

static const struct json *
owner_of(const struct json *meta)
{
	const struct json *v = json_first(json_member(meta, "ownerReferences"));

	while (v != NULL && !json_says(v, "kind", "NodeClaim"))
		v = json_next(v);
	return v;
}

static bool
has_taint(const struct json *node, const char *key)
{
	static const char *const keys[] = {"spec", "taints"};
	const struct json *v = json_first(json_path(node, keys, 2));

	while (v != NULL && !json_says(v, "key", key))
		v = json_next(v);
	return v != NULL;
}

/* Reads a Node's labels and taints.  Labels and taints have no time of their
 * own, so the time of the event counts. */
static void
read_marks(struct audit *a, const struct json *node, struct fact f)
{
	const struct json *meta = json_member(node, "metadata");
	const struct json *label = json_member(meta, "labels");
	bool made = f.at_ms > a->begin_ms - STAMP_MS;

	f.at_ms = a->at_ms;
	f.kind = FACT_REGISTERED;
	if (made && json_says(label, REGISTERED_LABEL, "true"))
		(void)give_news(a, &f, NULL);
	f.kind = FACT_READY;
	if (made && json_says(label, INITIALIZED_LABEL, "true"))
		(void)give_news(a, &f, NULL);
	/* If the log has NodeClaims, they say more about the disruption than
	 * the taint does. */
	if (!a->claims && has_taint(node, "karpenter.sh/disrupted") &&
	    json_is_unset(json_member(meta, "deletionTimestamp")))
		give_decision(a, &f, "");
}

static void
read_node(struct audit *a, const struct json *node)
{
	static const char *const pool[] = {"labels", NODEPOOL_LABEL};
	const struct json *meta = json_member(node, "metadata");
	struct fact f;

	fact_init(&f, FACT_CREATED, 0);
	if (pieces_take_name(json_member(owner_of(meta), "name"), NAME_BYTES,
			     &f.claim) ||
	    pieces_take_name(json_member(meta, "name"), NAME_BYTES, &f.node) ||
	    pieces_take_name(json_path(meta, pool, 2), NODEPOOL_BYTES,
			     &f.pool) ||
	    f.claim[0] == '\0' || f.node[0] == '\0' ||
	    !snapshot_time(json_member(meta, "creationTimestamp"), &f.at_ms))
		return;
	(void)give_news(a, &f, NULL);
	read_marks(a, node, f);
	f.kind = FACT_DELETING;
	if (snapshot_time(json_member(meta, "deletionTimestamp"), &f.at_ms)) {
		/* deletionTimestamp is cut to seconds, so it may seem to be
		 * earlier than Karpenter's taint, which came just before.  If
		 * the deletion is that recent, take the time of this line. */
		if (f.at_ms > a->at_ms - STAMP_MS)
			f.at_ms = a->at_ms;
		(void)give_news(a, &f, NULL);
	}
	if (!is_gone(meta))
		return;
	give_gone(a, &f, FACT_NODE_GONE);
	/* If the log has no NodeClaims, the end of the Node counts as the end
	 * of the machine. */
	if (!a->claims)
		give_gone(a, &f, FACT_GONE);
}

/* Reads a deletion that was answered with a Status, because the object had no
 * finalizer. */
static void
read_deleted(struct audit *a, const struct json *ref, bool of_claim)
{
	struct fact f;

	fact_init(&f, FACT_GONE, a->at_ms);
	if (pieces_take_name(json_member(ref, "name"), NAME_BYTES,
			     of_claim ? &f.claim : &f.node) == 0)
		give_gone(a, &f, of_claim ? FACT_GONE : FACT_NODE_GONE);
}

/* --- events --------------------------------------------------------------- */

/* Returns whether the event is about a write that succeeded and was no dry
 * run. */
static bool
is_write(const struct json *line)
{
	static const char *const verbs[] = {"create", "update", "patch",
					    "delete"};
	const char *uri = json_string(json_member(line, "requestURI"));
	long long code;
	int i = 0;

	while (i < 4 && !json_says(line, "verb", verbs[i]))
		i++;
	return i < 4 && json_says(line, "stage", "ResponseComplete") &&
	       json_integer(
		       json_member(json_member(line, "responseStatus"), "code"),
		       &code) == 0 &&
	       code >= 200 && code < 300 &&
	       (uri == NULL || strstr(uri, "dryRun=") == NULL);
}

static void
read_object(struct audit *a, const struct json *line, const struct json *object)
{
	const struct json *ref = json_member(line, "objectRef");
	bool of_claim = json_says(ref, "resource", "nodeclaims");

	if (json_says(object, "kind", "NodeClaim"))
		read_claim(a, object);
	else if (json_says(object, "kind", "Node"))
		read_node(a, object);
	else if (json_says(object, "kind", "Event"))
		(void)snapshot_object(object, "Event", give_news, a, NULL);
	else if (json_says(line, "verb", "delete") &&
		 json_says(object, "kind", "Status") &&
		 (of_claim || json_says(ref, "resource", "nodes")))
		read_deleted(a, ref, of_claim);
}

int64_t
audit_time(const struct json *line)
{
	int64_t at;

	return when_value(json_member(line, "stageTimestamp"), &at) ||
			       when_value(
				       json_member(line,
						   "requestReceivedTimestamp"),
				       &at)
		       ? at
		       : STAMP_NONE;
}

/* Returns whether the event comes too late.  What an object tells depends on
 * what was told before, so events in another order would tell other facts. */
static bool
is_behind(struct audit *a)
{
	if (a->at_ms < SIMULATE_EARLIEST_MS || a->at_ms >= SIMULATE_LATEST_MS)
		return false;
	if (a->at_ms > a->newest_ms)
		a->newest_ms = a->at_ms;
	return a->at_ms < a->newest_ms - SIMULATE_DISORDER_MS;
}

enum reader_what
audit_read(struct audit *a, const struct json *line, snapshot_fn *fn, void *ctx,
	   const char **message, struct err *e)
{
	const struct json *ref = json_member(line, "objectRef");
	const struct json *object = json_member(line, "responseObject");

	*message = "(an audit event that says nothing new of machines)";
	a->fn = fn;
	a->ctx = ctx;
	a->e = e;
	a->told_n = 0;
	a->failed = false;
	a->at_ms = audit_time(line);
	if (a->at_ms == STAMP_NONE)
		return READ_INCOMPLETE;
	if (a->begin_ms == STAMP_NONE || a->at_ms < a->begin_ms)
		a->begin_ms = a->at_ms;
	if (!is_write(line)) {
		*message = "(an audit event of a read, a dry run or a failed "
			   "write)";
		return READ_OTHER;
	}
	/* The API server leaves out an object that is too large. */
	if (!json_is_object(object))
		return json_says(ref, "resource", "nodeclaims") ||
				       (json_says(ref, "resource", "nodes") &&
					json_is_unset(json_member(
						ref, "subresource")))
			       ? READ_BARE
			       : READ_OTHER;
	if (is_behind(a)) {
		*message = "the events of an audit log go back in time by more "
			   "than 60 s, expected the oldest first: sort them by "
			   "time, or reverse the lines with tac";
		return READ_REFUSED;
	}
	read_object(a, line, object);
	return a->told_n > 0 ? READ_FACT : READ_OTHER;
}
