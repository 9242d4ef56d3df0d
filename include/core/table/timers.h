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
 * The timer table: a deadline for each machine, and from them which scopes are
 * held (docs/rules.md#each-machine-has-its-own-quiet-time).  A machine that is
 * not ready yet can be treated as if it became ready at created +
 * startupTimeout, because until then its deadline lies ahead either way.  So
 * each machine has one constant deadline until something is seen to change, and
 * a scope is held while one of its counted machines has its deadline ahead.
 *
 * Deadlines are server_ms.  Caps run on boot_ms (core/rules/cap).  Not
 * thread-safe: callers hold the owner's lock.
 */
struct timer {
	bool used, counted;
	bool enough;		/* at least minScaleUp machines came with it */
	bool live;		/* counted, enough, and its deadline is ahead */
	bool undecided;			/* it may come to count: a hold that is
					   on does not end meanwhile */
	bool booting;
	uint32_t scope;			/* NO_ID in scope `node` */
	int64_t deadline_ms;		/* the machine's own deadline */
	int64_t counts_ms;		/* from when on it counts; STAMP_NONE:
					   never */
	int64_t created_ms, hold_ms;
	int64_t first_ms;		/* created_ms; or, if it tries a failed
					   boot again, that of the first try */
};

/* When a scope will be quiet, and because of which machine. */
struct quiet {
	int64_t at_ms;		/* STAMP_NONE: nothing counts */
	bool earliest;		/* a machine boots: at that time or later */
	uint32_t id;		/* the machine whose activity was the last */
	int64_t created_ms;	/* with the id it says which machine that is */
};

struct scope {
	char name[NODEPOOL_BYTES];	/* "" in scope `cluster` */
	uint32_t timers;	/* timers that name it; 0: the scope is free */
	uint32_t live, undecided;
	bool busy;			/* some are live; or it was busy, and
					   some are undecided */
	bool was_busy;			/* it seems to have been busy before we
					   led */
	bool held;			/* busy, and no window is open */
	struct cap cap;
	int64_t max_ms;			/* its own cap; 0: no cap */
	int64_t released_ms;		/* the released-at that has taken
					   effect, as written; or up to which
					   moment they have */
	int64_t guessed_ms;		/* how much of its debt is guessed */
	int64_t opened_ms;		/* when a window opened, server time */
	bool told_window;		/* the open window was reported */
	bool dirty;
	bool recount;		/* with minScaleUp: find out again which
				   machines are enough */
	bool moved;		/* its quiet time may have moved since it was
				   reported */
	bool untold;		/* held, but it was not reported until when */
	bool latency_open;	/* not every object of it is held yet */
	int64_t since_boot_ms;	/* held since */
	int64_t told_boot_ms;	/* when its quiet time was last reported */
	struct quiet told;
};

struct timers {
	enum scope_kind kind;
	struct cap_rules cap;
	uint32_t min_scale_up;
	bool changed;			/* what outlives this leader has
					   changed; the owner clears it */
	bool made;			/* a scope was made, with the rules'
					   cap; the owner clears it */
	bool usable;			/* we lead and see everything now */
	bool seen;			/* we have seen everything since we
					   lead */
	struct timer *at;
	uint32_t ids_max, extra;	/* the extra ones begin here */
	uint32_t top;			/* ids below were used */
	uint32_t *order;		/* scratch space for ids_max ids */
	struct heap due;	/* by id: when something changes with time */
	struct scope scopes[SCOPES_MAX];
	uint32_t scopes_top;
	uint32_t dirty[SCOPES_MAX];	/* scopes to look at again */
	uint32_t dirty_n;
};

/* *h has to be zeroed memory.  extra: how many of the last ids may be used
 * while most others never were. */
int timers_init(struct timers *h, const struct rules *rules, uint32_t ids_max,
	       uint32_t extra);
void timers_done(struct timers *h);

struct timer_facts {
	const char *nodepool;
	int64_t deadline_ms, counts_ms;
	int64_t created_ms, hold_ms;
	int64_t first_ms;	/* as in struct timer */
	bool undecided;		/* undecided up to counts_ms */
	bool booting;		/* it may become ready, and then its deadline
				   changes */
};
/* Sets the machine's facts as of now; call it also after timers_due named the
 * machine.  Returns -1 if there are more than SCOPES_MAX NodePools; the machine
 * then has no timer. */
int timers_put(struct timers *h, uint32_t id, const struct timer_facts *f,
	      int64_t now_ms);
void timers_drop(struct timers *h, uint32_t id);

/* Names a machine whose moment has come: put it again.  false: none is due. */
bool timers_due(struct timers *h, int64_t now_ms, uint32_t *id);
/* When the next one is due, server time; STAMP_NONE: never. */
int64_t timers_next_ms(const struct timers *h);
/* When a cap next changes something, boot time; STAMP_NONE: never. */
int64_t timers_cap_next_ms(const struct timers *h);

/* How long it takes until the cap ends the hold that is on; INT64_MAX:
 * never. */
int64_t timers_cap_in_ms(const struct timers *h, uint32_t scope,
			int64_t boot_ms);

/* The next scope that became held or quiet since the last call; its `held` says
 * which.  NO_ID: none. */
uint32_t timers_turned(struct timers *h, struct now now);

/* Takes over what an earlier leader knew of a scope, brought up to now. at_ms:
 * the server time at which it knew.  Call it before the scope has any timer. */
void timers_restore(struct timers *h, const char *name, const struct cap *cap,
		   int64_t max_ms, bool held, int64_t at_ms, struct now now);
/* Is there anything to keep of this scope for a later leader? */
bool timers_keeps(const struct timers *h, uint32_t scope, int64_t boot_ms);

/* Sets the scope's own cap; in scope `cluster` the cap of the rules stays. */
void timers_cap(struct timers *h, uint32_t scope, int64_t max_ms,
	       int64_t boot_ms);
/* Says that every enabled NodePool of the scope has a released-at, and that the
 * earliest of them is released_ms; STAMP_NONE: some NodePool has none. */
void timers_released(struct timers *h, uint32_t scope, int64_t released_ms,
		    struct now now);

/* Drops all scopes, with what is known of their past.  No timer may be left. */
void timers_forget(struct timers *h);
/* The API server's clock was set: shifts the moments in memory by by_ms. */
void timers_shift(struct timers *h, int64_t by_ms);
/* Says whether anything could be released from now on. */
void timers_usable(struct timers *h, bool usable);
/* Everything is seen: what was before we led no longer counts. */
void timers_seen(struct timers *h);
/* Says that the machine's scope seems to have been held for so long. */
void timers_guess(struct timers *h, uint32_t id, int64_t debt_ms,
		 int64_t boot_ms);

/* Takes back all guesses, because the state came to be known after all. */
void timers_unguess(struct timers *h, int64_t boot_ms);

bool timers_own(const struct timers *h, uint32_t id, int64_t now_ms);
bool timers_scope_held(const struct timers *h, uint32_t id);

/* The latest deadline of the scope's counted machines; STAMP_NONE if there are
 * none.  It passes over the table: use it for reports. */
int64_t timers_quiet_ms(const struct timers *h, uint32_t scope);
/* When to report that the scope will be quiet: a machine that boots is taken as
 * ready now. */
struct quiet timers_expects(const struct timers *h, uint32_t scope,
			   int64_t now_ms);

#endif
