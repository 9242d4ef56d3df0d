/* SPDX-License-Identifier: Apache-2.0 */
#include "rehold.h"

#include <stdio.h>
#include <string.h>

#define CLOCK_MS 2000	/* what two takes of the server's time differ by */
#define AHEAD_MS 3000	/* a mark beyond that was not made now */

void
rehold_begin(struct rehold *r, int64_t server_ms, int64_t slack_ms)
{
	r->start_ms = server_ms;
	r->slack_ms = slack_ms;
	r->newest_ms = STAMP_NONE;
	r->listed = false;
	r->seen[0] = '\0';
}

/* From when on a mark, or a creation that a word marks, is a sign. */
static int64_t
since(const struct rehold *r, const struct object *o)
{
	int64_t start_ms = r->start_ms - CLOCK_MS;

	/* The API servers call for a while what is registered no more. */
	if (o->created_ms >= start_ms)
		return r->start_ms + r->slack_ms;
	return r->newest_ms >= start_ms ? r->newest_ms + 1 : start_ms;
}

static bool
is_sign(const struct rehold *r, const struct object *o, int64_t server_ms)
{
	if (o->mark == MARK_TIME)
		return o->mark_ms >= since(r, o) &&
		       o->mark_ms > r->newest_ms &&
		       o->mark_ms <= server_ms + AHEAD_MS;
	/* What stands on a registered Node may be a copy from its claim. */
	return o->mark == MARK_ODD &&
	       o->created_ms > r->start_ms + r->slack_ms &&
	       !(o->kind == KIND_NODE && o->registered);
}

void
rehold_look(struct rehold *r, const struct object *o, int64_t server_ms)
{
	bool word = o->mark == MARK_ODD;
	char when[STAMP_BYTES];

	if (!r->listed) {
		if (o->mark == MARK_TIME && o->mark_ms > r->newest_ms &&
		    o->mark_ms <= r->start_ms + AHEAD_MS)
			r->newest_ms = o->mark_ms;
		return;
	}
	if (r->seen[0] != '\0' || !is_sign(r, o, server_ms))
		return;
	stamp_format(word ? o->created_ms : o->mark_ms, when);
	(void)snprintf(r->seen, sizeof(r->seen), "%s %s was %s at %s",
		       kind_name(o->kind), o->name,
		       word ? "created with a mark" : "marked", when);
}

void
rehold_listed(struct rehold *r, bool led)
{
	r->listed = true;
	if (led && r->text[0] == '\0')
		memcpy(r->text, r->seen, sizeof(r->text));
	r->seen[0] = '\0';
}
