/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STATE_H
#define DAEMON_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/counters.h"
#include "core/controller/sweep.h"
#include "core/protocol/lease.h"
#include "disabled_nodepools.h"
#include "edge/clock.h"
#include "edge/kube/kube.h"

/*
 * What the threads of `serve` share: the timer table behind the program's one
 * mutex, held across pure core calls only (no I/O, allocation or log under
 * it), the clock, the counters, and the stop.
 */
struct shared {
	struct clock *clock;
	struct counters counters;
	_Atomic int64_t hint_ms;	/* the latest creation admitted */
	_Atomic bool stopping;
	struct closed *closed;		/* NodePools that are disabled */
	struct shared_table *table;
};

int shared_init(struct shared *s, const struct rules *rules,
		uint32_t machines_max, struct err *e);
void shared_done(struct shared *s);

/* Who is to be woken when there may be something to do.  Set once, before
 * the watchers start. */
void shared_sweeper(struct shared *s, struct kube_pool *pool);

/* Leader election: without it we always lead, and the soft state is written
 * anew every soft_ms.  Before any thread starts. */
int shared_elect(struct shared *s, const struct lease_config *c,
		 int64_t soft_ms, struct err *e);
/* The elector.  *copy: todo.record, for as long as the caller likes. */
struct lease_todo shared_lease_next(struct shared *s,
				    struct lease_record *copy);
void shared_lease_done(struct shared *s, const struct lease_outcome *o);
bool shared_lease_note(struct shared *s, struct lease_note *out);
void shared_lease_wait(struct shared *s, int64_t ms);	/* or a stop */
void shared_lease_stop(struct shared *s);	/* all work has ended */
/* Is what the watcher has under way of another lead?  Once a turn. */
bool shared_lead_turned(struct shared *s, enum kind kind);
bool shared_leads(struct shared *s);
/* For so long a write that begins now may be under way; 0: we do not lead. */
int64_t shared_lead_ms(struct shared *s);
/* Waits for it, a second at most. */
bool shared_await_lead(struct shared *s);

/* Watchers. */
void shared_listing(struct shared *s, enum kind kind);
void shared_listed(struct shared *s, enum kind kind, bool served);
void shared_watch(struct shared *s, enum kind kind, bool up);
void shared_track(struct shared *s, const struct object *o);
void shared_forget(struct shared *s, const struct object *o);
void shared_pool(struct shared *s, const struct pool *p);
void shared_pool_gone(struct shared *s, const char *name);
void shared_sign(struct shared *s, const char *claim_uid, const char *reason);
bool shared_wants_list(struct shared *s, enum kind kind);

/* The sweeper. */
bool shared_next(struct shared *s, struct action *out, int64_t *wait_ms);
void shared_done_action(struct shared *s, const struct action *a,
			const struct outcome *o);
void shared_found(struct shared *s, const struct action *a,
		  const struct object *o);
void shared_fresh(struct shared *s, const struct object *claim);
void shared_fresh_pool(struct shared *s, const struct pool *p);
bool shared_note(struct shared *s, struct note *out);

/* Reports. */
void shared_report(struct shared *s, struct sweep_report *out);
bool shared_scope(struct shared *s, uint32_t *i, struct scope_report *out);
bool shared_pool_at(struct shared *s, uint32_t *i, struct pool_report *out);

/* A creation was admitted. */
void shared_hint(struct shared *s);

/* Stop: sleepers wake, shared_sleep answers true from now on. */
void shared_stop(struct shared *s);
bool shared_sleep(struct shared *s, int64_t ms);	/* true: stopping */

#endif
