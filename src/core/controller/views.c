/* SPDX-License-Identifier: Apache-2.0 */
#include "views.h"

#include <stddef.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"

/*
 * Each kind has a view: what its list and its watch have shown so far.  The
 * first part of this file takes the reports of the watchers.  The second part
 * says whether everything is seen, whether all NodeClaims are known, and
 * whether the lead may begin.  Each wait for a list has a bound, so that no
 * missing list keeps machines from being held.
 */

void
views_lead(struct views *v, bool leads)
{
	v->lead = leads ? LEAD_BEGINS : LEAD_NONE;
	v->blocked = false;
	v->begin_boot_ms = v->blocked_boot_ms = 0;
	for (int k = 0; k < VIEW_COUNT; k++) {
		struct view *w = &v->at[k];

		/* `forgotten` grows, so that the answer to a GET that was sent
		 * earlier does not count. */
		*w = (struct view){.generation = w->generation,
				   .forgotten = w->forgotten + 1};
	}
}

void
views_listing(struct views *v, enum kind kind, bool counts)
{
	struct view *w = &v->at[kind];

	w->listing = counts;
	w->generation++;
	w->forgotten++; /* The list may show that objects are gone. */
	w->full = w->skipped = w->behind = false;
	/* A resource that is not served keeps counting as an empty list while
	 * it is listed again.  If the resource is served by then, the fresh
	 * list before a release shows its objects. */
	if (w->served || !w->listed)
		w->up = false;
}

void
views_list_end(struct views *v, enum kind kind)
{
	v->at[kind].listing = false;
}

void
views_listed(struct views *v, enum kind kind, bool served, bool has_room)
{
	struct view *w = &v->at[kind];

	w->listed = true;
	w->up = !served && !w->served;
	if (!served)
		return;
	w->served = true;
	w->forgotten++;
	w->room = w->full && has_room;
}

bool
views_watch(struct views *v, enum kind kind, bool up)
{
	bool before = v->at[kind].up;

	v->at[kind].up = up && v->at[kind].listed;
	return v->at[kind].up && !before;
}

void
views_gone(struct views *v, enum kind kind)
{
	v->at[kind].forgotten++;
}

void
views_full(struct views *v, enum kind kind)
{
	v->at[kind].full = true;
}

void
views_room(struct views *v, enum kind kind)
{
	v->at[kind].room = v->at[kind].room || v->at[kind].full;
}

void
views_skipped(struct views *v, enum kind kind)
{
	struct view *w = &v->at[kind];

	w->skipped = true;
	/* List again only if the watch has left the object out.  If a list has
	 * left it out, the next list would do so, too.  Never list again for
	 * Karpenter's Events, which do not show which objects exist. */
	w->behind = w->behind || (w->listed && w->up && kind != KIND_EVENT);
}

void
views_want_list(struct views *v, enum kind kind)
{
	v->at[kind].wants_list = true;
}

bool
views_take_request(struct views *v, enum kind kind)
{
	bool wants = v->at[kind].wants_list;

	v->at[kind].wants_list = false;
	return wants;
}

/* Requests a new list of each kind for which a full table has room again, or
 * whose watch left out a line.  It requests a list of the same kind at most
 * once in RELIST_LEFT_OUT_MS. */
void
views_ask_for_rest(struct views *v, int64_t boot_ms)
{
	for (struct view *w = v->at; w < v->at + VIEW_COUNT; w++) {
		if ((!w->room && !w->behind) || boot_ms < w->ask_boot_ms)
			continue;
		w->room = w->behind = false;
		w->wants_list = true;
		w->ask_boot_ms = boot_ms + RELIST_LEFT_OUT_MS;
	}
}

const char *
views_unseen(const struct views *v)
{
	/* Events do not matter, because an Event can only shorten a hold.
	 * Tickets do not matter either: those that were seen hold until they
	 * end, and a release begins with a fresh list of tickets. */
	for (int k = 0; k < KIND_EVENT; k++)
		if (!v->at[k].listed || !v->at[k].up)
			return object_kind_name((enum kind)k);
	return NULL;
}

bool
views_all_synced(const struct views *v)
{
	return views_unseen(v) == NULL;
}

bool
views_whole(struct views *v)
{
	bool before = v->lead == LEAD_SEEN;

	v->lead = LEAD_SEEN;
	return !before;
}

static bool
needs(const struct views *v, enum kind kind, bool events, bool tickets)
{
	if (v->at[kind].listed)
		return false;
	return kind == KIND_NODEPOOL || (kind == KIND_EVENT && events) ||
	       (kind == KIND_TICKET && tickets);
}

/* A lead waits for the list of NodePools, because a person may have set
 * annotations on them.  It also waits for the list of tickets, and for that of
 * Karpenter's Events, because without Events replacements count as scale-ups.
 * The wait is bounded, because holding must not depend on any of the lists. */
bool
views_begin(struct views *v, bool events, bool tickets, int64_t boot_ms,
	    struct notes *notes)
{
	bool waits = false;

	if (v->lead >= LEAD_ACTS)
		return true;
	if (v->begin_boot_ms == 0)
		v->begin_boot_ms = boot_ms + BEGIN_WAIT_MS;
	for (int k = 0; k < VIEW_COUNT; k++)
		waits |= needs(v, (enum kind)k, events, tickets);
	if (waits && boot_ms < v->begin_boot_ms)
		return false;
	v->lead = LEAD_ACTS;
	for (int k = 0; k < VIEW_COUNT; k++)
		if (needs(v, (enum kind)k, events, tickets))
			(void)notes_put(notes, NOTE_WITHOUT,
					object_kind_name((enum kind)k));
	return true;
}

void
views_block(struct views *v, const char *unseen, uint32_t marked,
	    int64_t boot_ms, struct notes *notes)
{
	if (unseen == NULL || marked == 0) {
		v->blocked_boot_ms = 0;
		v->blocked = false;
		return;
	}
	if (v->blocked_boot_ms == 0)
		v->blocked_boot_ms = boot_ms + BLOCKED_MS;
	if (boot_ms < v->blocked_boot_ms)
		return;
	notes_put(notes, NOTE_BLOCKED, unseen)->as.objects = marked;
	v->blocked = true;
	v->blocked_boot_ms = boot_ms + BLOCKED_EVERY_MS;
}

static void
earlier(int64_t *best, int64_t at)
{
	if (*best == STAMP_NONE || at < *best)
		*best = at;
}

int64_t
views_next_boot_ms(const struct views *v)
{
	int64_t next = STAMP_NONE;

	if (v->lead < LEAD_ACTS && v->begin_boot_ms != 0)
		earlier(&next, v->begin_boot_ms);
	if (v->blocked_boot_ms != 0)
		earlier(&next, v->blocked_boot_ms);
	for (int k = 0; k < VIEW_COUNT; k++)
		if (v->at[k].room || v->at[k].behind)
			earlier(&next, v->at[k].ask_boot_ms);
	return next;
}
