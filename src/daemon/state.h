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
 * What the threads of `serve` share: the timer table behind the program's one
 * mutex, held across pure core calls only (no I/O, allocation or log under
 * it), the clock, the counters, and the stop.
 */
struct state {
	struct clock *clock;
	struct counters counters;
	_Atomic int64_t hint_ms;	/* the latest creation admitted */
	_Atomic bool stopping;
	struct disabled_nodepools *disabled_nodepools;	/* has its own lock */
	struct state_table *table;
};

int state_init(struct state *s, const struct rules *rules,
		uint32_t machines_max, struct err *e);
void state_done(struct state *s);

/* Who is to be woken when there may be something to do.  Set once, before
 * the watchers start. */
void state_sweeper(struct state *s, struct kube_lanes *pool);

/* Leader election: without it we always lead, and the soft state is written
 * anew every soft_ms.  Before any thread starts. */
int state_elect(struct state *s, const struct lease_config *c,
		 int64_t soft_ms, struct err *e);
/* The elector.  *copy: todo.record, for as long as the caller likes. */
struct lease_todo state_lease_next(struct state *s,
				    struct lease_record *copy);
void state_lease_done(struct state *s, const struct lease_outcome *o);
bool state_lease_note(struct state *s, struct lease_note *out);
void state_lease_wait(struct state *s, int64_t ms);	/* or a stop */
void state_lease_stop(struct state *s);	/* all work has ended */
/* Is what the watcher has under way of another lead?  Once a turn. */
bool state_lead_turned(struct state *s, enum kind kind);
bool state_leads(struct state *s);
/* For so long a write that begins now may be under way; 0: we do not lead. */
int64_t state_lead_ms(struct state *s);
/* Waits for it, a second at most. */
bool state_await_lead(struct state *s);

/* Watchers. */
void state_listing(struct state *s, enum kind kind);
void state_listed(struct state *s, enum kind kind, bool served);
void state_watch(struct state *s, enum kind kind, bool up);
void state_track(struct state *s, const struct object *o);
void state_forget(struct state *s, const struct object *o);
void state_pool(struct state *s, const struct nodepool *p);
void state_pool_gone(struct state *s, const char *name);
void state_sign(struct state *s, const char *claim_uid, const char *reason);
bool state_wants_list(struct state *s, enum kind kind);

/* The sweeper. */
bool state_next(struct state *s, struct action *out, int64_t *wait_ms);
void state_done_action(struct state *s, const struct action *a,
			const struct outcome *o);
void state_found(struct state *s, const struct action *a,
		  const struct object *o);
void state_fresh(struct state *s, const struct object *claim);
void state_fresh_pool(struct state *s, const struct nodepool *p);
bool state_note(struct state *s, struct note *out);

/* Reports. */
void state_report(struct state *s, struct controller_report *out);
bool state_scope(struct state *s, uint32_t *i, struct scope_report *out);
bool state_pool_at(struct state *s, uint32_t *i, struct nodepool_report *out);

/* A creation was admitted. */
void state_hint(struct state *s);

/* Stop: sleepers wake, state_sleep answers true from now on. */
void state_stop(struct state *s);
bool state_sleep(struct state *s, int64_t ms);	/* true: stopping */

#endif
