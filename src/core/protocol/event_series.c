/* SPDX-License-Identifier: Apache-2.0 */
#include "core/protocol/event_series.h"

#include <assert.h>
#include <string.h>

#include "core/base/str.h"

/*
 * The series are entries of an array of fixed size, each in one of the states
 * that event_series.h draws.  The array is small, so it is searched from end to
 * end, and nothing is allocated.
 *
 * A new Event becomes an entry, which is written at once.  If the Event occurs
 * again, the entry only counts, and a patch writes the count from time to time
 * and at the end of the series.  If there is no free entry, the oldest entry
 * that is not waiting to be written is dropped, or else the oldest entry.  The
 * Event that is being written is a copy (`sent`), so the entry may count
 * further Events during the write.  The caller is daemon/event_recorder, under
 * its lock.
 */

#define COUNT_MAX 2147483647u /* series.count is an int32 */

static const struct {
	const char *name, *type, *action;
} reasons[EVENT_REASON_COUNT] = {
	[EVENT_HOLD_STARTED] = {"HoldStarted", "Normal", "Hold"},
	[EVENT_HOLD_EXTENDED] = {"HoldExtended", "Normal", "Hold"},
	[EVENT_HOLD_RELEASED] = {"HoldReleased", "Normal", "Release"},
	[EVENT_HOLD_CAPPED] = {"HoldCapped", "Normal", "Release"},
	[EVENT_MANUAL_HOLD] = {"ManualHold", "Normal", "Hold"},
	[EVENT_INVALID_ANNOTATION] = {"InvalidAnnotation", "Warning",
				      "ReadAnnotation"},
	[EVENT_RELEASE_BLOCKED] = {"ReleaseBlocked", "Warning", "Release"},
	[EVENT_OBSERVED_HOLD_STARTED] = {"ObservedHoldStarted", "Normal",
					 "Observe"},
	[EVENT_OBSERVED_HOLD_EXTENDED] = {"ObservedHoldExtended", "Normal",
					  "Observe"},
	[EVENT_OBSERVED_HOLD_RELEASED] = {"ObservedHoldReleased", "Normal",
					  "Observe"},
	[EVENT_OBSERVED_HOLD_CAPPED] = {"ObservedHoldCapped", "Normal",
					"Observe"},
	[EVENT_OBSERVED_MANUAL_HOLD] = {"ObservedManualHold", "Normal",
					"Observe"},
	[EVENT_OBSERVED_RELEASE_BLOCKED] = {"ObservedReleaseBlocked", "Normal",
					    "Observe"},
};

const char *
event_series_reason_name(enum event_reason r)
{
	return reasons[r].name;
}

const char *
event_series_reason_type(enum event_reason r)
{
	return reasons[r].type;
}

_Static_assert(EVENT_OBSERVED_RELEASE_BLOCKED - EVENT_RELEASE_BLOCKED ==
		       EVENT_OBSERVED_HOLD_STARTED - EVENT_HOLD_STARTED,
	       "event_series_reason_observed");

enum event_reason
event_series_reason_observed(enum event_reason r)
{
	if (r > EVENT_RELEASE_BLOCKED)
		return r;
	return (enum event_reason)(r + EVENT_OBSERVED_HOLD_STARTED -
				   EVENT_HOLD_STARTED);
}

void
event_series_init(struct event_series *s, uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	pace_init(&s->pace, seed);
}

/* --- entries -------------------------------------------------------------- */

/* Returns whether the API server does not have the entry's count yet.  A single
 * Event has no count to write. */
static bool
has_unwritten(const struct event_series_entry *e)
{
	return e->event.count >= 2 && e->event.count > e->written;
}

static void
entry_want(struct event_series_entry *e)
{
	e->state = EVENT_SERIES_PENDING;
	e->tries = 0;
	e->not_before_ms = INT64_MIN;
}

static void
entry_age(struct event_series_entry *e, int64_t boot_ms)
{
	if (!e->ended && boot_ms - e->last_ms >= EVENT_SERIES_FINISH_MS) {
		e->ended = true;
		if (e->state == EVENT_SERIES_COUNTING && has_unwritten(e))
			entry_want(e);
	}
	if (e->state == EVENT_SERIES_COUNTING && has_unwritten(e) &&
	    boot_ms - e->wrote_ms >= EVENT_SERIES_REFRESH_MS)
		entry_want(e);
}

static void
entries_age(struct event_series *s, int64_t boot_ms)
{
	for (int i = 0; i < EVENT_SERIES_MAX; i++) {
		struct event_series_entry *e = &s->entries[i];

		if (e->state == EVENT_SERIES_FREE)
			continue;
		entry_age(e, boot_ms);
		if (e->ended && e->state == EVENT_SERIES_COUNTING)
			e->state = EVENT_SERIES_FREE;
	}
}

static bool
is_of_subject(const struct event_series_entry *e,
	      const struct event_series_event *v)
{
	return e->state != EVENT_SERIES_FREE && !e->ended &&
	       e->event.reason == v->reason &&
	       strcmp(e->event.nodepool, v->nodepool) == 0 &&
	       strcmp(e->event.nodepool_uid, v->nodepool_uid) == 0 &&
	       strcmp(e->event.action, v->action) == 0;
}

static bool
is_untried(const struct event_series *s, const struct event_series_entry *e)
{
	return e->state == EVENT_SERIES_PENDING && !e->exists &&
	       e->tries == 0 && e != s->under_way;
}

/* Returns the entry of the same Event, or else an entry that *v may replace, or
 * else NULL. */
static struct event_series_entry *
entry_find(struct event_series *s, const struct event_series_event *v)
{
	struct event_series_entry *older = NULL;

	for (int i = 0; i < EVENT_SERIES_MAX; i++) {
		struct event_series_entry *e = &s->entries[i];

		if (!is_of_subject(e, v))
			continue;
		if (strcmp(e->event.note, v->note) == 0)
			return e;
		if (is_untried(s, e))
			older = e;
	}
	return older;
}

/* Returns a free place, or else the oldest entry that is not waiting to be
 * written, or else the oldest entry.  The entry whose write is in flight
 * stays. */
static struct event_series_entry *
entry_place(struct event_series *s)
{
	struct event_series_entry *oldest = NULL;

	for (int i = 0; i < EVENT_SERIES_MAX; i++) {
		struct event_series_entry *e = &s->entries[i];

		if (e->state == EVENT_SERIES_FREE)
			return e;
		if (e == s->under_way)
			continue;
		if (oldest == NULL || e->state > oldest->state ||
		    (e->state == oldest->state && e->order < oldest->order))
			oldest = e;
	}
	s->dropped +=
		oldest->state == EVENT_SERIES_PENDING || has_unwritten(oldest);
	return oldest;
}

static struct event_series_entry *
entry_new(struct event_series *s)
{
	struct event_series_entry *e = entry_place(s);

	*e = (struct event_series_entry){.order = s->order};
	entry_want(e);
	return e;
}

static bool
event_series_check(const struct event_series *s)
{
	for (int i = 0; i < EVENT_SERIES_MAX; i++) {
		const struct event_series_entry *e = &s->entries[i];

		if (e->state == EVENT_SERIES_FREE)
			continue;
		if (e->event.count == 0 || e->written > e->event.count ||
		    e->order >= s->order ||
		    (e->state == EVENT_SERIES_PENDING &&
		     e->tries >= EVENT_SERIES_TRIES))
			return false;
	}
	return s->under_way == NULL ||
	       s->under_way->state == EVENT_SERIES_PENDING;
}

/* --- recording an Event --------------------------------------------------- */

static int
event_make(const struct event_series_what *w, struct event_series_event *v)
{
	v->reason = w->reason;
	v->count = 1;
	str_cut(v->action, sizeof(v->action),
		w->action != NULL ? w->action : reasons[w->reason].action);
	str_cut(v->note, sizeof(v->note), w->note);
	return str_copy(v->nodepool, sizeof(v->nodepool), w->nodepool) ||
			       str_copy(v->nodepool_uid,
					sizeof(v->nodepool_uid),
					w->nodepool_uid)
		       ? -1
		       : 0;
}

/* Returns a stamp for a new Event, in microseconds.  The stamp is part of the
 * Event's name, so it must be unique.  If the clock is set back by a second or
 * more, stamps go back too, and the same millisecond may come again.  Therefore
 * the last three digits are taken from the Event's number. */
static int64_t
stamp_new(struct event_series *s, int64_t server_ms)
{
	int64_t us = server_ms * 1000 + (int64_t)(s->order % 1000);

	if (us <= s->stamp_us && s->stamp_us - us < 1000000)
		us = s->stamp_us + 1;
	s->stamp_us = us;
	return us;
}

void
event_series_say(struct event_series *s, const struct event_series_what *what,
		 struct now now)
{
	struct event_series_event v = {0};
	struct event_series_entry *e;

	entries_age(s, now.boot_ms);
	if (event_make(what, &v)) {
		s->dropped++;
		return;
	}

	e = entry_find(s, &v);
	if (e != NULL && strcmp(e->event.note, v.note) == 0) {
		if (e->event.count < COUNT_MAX)
			e->event.count++;
		if (now.server_ms * 1000 > e->event.last_us)
			e->event.last_us = now.server_ms * 1000;
		if (e->event.count == 2 && e->state == EVENT_SERIES_COUNTING)
			entry_want(e);
	} else {
		v.first_us = v.last_us = stamp_new(s, now.server_ms);
		if (e == NULL)
			e = entry_new(s);
		else
			s->dropped++; /* the new Event takes its turn */
		e->event = v;
		s->order++;
	}

	e->last_ms = now.boot_ms;
	assert(event_series_check(s));
}

/* --- writing -------------------------------------------------------------- */

/* Returns how long to wait for a token of the bucket, or takes one and returns
 * 0. */
static int64_t
take_token(struct event_series *s, int64_t boot_ms)
{
	int64_t each_ms = 1000 / EVENTS_PER_S, wait_ms;

	if (s->full_ms < boot_ms)
		s->full_ms = boot_ms;
	wait_ms = s->full_ms - (EVENTS_BURST - 1) * each_ms - boot_ms;
	if (wait_ms > 0)
		return wait_ms;
	s->full_ms += each_ms;
	return 0;
}

static bool
is_before(const struct event_series_entry *a,
	  const struct event_series_entry *b)
{
	if (a->not_before_ms != b->not_before_ms)
		return a->not_before_ms < b->not_before_ms;
	return a->order < b->order;
}

static struct event_series_entry *
entry_due(struct event_series *s, int64_t boot_ms)
{
	struct event_series_entry *due = NULL;

	for (int i = 0; i < EVENT_SERIES_MAX; i++) {
		struct event_series_entry *e = &s->entries[i];

		if (e->state == EVENT_SERIES_PENDING &&
		    e->not_before_ms <= boot_ms &&
		    (due == NULL || is_before(e, due)))
			due = e;
	}
	return due;
}

/* Returns the boot time at which this entry has something to write if no equal
 * Event occurs until then, or INT64_MAX. */
static int64_t
entry_wakes(const struct event_series_entry *e)
{
	int64_t end = e->last_ms + EVENT_SERIES_FINISH_MS;
	int64_t refresh = e->wrote_ms + EVENT_SERIES_REFRESH_MS;

	if (e->state == EVENT_SERIES_FREE)
		return INT64_MAX;
	if (e->state == EVENT_SERIES_PENDING)
		return e->not_before_ms;
	if (!has_unwritten(e))
		return INT64_MAX;
	return end < refresh ? end : refresh;
}

static int64_t
wait_until(const struct event_series *s, int64_t boot_ms)
{
	int64_t soonest = INT64_MAX, at;

	for (int i = 0; i < EVENT_SERIES_MAX; i++) {
		at = entry_wakes(&s->entries[i]);
		soonest = at < soonest ? at : soonest;
	}
	return soonest == INT64_MAX ? INT64_MAX : soonest - boot_ms;
}

struct event_series_todo
event_series_next(struct event_series *s, struct now now)
{
	struct event_series_entry *e;
	int64_t wait_ms;

	assert(event_series_check(s));
	if (s->under_way != NULL)
		return (struct event_series_todo){EVENT_SERIES_WAIT, INT64_MAX,
						  NULL};
	entries_age(s, now.boot_ms);
	e = entry_due(s, now.boot_ms);
	wait_ms = e == NULL ? wait_until(s, now.boot_ms)
			    : take_token(s, now.boot_ms);
	if (e == NULL || wait_ms > 0)
		return (struct event_series_todo){EVENT_SERIES_WAIT, wait_ms,
						  NULL};
	s->under_way = e;
	s->sent = e->event;
	s->step = e->exists ? EVENT_SERIES_PATCH : EVENT_SERIES_CREATE;
	return (struct event_series_todo){s->step, 0, &s->sent};
}

static void
entry_written(struct event_series *s, struct event_series_entry *e,
	      int64_t boot_ms)
{
	e->exists = true;
	e->written = s->sent.count;
	e->wrote_ms = boot_ms;
	e->state = EVENT_SERIES_COUNTING;
	/* The Event occurred again while this write was in flight. */
	if (has_unwritten(e) && (e->ended || e->written == 1))
		entry_want(e);
}

/* Gives up a write.  The entry goes on counting, and the refresh or the end of
 * the series tries again. */
static void
entry_lost(struct event_series *s, struct event_series_entry *e,
	   int64_t boot_ms)
{
	s->lost++;
	e->state = EVENT_SERIES_COUNTING;
	e->wrote_ms = boot_ms;
	if (!e->ended && s->sent.count == 1 && e->event.count >= 2)
		entry_want(e);
}

static void
entry_again(struct event_series *s, struct event_series_entry *e,
	    int64_t wait_ms, int64_t boot_ms)
{
	if (++e->tries >= EVENT_SERIES_TRIES)
		entry_lost(s, e, boot_ms);
	else
		e->not_before_ms = boot_ms + wait_ms;
}

/* Returns EVENT_SERIES_RETRY_MS and up to a quarter of it as jitter, as
 * client-go does, or the server's Retry-After if that is longer. */
static int64_t
retry_wait(struct event_series *s, int64_t retry_after_ms)
{
	int64_t ms =
		EVENT_SERIES_RETRY_MS +
		(int64_t)(pace_random(&s->pace) % (EVENT_SERIES_RETRY_MS / 4));

	return retry_after_ms > ms ? retry_after_ms : ms;
}

void
event_series_done(struct event_series *s, const struct event_series_outcome *o,
		  struct now now)
{
	struct event_series_entry *e = s->under_way;
	bool created = s->step == EVENT_SERIES_CREATE;

	assert(e != NULL);
	s->under_way = NULL;

	if (o->code == EVENT_SERIES_WRITTEN) {
		entry_written(s, e, now.boot_ms);
	} else if (o->code == EVENT_SERIES_EXISTS && created) {
		/* An earlier answer was lost: the Event that exists is our
		 * own. */
		e->exists = true;
		if (s->sent.count == 1)
			entry_written(s, e, now.boot_ms);
		else
			entry_again(s, e, 0, now.boot_ms);
	} else if (o->code == EVENT_SERIES_GONE && !created) {
		e->exists = false;
		entry_again(s, e, 0, now.boot_ms);
	} else if (o->code == EVENT_SERIES_REFUSED ||
		   o->code == EVENT_SERIES_GONE) {
		entry_lost(s, e, now.boot_ms);
	} else {
		entry_again(s, e, retry_wait(s, o->retry_after_ms),
			    now.boot_ms);
	}
	assert(event_series_check(s));
}
