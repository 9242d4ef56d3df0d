/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CORE_WORLD_H
#define TESTS_CORE_WORLD_H

#include <check.h>
#include <stdlib.h>

#include "core/controller/controller.h"
#include "objects.h"
#include "run.h"

/*
 * A small API server in virtual time, with a controller before it: objects with
 * resourceVersions, watches that come late or not at all, replies that come
 * late, wrong or not at all.  controller_next is asked only when something was
 * seen or the time it named has come, so a wrong wait shows.
 */

#define THINGS 800
#define EVENTS 8192
#define FLIGHTS 32
#define DAY 86400000
#define START_BOOT 1000000
#define START_SERVER 1767323045000	/* 2026-01-02 */
#define FOR_EVER (1000 * (int64_t)DAY)

enum fault {
	FAULT_NONE,
	FAULT_LOST,	/* done, but no answer */
	FAULT_LATE,	/* no answer; done two seconds after that */
	FAULT_ERROR,	/* 500: nothing done */
	FAULT_BUSY,	/* 429 */
	FAULT_CONFLICT,	/* 409, though nothing has changed */
	FAULT_GONE,	/* 404, though it is there */
	FAULT_INVALID,	/* 422 */
	FAULT_REFUSED,	/* 403, or somebody's webhook that fails */
};

#define POOLS 8

struct thing {
	bool used;
	struct object o;
	unsigned writes;	/* of ours */
	int64_t held_ms, cleared_ms;	/* server time of our last of each */
};

struct event {
	int64_t at;
	bool deleted;
	struct object o;
};

struct flight {
	bool used, applied, has_read;
	enum fault fault;
	struct action a;
	struct controller_outcome out;
	int64_t apply_at, reply_at;
	struct object read;
	struct object *fresh;
	uint32_t fresh_n;
	struct nodepool nodepools[POOLS];
	uint32_t pools_n;
};

struct world {
	struct controller *s;
	struct counters counters;
	struct rules rules;
	struct dice dice;
	int64_t boot_ms, offset_ms, hint_ms;
	struct thing at[THINGS];
	struct event *events[KIND_COUNT];
	uint32_t first[KIND_COUNT], last[KIND_COUNT];
	struct nodepool nodepools[POOLS];	/* as the API server has them */
	uint32_t pools_n;
	bool up[KIND_COUNT], frozen[KIND_COUNT], unserved;
	struct flight flights[FLIGHTS];
	uint64_t rv;
	int64_t watch_ms, reply_ms, retry_after_ms;
	enum fault (*fault)(struct world *w, const struct action *a);
	unsigned acts[ACT_LIST_NODEPOOLS + 1];
	int64_t idle_since;
	unsigned idle;		/* calls that said "wait" in that second */
};

/* --- birth ---------------------------------------------------------------- */

static inline struct rules
rules_default(void)
{
	return (struct rules){
		.scope = SCOPE_CLUSTER,
		.hold_ms = 600000,
		.startup_ms = 900000,
		.min_scale_up = 1,
		.hold = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE},
		.include = {1, {"*"}},
		.exclude = {1, {"excluded"}},
	};
}

/* Most scenarios have neither NodePools nor Events. */
static inline struct controller *
controller_born(struct world *w, uint32_t max, uint64_t seed)
{
	struct controller *s =
		controller_new(&w->rules, max, seed, &w->counters);

	ck_assert_ptr_nonnull(s);
	for (int k = KIND_COUNT; k < VIEW_COUNT; k++) {
		controller_listing(s, (enum kind)k);
		controller_listed(s, (enum kind)k, true,
				  (struct now){START_SERVER, START_BOOT});
		controller_watch(s, (enum kind)k, true);
	}
	return s;
}

static inline struct world *
world_new(const struct rules *r, uint32_t max, uint64_t seed)
{
	struct world *w = calloc(1, sizeof(*w));

	ck_assert_ptr_nonnull(w);
	w->rules = *r;
	w->s = controller_born(w, max, seed);
	for (int k = 0; k < KIND_COUNT; k++) {
		w->events[k] = calloc(EVENTS, sizeof(struct event));
		ck_assert_ptr_nonnull(w->events[k]);
	}
	w->dice = dice_new(seed + 1);
	w->boot_ms = START_BOOT;
	w->offset_ms = START_SERVER - START_BOOT;
	w->hint_ms = STAMP_NONE;
	w->watch_ms = 30;
	w->reply_ms = 20;
	w->retry_after_ms = 2000;
	return w;
}

/* The process is killed, and starts again. */
static inline void
world_restart(struct world *w, uint64_t seed)
{
	for (int i = 0; i < FLIGHTS; i++)
		free(w->flights[i].fresh);
	memset(w->flights, 0, sizeof(w->flights));
	controller_free(w->s);
	w->s = controller_born(w, THINGS, seed);
}

static inline void
world_free(struct world *w)
{
	for (int i = 0; i < FLIGHTS; i++)
		free(w->flights[i].fresh);
	for (int k = 0; k < KIND_COUNT; k++)
		free(w->events[k]);
	controller_free(w->s);
	free(w);
}

static inline struct now
world_now(const struct world *w)
{
	return (struct now){w->boot_ms + w->offset_ms, w->boot_ms};
}

static inline int64_t
server_ms(const struct world *w)
{
	return w->boot_ms + w->offset_ms;
}

/* A NodePool is made or changed; its line comes at once, if it comes. */
static inline void
world_pool_quietly(struct world *w, const struct nodepool *p)
{
	uint32_t i = 0;

	while (i < w->pools_n && strcmp(w->nodepools[i].name, p->name) != 0)
		i++;
	ck_assert_uint_lt(i, POOLS);
	w->nodepools[i] = *p;
	if (i == w->pools_n)
		w->pools_n++;
}

static inline void
world_pool(struct world *w, const struct nodepool *p)
{
	world_pool_quietly(w, p);
	controller_nodepool(w->s, p, world_now(w));
}

static inline void
world_pool_gone(struct world *w, const char *name)
{
	for (uint32_t i = 0; i < w->pools_n; i++)
		if (strcmp(w->nodepools[i].name, name) == 0)
			w->nodepools[i] = w->nodepools[--w->pools_n];
}

/* --- objects -------------------------------------------------------------- */

static inline struct thing *
thing_find(struct world *w, enum kind kind, const char *name)
{
	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		if (t->used && t->o.kind == kind &&
		    strcmp(t->o.name, name) == 0)
			return t;
	return NULL;
}

static inline void
world_emit(struct world *w, const struct object *o, bool deleted)
{
	uint32_t *last = &w->last[o->kind];

	ck_assert_uint_lt(*last - w->first[o->kind], EVENTS);
	w->events[o->kind][(*last)++ % EVENTS] = (struct event){
		.at = w->boot_ms + 1 + roll(&w->dice, (uint32_t)w->watch_ms),
		.deleted = deleted,
		.o = *o,
	};
}

/* The object has changed: a new version, and a watch line. */
static inline void
thing_changed(struct world *w, struct thing *t)
{
	snprintf(t->o.rv, sizeof(t->o.rv), "%llu",
		 (unsigned long long)++w->rv);
	world_emit(w, &t->o, false);
}

static inline struct thing *
thing_add(struct world *w, const struct object *o)
{
	struct thing *t = w->at;

	while (t < w->at + THINGS && t->used)
		t++;
	ck_assert_msg(t < w->at + THINGS, "no room for more things");
	*t = (struct thing){.used = true, .o = *o};
	thing_changed(w, t);
	return t;
}

static inline void
thing_delete(struct world *w, struct thing *t)
{
	snprintf(t->o.rv, sizeof(t->o.rv), "%llu",
		 (unsigned long long)++w->rv);
	world_emit(w, &t->o, true);
	t->used = false;
}

static inline bool
thing_held(const struct thing *t)
{
	return t->o.hold == HOLD_SAME && t->o.mark != MARK_ABSENT;
}

static inline bool
thing_clear(const struct thing *t)
{
	return t->o.hold == HOLD_ABSENT && t->o.mark == MARK_ABSENT;
}

/* --- writes: what the API server does with a patch ------------------------ */

static inline bool
mark_tests(const struct thing *t, const struct action *a)
{
	if (strcmp(t->o.uid, a->uid) != 0)
		return false;
	if (a->mark_exact)
		return t->o.mark == MARK_TIME && t->o.mark_ms == a->mark_ms;
	return t->o.mark != MARK_ABSENT && strcmp(t->o.rv, a->rv) == 0;
}

static inline enum controller_code
apply_hold(struct world *w, struct thing *t, const struct action *a)
{
	if (strcmp(t->o.rv, a->rv) != 0)
		return CONTROLLER_CONFLICT;
	/* I1: what we write on was as we saw it, and nobody's. */
	ck_assert_msg(t->o.hold == HOLD_ABSENT && t->o.mark == MARK_ABSENT,
		      "%s: held over hold %d mark %d", t->o.name, t->o.hold,
		      t->o.mark);
	ck_assert_str_eq(a->hold.key, w->rules.hold.key);
	object_hold(&t->o, a->mark_ms);
	t->o.has_held_key = t->o.has_previous = false;
	t->held_ms = server_ms(w);
	return CONTROLLER_OK;
}

static inline enum controller_code
apply_clear(struct world *w, struct thing *t, const struct action *a)
{
	enum hold *h = strcmp(a->hold.key, w->rules.hold.key) == 0
			       ? &t->o.hold
			       : &t->o.previous_hold;

	if (!mark_tests(t, a))
		return CONTROLLER_INVALID;
	if (a->act == ACT_CLEAR) {
		if (h == &t->o.previous_hold &&
		    strcmp(a->hold.key, t->o.previous_key.key) != 0)
			return CONTROLLER_INVALID;
		if (*h != HOLD_SAME)
			return CONTROLLER_INVALID;
		*h = HOLD_ABSENT;
		t->cleared_ms = server_ms(w);
	}
	t->o.mark = MARK_ABSENT;
	if (a->has_held_key)
		t->o.has_held_key = t->o.has_previous = false;
	return CONTROLLER_OK;
}

static inline enum controller_code
apply_write(struct world *w, struct thing *t, const struct action *a)
{
	if (a->act == ACT_HOLD)
		return apply_hold(w, t, a);
	if (a->act != ACT_CLASSIFY)
		return apply_clear(w, t, a);
	if (strcmp(t->o.rv, a->rv) != 0)
		return CONTROLLER_CONFLICT;
	memcpy(t->o.replaces, a->replaces, sizeof(t->o.replaces));
	return CONTROLLER_OK;
}

static inline void
apply_list(struct world *w, struct flight *f)
{
	f->fresh = calloc(THINGS, sizeof(*f->fresh));
	ck_assert_ptr_nonnull(f->fresh);
	f->out.code = w->unserved ? CONTROLLER_GONE : CONTROLLER_OK;
	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		if (t->used && t->o.kind == KIND_NODECLAIM && !w->unserved)
			f->fresh[f->fresh_n++] = t->o;
}

static inline void
apply_list_pools(struct world *w, struct flight *f)
{
	f->out.code = CONTROLLER_OK;
	memcpy(f->nodepools, w->nodepools, sizeof(f->nodepools));
	f->pools_n = w->pools_n;
}

static inline void
apply(struct world *w, struct flight *f)
{
	const struct action *a = &f->a;
	struct thing *t = thing_find(w, a->kind, a->name);

	f->applied = true;
	if (a->act == ACT_LIST_CLAIMS) {
		apply_list(w, f);
		return;
	}
	if (a->act == ACT_LIST_NODEPOOLS) {
		apply_list_pools(w, f);
		return;
	}
	f->out.code = CONTROLLER_GONE;
	if (t == NULL)
		return;
	if (a->act == ACT_READ || a->act == ACT_READ_CLAIM) {
		if (a->act == ACT_READ_CLAIM &&
		    strcmp(t->o.uid, a->uid) != 0)
			return;
		f->has_read = true;
		f->read = t->o;
		f->out.code = CONTROLLER_OK;
		return;
	}
	f->out.code = apply_write(w, t, a);
	if (f->out.code != CONTROLLER_OK)
		return;
	t->writes++;
	thing_changed(w, t);
	memcpy(f->out.rv, t->o.rv, sizeof(f->out.rv));
}

#include "world_run.h"

#endif
