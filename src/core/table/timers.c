/* SPDX-License-Identifier: Apache-2.0 */
#include "core/table/timers.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/sort.h"
#include "timers_parts.h"

/*
 * This file keeps the timers of the machines; timers_scopes.c keeps the scopes,
 * and timers_places.c the places of the timers.  timers_put takes the facts of
 * a machine, updates the numbers of live and coming machines of its scope,
 * and enters the next moment at which time alone changes the timer into the
 * heap `due`.  A put therefore costs no more than the heap does, however many
 * machines there are.
 *
 * There is one exception.  If minScaleUp may be more than one, a machine is
 * `enough` only together with other machines that were created at about the
 * same time.  When a fact of such a machine changes, scope_changed marks its
 * scope.  recount goes through all machines of the marked scopes once, before
 * timers_turned checks the scopes.
 */

_Static_assert(SCOPES_MAX < NO_SCOPE, "struct timer: scope");

int
timers_init(struct timers *ts, const struct rules *rules, uint32_t ids_max)
{
	/* The owner gives us zeroed memory.  Clearing the memory here would
	 * touch all its pages. */
	ts->kind = rules->scope;
	ts->cap = rules->cap;
	ts->min_scale_up = rules->min_scale_up;
	ts->min_scale_up_percent = rules->min_scale_up_percent;
	ts->place = calloc(ids_max, sizeof(*ts->place));
	ts->at = calloc(ids_max, sizeof(*ts->at));
	ts->order = calloc(ids_max, sizeof(*ts->order));
	if (ts->place == NULL || ts->at == NULL || ts->order == NULL ||
	    heap_init(&ts->due, ids_max) || timers_scopes_init(ts)) {
		timers_done(ts);
		return -1;
	}
	return 0;
}

void
timers_done(struct timers *ts)
{
	free(ts->place);
	free(ts->at);
	free(ts->order);
	ts->place = NULL;
	ts->at = NULL;
	ts->order = NULL;
	heap_done(&ts->due);
	index_done(&ts->scope_by_name);
	heap_done(&ts->caps);
}

/* --- the timers of one scope ---------------------------------------------- */

/* scope_first returns the first timer of the scope, and scope_next the timer
 * after *t.  Both return NULL if there is none.  The timers are in no
 * particular order. */
static struct timer *
scope_first(const struct timers *ts, uint32_t scope)
{
	uint32_t place = ts->scopes[scope].first;

	return place == 0 ? NULL : &ts->at[place - 1];
}

static struct timer *
scope_next(const struct timers *ts, const struct timer *t)
{
	return t->next == 0 ? NULL : &ts->at[t->next - 1];
}

static void
scope_add(struct timers *ts, uint32_t scope, struct timer *t)
{
	struct scope *s = &ts->scopes[scope];
	struct timer *then = scope_first(ts, scope);
	uint32_t place = (uint32_t)(t - ts->at) + 1;

	t->next = s->first;
	if (then != NULL)
		then->before = place;
	s->first = place;
	s->timers++;
}

static void
scope_remove(struct timers *ts, const struct timer *t)
{
	struct scope *s = &ts->scopes[t->scope];

	if (t->next != 0)
		ts->at[t->next - 1].before = t->before;
	if (t->before != 0)
		ts->at[t->before - 1].next = t->next;
	else
		s->first = t->next;
	s->timers--;
}

/* Sorts the ids of a small scope.  For a large scope, a scan of all ids finds
 * them in order. */
const uint32_t *
timers_of_scope(struct timers *ts, uint32_t scope, uint32_t *n)
{
	bool small = ts->scopes[scope].timers < ts->places_top / 16;

	*n = 0;
	for (const struct timer *t = scope_first(ts, scope); small && t != NULL;
	     t = scope_next(ts, t))
		ts->order[(*n)++] = t->id;
	sort_ids(ts->order, *n, timers_id_before, NULL);
	for (uint32_t id = 0; !small && id < ts->top; id++) {
		const struct timer *t = timers_at(ts, id);

		if (t->used && t->scope == scope)
			ts->order[(*n)++] = id;
	}
	return ts->order;
}

/* --- minScaleUp ----------------------------------------------------------- */

/* Returns whether it may take more than one machine to hold a scope. */
static bool
takes_several(const struct timers *ts)
{
	return ts->min_scale_up > 1 || ts->min_scale_up_percent > 0;
}

uint32_t
timers_min_scale_up(const struct timers *ts, uint32_t scope)
{
	uint64_t share =
		(uint64_t)ts->scopes[scope].machines * ts->min_scale_up_percent;
	uint32_t least = (uint32_t)((share + 99) / 100);

	return least > ts->min_scale_up ? least : ts->min_scale_up;
}

static bool
created_before(const void *ctx, uint32_t a, uint32_t b)
{
	const struct timer *timers = ctx;

	if (timers[a].created_ms != timers[b].created_ms)
		return timers[a].created_ms < timers[b].created_ms;
	return timers[a].id < timers[b].id;
}

static void
set_live(struct timers *ts, struct timer *t, int64_t now_ms)
{
	bool live = t->scope != NO_SCOPE && t->counted && t->enough &&
		    t->deadline_ms > now_ms;

	if (live != t->live)
		timers_scope_count(ts, t->scope, live ? 1 : -1);
	t->live = live;
}

/* Counts the machines that were created at most t->hold_ms before or after t,
 * including t itself.  ts->order has the places of all n counted machines,
 * sorted by creation.  On return, these machines are those in ts->order from
 * *first up to, but not including, *end.  The caller passes both on to the next
 * call, because for the next machine they move only a little. */
static uint32_t
neighbours(const struct timers *ts, const struct timer *t, uint32_t n,
	   uint32_t *first, uint32_t *end)
{
	const struct timer *all = ts->at;

	while (*first > 0 && all[ts->order[*first - 1]].created_ms >=
				     t->created_ms - t->hold_ms)
		(*first)--;
	while (all[ts->order[*first]].created_ms < t->created_ms - t->hold_ms)
		(*first)++;
	while (*end > 0 &&
	       all[ts->order[*end - 1]].created_ms > t->created_ms + t->hold_ms)
		(*end)--;
	while (*end < n &&
	       all[ts->order[*end]].created_ms <= t->created_ms + t->hold_ms)
		(*end)++;
	return *end - *first;
}

/* Computes again which machines of the scope are `enough`.  Call it only if
 * takes_several is true.  The size of the group that a machine needs (`least`)
 * is fixed when the machine begins to count, so that the size does not change
 * when other machines come and go. */
static void
recount(struct timers *ts, uint32_t scope, int64_t now_ms)
{
	uint32_t n = 0, first = 0, end = 0;

	ts->scopes[scope].recount = false;
	for (const struct timer *t = scope_first(ts, scope); t != NULL;
	     t = scope_next(ts, t))
		if (t->counted)
			ts->order[n++] = (uint32_t)(t - ts->at);
	sort_ids(ts->order, n, created_before, ts->at);
	for (uint32_t i = 0; i < n; i++) {
		struct timer *t = &ts->at[ts->order[i]];
		uint32_t near = neighbours(ts, t, n, &first, &end);

		if (t->least == 0)
			t->least = timers_min_scale_up(ts, scope);
		t->enough = near >= t->least;
		set_live(ts, t, now_ms);
	}
}

/* --- timers --------------------------------------------------------------- */

/* Records that a counted machine has joined the scope, left the scope, or
 * changed its facts. */
static void
scope_changed(struct timers *ts, uint32_t scope)
{
	ts->scopes[scope].recount = true;
	if (!ts->scopes[scope].moved)
		timers_scope_moved(ts, scope);
}

static void
leave(struct timers *ts, struct timer *t)
{
	if (!t->used)
		return;
	if (t->live)
		timers_scope_count(ts, t->scope, -1);
	if (t->coming)
		timers_scope_coming(ts, t->scope, -1);
	if (t->scope != NO_SCOPE) {
		ts->scopes[t->scope].machines -= t->machine;
		scope_remove(ts, t);
		if (t->counted)
			scope_changed(ts, t->scope);
	}
	*t = (struct timer){.id = t->id};
}

void
timers_drop(struct timers *ts, uint32_t id)
{
	if (ts->place[id] == 0)
		return;
	leave(ts, &ts->at[ts->place[id] - 1]);
	timers_place_drop(ts, id);
}

void
timers_boot_failed(struct timers *ts, uint32_t id, int64_t now_ms)
{
	const struct timer *t = timers_at(ts, id);

	if (t->used && t->live)
		timers_scope_again(ts, t->scope, now_ms);
}

static bool
moved(const struct timers *ts, const struct timer *t, const char *nodepool)
{
	return t->used && ts->kind == SCOPE_NODEPOOL &&
	       (t->scope == NO_SCOPE ||
		strcmp(ts->scopes[t->scope].name, nodepool) != 0);
}

static int
join(struct timers *ts, struct timer *t, const char *nodepool)
{
	uint32_t scope = NO_ID;

	if (ts->kind != SCOPE_NODE) {
		scope = timers_scope_of(ts, nodepool);
		if (scope == NO_ID)
			return -1;
		scope_add(ts, scope, t);
	}
	t->used = true;
	t->scope = (uint16_t)scope; /* NO_ID becomes NO_SCOPE */
	return 0;
}

/* Schedules the next moment at which time alone changes this timer. */
static void
schedule(struct timers *ts, const struct timer *t, const struct timer_facts *f,
	 int64_t now_ms)
{
	uint32_t place = (uint32_t)(t - ts->at);
	int64_t next = INT64_MAX;

	if (t->deadline_ms > now_ms)
		next = t->deadline_ms;
	if (f->own_ms > now_ms && f->own_ms < next)
		next = f->own_ms;
	/* A machine counts towards minScaleUp even after its own deadline, so
	 * counts_ms matters even if the deadline has passed. */
	if (f->counts_ms > now_ms && f->counts_ms < next)
		next = f->counts_ms;
	if (next == INT64_MAX)
		heap_remove(&ts->due, place);
	else
		heap_set(&ts->due, place, next);
}

static bool
same_facts(const struct timer *a, const struct timer *b)
{
	return a->counted == b->counted && a->booting == b->booting &&
	       a->deadline_ms == b->deadline_ms &&
	       a->created_ms == b->created_ms && a->hold_ms == b->hold_ms;
}

static void
set_facts(struct timers *ts, struct timer *t, const struct timer_facts *f,
	  int64_t now_ms)
{
	if (t->scope != NO_SCOPE && t->machine != f->machine)
		ts->scopes[t->scope].machines += f->machine ? 1 : UINT32_MAX;
	t->machine = f->machine;
	t->deadline_ms = f->deadline_ms;
	t->apart = f->own_ms != f->deadline_ms;
	t->own = f->own_ms > now_ms;
	t->created_ms = f->created_ms;
	t->hold_ms = f->hold_ms;
	t->booting = f->booting;
	t->counted = f->counts_ms != STAMP_NONE && f->counts_ms <= now_ms;
	if (!t->counted)
		t->least = 0;
	else if (t->least == 0)
		t->least = f->least;
}

int
timers_put(struct timers *ts, uint32_t id, const struct timer_facts *f,
	   int64_t now_ms)
{
	struct timer *t = timers_place_make(ts, id), was;
	bool coming;

	if (moved(ts, t, f->nodepool))
		leave(ts, t);
	if (!t->used && join(ts, t, f->nodepool)) {
		timers_place_drop(ts, id);
		return -1;
	}

	was = *t;
	if (id >= ts->top)
		ts->top = id + 1;

	set_facts(ts, t, f, now_ms);
	coming = t->scope != NO_SCOPE && f->counts_ms > now_ms &&
		 (f->deadline_ms > now_ms || takes_several(ts));

	if (t->scope != NO_SCOPE && (t->counted || was.counted) &&
	    !same_facts(t, &was))
		scope_changed(ts, t->scope);

	/* If it takes several machines to hold the scope, recount sets `enough`
	 * for all of them together. */
	if (!t->counted || !takes_several(ts))
		t->enough = t->counted;
	set_live(ts, t, now_ms);
	if (coming != t->coming)
		timers_scope_coming(ts, t->scope, coming ? 1 : -1);
	t->coming = coming;

	schedule(ts, t, f, now_ms);
	return 0;
}

bool
timers_due(struct timers *ts, int64_t now_ms, uint32_t *id)
{
	uint32_t place;
	int64_t key;

	if (!heap_top(&ts->due, &place, &key) || key > now_ms)
		return false;
	heap_remove(&ts->due, place);
	*id = ts->at[place].id;
	return true;
}

uint32_t
timers_turned(struct timers *ts, struct now now)
{
	uint32_t scope;

	if (!ts->turning)
		timers_scopes_due(ts, now.boot_ms);
	for (uint32_t i = 0;
	     !ts->turning && takes_several(ts) && i < ts->scopes_top; i++)
		if (ts->scopes[i].recount)
			recount(ts, i, now.server_ms);
	scope = timers_scopes_turned(ts, now);
	ts->turning = scope != NO_ID;
	return scope;
}

int64_t
timers_next_ms(const struct timers *ts)
{
	uint32_t place;
	int64_t next;

	return heap_top(&ts->due, &place, &next) ? next : STAMP_NONE;
}

bool
timers_own(const struct timers *ts, uint32_t id, int64_t now_ms)
{
	const struct timer *t = timers_at(ts, id);

	return t->used && (t->apart ? t->own : t->deadline_ms > now_ms);
}

bool
timers_scope_held(const struct timers *ts, uint32_t id)
{
	const struct timer *t = timers_at(ts, id);

	return t->used && t->scope != NO_SCOPE && ts->scopes[t->scope].held;
}

bool
timers_scope_may_turn(const struct timers *ts, uint32_t id)
{
	const struct timer *t = timers_at(ts, id);
	const struct scope *s;

	if (!t->used || t->scope == NO_SCOPE)
		return false;
	s = &ts->scopes[t->scope];
	return !s->busy && s->coming > 0;
}

/* Returns whether this timer keeps its scope busy for longer than the timer in
 * *q.  Of two timers with the same times, the one with the lower id counts as
 * later. */
static bool
is_later(const struct timer *t, int64_t at_ms, const struct quiet *q)
{
	if (at_ms != q->at_ms)
		return at_ms > q->at_ms;
	if (t->created_ms != q->created_ms)
		return t->created_ms > q->created_ms;
	return t->id < q->id;
}

struct quiet
timers_expects(const struct timers *ts, uint32_t scope, int64_t now_ms)
{
	struct quiet q = {
		.at_ms = STAMP_NONE, .id = NO_ID, .created_ms = STAMP_NONE};

	for (const struct timer *t = scope_first(ts, scope); t != NULL;
	     t = scope_next(ts, t)) {
		int64_t at = t->deadline_ms;

		if (!t->live)
			continue;
		if (t->booting && now_ms + t->hold_ms < at) {
			q.earliest = true;
			at = now_ms + t->hold_ms;
		}
		if (!is_later(t, at, &q))
			continue;
		q.at_ms = at;
		q.id = t->id;
		q.created_ms = t->created_ms;
	}
	return q;
}
