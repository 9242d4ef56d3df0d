/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STATE_PARTS_H
#define DAEMON_STATE_PARTS_H

#include <pthread.h>

#include "state.h"

/*
 * The part of the state that the one mutex protects.  Only state.c,
 * state_lease.c and state_status.c include this header.  Watchers track objects
 * under the mutex, and the sweeper asks for the next action under it.  The
 * webhook never takes the mutex.  `awake` says that the sweeper was woken and
 * has not yet asked for its next action.  Without this flag a list of 10,000
 * objects would wake the sweeper 10,000 times.
 */
struct state_table {
	pthread_mutex_t lock;
	/* `turn` signals that the lead has changed or that the Lease has to be
	 * given up */
	pthread_cond_t stop, turn;
	struct controller *controller;
	struct lease *lease; /* NULL if no Lease is kept */
	char lease_delete[LEASE_COMMAND_BYTES];
	/* Whether the soft state has been restored, and the history passed to
	 * the controller (recall), since the present lead began. */
	bool restored, recalled;
	char soft[LEASE_STATE_BYTES], history[LEASE_HISTORY_BYTES];
	/* Without leader election the soft state is written every soft_ms.
	 * soft_boot_ms is the boot time of the last write. */
	int64_t soft_ms, soft_boot_ms;
	bool leads, lease_stopped;
	/* Whether a NodePool was left out since the last list of NodePools
	 * began. */
	bool nodepools_skipped;
	/* Whether the lead has changed since this kind was listed or watched
	 * (state_lead_turned). */
	bool turned[VIEW_COUNT];
	_Atomic(struct kube_lanes *) lanes;
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

/* Unlocks, and wakes the sweeper.  A caller that has changed the table uses
 * this instead of unlock. */
static inline void
unlock_and_wake(struct state *s)
{
	struct kube_lanes *lanes;

	unlock(s);
	lanes = atomic_load(&s->table->lanes);
	if (lanes != NULL && !atomic_exchange(&s->table->awake, true))
		kube_lanes_wake(lanes);
}

/* Call these under the lock.  state_follow tells the controller that the lead
 * has begun or ended; any thread may be the first to notice.  state_soft
 * restores and stores the soft state and the history. */
void state_follow(struct state *s, struct now now);
void state_soft(struct state *s, struct now now);

#endif
