/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TABLE_TIMERS_H
#define CORE_TABLE_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/index.h"
#include "core/rules/admit.h"
#include "core/rules/cap.h"

/*
 * The timer table: a deadline per machine, and from them which scopes are
 * held.  A machine that is not ready yet is as good as ready at created +
 * startupTimeout: until then its deadline lies ahead either way.  So each
 * machine has one constant deadline until something is seen to change, and a
 * scope is held while one of its counted machines has its deadline ahead.
 *
 * Deadlines are server_ms; caps run on boot_ms (core/rules/cap).  Not thread-safe:
 * under the owner's lock.
 */
struct timer {
	bool used, counted;
	bool enough;		/* as many as minScaleUp came with it */
	bool live;		/* counted, enough, and deadline ahead */
	bool undecided;			/* may come to count: a hold that is
					   on does not end meanwhile */
	bool booting;
	uint32_t scope;			/* NO_ID in scope `node` */
	int64_t deadline_ms;		/* own deadline */
	int64_t counts_ms;		/* from when it counts; STAMP_NONE never */
	int64_t created_ms, hold_ms;
	int64_t first_ms;		/* created, or when the first try was
					   whose boot failed */
};

/* When a scope will be quiet, and because of whom. */
struct quiet {
	int64_t at_ms;		/* STAMP_NONE: nothing counts */
	bool earliest;		/* a machine boots: then, or later */
	uint32_t id;		/* whose activity was the last */
	int64_t created_ms;	/* … with the id: which machine that is */
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
	int64_t released_ms;		/* the released-at that has had its
					   effect, as written; or up to when
					   they have had */
	int64_t guessed_ms;		/* of its debt */
	int64_t opened_ms;		/* server time: when a window did */
	bool told_window;		/* the window that is open was told */
	bool dirty;
	bool recount;		/* with minScaleUp: who has come to be enough? */
	bool moved;		/* its quiet time may have, since it was told */
	bool untold;		/* held, but nobody knows until when */
	bool latency_open;	/* not every object of it is held yet */
	int64_t since_boot_ms;	/* held since */
	int64_t told_boot_ms;	/* when its quiet time was told last */
	struct quiet told;
};

struct timers {
	enum scope_kind kind;
	struct cap_rules cap;
	uint32_t min_scale_up;
	bool changed;			/* what is to outlive us; the owner's */
	bool made;			/* a scope, with the rules' cap; too */
	bool usable;			/* we lead and see everything */
	bool seen;			/* … or have, since we lead */
	struct timer *at;
	uint32_t ids_max, extra;	/* from `extra` on: the extra ones */
	uint32_t top;			/* of the others, ids below were used */
	uint32_t *order;		/* scratch, ids_max of them */
	struct heap due;	/* by id: when something changes by itself */
	struct scope scopes[SCOPES_MAX];
	uint32_t scopes_top;
	uint32_t dirty[SCOPES_MAX];	/* scopes to compare again */
	uint32_t dirty_n;
};

/* *h is zeroed memory.  extra: of the ids, the last ones, which may be used
 * while most others never were. */
int timers_init(struct timers *h, const struct rules *rules, uint32_t ids_max,
	       uint32_t extra);
void timers_done(struct timers *h);

struct timer_facts {
	const char *pool;
	int64_t deadline_ms, counts_ms;
	int64_t created_ms, hold_ms;
	int64_t first_ms;	/* as in struct timer */
	bool undecided;		/* up to counts_ms */
	bool booting;		/* its deadline is one it may get ahead of */
};
/* The machine's facts as of now; also after timers_due named it.  -1: more
 * than SCOPES_MAX pools, the machine has no timer. */
int timers_put(struct timers *h, uint32_t id, const struct timer_facts *f,
	      int64_t now_ms);
void timers_drop(struct timers *h, uint32_t id);

/* A machine whose moment has come: put it again.  false: none is due. */
bool timers_due(struct timers *h, int64_t now_ms, uint32_t *id);
/* When the next one is, server time; STAMP_NONE: never. */
int64_t timers_next_ms(const struct timers *h);
/* When a cap changes something, boot time; STAMP_NONE: never. */
int64_t timers_cap_next_ms(const struct timers *h);

/* How long until its cap ends the hold that is on; INT64_MAX: never. */
int64_t timers_cap_in_ms(const struct timers *h, uint32_t scope,
			int64_t boot_ms);

/* The next scope that became held or quiet since the last call; its `held`
 * says which.  NO_ID: none. */
uint32_t timers_turned(struct timers *h, struct now now);

/* What an earlier leader knew of a scope, brought up to now; at_ms: server
 * time at which it knew.  Before any timer of it. */
void timers_restore(struct timers *h, const char *name, const struct cap *cap,
		   int64_t max_ms, bool held, int64_t at_ms, struct now now);
/* What is to be kept of a scope for a later leader. */
bool timers_keeps(const struct timers *h, uint32_t scope, int64_t boot_ms);

/* The scope's own cap; in scope `cluster` that of the rules stays. */
void timers_cap(struct timers *h, uint32_t scope, int64_t max_ms,
	       int64_t boot_ms);
/* All its pools have been released by hand since then, or were by then;
 * STAMP_NONE: not all have. */
void timers_released(struct timers *h, uint32_t scope, int64_t released_ms,
		    struct now now);

/* All scopes, with what is known of their past: no timer is left. */
void timers_forget(struct timers *h);
/* The server's clock was set: moments in memory move with it. */
void timers_shift(struct timers *h, int64_t by_ms);
/* Whether anything could be released from now on. */
void timers_usable(struct timers *h, bool usable);
/* All is seen: what was before we led counts no more. */
void timers_seen(struct timers *h);
/* The machine's scope has, it seems, been held for so long. */
void timers_guess(struct timers *h, uint32_t id, int64_t debt_ms,
		 int64_t boot_ms);

/* It came to be known after all. */
void timers_unguess(struct timers *h, int64_t boot_ms);

bool timers_own(const struct timers *h, uint32_t id, int64_t now_ms);
bool timers_scope_held(const struct timers *h, uint32_t id);

/* The latest deadline of the scope's counted machines; STAMP_NONE if none.
 * A pass over the table: for reports. */
int64_t timers_quiet_ms(const struct timers *h, uint32_t scope);
/* What to tell of it: a machine that boots is taken as ready now. */
struct quiet timers_expects(const struct timers *h, uint32_t scope,
			   int64_t now_ms);

#endif
