/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CORE_WORLD_RUN_H
#define TESTS_CORE_WORLD_RUN_H

/* The second half of world.h: how its time passes. */
#include "world.h"

static inline int64_t
sooner_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* --- flights -------------------------------------------------------------- */

static inline void
takeoff(struct world *w, struct flight *f, const struct action *a)
{
	bool silent;

	*f = (struct flight){.used = true, .a = *a};
	f->fault = w->fault != NULL ? w->fault(w, a) : FAULT_NONE;
	f->out = (struct controller_outcome){.code = CONTROLLER_FAILED,
					     .retry_after_ms = -1};
	silent = f->fault == FAULT_LOST || f->fault == FAULT_LATE;
	f->reply_at = w->boot_ms +
		      (silent ? CALL_MS
			      : 1 + roll(&w->dice, (uint32_t)w->reply_ms));
	f->apply_at = w->boot_ms;
	if (f->fault == FAULT_LATE)
		f->apply_at = w->boot_ms + CALL_MS + 2000;
	w->acts[a->act]++;
}

/* Before an answer by itself; FAULT_LATE even after the answer is given up. */
static inline void
try_apply(struct world *w, struct flight *f)
{
	struct controller_outcome failed = f->out;

	if (f->applied || f->apply_at > w->boot_ms)
		return;
	switch (f->fault) {
	case FAULT_NONE:
		apply(w, f);
		break;
	case FAULT_LOST:
	case FAULT_LATE:
		apply(w, f);
		f->out = failed;
		break;
	case FAULT_BUSY:
		f->out.code = CONTROLLER_BUSY;
		f->out.retry_after_ms = w->retry_after_ms;
		break;
	case FAULT_CONFLICT:
		f->out.code = CONTROLLER_CONFLICT;
		break;
	case FAULT_GONE:
		f->out.code = CONTROLLER_GONE;
		break;
	case FAULT_INVALID:
		f->out.code = CONTROLLER_INVALID;
		break;
	case FAULT_REFUSED:
		f->out.code = CONTROLLER_REFUSED;
		break;
	default:
		break;
	}
	f->applied = true;
}

static inline void
land(struct world *w, struct flight *f)
{
	if (f->out.code == CONTROLLER_OK && f->has_read)
		controller_found(w->s, &f->a, &f->read, world_now(w));
	for (uint32_t i = 0; f->out.code == CONTROLLER_OK && i < f->fresh_n;
	     i++)
		controller_fresh(w->s, &f->fresh[i]);
	for (uint32_t i = 0; f->out.code == CONTROLLER_OK && i < f->pools_n;
	     i++)
		controller_fresh_nodepool(w->s, &f->nodepools[i]);
	f->out.action = &f->a;
	controller_done(w->s, &f->out, world_now(w));
	f->reply_at = INT64_MAX;
}

static inline int64_t
run_flights(struct world *w)
{
	int64_t next = INT64_MAX;

	for (struct flight *f = w->flights; f < w->flights + FLIGHTS; f++) {
		if (!f->used)
			continue;
		try_apply(w, f);
		if (f->reply_at <= w->boot_ms)
			land(w, f);
		if (f->applied && f->reply_at == INT64_MAX) {
			free(f->fresh);
			f->fresh = NULL;
			f->used = false;
			continue;
		}
		next = sooner_of(next, f->reply_at);
		if (!f->applied)
			next = sooner_of(next, f->apply_at);
	}
	return next;
}

/* --- watches -------------------------------------------------------------- */

static inline int64_t
run_watches(struct world *w)
{
	int64_t next = INT64_MAX;

	for (int k = 0; k < KIND_COUNT; k++) {
		while (w->up[k] && !w->frozen[k] &&
		       w->first[k] != w->last[k]) {
			struct event *e = &w->events[k][w->first[k] % EVENTS];

			if (e->at > w->boot_ms) {
				next = sooner_of(next, e->at);
				break;
			}
			w->first[k]++;
			if (e->deleted)
				controller_forget(w->s, &e->o, world_now(w));
			else
				controller_track(w->s, &e->o, world_now(w));
		}
	}
	return next;
}

static inline void
world_watch(struct world *w, enum kind kind, bool up)
{
	w->up[kind] = up;
	controller_watch(w->s, kind, up);
}

/* A whole list, and the watch behind it. */
static inline void
world_list(struct world *w, enum kind kind)
{
	bool served = kind == KIND_NODE || !w->unserved;

	controller_listing(w->s, kind);
	w->first[kind] = w->last[kind];
	for (struct thing *t = w->at; served && t < w->at + THINGS; t++)
		if (t->used && t->o.kind == kind)
			controller_track(w->s, &t->o, world_now(w));
	controller_listed(w->s, kind, served, world_now(w));
	w->up[kind] = served;
	if (served)
		world_watch(w, kind, true);
}

/* --- time ----------------------------------------------------------------- */

/* No busy loop: a controller that says "wait" is asked again only so often. */
#define IDLE_MAX 400

static inline void
count_idle(struct world *w)
{
	if (w->boot_ms - w->idle_since >= 1000) {
		w->idle_since = w->boot_ms;
		w->idle = 0;
	}
	ck_assert_msg(++w->idle < 10 * IDLE_MAX, "asked %u times in a second",
		      w->idle);
}

/* Asks the controller.  Returns false, and for how long to wait, if there is
 * nothing to do. */
static inline bool
world_next(struct world *w, struct action *a, int64_t *wait_ms)
{
	struct controller_todo t;

	controller_admitted(w->s, w->hint_ms);
	t = controller_next(w->s, world_now(w));
	*a = t.action;
	*wait_ms = t.wait_ms;
	return t.step == CONTROLLER_ACT;
}

static inline void
world_done(struct world *w, const struct action *a, enum controller_code code)
{
	struct controller_outcome o = {.code = code, .action = a};

	controller_done(w->s, &o, world_now(w));
}

static inline int64_t
run_controller(struct world *w)
{
	struct action a;
	int64_t wait;

	for (struct flight *f = w->flights; f < w->flights + FLIGHTS; f++) {
		if (f->used)
			continue;
		if (!world_next(w, &a, &wait)) {
			count_idle(w);
			ck_assert_msg(wait > 0, "wait %lld at boot %lld",
				      (long long)wait, (long long)w->boot_ms);
			return wait == INT64_MAX ? wait : w->boot_ms + wait;
		}
		takeoff(w, f, &a);
	}
	return INT64_MAX;	/* no room: an answer comes first */
}

static inline bool
relist_if_wanted(struct world *w)
{
	bool any = false;

	for (int k = 0; k < KIND_COUNT; k++) {
		if (!controller_wants_list(w->s, (enum kind)k) || !w->up[k])
			continue;
		world_list(w, (enum kind)k);
		any = true;
	}
	return any;
}

/* Virtual time passes. */
static inline void
world_run(struct world *w, int64_t ms)
{
	int64_t end = w->boot_ms + ms, next;

	for (;;) {
		next = sooner_of(run_watches(w), run_flights(w));
		next = sooner_of(next, run_controller(w));
		while (relist_if_wanted(w))
			next = sooner_of(next, run_controller(w));
		next = sooner_of(next, run_flights(w));
		next = sooner_of(next, run_watches(w));
		if (next > end)
			break;
		w->boot_ms = next > w->boot_ms ? next : w->boot_ms + 1;
	}
	w->boot_ms = end;
}

static inline void
world_run_until(struct world *w, int64_t at_server_ms)
{
	ck_assert_int_ge(at_server_ms, server_ms(w));
	world_run(w, at_server_ms - server_ms(w));
}

/* --- what the scenarios are made of --------------------------------------- */

static inline void
world_open(struct world *w)
{
	world_list(w, KIND_NODE);
	world_list(w, KIND_NODECLAIM);
	world_run(w, 5000);
}

/* A machine ready since ready_ms: claim "cN" and its registered Node "nN". */
static inline void
machine_add(struct world *w, int n, const char *nodepool, int64_t ready_ms)
{
	char claim[16], node[16];
	struct object c, o;

	snprintf(claim, sizeof(claim), "c%d", n);
	snprintf(node, sizeof(node), "n%d", n);
	c = claim_new(claim, ready_ms - 60000);
	c.launched = c.launch_known = true;
	c.ready_ms = ready_ms;
	strcpy(c.node_name, node);
	o = node_new(node, claim, ready_ms - 20000);
	o.registered = true;
	strcpy(c.nodepool, nodepool);
	strcpy(o.nodepool, nodepool);
	thing_add(w, &c);
	thing_add(w, &o);
}

static inline struct thing *
node_at(struct world *w, int n)
{
	char name[16];
	struct thing *t;

	snprintf(name, sizeof(name), "n%d", n);
	t = thing_find(w, KIND_NODE, name);
	ck_assert_msg(t != NULL, "no Node %s", name);
	return t;
}

static inline struct thing *
claim_at(struct world *w, int n)
{
	char name[16];
	struct thing *t;

	snprintf(name, sizeof(name), "c%d", n);
	t = thing_find(w, KIND_NODECLAIM, name);
	ck_assert_msg(t != NULL, "no NodeClaim %s", name);
	return t;
}

static inline unsigned
count_held(struct world *w, enum kind kind)
{
	unsigned n = 0;

	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		n += t->used && t->o.kind == kind && thing_held(t);
	return n;
}

static inline unsigned
count_marked(struct world *w)
{
	unsigned n = 0;

	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		n += t->used && t->o.mark != MARK_ABSENT;
	return n;
}

#endif
