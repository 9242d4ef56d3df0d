/* SPDX-License-Identifier: Apache-2.0 */
#include "writes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/packed.h"
#include "core/base/str.h"

/*
 * writes.h draws the states of an object's write.  Every object has a struct
 * write.  An object that is not idle, or whose writes have failed, also has a
 * struct pending in the array writes.pending.  When a struct pending is no
 * longer needed, its place becomes free, and free places are reused first.  The
 * heap `later` says when each of these objects has to be decided again.
 */
_Static_assert(2 * MACHINES_MAX < 1 << 20, "struct write: pending");
_Static_assert(REHOLDS_MAX < 1 << 2, "struct write: reholds");

int
writes_init(struct writes *ws, uint32_t ids)
{
	ws->at = calloc(ids, sizeof(*ws->at));
	ws->pending = calloc(ids, sizeof(*ws->pending));
	return ws->at == NULL || ws->pending == NULL ||
			       heap_init(&ws->later, ids)
		       ? -1
		       : 0;
}

void
writes_free(struct writes *ws)
{
	free(ws->at);
	free(ws->pending);
	heap_done(&ws->later);
	ws->at = NULL;
	ws->pending = NULL;
}

/* --- what is pending ------------------------------------------------------ */

static struct pending *
pending_of(const struct writes *ws, uint32_t id)
{
	uint32_t place = ws->at[id].pending;

	return place == 0 ? NULL : &ws->pending[place - 1];
}

static struct pending *
pending_make(struct writes *ws, uint32_t id)
{
	uint32_t place = ws->free;

	if (ws->at[id].pending != 0)
		return pending_of(ws, id);
	if (place != 0)
		ws->free = ws->pending[place - 1].id;
	else
		place = ++ws->top;
	ws->pending[place - 1] = (struct pending){.id = id};
	ws->at[id].pending = place & 0xfffff;
	return pending_of(ws, id);
}

static void
pending_drop(struct writes *ws, uint32_t id)
{
	uint32_t place = ws->at[id].pending;

	if (place == 0)
		return;
	heap_remove(&ws->later, place - 1);
	ws->pending[place - 1].id = ws->free;
	ws->free = place;
	ws->at[id].pending = 0;
}

static bool
is_later(const struct writes *ws, uint32_t id)
{
	return heap_has(&ws->later, ws->at[id].pending - 1);
}

static void
set_later(struct writes *ws, uint32_t id, int64_t boot_ms)
{
	heap_set(&ws->later, ws->at[id].pending - 1, boot_ms);
}

/* Drops the struct pending if nothing in it matters any more. */
static void
let_go(struct writes *ws, uint32_t id)
{
	const struct pending *w = pending_of(ws, id);

	if (w != NULL && w->state == WRITE_IDLE && !w->reread &&
	    w->failures == 0 && w->refusals == 0 && w->class_failures == 0 &&
	    w->tried_rv == 0 && !is_later(ws, id))
		pending_drop(ws, id);
}

enum write_state
writes_state(const struct writes *ws, uint32_t id)
{
	const struct pending *w = pending_of(ws, id);

	return w == NULL ? WRITE_IDLE : w->state;
}

bool
writes_must_read(const struct writes *ws, uint32_t id)
{
	const struct pending *w = pending_of(ws, id);

	return w != NULL && w->reread;
}

bool
write_check(const struct writes *ws, uint32_t id)
{
	const struct pending *w = pending_of(ws, id);

	if (ws->at[id].wants_hold && ws->wanting_hold == 0)
		return false;
	if (w == NULL)
		return true;
	if (w->id != id)
		return false;
	switch (w->state) {
	case WRITE_IDLE: /* The object may be waiting to write its class. */
		return true;
	case WRITE_IN_FLIGHT:
	case WRITE_SHOWN:
		return w->act != ACT_NONE && w->seq != 0 && ws->in_flight > 0;
	case WRITE_EXPECTED:
		return act_writes(w->act) && w->failures == 0 &&
		       w->refusals == 0 && is_later(ws, id);
	case WRITE_STALE:
		return act_writes(w->act) && w->failures > 0 &&
		       is_later(ws, id);
	case WRITE_BACKING_OFF:
		return is_later(ws, id);
	}
	return false;
}

/* --- what is seen, and time ----------------------------------------------- */

/* Returns whether the table shows the effect of the action. */
static bool
shows(const struct entry *e, enum act act)
{
	if (act == ACT_HOLD)
		return machines_entry_tenure(e) == TENURE_OURS;
	if (act == ACT_CLASSIFY)
		return e->classed;
	return (act == ACT_CLEAR || act == ACT_UNMARK) &&
	       e->mark == MARK_ABSENT;
}

static void
come_to_rest(struct writes *ws, uint32_t id)
{
	pending_of(ws, id)->state = WRITE_IDLE;
	heap_remove(&ws->later, ws->at[id].pending - 1);
	let_go(ws, id);
}

void
writes_observe(struct writes *ws, uint32_t id, const struct entry *e,
	       const char *rv)
{
	struct pending *w = pending_of(ws, id);

	if (machines_entry_tenure(e) == TENURE_OURS)
		ws->at[id].was_ours = true;
	if (w == NULL)
		return;
	if (w->state == WRITE_IN_FLIGHT && shows(e, w->act))
		w->state = WRITE_SHOWN;
	/* If the answer had no resourceVersion, the watch line has to show the
	 * effect of the write. */
	else if (w->state == WRITE_EXPECTED &&
		 (w->rv == 0 ? shows(e, w->act)
			     : w->rv == packed_version_key(rv)))
		come_to_rest(ws, id);
	else if (w->state == WRITE_STALE && w->rv != packed_version_key(rv))
		come_to_rest(ws, id);
	assert(write_check(ws, id));
}

void
writes_drop(struct writes *ws, uint32_t id)
{
	/* The reply to a write in flight then finds no pending write with its
	 * seq, so the reply is ignored. */
	pending_drop(ws, id);
	writes_want_hold(ws, id, false);
	ws->at[id] = (struct write){0};
}

void
writes_owner_changed(struct writes *ws, uint32_t id)
{
	struct write *w = &ws->at[id];

	w->owner_gone = w->owner_kept = false;
}

void
writes_owner_found(struct writes *ws, uint32_t id, bool kept)
{
	ws->at[id].owner_kept = kept;
}

bool
writes_due(struct writes *ws, int64_t boot_ms, uint32_t *id)
{
	struct pending *w;
	uint32_t place;
	int64_t key;

	if (!heap_top(&ws->later, &place, &key) || key > boot_ms)
		return false;
	heap_remove(&ws->later, place);
	w = &ws->pending[place];
	*id = w->id;
	if (w->state > WRITE_SHOWN)
		w->state = WRITE_IDLE;
	let_go(ws, *id);
	return true;
}

/* --- before a write ------------------------------------------------------- */

bool
writes_paused(const struct writes *ws, int64_t boot_ms)
{
	return boot_ms < ws->paused_boot_ms;
}

bool
writes_class_waits(struct writes *ws, uint32_t id, int64_t boot_ms)
{
	const struct pending *w = pending_of(ws, id);

	if (w == NULL || boot_ms >= w->class_boot_ms)
		return false;
	set_later(ws, id, w->class_boot_ms);
	return true;
}

void
writes_content(struct writes *ws, uint32_t id)
{
	struct pending *w = pending_of(ws, id);

	if (w == NULL)
		return;
	w->failures = 0;
	w->reread = false;
	let_go(ws, id);
}

void
writes_want_hold(struct writes *ws, uint32_t id, bool wants)
{
	struct write *w = &ws->at[id];

	if (w->wants_hold == wants)
		return;
	w->wants_hold = wants;
	if (wants)
		ws->wanting_hold++;
	else
		ws->wanting_hold--;
}

void
writes_period_ends(struct writes *ws, uint32_t id)
{
	ws->at[id].was_ours = false;
	ws->at[id].reholds = 0;
}

void
writes_hold_or_clear(struct writes *ws, uint32_t id, enum act act)
{
	struct write *w = &ws->at[id];

	if (act == ACT_CLEAR)
		w->was_ours = false;
	/* `again` is set now, because the watch line may come before the reply
	 * and set was_ours. */
	pending_make(ws, id)->again = w->was_ours;
}

uint64_t
writes_start(struct writes *ws, uint32_t id, enum act act)
{
	struct pending *w = pending_make(ws, id);

	assert(w->state == WRITE_IDLE);
	w->state = WRITE_IN_FLIGHT;
	w->act = act;
	w->seq = writes_start_list(ws);
	assert(write_check(ws, id));
	return w->seq;
}

uint64_t
writes_start_list(struct writes *ws)
{
	ws->in_flight++;
	return ++ws->seq;
}

/* --- the answer to a write ------------------------------------------------ */

static void
wait_as(struct writes *ws, uint32_t id, enum write_state state,
	int64_t until_boot_ms)
{
	pending_of(ws, id)->state = state;
	set_later(ws, id, until_boot_ms);
}

static void
back_off_failed(struct writes *ws, uint32_t id, int64_t boot_ms)
{
	struct pending *w = pending_of(ws, id);

	w->failures++;
	wait_as(ws, id, WRITE_BACKING_OFF,
		boot_ms + pace_backoff(ws->pace, w->failures, BACKOFF_MIN_MS,
				       BACKOFF_MAX_MS));
}

static int64_t
conflict_ms(struct writes *ws, unsigned failures)
{
	return pace_backoff(ws->pace, failures, CONFLICT_MS, BACKOFF_MAX_MS);
}

static int64_t
refusal_ms(struct writes *ws, unsigned n)
{
	return pace_backoff(ws->pace, n, REFUSED_MIN_MS, REFUSED_MAX_MS);
}

/* Pauses all writes for as long as the API server asked, or else for a delay of
 * our own. */
static void
pause(struct writes *ws, const struct controller_outcome *o, int64_t boot_ms)
{
	int64_t ms =
		o->retry_after_ms >= 0 ? o->retry_after_ms : BACKOFF_MIN_MS;
	int64_t until = boot_ms + ms;

	if (until > ws->paused_boot_ms)
		ws->paused_boot_ms = until;
}

void
writes_answered(struct writes *ws, const struct controller_outcome *o,
		int64_t boot_ms)
{
	assert(ws->in_flight > 0);
	ws->in_flight--;
	/* The pause applies even if the object is gone. */
	if (o->code == CONTROLLER_BUSY)
		pause(ws, o, boot_ms);
}

bool
writes_awaits(const struct writes *ws, const struct action *a)
{
	const struct pending *w = pending_of(ws, a->id);

	return w != NULL && w->seq == a->seq;
}

static void
written(struct writes *ws, const struct action *a,
	const struct controller_outcome *o, const char *rv, bool shown,
	int64_t boot_ms)
{
	struct pending *w = pending_of(ws, a->id);
	struct write *of = &ws->at[a->id];

	w->failures = w->refusals = 0;
	w->tried_rv = 0;
	if (a->act == ACT_HOLD) {
		if (w->again && of->reholds < REHOLDS_MAX)
			of->reholds++;
		of->was_ours = true;
	}
	/* Expect no watch line of this write if it came before the answer, even
	 * if later lines have come since, or if nothing was written. */
	if (strcmp(rv, o->rv) == 0 || shown)
		return;
	w->rv = packed_version_key(o->rv);
	wait_as(ws, a->id, WRITE_EXPECTED, boot_ms + EXPECT_MS);
}

static void
tell_refused(struct writes *ws, const struct action *a, const char *why)
{
	struct note *n = notes_put(ws->notes, NOTE_REFUSED, a->name);

	n->as.refused.kind = a->kind;
	n->as.refused.act = a->act;
	str_cut(n->as.refused.why, sizeof(n->as.refused.why),
		why != NULL ? why : "");
}

/* Backs off for a long time, because an early retry is of no use.  Reports only
 * the first refusal. */
static void
refused(struct writes *ws, const struct action *a, const char *why,
	int64_t boot_ms)
{
	struct pending *w = pending_of(ws, a->id);

	if (w->refusals++ == 0)
		tell_refused(ws, a, why);
	wait_as(ws, a->id, WRITE_BACKING_OFF,
		boot_ms + refusal_ms(ws, w->refusals));
}

/* Handles a write that failed because the object has changed.  The object is
 * decided again after its next watch line or, if `look` is set, after it was
 * read. */
static void
moved_on(struct writes *ws, const struct action *a, bool look, const char *rv,
	 int64_t boot_ms)
{
	struct pending *w = pending_of(ws, a->id);

	if (strcmp(rv, a->rv) != 0)
		return; /* The watch line has already come. */
	w->reread = look || w->failures > 0;
	w->failures++;
	if (look) {
		w->tried_rv = packed_version_key(a->rv);
		return;
	}
	w->rv = packed_version_key(a->rv);
	wait_as(ws, a->id, WRITE_STALE, boot_ms + conflict_ms(ws, w->failures));
}

static void
patch_done(struct writes *ws, const struct action *a,
	   const struct controller_outcome *o, const char *rv, bool shown,
	   int64_t boot_ms)
{
	switch (o->code) {
	case CONTROLLER_OK:
		written(ws, a, o, rv, shown, boot_ms);
		break;
	case CONTROLLER_CONFLICT:
		moved_on(ws, a, false, rv, boot_ms);
		break;
	case CONTROLLER_INVALID:
		/* A hold that is refused as invalid stays invalid.  A clear may
		 * have failed because of its test, so the object is read and
		 * decided again.  If the clear fails again at the same version,
		 * the test was not the reason. */
		if (a->act == ACT_HOLD || pending_of(ws, a->id)->tried_rv ==
						  packed_version_key(a->rv))
			refused(ws, a, o->why, boot_ms);
		else
			moved_on(ws, a, true, rv, boot_ms);
		break;
	case CONTROLLER_REFUSED:
		refused(ws, a, o->why, boot_ms);
		break;
	case CONTROLLER_GONE:
		break;
	default:
		back_off_failed(ws, a->id, boot_ms);
	}
}

/* Handles the answer to ACT_CLASSIFY.  A class that cannot be written has a
 * backoff of its own, so that it does not delay holds and releases of the
 * object. */
static void
class_done(struct writes *ws, const struct action *a,
	   const struct controller_outcome *o, const char *rv, bool shown,
	   int64_t boot_ms)
{
	struct pending *w = pending_of(ws, a->id);

	if (o->code == CONTROLLER_OK || o->code == CONTROLLER_CONFLICT ||
	    o->code == CONTROLLER_GONE) {
		w->class_failures = 0;
		patch_done(ws, a, o, rv, shown, boot_ms);
		return;
	}
	if (w->class_failures++ == 0 &&
	    (o->code == CONTROLLER_REFUSED || o->code == CONTROLLER_INVALID))
		tell_refused(ws, a, o->why);
	w->class_boot_ms = boot_ms + refusal_ms(ws, w->class_failures);
}

static void
read_done(struct writes *ws, const struct action *a,
	  const struct controller_outcome *o, int64_t boot_ms)
{
	struct pending *w = pending_of(ws, a->id);

	if (o->code == CONTROLLER_OK)
		w->reread = false;
	else if (o->code != CONTROLLER_GONE)
		back_off_failed(ws, a->id, boot_ms);
}

bool
writes_done(struct writes *ws, const struct action *a,
	    const struct controller_outcome *o, const char *rv, int64_t boot_ms)
{
	struct pending *w = pending_of(ws, a->id);
	/* With MODE_OBSERVE nothing was written, so no watch line will come. */
	bool shown = w->state == WRITE_SHOWN || a->observed;

	assert(w->state == WRITE_SHOWN || w->state == WRITE_IN_FLIGHT);
	w->state = WRITE_IDLE;
	if (a->act == ACT_READ)
		read_done(ws, a, o, boot_ms);
	else if (a->act == ACT_CLASSIFY)
		class_done(ws, a, o, rv, shown, boot_ms);
	else
		patch_done(ws, a, o, rv, shown, boot_ms);
	assert(write_check(ws, a->id));
	let_go(ws, a->id);
	return o->code == CONTROLLER_GONE;
}

void
writes_owner_done(struct writes *ws, const struct action *a,
		  const struct controller_outcome *o, bool full, bool has_peer,
		  int64_t boot_ms)
{
	struct write *w = &ws->at[a->id];

	pending_of(ws, a->id)->state = WRITE_IDLE;
	if (o->code == CONTROLLER_GONE) {
		w->owner_gone = true;
	} else if (o->code == CONTROLLER_OK) {
		/* The claim was put into the table, so it is the Node's peer
		 * now.  If the table is full, the Node has no peer and is a
		 * machine of its own. */
		w->owner_gone = full;
		if (!full && !has_peer)
			back_off_failed(ws, a->id, boot_ms);
	} else {
		back_off_failed(ws, a->id, boot_ms);
	}
	assert(write_check(ws, a->id));
	let_go(ws, a->id);
}
