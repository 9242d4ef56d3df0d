/* SPDX-License-Identifier: Apache-2.0 */
#include "release.h"

#include <stdlib.h>

#include "core/base/limits.h"

/* The fresh lists, in the order in which they are made.  The last one is made
 * only if tickets are enabled. */
static const enum kind lists[] = {KIND_NODECLAIM, KIND_NODEPOOL, KIND_TICKET};

int
release_init(struct release *r, uint32_t ids, bool tickets)
{
	*r = (struct release){.lists = tickets ? 3 : 2,
			      .failed = VIEW_COUNT,
			      .waits_from = NO_ID};
	r->due_boot_ms = calloc(ids, sizeof(*r->due_boot_ms));
	r->met = calloc(ids, sizeof(*r->met));
	return r->due_boot_ms == NULL || r->met == NULL ? -1 : 0;
}

void
release_free(struct release *r)
{
	free(r->due_boot_ms);
	free(r->met);
	*r = (struct release){0};
}

void
release_forget(struct release *r)
{
	r->wanted = r->without = false;
	r->good = 0;
	r->failed = VIEW_COUNT;
	r->done_boot_ms = r->failing_boot_ms = 0;
}

void
release_due(struct release *r, uint32_t id, int64_t boot_ms)
{
	if (r->due_boot_ms[id] == 0)
		r->due_boot_ms[id] = boot_ms;
}

void
release_not_due(struct release *r, uint32_t id)
{
	r->due_boot_ms[id] = 0;
	r->met[id] = false;
}

bool
release_may(struct release *r, uint32_t id, bool may_turn, int64_t boot_ms)
{
	int64_t *due = &r->due_boot_ms[id];

	if (r->done_boot_ms >= *due && !may_turn)
		return true;
	if (r->met[id] && r->done_boot_ms >= *due + COUNTS_AGE_MS)
		return true;
	if (!r->met[id] && r->done_boot_ms >= *due) {
		r->met[id] = true;
		*due = boot_ms;
	}
	r->wanted = true;
	if (id < r->waits_from)
		r->waits_from = id;
	if (id >= r->waits_to)
		r->waits_to = id + 1;
	return false;
}

uint32_t
release_take(struct release *r)
{
	while (r->waits_from < r->waits_to)
		if (r->due_boot_ms[r->waits_from++] != 0)
			return r->waits_from - 1;
	r->waits_from = NO_ID;
	r->waits_to = 0;
	return NO_ID;
}

void
release_unseen(struct release *r)
{
	r->good = 0;
}

bool
release_start(struct release *r, int64_t boot_ms, enum kind *kind)
{
	if (!r->wanted || r->in_flight || boot_ms < r->not_before_boot_ms)
		return false;
	r->in_flight = true;
	r->wanted = false;
	r->unknown = 0;
	if (r->good == 0)
		r->begun_boot_ms = boot_ms;
	*kind = lists[r->good];
	return true;
}

unsigned
release_page(const struct release *r)
{
	return r->failed == VIEW_COUNT ? LIST_FRESH_PAGE : LIST_METADATA_PAGE;
}

void
release_unknown(struct release *r)
{
	r->unknown++;
}

/* When the fresh list of tickets has failed for FRESH_TICKETS_MS, the release
 * goes on without this list.  Shortens the backoff so that it ends by then. */
static void
try_in_time(struct release *r, int64_t boot_ms)
{
	int64_t at = r->failing_boot_ms + FRESH_TICKETS_MS;

	if (r->failing_boot_ms != 0 && boot_ms < at &&
	    r->not_before_boot_ms > at)
		r->not_before_boot_ms = at;
}

/* Requests the lists again, because one failed or showed something that the
 * table does not know. */
static enum release_result
again(struct release *r, enum kind kind, bool ok, int64_t boot_ms,
      struct pace *pace, struct notes *notes)
{
	r->wanted = true;
	r->tries++;
	r->not_before_boot_ms = boot_ms + FRESH_RETRY_MS;
	if (!ok) {
		r->not_before_boot_ms =
			boot_ms + pace_backoff(pace, r->tries, FRESH_RETRY_MS,
					       BACKOFF_MAX_MS);
		try_in_time(r, boot_ms);
		return RELEASE_WAITS;
	}
	/* Machines whose release earlier lists allowed have to wait again. */
	r->done_boot_ms = 0;
	notes_put(notes, NOTE_STOPPED, object_kind_name(kind))->as.objects =
		r->unknown;
	/* After FRESH_TRIES tries, the watch should have shown what the list
	 * showed. */
	return r->tries % FRESH_TRIES == 0 ? RELEASE_MISTRUSTS : RELEASE_WAITS;
}

/* Call this when the list of tickets has failed.  Returns whether the release
 * goes on without the list, because the list has failed for
 * FRESH_TICKETS_MS. */
static bool
goes_without(struct release *r, int64_t boot_ms, struct notes *notes)
{
	if (r->failing_boot_ms == 0)
		r->failing_boot_ms = r->begun_boot_ms;
	if (boot_ms < r->failing_boot_ms + FRESH_TICKETS_MS)
		return false;
	if (!r->without)
		(void)notes_put(notes, NOTE_WITHOUT,
				object_kind_name(KIND_TICKET));
	r->without = true;
	return true;
}

enum release_result
release_done(struct release *r, enum kind kind, bool ok, int64_t boot_ms,
	     struct pace *pace, struct notes *notes)
{
	r->in_flight = false;
	if (kind == KIND_TICKET && ok) {
		r->failing_boot_ms = 0;
		r->without = false;
	} else if (kind == KIND_TICKET) {
		ok = goes_without(r, boot_ms, notes);
	}
	if (!ok)
		r->failed = kind;
	/* If something was not seen in between (release_unseen), the lists
	 * start again with the NodeClaims. */
	if (ok && kind != KIND_NODECLAIM && r->good == 0) {
		r->wanted = true;
		return RELEASE_WAITS;
	}
	if (ok && r->unknown == 0 && r->good + 1 < r->lists) {
		r->good++;
		r->wanted = true;
		r->not_before_boot_ms = boot_ms;
		return RELEASE_WAITS;
	}
	r->good = 0;
	if (!ok || r->unknown > 0)
		return again(r, kind, ok, boot_ms, pace, notes);
	r->tries = 0;
	r->failed = VIEW_COUNT;
	r->done_boot_ms = r->begun_boot_ms;
	/* Machines that fall due one after another share one list a second. */
	r->not_before_boot_ms = r->begun_boot_ms + FRESH_RETRY_MS;
	return RELEASE_GOOD;
}

int64_t
release_next_boot_ms(const struct release *r)
{
	return !r->wanted || r->in_flight ? STAMP_NONE : r->not_before_boot_ms;
}
