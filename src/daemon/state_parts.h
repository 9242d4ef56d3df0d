/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STATE_PARTS_H
#define DAEMON_STATE_PARTS_H

#include <pthread.h>

#include "moment.h"
#include "state.h"

/*
 * One mutex.  Watchers track under it, the sweeper asks for the next action
 * under it; the webhook never takes it.  `awake` keeps a list of 10,000
 * objects from waking the sweeper 10,000 times.
 */
struct state_table {
	pthread_mutex_t lock;
	pthread_cond_t stop, turn;	/* turn: of the lead, or lease_stop */
	struct controller *controller;
	struct lease *lease;		/* NULL: no election */
	bool restored;			/* the soft state, for this lead */
	char soft[LEASE_STATE_BYTES];
	int64_t soft_ms, soft_boot_ms;	/* without election: written so often;
					   when it was last */
	bool leads, lease_stopped;
	bool turned[VIEW_COUNT];	/* what is under way is of another lead */
	_Atomic(struct kube_lanes *) pool;
	_Atomic bool awake;
};

static inline struct controller *
lock(struct state *s)
{
	(void)pthread_mutex_lock(&s->table->lock);
	return s->table->controller;
}

static inline void
unlock(struct state *s)
{
	(void)pthread_mutex_unlock(&s->table->lock);
}

/* After the table changed. */
static inline void
unlock_and_wake(struct state *s)
{
	struct kube_lanes *pool;

	unlock(s);
	pool = atomic_load(&s->table->pool);
	if (pool != NULL && !atomic_exchange(&s->table->awake, true))
		kube_lanes_wake(pool);
}

/* The controller follows the Lease, whoever notices first that it is over.
 * Under the lock. */
void state_follow(struct state *s, struct now now);
void state_soft(struct state *s, struct now now);

#endif
