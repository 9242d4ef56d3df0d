/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/limits.h"
#include "core/base/sort.h"
#include "core/base/str.h"
#include "timers_parts.h"

/*
 * This file keeps the scopes: which of them are held, their caps, and the state
 * that a later leader takes over.  timers.c reports how many live and coming
 * machines a scope has.  A scope that may turn because of a changed number is
 * marked `dirty`.  timers_scopes_turned updates each dirty scope and its cap,
 * and returns the scopes that have become held or are no longer held.  The heap
 * `caps` has the time at which a scope's cap next changes something.  At that
 * time the scope is marked again.  No function of this file reads the timers.
 *
 * A scope is found by the name of its NodePool.  The scope's place may be used
 * for another scope once the scope has no timers, no debt, and nothing left to
 * report.
 */

/* Returns whether the place may be used for another scope.  It may not be used
 * while the scope still has to be reported, or while its past still counts. */
static bool
is_spare(const struct scope *s)
{
	return s->timers == 0 && !s->held && !s->dirty && s->cap.debt_ms == 0 &&
	       s->cap.window_ms == 0 && !s->was_busy;
}

static uint32_t
name_hash(const void *ctx, uint32_t scope)
{
	const struct timers *ts = ctx;

	return index_hash_text(ts->scopes[scope].name);
}

static bool
name_same(const void *ctx, uint32_t scope, const void *key)
{
	const struct timers *ts = ctx;

	return strcmp(ts->scopes[scope].name, key) == 0;
}

int
timers_scopes_init(struct timers *ts)
{
	ts->unknown_ms = ts->unknown_until_ms = STAMP_NONE;
	return index_init(&ts->scope_by_name, SCOPES_MAX, SCOPES_MAX, name_hash,
			  name_same, ts) ||
			       heap_init(&ts->caps, SCOPES_MAX)
		       ? -1
		       : 0;
}

static uint32_t
find(const struct timers *ts, const char *name)
{
	return index_find(&ts->scope_by_name, index_hash_text(name), name);
}

static void
unteach(struct timers *ts, uint32_t scope)
{
	if (ts->scopes[scope].untaught)
		return;
	ts->scopes[scope].untaught = true;
	ts->untaught[ts->untaught_n++] = scope;
}

void
timers_scope_moved(struct timers *ts, uint32_t scope)
{
	ts->scopes[scope].moved = true;
	ts->moved[ts->moved_n++] = scope;
}

uint32_t
timers_moved(struct timers *ts)
{
	uint32_t scope;

	if (ts->moved_n == 0)
		return NO_ID;
	scope = ts->moved[--ts->moved_n];
	ts->scopes[scope].moved = false;
	return scope;
}

static void
mark_dirty(struct timers *ts, uint32_t scope)
{
	if (ts->scopes[scope].dirty)
		return;
	ts->scopes[scope].dirty = true;
	ts->dirty[ts->dirty_n++] = scope;
}

static void
scope_make(struct timers *ts, uint32_t scope, const char *nodepool)
{
	ts->scopes[scope] = (struct scope){
		.untaught = ts->scopes[scope].untaught,
		.moved = ts->scopes[scope].moved,
		.again_from_ms = STAMP_NONE,
		.again_until_ms = STAMP_NONE,
		.released_ms = STAMP_NONE,
		.made = ++ts->made,
	};
	(void)str_copy(ts->scopes[scope].name, NODEPOOL_BYTES, nodepool);
	index_add(&ts->scope_by_name, scope);
	unteach(ts, scope);
	if (ts->unknown_ms != STAMP_NONE)
		mark_dirty(ts, scope);
}

/* Returns a place for another scope: a spare place, or else one that was never
 * used, or else NO_ID.  After a search that found no spare place, the next
 * search is made only when the number of places has doubled. */
static uint32_t
place_take(struct timers *ts)
{
	uint32_t i = ts->scopes_top;

	if (i >= ts->spare_from || i == SCOPES_MAX) {
		while (i > 0 && !is_spare(&ts->scopes[i - 1]))
			i--;
		if (i > 0) {
			index_remove(&ts->scope_by_name, i - 1);
			return i - 1;
		}
		ts->spare_from = 2 * ts->scopes_top;
	}
	return ts->scopes_top < SCOPES_MAX ? ts->scopes_top++ : NO_ID;
}

uint32_t
timers_scope_of(struct timers *ts, const char *nodepool)
{
	uint32_t scope;

	if (ts->kind == SCOPE_CLUSTER)
		nodepool = "";
	scope = find(ts, nodepool);
	if (scope != NO_ID && !is_spare(&ts->scopes[scope]))
		return scope;
	if (scope != NO_ID)
		index_remove(&ts->scope_by_name, scope);
	else
		scope = place_take(ts);
	if (scope != NO_ID)
		scope_make(ts, scope, nodepool);
	return scope;
}

void
timers_unteach(struct timers *ts, const char *nodepool)
{
	uint32_t scope = find(ts, ts->kind == SCOPE_CLUSTER ? "" : nodepool);

	if (scope != NO_ID)
		unteach(ts, scope);
}

void
timers_unteach_all(struct timers *ts)
{
	for (uint32_t i = ts->scopes_top; i > 0; i--)
		unteach(ts, i - 1);
}

uint32_t
timers_untaught(struct timers *ts)
{
	uint32_t scope;

	if (ts->untaught_n == 0)
		return NO_ID;
	scope = ts->untaught[--ts->untaught_n];
	ts->scopes[scope].untaught = false;
	return scope;
}

bool
timers_id_before(const void *ctx, uint32_t a, uint32_t b)
{
	(void)ctx;
	return a < b;
}

/* Marks the scope if it may turn.  Only timers_turned finds out whether the
 * scope is still busy, so a machine whose timer is removed and put back at once
 * does not end the hold. */
void
timers_scope_count(struct timers *ts, uint32_t scope, int delta)
{
	struct scope *s = &ts->scopes[scope];
	bool busy = s->live > 0;

	s->live += (uint32_t)delta;
	if (busy != (s->live > 0))
		mark_dirty(ts, scope);
}

/* Marks the scope when no machine in it is coming any more, because a hold
 * may then end.  Also marks a scope that the previous leader held, because a
 * coming machine makes it busy. */
void
timers_scope_coming(struct timers *ts, uint32_t scope, int delta)
{
	struct scope *s = &ts->scopes[scope];

	s->coming += (uint32_t)delta;
	if (s->coming == 0 || s->was_busy)
		mark_dirty(ts, scope);
}

void
timers_scope_again(struct timers *ts, uint32_t scope, int64_t now_ms)
{
	struct scope *s = &ts->scopes[scope];

	if (s->again_until_ms < now_ms)
		s->again_from_ms = now_ms;
	s->again_until_ms = now_ms + FAILED_BOOT_MS;
	mark_dirty(ts, scope);
}

static void
mark_all(struct timers *ts)
{
	for (uint32_t i = 0; i < ts->scopes_top; i++)
		mark_dirty(ts, i);
}

void
timers_unknown(struct timers *ts, int64_t until_ms, int64_t now_ms)
{
	if (ts->unknown_ms != STAMP_NONE)
		return;
	ts->unknown_ms = now_ms;
	ts->unknown_until_ms = until_ms;
	mark_all(ts);
}

void
timers_no_unknown(struct timers *ts)
{
	if (ts->unknown_ms == STAMP_NONE)
		return;
	ts->unknown_ms = ts->unknown_until_ms = STAMP_NONE;
	mark_all(ts);
}

/* Returns until when the scope is busy whatever its timers say. */
static int64_t
busy_until_ms(const struct timers *ts, const struct scope *s)
{
	return ts->unknown_until_ms > s->again_until_ms &&
			       ts->unknown_ms > s->released_ms
		       ? ts->unknown_until_ms
		       : s->again_until_ms;
}

/* A list may show a claim just before it shows that the claim before it is
 * gone. */
bool
timers_again(const struct timers *ts, const char *nodepool, int64_t created_ms,
	     int64_t seen_ms)
{
	uint32_t i = find(ts, ts->kind == SCOPE_CLUSTER ? "" : nodepool);

	return i != NO_ID && ts->scopes[i].again_until_ms != STAMP_NONE &&
	       created_ms <= ts->scopes[i].again_until_ms &&
	       seen_ms >= ts->scopes[i].again_from_ms - STAMPS_MS;
}

void
timers_shift(struct timers *ts, int64_t by_ms)
{
	if (ts->unknown_ms != STAMP_NONE) {
		ts->unknown_ms += by_ms;
		ts->unknown_until_ms += by_ms;
		mark_all(ts);
	}
	for (uint32_t i = 0; i < ts->scopes_top; i++) {
		struct scope *s = &ts->scopes[i];

		if (s->again_until_ms == STAMP_NONE)
			continue;
		s->again_from_ms += by_ms;
		s->again_until_ms += by_ms;
		mark_dirty(ts, i);
	}
}

/* Call this whenever the cap or busy_until_ms has changed.  If the scope is
 * marked, no call is needed, because timers_scopes_turned makes the call for
 * every marked scope. */
static void
cap_changed(struct timers *ts, uint32_t scope, struct now now)
{
	int64_t until_ms = busy_until_ms(ts, &ts->scopes[scope]);
	int64_t at = cap_next_ms(&ts->scopes[scope].cap, &ts->cap);

	if (until_ms > now.server_ms &&
	    (at == STAMP_NONE || at - now.boot_ms > until_ms - now.server_ms))
		at = now.boot_ms + until_ms - now.server_ms;

	if (at == STAMP_NONE)
		heap_remove(&ts->caps, scope);
	else
		heap_set(&ts->caps, scope, at);
}

void
timers_scopes_due(struct timers *ts, int64_t boot_ms)
{
	uint32_t scope, before = ts->dirty_n;
	int64_t at;

	while (heap_top(&ts->caps, &scope, &at) && at <= boot_ms) {
		heap_remove(&ts->caps, scope); /* cap_changed adds it again. */
		mark_dirty(ts, scope);
	}
	/* Scopes that turn at the same moment turn in a fixed order:
	 * timers_scopes_turned begins with the highest place. */
	sort_ids(ts->dirty + before, ts->dirty_n - before, timers_id_before,
		 NULL);
}

/* The scope may already be held, and so have a debt of its own.  If left->grows
 * is true, the debt in *left has grown until now and so includes the scope's
 * own debt; the larger debt counts.  Otherwise the two debts are added. */
void
timers_restore(struct timers *ts, const char *name, const struct cap *left,
	       int64_t at_ms, struct now now)
{
	uint32_t i = timers_scope_of(ts, name);
	struct scope *s;
	struct cap *c;

	if (i == NO_ID)
		return;
	s = &ts->scopes[i];
	c = &s->cap;
	cap_settle(c, &ts->cap, now.boot_ms);
	if (!left->grows)
		c->debt_ms += left->debt_ms;
	else if (left->debt_ms > c->debt_ms)
		c->debt_ms = left->debt_ms;
	c->window_ms = left->window_ms;
	c->grows = c->grows || left->grows;
	s->was_busy = left->grows && !ts->seen;
	s->released_ms = at_ms + 999; /* at_ms has whole seconds. */
	ts->changed = true;
	mark_dirty(ts, i);
}

bool
timers_keeps(const struct timers *ts, uint32_t scope, int64_t boot_ms)
{
	const struct scope *s = &ts->scopes[scope];

	return s->held || !cap_is_none(&s->cap, &ts->cap, boot_ms);
}

void
timers_seen(struct timers *ts)
{
	ts->seen = true;
	for (uint32_t i = 0; i < ts->scopes_top; i++) {
		if (!ts->scopes[i].was_busy)
			continue;
		ts->scopes[i].was_busy = false;
		mark_dirty(ts, i);
	}
}

/* A released-at takes effect only once, even if the clock is set back and
 * reaches it again. */
void
timers_released(struct timers *ts, uint32_t scope, int64_t released_ms,
		struct now now)
{
	struct scope *s = &ts->scopes[scope];

	if (released_ms <= s->released_ms) /* STAMP_NONE is before all times. */
		return;
	s->released_ms = released_ms;
	cap_settle(&s->cap, &ts->cap, now.boot_ms);
	s->cap.debt_ms = s->cap.window_ms = 0;
	s->again_until_ms = STAMP_NONE;
	ts->changed = true;
	mark_dirty(ts, scope);
}

void
timers_forget(struct timers *ts)
{
	for (uint32_t i = 0; i < ts->scopes_top; i++) {
		index_remove(&ts->scope_by_name, i);
		heap_remove(&ts->caps, i);
		ts->scopes[i].untaught = ts->scopes[i].moved = false;
	}
	ts->scopes_top = ts->dirty_n = ts->untaught_n = ts->moved_n = 0;
	ts->spare_from = 0;
	ts->unknown_ms = ts->unknown_until_ms = STAMP_NONE;
	ts->changed = ts->usable = ts->seen = false;
}

void
timers_usable(struct timers *ts, bool usable)
{
	if (ts->usable == usable)
		return;
	ts->usable = usable;
	mark_all(ts);
}

/* --- turns ---------------------------------------------------------------- */

static bool
same_cap(const struct cap *a, const struct cap *b)
{
	return a->grows == b->grows && a->usable == b->usable &&
	       a->debt_ms == b->debt_ms && a->window_ms == b->window_ms;
}

/* Updates the scope to the present time.  Returns whether it turns, that is,
 * whether it has become held or is no longer held.  A scope that was not held
 * also turns when a window opens on it. */
static bool
scope_step(struct timers *ts, struct scope *s, struct now now)
{
	struct cap before = s->cap;
	bool held, window;

	s->busy = s->live > 0 || busy_until_ms(ts, s) > now.server_ms ||
		  ((s->busy || s->was_busy) && s->coming > 0);
	held = cap_step(&s->cap, &ts->cap, s->busy, s->was_busy, ts->usable,
			now.boot_ms);
	ts->changed = ts->changed || !same_cap(&before, &s->cap);
	window = s->busy && s->cap.window_ms > 0;
	if (s->cap.window_ms == 0)
		s->told_window = false;
	if (held == s->held && (!window || s->told_window))
		return false;
	s->told_window = window;
	s->held = held;
	return true;
}

uint32_t
timers_scopes_turned(struct timers *ts, struct now now)
{
	while (ts->dirty_n > 0) {
		uint32_t i = ts->dirty[--ts->dirty_n];
		bool turns;

		ts->scopes[i].dirty = false;
		turns = scope_step(ts, &ts->scopes[i], now);
		cap_changed(ts, i, now);
		if (turns)
			return i;
	}
	return NO_ID;
}

int64_t
timers_cap_in_ms(const struct timers *ts, uint32_t scope, int64_t boot_ms)
{
	const struct scope *s = &ts->scopes[scope];

	if (ts->cap.max_ms == 0 || !s->held)
		return INT64_MAX;
	return ts->cap.max_ms - cap_debt_ms(&s->cap, &ts->cap, boot_ms);
}

int64_t
timers_cap_next_ms(const struct timers *ts)
{
	uint32_t scope;
	int64_t at;

	return heap_top(&ts->caps, &scope, &at) ? at : STAMP_NONE;
}
