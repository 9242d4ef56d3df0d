/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HOLDS_H
#define CORE_HOLDS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cap.h"
#include "core/heap.h"
#include "core/index.h"
#include "core/policy.h"

/*
 * The timer table: a deadline per machine, and from them which scopes are
 * held.  A machine that is not ready yet is as good as ready at created +
 * startupTimeout: until then its deadline lies ahead either way.  So each
 * machine has one constant deadline until something is seen to change, and a
 * scope is held while one of its counted machines has its deadline ahead.
 *
 * All times are server_ms.  Not thread-safe: under the owner's lock.
 */
struct timer {
	bool used, counted, live;	/* live: counted and deadline ahead */
	bool undecided;			/* may come to count: a hold that is
					   on does not end meanwhile */
	uint32_t scope;			/* NO_ID in scope `node` */
	int64_t deadline_ms;		/* own deadline */
	int64_t counts_ms;		/* from when it counts; STAMP_NONE never */
};

struct scope {
	char name[POOL_BYTES];	/* the pool; "" in scope `cluster` */
	uint32_t timers;	/* that name it; 0 = the scope is free */
	uint32_t live, undecided;
	bool busy;			/* live, or was and undecided */
	bool was_busy;			/* before we led, it seems */
	bool held;			/* busy, and no window is open */
	struct cap cap;
	int64_t max_ms;			/* its own; 0: no cap */
	int64_t told_ms;		/* the window's end that was told */
	bool dirty;
	bool latency_open;	/* not every object of it is held yet */
	int64_t since_boot_ms;	/* held since */
};

struct holds {
	enum scope_kind kind;
	struct cap_rules cap;
	bool changed;			/* what is to outlive us; the owner's */
	bool made;			/* a scope, with the rules' cap; too */
	struct timer *timers;
	struct heap due;	/* by id: when something changes by itself */
	struct scope scopes[SCOPES_MAX];
	uint32_t scopes_top;
	uint32_t dirty[SCOPES_MAX];	/* scopes to compare again */
	uint32_t dirty_n;
};

/* *h is zeroed memory. */
int holds_init(struct holds *h, const struct rules *rules, uint32_t ids_max);
void holds_done(struct holds *h);

struct timer_facts {
	const char *pool;
	int64_t deadline_ms, counts_ms;
	bool undecided;		/* up to counts_ms */
};
/* The machine's facts as of now; also after holds_due named it.  -1: more
 * than SCOPES_MAX pools, the machine has no timer. */
int holds_put(struct holds *h, uint32_t id, const struct timer_facts *f,
	      int64_t now_ms);
void holds_drop(struct holds *h, uint32_t id);

/* A machine whose moment has come: put it again.  false: none is due. */
bool holds_due(struct holds *h, int64_t now_ms, uint32_t *id);
/* When the next one is; STAMP_NONE: never. */
int64_t holds_next_ms(const struct holds *h);

/* The next scope that became held or quiet since the last call; its `held`
 * says which.  NO_ID: none. */
uint32_t holds_turned(struct holds *h, struct now now);

/* What an earlier leader knew of a scope; before any timer of it. */
void holds_restore(struct holds *h, const char *name, const struct cap *cap);

/* The scope's own cap; in scope `cluster` that of the rules stays. */
void holds_cap(struct holds *h, uint32_t scope, int64_t max_ms);

/* All scopes, with what is known of their past: no timer is left. */
void holds_forget(struct holds *h);
/* The clock by which scopes were seen to turn was wrong: caps begin anew, as a
 * hold that is too long is better than one that ends by mistake. */
void holds_shifted(struct holds *h, int64_t now_ms);
/* Nothing can be cleared now: a window that would close on a busy scope is
 * prolonged. */
void holds_stay_open(struct holds *h, int64_t now_ms);
/* All is seen: what was before we led counts no more. */
void holds_seen(struct holds *h);
/* The machine's scope has been held at least since then. */
void holds_since(struct holds *h, uint32_t id, int64_t ms);

bool holds_own(const struct holds *h, uint32_t id, int64_t now_ms);
bool holds_scope_held(const struct holds *h, uint32_t id);

/* The latest deadline of the scope's counted machines; STAMP_NONE if none.
 * A pass over the table: for reports. */
int64_t holds_quiet_ms(const struct holds *h, uint32_t scope, uint32_t top);

#endif
