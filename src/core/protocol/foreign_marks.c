/* SPDX-License-Identifier: Apache-2.0 */
#include "core/protocol/foreign_marks.h"

#include <stdio.h>
#include <string.h>

/* A mark may look this much older than it is, because two readings of the
 * server's time may differ. */
#define CLOCK_MS 2000
/* A mark whose time is later than now by more than this was not made now. */
#define AHEAD_MS 3000

void
foreign_marks_begin(struct foreign_marks *f, int64_t server_ms,
		    int64_t slack_ms)
{
	f->start_ms = server_ms;
	f->slack_ms = slack_ms;
	f->newest_ms = STAMP_NONE;
	f->listed = false;
	f->seen[0] = '\0';
}

/* Returns the server time from which on a mark on this object is foreign. */
static int64_t
since(const struct foreign_marks *f, const struct object *o)
{
	int64_t start_ms = f->start_ms - CLOCK_MS;

	/* For a while, API servers still call a webhook whose configuration is
	 * gone, and the webhook marks new objects. */
	if (o->created_ms >= start_ms)
		return f->start_ms + f->slack_ms;
	return start_ms;
}

static bool
is_foreign(const struct foreign_marks *f, const struct object *o,
	   int64_t server_ms)
{
	if (o->mark == MARK_TIME)
		return o->mark_ms >= since(f, o) && o->mark_ms > f->newest_ms &&
		       o->mark_ms <= server_ms + AHEAD_MS;
	/* A mark without a time, such as one that a policy writes, counts as
	 * made when its object was created.  On a registered Node, such a mark
	 * may be a copy of the claim's. */
	return o->mark == MARK_ODD &&
	       o->created_ms > f->start_ms + f->slack_ms &&
	       !(o->kind == KIND_NODE && o->registered);
}

void
foreign_marks_look(struct foreign_marks *f, const struct object *o,
		   int64_t server_ms)
{
	bool word = o->mark == MARK_ODD;
	char when[STAMP_BYTES];

	if (!f->listed) {
		if (o->mark == MARK_TIME && o->mark_ms > f->newest_ms &&
		    o->mark_ms <= f->start_ms + AHEAD_MS)
			f->newest_ms = o->mark_ms;
		return;
	}
	if (f->seen[0] != '\0' || !is_foreign(f, o, server_ms))
		return;
	stamp_format(word ? o->created_ms : o->mark_ms, when);
	(void)snprintf(f->seen, sizeof(f->seen), "%s %s was %s at %s",
		       object_kind_name(o->kind), o->name,
		       word ? "created with a mark" : "marked", when);
}

void
foreign_marks_listed(struct foreign_marks *f, bool led)
{
	f->listed = true;
	if (led && f->text[0] == '\0')
		memcpy(f->text, f->seen, sizeof(f->text));
	f->seen[0] = '\0';
}
