/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include <stdlib.h>
#include <sys/random.h>

#include "moment.h"
#include "state_parts.h"

/*
 * The functions of state.h that are about the table.  Each function reads the
 * clock, locks the mutex, calls the function of core/controller with the same
 * name, unlocks, and wakes the sweeper if there may be something to do.
 * Functions about NodePools also update disabled_nodepools, which has a lock of
 * its own.  state_lease.c has the functions for the Lease, and state_status.c
 * those for /status.
 */

static void
locks_init(struct state_table *t)
{
	pthread_condattr_t attr;

	(void)pthread_mutex_init(&t->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&t->stop, &attr);
	(void)pthread_cond_init(&t->turn, &attr);
	(void)pthread_condattr_destroy(&attr);
}

static int
parts_new(struct state *s, const struct rules *rules, uint32_t machines_max)
{
	uint64_t seed = clock_boot_us();

	/* If the kernel has no randomness yet, only the time is used. */
	(void)!getrandom(&seed, sizeof(seed), GRND_NONBLOCK);
	s->clock = clock_new();
	s->disabled_nodepools = disabled_nodepools_new();
	s->table = calloc(1, sizeof(*s->table));
	if (s->table == NULL)
		return -1;
	locks_init(s->table);
	s->hold = rules->hold;
	s->table->leads = true;
	s->table->controller =
		controller_new(rules, machines_max, seed, &s->counters);
	return s->clock == NULL || s->disabled_nodepools == NULL ||
			       s->table->controller == NULL
		       ? -1
		       : 0;
}

struct state *
state_new(const struct rules *rules, uint32_t machines_max, struct err *e)
{
	struct state *s = calloc(1, sizeof(*s));

	if (s != NULL)
		(void)pthread_mutex_init(&s->hold_lock, NULL);
	if (s == NULL || parts_new(s, rules, machines_max)) {
		state_free(s);
		err_set(e, ERR_SYSTEM, "no memory for the table");
		return NULL;
	}
	return s;
}

void
state_free(struct state *s)
{
	if (s == NULL)
		return;
	if (s->table != NULL) {
		controller_free(s->table->controller);
		free(s->table->lease);
		(void)pthread_mutex_destroy(&s->table->lock);
		(void)pthread_cond_destroy(&s->table->stop);
		(void)pthread_cond_destroy(&s->table->turn);
		free(s->table);
	}
	(void)pthread_mutex_destroy(&s->hold_lock);
	disabled_nodepools_free(s->disabled_nodepools);
	clock_free(s->clock);
	free(s);
}

void
state_sweeper(struct state *s, struct kube_lanes *lanes)
{
	atomic_store(&s->table->lanes, lanes);
}

void
state_listing(struct state *s, enum kind kind)
{
	if (kind == KIND_NODEPOOL)
		disabled_nodepools_listing(s->disabled_nodepools);
	controller_listing(lock(s), kind);
	if (kind == KIND_NODEPOOL)
		s->table->nodepools_skipped = false;
	unlock(s);
}

void
state_listed(struct state *s, enum kind kind, bool served)
{
	struct now now = clock_now(s->clock);
	bool whole;

	controller_listed(lock(s), kind, served, now);
	whole = served && !s->table->nodepools_skipped;
	unlock_and_wake(s);
	/* The set keeps the entry of a NodePool that was left out of the list,
	 * so only a whole list drops names. */
	if (kind == KIND_NODEPOOL && whole)
		disabled_nodepools_listed(s->disabled_nodepools);
}

void
state_watch(struct state *s, enum kind kind, bool up)
{
	controller_watch(lock(s), kind, up);
	unlock_and_wake(s);
}

void
state_skipped(struct state *s, enum kind kind)
{
	struct now now = clock_now(s->clock);

	controller_skipped(lock(s), kind, now);
	s->table->nodepools_skipped |= kind == KIND_NODEPOOL;
	unlock_and_wake(s);
}

void
state_track(struct state *s, const struct object *o)
{
	struct now now = clock_now(s->clock);

	controller_track(lock(s), o, now);
	unlock_and_wake(s);
}

void
state_forget(struct state *s, const struct object *o)
{
	struct now now = clock_now(s->clock);

	controller_forget(lock(s), o, now);
	unlock_and_wake(s);
}

void
state_nodepool(struct state *s, const struct nodepool *p)
{
	struct now now = clock_now(s->clock);

	/* If the spec could not be read, the webhook's set keeps what it has of
	 * the NodePool. */
	if (!p->unread || p->disabled)
		disabled_nodepools_set(s->disabled_nodepools, p->name,
				       nodepool_alone_ms(p));
	controller_nodepool(lock(s), p, now);
	s->table->nodepools_skipped |= p->unread;
	unlock_and_wake(s);
}

void
state_nodepool_gone(struct state *s, const char *name)
{
	struct now now = clock_now(s->clock);

	disabled_nodepools_set(s->disabled_nodepools, name, INT64_MAX);
	controller_nodepool_gone(lock(s), name, now);
	unlock_and_wake(s);
}

void
state_ticket(struct state *s, const struct ticket *t)
{
	struct now now = clock_now(s->clock);

	controller_ticket(lock(s), t, now);
	unlock_and_wake(s);
}

void
state_ticket_gone(struct state *s, const char *name)
{
	struct now now = clock_now(s->clock);

	controller_ticket_gone(lock(s), name, now);
	unlock_and_wake(s);
}

void
state_disruption_event(struct state *s, const char *claim_uid,
		       const char *reason)
{
	struct now now = clock_now(s->clock);

	controller_disruption_event(lock(s), claim_uid, reason, now);
	unlock_and_wake(s);
}

bool
state_wants_list(struct state *s, enum kind kind)
{
	bool wants = controller_wants_list(lock(s), kind);

	unlock(s);
	return wants;
}

struct controller_todo
state_next(struct state *s)
{
	struct now now = clock_now(s->clock);
	struct controller_todo todo;

	/* `awake` is cleared before the table is read, so that any later change
	 * wakes the sweeper again. */
	atomic_store(&s->table->awake, false);
	(void)lock(s);
	state_follow(s, now);
	state_soft(s, now);
	todo = controller_next(s->table->controller, now);
	/* Only writes have a fence.  A read may end after another replica has
	 * begun to lead. */
	if (todo.step == CONTROLLER_ACT && act_writes(todo.action.act) &&
	    s->table->lease != NULL)
		todo.action.fence_ms = lease_fence_ms(s->table->lease);
	unlock(s);
	return todo;
}

void
state_done(struct state *s, const struct controller_outcome *o)
{
	struct now now = clock_now(s->clock);

	controller_done(lock(s), o, now);
	unlock(s);
}

void
state_found(struct state *s, const struct action *a, const struct object *o)
{
	struct now now = clock_now(s->clock);

	controller_found(lock(s), a, o, now);
	unlock(s);
}

void
state_fresh(struct state *s, const struct object *claim)
{
	struct now now = clock_now(s->clock);

	controller_fresh(lock(s), claim, now);
	unlock(s);
}

void
state_fresh_nodepool(struct state *s, const struct nodepool *p)
{
	controller_fresh_nodepool(lock(s), p);
	unlock(s);
}

void
state_fresh_ticket(struct state *s, const struct ticket *t)
{
	struct now now = clock_now(s->clock);

	controller_fresh_ticket(lock(s), t, now);
	unlock(s);
}

bool
state_note(struct state *s, struct note *out)
{
	bool any = controller_note(lock(s), out);

	unlock(s);
	return any;
}

void
state_report(struct state *s, struct controller_report *out)
{
	controller_report(lock(s), out);
	unlock(s);
}

bool
state_scope(struct state *s, const struct figures *f, uint32_t *i,
	    struct scope_report *out)
{
	bool any = controller_scope(lock(s), f, i, out);

	unlock(s);
	return any;
}

bool
state_nodepool_at(struct state *s, uint32_t *i, struct nodepool_report *out)
{
	bool any = controller_nodepool_at(lock(s), i, out);

	unlock(s);
	return any;
}

void
state_stop(struct state *s)
{
	(void)lock(s);
	atomic_store(&s->stopping, true);
	atomic_store(&s->table->awake, false);
	(void)pthread_cond_broadcast(&s->table->stop);
	(void)pthread_cond_broadcast(&s->table->turn);
	unlock_and_wake(s);
}

bool
state_sleep(struct state *s, int64_t ms)
{
	struct timespec until = moment_after(ms);
	bool stopping;

	(void)lock(s);
	while (!atomic_load(&s->stopping) &&
	       pthread_cond_timedwait(&s->table->stop, &s->table->lock,
				      &until) == 0)
		;
	stopping = atomic_load(&s->stopping);
	unlock(s);
	return stopping;
}
