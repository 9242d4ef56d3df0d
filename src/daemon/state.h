/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STATE_H
#define DAEMON_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/counters.h"
#include "core/controller/controller.h"
#include "core/controller/status.h"
#include "core/protocol/lease.h"
#include "disabled_nodepools.h"
#include "edge/clock.h"
#include "edge/kube/kube.h"

/*
 * What the threads of `serve` share: the clock, the counters, the stop flag,
 * and core/controller and core/protocol/lease behind the program's one mutex.
 *
 * Lock: every function takes the mutex itself, unless its comment says that it
 * takes none.  The mutex is held across pure core calls only, never across I/O,
 * allocation or logging, so nobody waits for it for long.  The comments say
 * which functions sleep; these do not hold the mutex while they sleep.
 *
 * Thread: each group names the thread that calls it.  `any` means any thread
 * between state_new and state_free.
 *
 * A function state_x passes its arguments, and the time, on to controller_x if
 * there is one.  The contract is then in core/controller/controller.h.
 * Functions that change what there is to do wake the sweeper.
 */
struct state {
	struct clock *clock;	  /* any thread may use it: edge/clock.h */
	struct counters counters; /* its members are atomic */
	_Atomic bool stopping;	  /* whether state_stop was called */
	struct disabled_nodepools *disabled_nodepools; /* has its own lock */
	struct state_table *table; /* protected by the mutex: state_parts.h */
	/* The hold that the Lease or the configuration names, which hold_lock
	 * protects, and whether it is another than the configuration's. */
	pthread_mutex_t hold_lock;
	struct hold_key hold;
	_Atomic bool hold_is_other;
};

/* --- main: start and stop ------------------------------------------------- */

/* Main calls state_new before it makes any worker, and state_free after it has
 * freed all workers.  These two take no lock.  state_new returns NULL if memory
 * is short. */
struct state *state_new(const struct rules *rules, uint32_t machines_max,
			struct err *e);
void state_free(struct state *s); /* accepts NULL */

/* Makes this replica keep a Lease.  Main calls this before any thread starts.
 * It takes no lock.  If c->enabled is false (no leader election), this replica
 * always leads, and writes its soft state (controller_soft) into the Lease
 * every soft_ms.  If state_elect is not called, this replica always leads and
 * keeps no Lease.  `deletes` is the command that deletes the Lease, which is
 * copied.  Returns -1 if memory is short. */
int state_elect(struct state *s, const struct lease_config *c,
		const char *deletes, int64_t soft_ms, struct err *e);

/* Sets the lanes of the sweeper, which are woken when there may be something to
 * do.  Main calls this before the watchers start, and with NULL after they have
 * ended.  It takes no lock. */
void state_sweeper(struct state *s, struct kube_lanes *lanes);

/* Begins the stop.  All sleepers wake, and state_sleep returns true from now
 * on. */
void state_stop(struct state *s);
/* Makes the elector give up the Lease.  Main calls this when sweeper and
 * renewer have ended. */
void state_lease_stop(struct state *s);

/* --- watchers ------------------------------------------------------------- */

/* Calls of these functions that are about NodePools also update
 * disabled_nodepools. */
void state_listing(struct state *s, enum kind kind);
void state_listed(struct state *s, enum kind kind, bool served);
void state_watch(struct state *s, enum kind kind, bool up);
void state_skipped(struct state *s, enum kind kind);
void state_track(struct state *s, const struct object *o);
void state_forget(struct state *s, const struct object *o);
void state_nodepool(struct state *s, const struct nodepool *p);
void state_nodepool_gone(struct state *s, const char *name);
void state_ticket(struct state *s, const struct ticket *t);
void state_ticket_gone(struct state *s, const char *name);
void state_disruption_event(struct state *s, const char *claim_uid,
			    const char *reason);

/* --- sweeper -------------------------------------------------------------- */

/* state_next also passes the soft state to the Lease's step machine.  If the
 * action is a write, state_next sets its fence_ms to the end of the lead. */
struct controller_todo state_next(struct state *s);
void state_done(struct state *s, const struct controller_outcome *o);
void state_found(struct state *s, const struct action *a,
		 const struct object *o);
void state_fresh(struct state *s, const struct object *claim);
void state_fresh_nodepool(struct state *s, const struct nodepool *p);
void state_fresh_ticket(struct state *s, const struct ticket *t);
bool state_wants_list(struct state *s, enum kind kind);
bool state_note(struct state *s, struct note *out);

/* --- elector -------------------------------------------------------------- */

/* These functions call lease_next, lease_done and lease_note.  If `record` in
 * the returned lease_todo is not NULL, it points to *copy, which belongs to the
 * caller and is changed by no other thread. */
struct lease_todo state_lease_next(struct state *s, struct lease_record *copy);
void state_lease_done(struct state *s, const struct lease_outcome *o);
bool state_lease_note(struct state *s, struct lease_note *out);
/* Sleeps until `ms` have passed, the lead changes, or the Lease has to be given
 * up. */
void state_lease_wait(struct state *s, int64_t ms);
/* Returns whether this kind's watcher has to restart because its list or watch
 * began before the lead changed.  Returns true only once for each change. */
bool state_lead_turned(struct state *s, enum kind kind);

/* --- any: the lead, reports, sleep ---------------------------------------- */

/* Copies the hold that this replica sets.  It takes only a lock of its own. */
void state_hold(struct state *s, struct hold_key *out);

/* Returns whether this replica leads now. */
bool state_leads(struct state *s);
/* Returns how many milliseconds a write that begins now may take, or 0 if this
 * replica does not lead. */
int64_t state_lead_ms(struct state *s);
/* Sleeps until this replica leads or the process stops, for a second at most.
 * Returns whether this replica leads. */
bool state_await_lead(struct state *s);

/* Each call of state_scope or state_nodepool_at gets the next item.  *i is the
 * cursor, which starts at 0.  After the last item they return false.  Each call
 * takes the mutex anew, so if items are added or removed between two calls, the
 * caller may miss an item. */
void state_report(struct state *s, struct controller_report *out);
bool state_scope(struct state *s, const struct figures *f, uint32_t *i,
		 struct scope_report *out);
bool state_nodepool_at(struct state *s, uint32_t *i,
		       struct nodepool_report *out);

/* Who leads, for /status.  `identity` is the identity of this replica.
 * `holder` is the identity in the Lease, or "" if nobody leads or the leader is
 * not known.  since_ms is the server time at which the leader's lead began, or
 * STAMP_NONE if that is unknown.  Without a Lease the two texts are "", and
 * since_ms is STAMP_NONE. */
struct state_lead {
	bool electing, here;
	char identity[LEASE_HOLDER_BYTES], holder[LEASE_HOLDER_BYTES];
	int64_t since_ms;
	/* Whether nobody leads because the Lease still names an earlier
	 * container of this pod. */
	bool restarted;
	/* If lease_waits: for whom, for how much longer, and the command that
	 * ends the wait, or "" if none does.  Otherwise waits_for is "". */
	char waits_for[LEASE_HOLDER_BYTES];
	int64_t wait_ms;
	char wait_ends[LEASE_COMMAND_BYTES];
};
void state_lead(struct state *s, struct state_lead *out);

/* These functions make the reports of core/controller/status.h.  state_count
 * counts all machines.  It takes the mutex for one slice of them at a time, and
 * after some slices it sleeps for a moment, so that other threads get the
 * mutex.  state_machine returns false if there is no machine with this name. */
void state_status(struct state *s, struct status_report *out);
void state_count(struct state *s, struct figures *f);
bool state_turn(struct state *s, uint64_t *before, struct turn *out);
bool state_scope_status(struct state *s, const struct figures *f, uint32_t *i,
			struct scope_status *out);
bool state_nodepool_status(struct state *s, const struct figures *f,
			   uint32_t *i, struct nodepool_status *out);
bool state_ticket_status(struct state *s, uint32_t *i,
			 struct ticket_status *out);
bool state_machine(struct state *s, const char *name,
		   struct machine_status *out);
/* Calls controller_machine_next until it has found a machine.  It takes the
 * mutex as state_count does.  Returns false at the end. */
bool state_machine_next(struct state *s, uint32_t *i, enum machine_rank rank,
			const char *nodepool, struct machine_status *out);
uint32_t state_machines_counted(struct state *s, const struct figures *f,
				const char *nodepool);

/* Sleeps for `ms` at most.  Returns true if the process is stopping. */
bool state_sleep(struct state *s, int64_t ms);

#endif
