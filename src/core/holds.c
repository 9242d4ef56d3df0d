/* SPDX-License-Identifier: Apache-2.0 */
#include "core/holds.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int
holds_init(struct holds *h, enum scope_kind kind, uint32_t ids_max)
{
	/* The owner gives zeroed memory: clearing it here would touch it. */
	h->kind = kind;
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
		if (s->timers == 0 && !s->held && !s->dirty)
			spare = i;
		else if (strcmp(s->name, pool) == 0)
			return i;
	}
	if (spare == NO_ID && h->scopes_top < SCOPES_MAX)
		spare = h->scopes_top++;
	if (spare != NO_ID) {
		h->scopes[spare] = (struct scope){0};
		(void)strncpy(h->scopes[spare].name, pool, POOL_BYTES - 1);
	}
	return spare;
}

static void
scope_count(struct holds *h, uint32_t scope, int delta)
{
	struct scope *s = &h->scopes[scope];

	s->live += (uint32_t)delta;
	/* Compared later, so that a move of the last deadline is no end. */
	if ((s->live > 0) == s->held || s->dirty)
		return;
	s->dirty = true;
	h->dirty[h->dirty_n++] = scope;
}

uint32_t
holds_turned(struct holds *h, struct now now)
{
	while (h->dirty_n > 0) {
		uint32_t i = h->dirty[--h->dirty_n];
		struct scope *s = &h->scopes[i];

		s->dirty = false;
		if ((s->live > 0) == s->held)
			continue;
		s->held = s->live > 0;
		s->latency_open = s->held;
		if (s->held) {
			s->since_ms = now.server_ms;
			s->since_boot_ms = now.boot_ms;
		}
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
holds_put(struct holds *h, uint32_t id, const char *pool, int64_t deadline_ms,
	  int64_t counts_ms, int64_t now_ms)
{
	struct timer *t = &h->timers[id];
	bool live;

	if (moved(h, t, pool))
		leave(h, t);
	if (!t->used && join(h, t, pool)) {
		heap_remove(&h->due, id);
		return -1;
	}
	t->deadline_ms = deadline_ms;
	t->counts_ms = counts_ms;
	t->counted = counts_ms != STAMP_NONE && counts_ms <= now_ms;
	live = t->scope != NO_ID && t->counted && deadline_ms > now_ms;
	if (live != t->live)
		scope_count(h, t->scope, live ? 1 : -1);
	t->live = live;
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
	int64_t key;

	return heap_top(&h->due, &id, &key) ? key : STAMP_NONE;
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
