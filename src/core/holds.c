/* SPDX-License-Identifier: Apache-2.0 */
#include "core/holds.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/sort.h"

int
holds_init(struct holds *h, const struct rules *rules, uint32_t ids_max,
	   uint32_t extra)
{
	/* The owner gives zeroed memory: clearing it here would touch it. */
	h->kind = rules->scope;
	h->cap = rules->cap;
	h->min_scale_up = rules->min_scale_up;
	h->ids_max = ids_max;
	h->extra = ids_max - extra;
	h->timers = calloc(ids_max, sizeof(*h->timers));
	h->order = calloc(ids_max, sizeof(*h->order));
	if (h->timers == NULL || h->order == NULL ||
	    heap_init(&h->due, ids_max)) {
		holds_done(h);
		return -1;
	}
	return 0;
}

void
holds_done(struct holds *h)
{
	free(h->timers);
	free(h->order);
	h->timers = NULL;
	h->order = NULL;
	heap_done(&h->due);
}

/* --- all timers, without a look at memory that was never used ----------------- */

static uint32_t
first_id(const struct holds *h)
{
	return h->top > 0 ? 0 : h->extra;
}

static uint32_t
next_id(const struct holds *h, uint32_t id)
{
	return id + 1 == h->top ? h->extra : id + 1;
}

/* --- scopes ---------------------------------------------------------------- */

static struct cap_rules
rules_of(const struct holds *h, const struct scope *s)
{
	return (struct cap_rules){s->max_ms, h->cap.window_ms};
}

/* Nobody would miss it: not one that is yet to be reported, or whose past is
 * not over. */
static bool
is_spare(const struct scope *s)
{
	return s->timers == 0 && !s->held && !s->dirty && s->cap.debt_ms == 0 &&
	       s->cap.window_ms == 0 && !s->was_busy;
}

static void
scope_make(struct holds *h, uint32_t scope, const char *pool)
{
	h->scopes[scope] = (struct scope){
		.max_ms = h->cap.max_ms,
		.released_ms = STAMP_NONE,
	};
	h->made = true;
	(void)str_copy(h->scopes[scope].name, POOL_BYTES, pool);
}

/* The pool's scope, made if need be; NO_ID when there are too many.  Dozens
 * of pools: a scan is as good as an index. */
static uint32_t
scope_of(struct holds *h, const char *pool)
{
	uint32_t spare = NO_ID;

	if (h->kind == SCOPE_CLUSTER)
		pool = "";
	for (uint32_t i = 0; i < h->scopes_top; i++) {
		if (is_spare(&h->scopes[i]))
			spare = i;
		else if (strcmp(h->scopes[i].name, pool) == 0)
			return i;
	}
	if (spare == NO_ID && h->scopes_top < SCOPES_MAX)
		spare = h->scopes_top++;
	if (spare != NO_ID)
		scope_make(h, spare, pool);
	return spare;
}

static void
mark_dirty(struct holds *h, uint32_t scope)
{
	if (h->scopes[scope].dirty)
		return;
	h->scopes[scope].dirty = true;
	h->dirty[h->dirty_n++] = scope;
}

/* Compared later, so that a move of the last deadline is no end. */
static void
scope_count(struct holds *h, uint32_t scope, int delta)
{
	struct scope *s = &h->scopes[scope];
	bool busy = s->live > 0;

	s->live += (uint32_t)delta;
	if (busy != (s->live > 0))
		mark_dirty(h, scope);
}

/* The last one that was undecided: now it may end. */
static void
scope_undecided(struct holds *h, uint32_t scope, int delta)
{
	struct scope *s = &h->scopes[scope];

	s->undecided += (uint32_t)delta;
	if (s->undecided == 0 || s->was_busy)
		mark_dirty(h, scope);
}

static void
mark_due(struct holds *h, int64_t boot_ms)
{
	for (uint32_t i = 0; i < h->scopes_top; i++) {
		struct cap_rules r = rules_of(h, &h->scopes[i]);
		int64_t at = cap_next_ms(&h->scopes[i].cap, &r);

		if (at != STAMP_NONE && at <= boot_ms)
			mark_dirty(h, i);
	}
}

void
holds_restore(struct holds *h, const char *name, const struct cap *cap,
	      int64_t max_ms, bool held, int64_t at_ms, struct now now)
{
	uint32_t i = scope_of(h, name);
	struct cap_rules r;
	struct scope *s;

	if (i == NO_ID)
		return;
	s = &h->scopes[i];
	r = rules_of(h, s);
	/* It may have begun to be held before this came to be known. */
	cap_settle(&s->cap, &r, now.boot_ms);
	s->max_ms = max_ms;
	if (!held)
		s->cap.debt_ms += cap->debt_ms;
	else if (cap->debt_ms > s->cap.debt_ms)
		s->cap.debt_ms = cap->debt_ms;
	s->cap.window_ms = cap->window_ms;
	s->was_busy = held;
	s->released_ms = at_ms;
	h->changed = true;
	mark_dirty(h, i);
}

bool
holds_keeps(const struct holds *h, uint32_t scope, int64_t boot_ms)
{
	const struct scope *s = &h->scopes[scope];
	struct cap_rules r = rules_of(h, s);

	return s->held || !cap_is_none(&s->cap, &r, boot_ms);
}

void
holds_seen(struct holds *h)
{
	h->seen = true;
	for (uint32_t i = 0; i < h->scopes_top; i++) {
		if (!h->scopes[i].was_busy)
			continue;
		h->scopes[i].was_busy = false;
		mark_dirty(h, i);
	}
}

void
holds_cap(struct holds *h, uint32_t scope, int64_t max_ms, int64_t boot_ms)
{
	struct scope *s = &h->scopes[scope];
	struct cap_rules r = rules_of(h, s);

	if (h->kind != SCOPE_NODEPOOL || s->max_ms == max_ms)
		return;
	cap_settle(&s->cap, &r, boot_ms);
	s->max_ms = max_ms;
	mark_dirty(h, scope);
}

void
holds_released(struct holds *h, uint32_t scope, int64_t released_ms,
	       struct now now)
{
	struct scope *s = &h->scopes[scope];
	struct cap_rules r = rules_of(h, s);
	int64_t since = now.server_ms - released_ms;

	if (released_ms == STAMP_NONE)
		return;
	/* One that was there when the window opened did not end it. */
	if (released_ms > s->released_ms) {
		s->released_ms = released_ms;
		cap_settle(&s->cap, &r, now.boot_ms);
		if (s->cap.window_ms > 0)
			s->cap.debt_ms = s->cap.window_ms = 0;
		mark_dirty(h, scope);
	}
	h->changed |= cap_limit(&s->cap, &r, since > 0 ? since : 0,
				now.boot_ms);
}

void
holds_forget(struct holds *h)
{
	h->scopes_top = h->dirty_n = 0;
	h->changed = h->usable = h->seen = false;
}

void
holds_shift(struct holds *h, int64_t by_ms)
{
	for (uint32_t i = 0; i < h->scopes_top; i++) {
		struct scope *s = &h->scopes[i];

		if (s->released_ms != STAMP_NONE)
			s->released_ms += by_ms;
		if (s->told.created_ms != STAMP_NONE)
			s->told.created_ms += by_ms;
		if (s->told.at_ms != STAMP_NONE)
			s->told.at_ms += by_ms;
	}
}

void
holds_usable(struct holds *h, bool usable)
{
	if (h->usable == usable)
		return;
	h->usable = usable;
	for (uint32_t i = 0; i < h->scopes_top; i++)
		mark_dirty(h, i);
}

void
holds_guess(struct holds *h, uint32_t id, int64_t debt_ms, int64_t boot_ms)
{
	const struct timer *t = &h->timers[id];
	struct cap_rules r;
	struct scope *s;

	if (!t->used || t->scope == NO_ID)
		return;
	s = &h->scopes[t->scope];
	r = rules_of(h, s);
	s->was_busy = true;
	mark_dirty(h, t->scope);
	if (debt_ms <= cap_debt_ms(&s->cap, &r, boot_ms))
		return;
	cap_settle(&s->cap, &r, boot_ms);
	s->cap.debt_ms = debt_ms;
}

/* --- minScaleUp --------------------------------------------------------------- */

static bool
created_before(const void *ctx, uint32_t a, uint32_t b)
{
	const struct timer *timers = ctx;

	if (timers[a].created_ms != timers[b].created_ms)
		return timers[a].created_ms < timers[b].created_ms;
	return a < b;
}

static void
set_live(struct holds *h, struct timer *t, int64_t now_ms)
{
	bool live = t->scope != NO_ID && t->counted && t->enough &&
		    t->deadline_ms > now_ms;

	if (live != t->live)
		scope_count(h, t->scope, live ? 1 : -1);
	t->live = live;
}

/* How many of the n in h->order were created within its hold period, before or
 * after?  They are sorted; *first and *end only ever move on where all hold
 * periods are the same, and back a little where they are not. */
static uint32_t
neighbours(const struct holds *h, const struct timer *t, uint32_t n,
	   uint32_t *first, uint32_t *end)
{
	const struct timer *all = h->timers;

	while (*first > 0 && all[h->order[*first - 1]].created_ms >=
				     t->created_ms - t->hold_ms)
		(*first)--;
	while (all[h->order[*first]].created_ms < t->created_ms - t->hold_ms)
		(*first)++;
	while (*end > 0 && all[h->order[*end - 1]].created_ms >
				   t->created_ms + t->hold_ms)
		(*end)--;
	while (*end < n && all[h->order[*end]].created_ms <=
				   t->created_ms + t->hold_ms)
		(*end)++;
	return *end - *first;
}

static void
recount(struct holds *h, uint32_t scope, int64_t now_ms)
{
	uint32_t n = 0, first = 0, end = 0;

	h->scopes[scope].recount = false;
	for (uint32_t id = first_id(h); id < h->ids_max; id = next_id(h, id))
		if (h->timers[id].used && h->timers[id].counted &&
		    h->timers[id].scope == scope)
			h->order[n++] = id;
	ids_sort(h->order, n, created_before, h->timers);
	for (uint32_t i = 0; i < n; i++) {
		struct timer *t = &h->timers[h->order[i]];

		t->enough = neighbours(h, t, n, &first, &end) >=
			    h->min_scale_up;
		set_live(h, t, now_ms);
	}
}

/* --- turns -------------------------------------------------------------------- */

static bool
same_cap(const struct cap *a, const struct cap *b)
{
	return a->grows == b->grows && a->usable == b->usable &&
	       a->debt_ms == b->debt_ms && a->window_ms == b->window_ms;
}

/* Does it turn?  A window may open on one that was not yet held. */
static bool
scope_step(struct holds *h, struct scope *s, struct now now)
{
	struct cap_rules r = rules_of(h, s);
	struct cap before = s->cap;
	bool held, window;

	s->busy = s->live > 0 ||
		  ((s->busy || s->was_busy) && s->undecided > 0);
	held = cap_step(&s->cap, &r, s->busy, s->was_busy && !h->seen,
			h->usable, now.boot_ms);
	h->changed = h->changed || !same_cap(&before, &s->cap);
	if (before.window_ms == 0 && s->cap.window_ms > 0 &&
	    s->released_ms < now.server_ms)
		s->released_ms = now.server_ms;
	window = s->busy && s->cap.window_ms > 0;
	if (s->cap.window_ms == 0)
		s->told_window = false;
	if (held == s->held && (!window || s->told_window))
		return false;
	s->told_window = window;
	s->held = s->latency_open = held;
	if (held)
		s->since_boot_ms = now.boot_ms;
	return true;
}

uint32_t
holds_turned(struct holds *h, struct now now)
{
	mark_due(h, now.boot_ms);
	for (uint32_t i = 0; h->min_scale_up > 1 && i < h->scopes_top; i++)
		if (h->scopes[i].recount)
			recount(h, i, now.server_ms);
	while (h->dirty_n > 0) {
		uint32_t i = h->dirty[--h->dirty_n];

		h->scopes[i].dirty = false;
		if (scope_step(h, &h->scopes[i], now))
			return i;
	}
	return NO_ID;
}

/* --- timers ------------------------------------------------------------------ */

/* One of those that count comes, goes or moves. */
static void
scope_changed(struct holds *h, uint32_t scope)
{
	h->scopes[scope].recount = h->scopes[scope].moved = true;
}

static void
leave(struct holds *h, struct timer *t)
{
	if (!t->used)
		return;
	if (t->live)
		scope_count(h, t->scope, -1);
	if (t->undecided)
		scope_undecided(h, t->scope, -1);
	if (t->scope != NO_ID) {
		h->scopes[t->scope].timers--;
		if (t->counted)
			scope_changed(h, t->scope);
	}
	*t = (struct timer){0};
}

void
holds_drop(struct holds *h, uint32_t id)
{
	leave(h, &h->timers[id]);
	heap_remove(&h->due, id);
}

static bool
moved(const struct holds *h, const struct timer *t, const char *pool)
{
	return t->used && h->kind == SCOPE_NODEPOOL &&
	       (t->scope == NO_ID ||
		strcmp(h->scopes[t->scope].name, pool) != 0);
}

static int
join(struct holds *h, struct timer *t, const char *pool)
{
	uint32_t scope = NO_ID;

	if (h->kind != SCOPE_NODE) {
		scope = scope_of(h, pool);
		if (scope == NO_ID)
			return -1;
		h->scopes[scope].timers++;
	}
	*t = (struct timer){.used = true, .scope = scope};
	return 0;
}

/* The next moment at which time alone changes something. */
static void
schedule(struct holds *h, uint32_t id, int64_t now_ms)
{
	const struct timer *t = &h->timers[id];

	if (t->deadline_ms <= now_ms)
		heap_remove(&h->due, id);
	else if (t->counts_ms > now_ms && t->counts_ms < t->deadline_ms)
		heap_set(&h->due, id, t->counts_ms);
	else
		heap_set(&h->due, id, t->deadline_ms);
}

static bool
same_facts(const struct timer *a, const struct timer *b)
{
	return a->counted == b->counted && a->booting == b->booting &&
	       a->deadline_ms == b->deadline_ms &&
	       a->created_ms == b->created_ms && a->hold_ms == b->hold_ms;
}

int
holds_put(struct holds *h, uint32_t id, const struct timer_facts *f,
	  int64_t now_ms)
{
	struct timer *t = &h->timers[id], was;
	bool undecided;

	if (moved(h, t, f->pool))
		leave(h, t);
	if (!t->used && join(h, t, f->pool)) {
		heap_remove(&h->due, id);
		return -1;
	}
	was = *t;
	if (id < h->extra && id >= h->top)
		h->top = id + 1;
	t->deadline_ms = f->deadline_ms;
	t->counts_ms = f->counts_ms;
	t->created_ms = f->created_ms;
	t->hold_ms = f->hold_ms;
	t->booting = f->booting;
	t->counted = f->counts_ms != STAMP_NONE && f->counts_ms <= now_ms;
	undecided = t->scope != NO_ID && f->undecided && !t->counted &&
		    f->deadline_ms > now_ms;
	if (t->scope != NO_ID && (t->counted || was.counted) &&
	    !same_facts(t, &was))
		scope_changed(h, t->scope);
	/* With minScaleUp it is counted together with the others. */
	if (!t->counted || h->min_scale_up <= 1)
		t->enough = t->counted;
	set_live(h, t, now_ms);
	if (undecided != t->undecided)
		scope_undecided(h, t->scope, undecided ? 1 : -1);
	t->undecided = undecided;
	schedule(h, id, now_ms);
	return 0;
}

bool
holds_due(struct holds *h, int64_t now_ms, uint32_t *id)
{
	int64_t key;

	if (!heap_top(&h->due, id, &key) || key > now_ms)
		return false;
	heap_remove(&h->due, *id);
	return true;
}

int64_t
holds_next_ms(const struct holds *h)
{
	uint32_t id;
	int64_t next;

	return heap_top(&h->due, &id, &next) ? next : STAMP_NONE;
}

int64_t
holds_cap_next_ms(const struct holds *h)
{
	int64_t next = STAMP_NONE, at;

	for (uint32_t i = 0; i < h->scopes_top; i++) {
		struct cap_rules r = rules_of(h, &h->scopes[i]);

		at = cap_next_ms(&h->scopes[i].cap, &r);
		if (at != STAMP_NONE && (next == STAMP_NONE || at < next))
			next = at;
	}
	return next;
}

bool
holds_own(const struct holds *h, uint32_t id, int64_t now_ms)
{
	const struct timer *t = &h->timers[id];

	return t->used && t->deadline_ms > now_ms;
}

bool
holds_scope_held(const struct holds *h, uint32_t id)
{
	const struct timer *t = &h->timers[id];

	return t->used && t->scope != NO_ID && h->scopes[t->scope].held;
}

int64_t
holds_quiet_ms(const struct holds *h, uint32_t scope)
{
	int64_t latest = STAMP_NONE;

	for (uint32_t id = first_id(h); id < h->ids_max; id = next_id(h, id)) {
		const struct timer *t = &h->timers[id];

		if (t->used && t->enough && t->scope == scope &&
		    t->deadline_ms > latest)
			latest = t->deadline_ms;
	}
	return latest;
}

struct quiet
holds_expects(const struct holds *h, uint32_t scope, int64_t now_ms)
{
	struct quiet q = {.at_ms = STAMP_NONE, .id = NO_ID,
			  .created_ms = STAMP_NONE};

	for (uint32_t id = first_id(h); id < h->ids_max; id = next_id(h, id)) {
		const struct timer *t = &h->timers[id];
		int64_t at = t->deadline_ms;

		if (!t->used || !t->live || t->scope != scope)
			continue;
		if (t->booting && now_ms + t->hold_ms < at) {
			q.earliest = true;
			at = now_ms + t->hold_ms;
		}
		if (at < q.at_ms ||
		    (at == q.at_ms && t->created_ms <= q.created_ms))
			continue;
		q.at_ms = at;
		q.id = id;
		q.created_ms = t->created_ms;
	}
	return q;
}
