/* SPDX-License-Identifier: Apache-2.0 */
#include "core/holds.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int
holds_init(struct holds *h, const struct rules *rules, uint32_t ids_max)
{
	/* The owner gives zeroed memory: clearing it here would touch it. */
	h->kind = rules->scope;
	h->cap = rules->cap;
	h->timers = calloc(ids_max, sizeof(*h->timers));
	if (h->timers == NULL || heap_init(&h->due, ids_max)) {
		holds_done(h);
		return -1;
	}
	return 0;
}

void
holds_done(struct holds *h)
{
	free(h->timers);
	h->timers = NULL;
	heap_done(&h->due);
}

/* --- scopes ---------------------------------------------------------------- */

/* The pool's scope, made if need be; NO_ID when there are too many.  Dozens
 * of pools: a scan is as good as an index. */
static uint32_t
scope_of(struct holds *h, const char *pool)
{
	uint32_t spare = NO_ID;

	if (h->kind == SCOPE_CLUSTER)
		pool = "";
	for (uint32_t i = 0; i < h->scopes_top; i++) {
		const struct scope *s = &h->scopes[i];

		/* One that is free but held or dirty is yet to be reported. */
		if (s->timers == 0 && !s->held && !s->dirty &&
		    cap_is_none(&s->cap))
			spare = i;
		else if (strcmp(s->name, pool) == 0)
			return i;
	}
	if (spare == NO_ID && h->scopes_top < SCOPES_MAX)
		spare = h->scopes_top++;
	if (spare != NO_ID) {
		h->scopes[spare] = (struct scope){.cap = CAP_NONE,
						  .max_ms = h->cap.max_ms,
						  .told_ms = STAMP_NONE};
		h->made = true;
		(void)strncpy(h->scopes[spare].name, pool, POOL_BYTES - 1);
	}
	return spare;
}

static void
soil(struct holds *h, uint32_t scope)
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
		soil(h, scope);
}

/* The last one that was undecided: now it may end. */
static void
scope_undecided(struct holds *h, uint32_t scope, int delta)
{
	struct scope *s = &h->scopes[scope];

	s->undecided += (uint32_t)delta;
	if (s->undecided == 0 || s->was_busy)
		soil(h, scope);
}

static struct cap_rules
rules_of(const struct holds *h, const struct scope *s)
{
	return (struct cap_rules){s->max_ms, h->cap.window_ms};
}

static int64_t
scope_next_ms(const struct holds *h, const struct scope *s)
{
	struct cap_rules r = rules_of(h, s);

	return cap_next_ms(&s->cap, &r, s->busy);
}

static void
soil_due(struct holds *h, int64_t now_ms)
{
	for (uint32_t i = 0; i < h->scopes_top; i++) {
		int64_t at = scope_next_ms(h, &h->scopes[i]);

		if (at != STAMP_NONE && at <= now_ms)
			soil(h, i);
	}
}

static bool
same(const struct cap *a, const struct cap *b)
{
	return a->run_ms == b->run_ms && a->idle_ms == b->idle_ms &&
	       a->open_ms == b->open_ms;
}

void
holds_restore(struct holds *h, const char *name, const struct cap *cap)
{
	uint32_t i = scope_of(h, name);

	/* It may have begun to be held before this came to be known. */
	if (i == NO_ID || (h->scopes[i].cap.run_ms != STAMP_NONE &&
			   h->scopes[i].cap.run_ms < cap->run_ms))
		return;
	h->scopes[i].cap = *cap;
	h->scopes[i].was_busy = cap->run_ms != STAMP_NONE &&
				cap->idle_ms == STAMP_NONE;
	soil(h, i);
}

void
holds_seen(struct holds *h)
{
	for (uint32_t i = 0; i < h->scopes_top; i++)
		h->scopes[i].was_busy = false;
}

void
holds_cap(struct holds *h, uint32_t scope, int64_t max_ms)
{
	struct scope *s = &h->scopes[scope];

	if (h->kind != SCOPE_NODEPOOL || s->max_ms == max_ms)
		return;
	s->max_ms = max_ms;
	soil(h, scope);
}

void
holds_forget(struct holds *h)
{
	h->scopes_top = h->dirty_n = 0;
	h->changed = false;
}

void
holds_shifted(struct holds *h, int64_t now_ms)
{
	for (uint32_t i = 0; i < h->scopes_top; i++) {
		struct cap *c = &h->scopes[i].cap;

		if (cap_is_none(c))
			continue;
		c->run_ms = now_ms;
		c->open_ms = STAMP_NONE;
		if (c->idle_ms != STAMP_NONE)
			c->idle_ms = now_ms;
		soil(h, i);
		h->changed = true;
	}
}

void
holds_stay_open(struct holds *h, int64_t now_ms)
{
	for (uint32_t i = 0; i < h->scopes_top; i++) {
		struct cap *c = &h->scopes[i].cap;

		/* Who is quiet has no need of it, and may be held anew. */
		if (c->open_ms == STAMP_NONE || c->open_ms > now_ms ||
		    !h->scopes[i].busy)
			continue;
		c->open_ms = now_ms + h->cap.window_ms;
		soil(h, i);
		h->changed = true;
	}
}

void
holds_since(struct holds *h, uint32_t id, int64_t ms)
{
	const struct timer *t = &h->timers[id];
	struct cap *c;

	if (!t->used || t->scope == NO_ID)
		return;
	h->scopes[t->scope].was_busy = true;
	c = &h->scopes[t->scope].cap;
	if (c->open_ms != STAMP_NONE ||
	    (c->run_ms != STAMP_NONE && c->run_ms <= ms))
		return;
	c->run_ms = ms;
	soil(h, t->scope);
}

uint32_t
holds_turned(struct holds *h, struct now now)
{
	soil_due(h, now.server_ms);
	while (h->dirty_n > 0) {
		uint32_t i = h->dirty[--h->dirty_n];
		struct scope *s = &h->scopes[i];
		struct cap_rules r = rules_of(h, s);
		struct cap before = s->cap;
		bool held;

		s->busy = s->live > 0 ||
			  ((s->busy || s->was_busy) && s->undecided > 0);
		held = cap_step(&s->cap, &r, s->busy, now.server_ms);
		s->dirty = false;
		h->changed = h->changed || !same(&before, &s->cap);
		/* A window may open on one that was not yet held. */
		if (held == s->held &&
		    (!s->busy || s->cap.open_ms == STAMP_NONE ||
		     s->cap.open_ms == s->told_ms))
			continue;
		s->told_ms = s->cap.open_ms;
		s->held = held;
		s->latency_open = s->held;
		if (s->held)
			s->since_boot_ms = now.boot_ms;
		return i;
	}
	return NO_ID;
}

/* --- timers ------------------------------------------------------------------ */

static void
leave(struct holds *h, struct timer *t)
{
	if (!t->used)
		return;
	if (t->live)
		scope_count(h, t->scope, -1);
	if (t->undecided)
		scope_undecided(h, t->scope, -1);
	if (t->scope != NO_ID)
		h->scopes[t->scope].timers--;
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

int
holds_put(struct holds *h, uint32_t id, const struct timer_facts *f,
	  int64_t now_ms)
{
	struct timer *t = &h->timers[id];
	bool live, undecided;

	if (moved(h, t, f->pool))
		leave(h, t);
	if (!t->used && join(h, t, f->pool)) {
		heap_remove(&h->due, id);
		return -1;
	}
	t->deadline_ms = f->deadline_ms;
	t->counts_ms = f->counts_ms;
	t->counted = f->counts_ms != STAMP_NONE && f->counts_ms <= now_ms;
	live = t->scope != NO_ID && t->counted && f->deadline_ms > now_ms;
	undecided = t->scope != NO_ID && f->undecided && !t->counted &&
		    f->deadline_ms > now_ms;
	if (live != t->live)
		scope_count(h, t->scope, live ? 1 : -1);
	if (undecided != t->undecided)
		scope_undecided(h, t->scope, undecided ? 1 : -1);
	t->live = live;
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
	int64_t next, at;

	if (!heap_top(&h->due, &id, &next))
		next = STAMP_NONE;
	for (uint32_t i = 0; i < h->scopes_top; i++) {
		at = scope_next_ms(h, &h->scopes[i]);
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
holds_quiet_ms(const struct holds *h, uint32_t scope, uint32_t top)
{
	int64_t latest = STAMP_NONE;

	for (uint32_t id = 0; id < top; id++) {
		const struct timer *t = &h->timers[id];

		if (t->used && t->counted && t->scope == scope &&
		    t->deadline_ms > latest)
			latest = t->deadline_ms;
	}
	return latest;
}
