/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STATE_H
#define DAEMON_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/counters.h"
#include "core/controller/controller.h"
#include "core/protocol/lease.h"
#include "disabled_nodepools.h"
#include "edge/clock.h"
#include "edge/kube/kube.h"

/*
 * What the threads of `serve` share: the clock, the counters, the stop flag,
 * and the timer table behind the program's one mutex.  The mutex is held across
 * pure core calls only, never across I/O, allocation or logging.  Each function
 * takes it where it needs it, and any thread may call a function unless its
 * group says otherwise.  Most functions pass their arguments to the function of
 * the same name in core/controller/controller.h.
 */
struct state {
	struct clock *clock;
	struct counters counters;
	_Atomic int64_t hint_ms;	/* of the latest held creation */
	_Atomic bool stopping;
	struct disabled_nodepools *disabled_nodepools;	/* has its own lock */
	struct state_table *table;
};

/* Main calls these two, before any worker is made and after all are freed.
 * state_new returns NULL if memory is short. */
struct state *state_new(const struct rules *rules, uint32_t machines_max,
			struct err *e);
void state_free(struct state *s);	/* NULL: nothing */

/* Sets the lanes to wake when there may be something to do; NULL: none.  Main
 * calls this before the watchers start and after they have ended. */
void state_sweeper(struct state *s, struct kube_lanes *lanes);

/* Turns the Lease on.  Main calls this before any thread starts.  If c->enabled
 * is false, this replica always leads, and the soft state is written again
 * every soft_ms.  Without this call it always leads and keeps no Lease. */
int state_elect(struct state *s, const struct lease_config *c,
		 int64_t soft_ms, struct err *e);
/* The elector's thread alone calls the state_lease functions but
 * state_lease_stop.  If todo.record is set, it points to *copy, which is the
 * caller's. */
struct lease_todo state_lease_next(struct state *s,
				    struct lease_record *copy);
void state_lease_done(struct state *s, const struct lease_outcome *o);
bool state_lease_note(struct state *s, struct lease_note *out);
/* Waits for `ms` at most, or until the lead changes or the Lease is to be given
 * up. */
void state_lease_wait(struct state *s, int64_t ms);
/* Main calls this when all other work has ended: the Lease is given up. */
void state_lease_stop(struct state *s);
/* Did the watcher's list or watch begin before the lead last changed?  It
 * returns true once a change. */
bool state_lead_turned(struct state *s, enum kind kind);
/* Does this replica lead now? */
bool state_leads(struct state *s);
/* Returns for how many milliseconds a write that begins now may be under way,
 * or 0 if this replica does not lead. */
int64_t state_lead_ms(struct state *s);
/* Waits for the lead, for a second at most.  Returns whether this replica
 * leads. */
bool state_await_lead(struct state *s);

/* For the watchers.  A list runs from state_listing to state_listed.  If
 * `served` is false, the API server does not serve the kind. */
void state_listing(struct state *s, enum kind kind);
void state_listed(struct state *s, enum kind kind, bool served);
void state_watch(struct state *s, enum kind kind, bool up);
void state_track(struct state *s, const struct object *o);
void state_forget(struct state *s, const struct object *o);
void state_nodepool(struct state *s, const struct nodepool *p);
void state_nodepool_gone(struct state *s, const char *name);
void state_disruption_event(struct state *s, const char *claim_uid,
			    const char *reason);
bool state_wants_list(struct state *s, enum kind kind);

/* For the sweeper. */
struct controller_todo state_next(struct state *s);
void state_done(struct state *s, const struct controller_outcome *o);
void state_found(struct state *s, const struct action *a,
		  const struct object *o);
void state_fresh(struct state *s, const struct object *claim);
void state_fresh_nodepool(struct state *s, const struct nodepool *p);
bool state_note(struct state *s, struct note *out);

/* For reports.  *i is the cursor of an iteration and starts at 0.  After the
 * last item the functions return false. */
void state_report(struct state *s, struct controller_report *out);
bool state_scope(struct state *s, uint32_t *i, struct scope_report *out);
bool state_nodepool_at(struct state *s, uint32_t *i,
		       struct nodepool_report *out);

/* For the webhook: a creation was admitted with a hold.  It takes no lock. */
void state_hint(struct state *s);

/* Main begins the stop with this.  All sleepers wake, and state_sleep returns
 * true from now on. */
void state_stop(struct state *s);
/* Sleeps for `ms` at most.  Returns true if the process is stopping. */
bool state_sleep(struct state *s, int64_t ms);

#endif
