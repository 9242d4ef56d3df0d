/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/duration.h"
#include "core/base/limits.h"
#include "parts.h"

/*
 * Reads the history in an answer of the holder's /status.  The history says
 * which scopes were really held, and when.  The only machines that it names are
 * those that were the last to restart a quiet time, so the history cannot be
 * replayed.  Holds by hold-until are left out, because no setting would change
 * them.
 */
#define STATUS_GROUP "status.karpenter-node-holder.io/"

bool
holder_is(const struct json *line)
{
	const char *version = json_string(json_member(line, "apiVersion"));

	return version != NULL &&
	       strncmp(version, STATUS_GROUP, sizeof(STATUS_GROUP) - 1) == 0;
}

/* Returns the time from which on all holds and releases are in the history: a
 * day ago, or later if the replica has led for less than a day. */
static int64_t
known_since(const struct json *line, int64_t now_ms)
{
	int64_t since;

	if (snapshot_time(json_member(json_member(line, "leader"), "since"),
			  &since) &&
	    since > now_ms - JOURNAL_MS)
		return since < now_ms ? since : now_ms;
	return now_ms - JOURNAL_MS;
}

static int
read_turn(const struct json *v, int64_t since_ms, int64_t now_ms,
	  snapshot_fn *fn, void *ctx, struct err *e)
{
	bool held = json_says(v, "what", "held");
	const char *text = json_string(json_member(v, "heldFor"));
	int64_t for_ms;
	struct fact f;

	fact_init(&f, held ? FACT_HELD : FACT_RELEASED, 0);
	if (!snapshot_time(json_member(v, "time"), &f.at_ms) ||
	    pieces_take_name(json_member(v, "scope"), NODEPOOL_BYTES,
			     &f.pool) ||
	    pieces_take_name(json_member(v, "machine"), NAME_BYTES, &f.claim) ||
	    pieces_take_name(json_member(v, "cause"), NODEPOOL_BYTES,
			     &f.reason) ||
	    f.pool[0] == '\0' || f.at_ms < since_ms || f.at_ms > now_ms)
		return 0;
	f.action = json_says(v, "what", "capped") ? "cap" : "";
	if (!held && text != NULL && duration_parse(text, &for_ms) == 0) {
		/* The hold may have begun before the history begins. */
		struct fact begin = f;

		begin.kind = FACT_HELD;
		begin.action = begin.reason = "";
		begin.at_ms = for_ms > f.at_ms - since_ms ? since_ms
							  : f.at_ms - for_ms;
		if (fn(ctx, &begin, e))
			return -1;
	}
	return fn(ctx, &f, e);
}

enum reader_what
holder_read(const struct json *line, snapshot_fn *fn, void *ctx,
	    const char **message, struct err *e)
{
	const struct json *leader = json_member(line, "leader");
	const struct json *turns = json_member(line, "history");
	struct fact f;
	int64_t since_ms;

	*message =
		"a status of another version, expected a HolderStatus of " STATUS_GROUP
		"v1";
	if (!json_says(line, "apiVersion", STATUS_GROUP "v1") ||
	    !json_says(line, "kind", "HolderStatus"))
		return READ_REFUSED;
	*message =
		"a status of a replica that does not lead has no history: ask "
		"the leader";
	if (!json_is_true(json_member(leader, "thisReplica")) ||
	    !json_is_array(turns))
		return READ_REFUSED;
	*message = "a status without its time";
	fact_init(&f, FACT_WATCHED, 0);
	if (!snapshot_time(json_member(line, "time"), &f.at_ms))
		return READ_REFUSED;
	since_ms = known_since(line, f.at_ms);
	/* The facts are told in order of time, because a reader may refuse a
	 * fact that comes too late. */
	struct fact begin = f;
	begin.at_ms = since_ms;
	if (fn(ctx, &begin, e))
		return READ_FACT;
	for (const struct json *v = json_first(turns); v != NULL;
	     v = json_next(v))
		if (read_turn(v, since_ms, f.at_ms, fn, ctx, e))
			return READ_FACT;
	(void)fn(ctx, &f, e);
	return READ_FACT;
}
