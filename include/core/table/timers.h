/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TABLE_TIMERS_H
#define CORE_TABLE_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/index.h"
#include "core/rules/cap.h"
#include "core/rules/rules.h"

/*
 * The timer table: a deadline for each machine, and from them which scopes are
 * held (docs/rules.md#each-machine-has-its-own-quiet-time).  A machine that is
 * not ready yet can be treated as if it became ready at created +
 * startupTimeout, because until then its deadline lies ahead either way.  So
 * each machine has one constant deadline until something is seen to change, and
 * a scope is held while one of its counted machines has its deadline ahead.
 *
 * The owner gives the facts of each machine to timers_put.  Later it asks
 * timers_due which machines to put again because their time has come, and
 * timers_turned which scopes have become held or quiet since.
 *
 * A machine is named by an id below ids_max.  Its scope is a place in `scopes`;
 * in scope `node` there are no scopes.  Deadlines are server_ms, and caps run
 * on boot_ms (core/rules/cap).  Not thread-safe: callers hold the owner's lock.
 */

/* One machine.  A zeroed struct is an id without a timer. */
struct timer {
	uint32_t id;	/* the machine's id; in a free place: the next free
			   place + 1 */
	uint16_t scope; /* NO_SCOPE in scope `node` */
	bool used : 1;
	bool counted : 1;      /* counts_ms has come */
	bool enough : 1;       /* counted, and at least minScaleUp machines
				   came together with it */
	bool live : 1;	       /* enough, and its deadline is ahead: it makes
				   its scope busy */
	bool undecided : 1;    /* it may come to count: a hold of its scope
				   does not end meanwhile */
	bool booting : 1;      /* it may become ready, which changes its
				   deadline */
	bool machine : 1;      /* it is counted in the total of machines that a
				   percentage in minScaleUp refers to */
	uint32_t next, before; /* places + 1 of other timers of its scope; 0:
				   none */
	int64_t deadline_ms;   /* the machine's own deadline */
	int64_t created_ms, hold_ms; /* hold_ms: its quiet time */
	uint32_t first_before_ms;    /* for a machine that tries a failed boot
					again: how much earlier the first try
					was created */
	uint32_t least;		     /* counted: how many machines have to come
				   together for it to be `enough`; 0: not taken
				   yet */
};

#define NO_SCOPE UINT16_MAX

/* When a scope will be quiet, and because of which machine. */
struct quiet {
	int64_t at_ms;	    /* STAMP_NONE if no machine keeps the scope busy */
	bool earliest;	    /* a machine is booting, so it may be later */
	uint32_t id;	    /* the machine that keeps the scope busy the
				   longest, or NO_ID if no machine does */
	int64_t created_ms; /* that machine's creation; it tells apart two
				   machines that had the same id */
};

struct scope {
	char name[NODEPOOL_BYTES]; /* "" in scope `cluster` */
	uint32_t timers;	   /* timers in this scope */
	uint32_t first;		   /* place + 1 of one of its timers; 0: none */
	uint32_t machines, live, undecided; /* how many of its timers are
					       `machine`, `live`, `undecided` */
	bool busy;     /* some timers are live; or the scope was busy
				   before, and some timers are undecided */
	bool was_busy; /* the leader before us held it, and we do not
				   see everything yet */
	bool held;     /* busy, and no window is open */
	struct cap cap;
	int64_t max_ms;	     /* the scope's own cap, or 0 if no cap */
	int64_t released_ms; /* a released-at up to this moment has had its
				   effect */
	int64_t opened_ms;   /* server time when a window last opened */
	bool told_window;    /* timers_turned has returned the open window */
	bool dirty;	     /* it is in timers.dirty */
	bool untaught;	     /* it is in timers.untaught */
	bool moved;	     /* it is in timers.moved */
	bool recount;	     /* with minScaleUp: `enough` has to be found out
				   again */
	uint32_t made;	     /* no other scope has this number, also none
				   that had this place before */
};

struct timers {
	enum scope_kind kind;
	struct cap_rules cap;
	uint32_t min_scale_up, min_scale_up_percent;
	bool changed; /* timers_changed */
	bool usable;  /* we lead and see everything now */
	bool seen;    /* we have seen everything once since we lead */
	/* What timers_restore_all has said of the scopes that are yet to be
	 * made.  left_at_ms is STAMP_NONE if it has said nothing. */
	struct cap left;
	int64_t left_at_ms;
	/* Only one of the two halves of a machine has a timer, so timers have
	 * places of their own. */
	uint32_t *place;  /* by id: the timer's place + 1, or 0 if none */
	struct timer *at; /* by place */
	uint32_t places_top, places_free; /* places from top on were never
						   used; free: the first free
						   place + 1, 0: none */
	uint32_t ids_max, extra;	  /* extra: the first of the extra ids
						   (timers_init) */
	uint32_t top;	 /* the ids from `top` up to `extra` were never
				   used */
	uint32_t *order; /* scratch space for ids_max ids; nothing in it
				   is kept from one call to the next */
	struct heap due; /* by place: the server time at which time alone
				   changes the timer */
	struct scope scopes[SCOPES_MAX];
	uint32_t scopes_top; /* the scopes from here on were never used */
	uint32_t made;	     /* how many scopes were ever made */
	uint32_t spare_from; /* no scope can be spare while fewer were used */
	struct index scope_by_name;
	struct heap caps;	    /* by scope: the boot time at which its cap
				   changes something */
	uint32_t dirty[SCOPES_MAX]; /* scopes that timers_turned looks at
					   next */
	uint32_t dirty_n;
	bool turning; /* timers_turned has begun, and not yet returned
				   NO_ID */
	/* The scopes whose cap and released-at the owner still has to tell: new
	 * scopes, and those that timers_unteach has named. */
	uint32_t untaught[SCOPES_MAX];
	uint32_t untaught_n;
	uint32_t moved[SCOPES_MAX]; /* the scopes that timers_moved returns */
	uint32_t moved_n;
};

/* Makes an empty table for the ids below ids_max.  *ts has to be zeroed memory,
 * because zeroing it here would touch all its pages.  The last `extra` ids are
 * used even while most of the other ids never were.  Scans therefore go over
 * both ranges and leave out what lies between them.  Returns -1 if there is no
 * memory; *ts then owns none. */
int timers_init(struct timers *ts, const struct rules *rules, uint32_t ids_max,
		uint32_t extra);
void timers_done(struct timers *ts);

/* What the owner knows of a machine.  The members are those of struct timer,
 * and first_ms is the created_ms of the first try, or its own. */
struct timer_facts {
	const char *nodepool; /* "" without one */
	int64_t deadline_ms;
	int64_t counts_ms; /* it counts for its scope from then on;
				   STAMP_NONE: never */
	int64_t created_ms, hold_ms;
	int64_t first_ms;
	uint32_t least; /* how many machines it takes when this one comes to
			   count; 0: as many as the rules say then */
	bool undecided; /* it is undecided until counts_ms */
	bool booting;
	bool machine;
};
/* Makes or changes the machine's timer.  now_ms is the server time.  Call it
 * when a fact changes, and after timers_due has named the machine.  Returns -1
 * if there are more than SCOPES_MAX NodePools; the machine then has no
 * timer. */
int timers_put(struct timers *ts, uint32_t id, const struct timer_facts *f,
	       int64_t now_ms);
void timers_drop(struct timers *ts, uint32_t id);
/* Returns the scope in this place, which is below scopes_top.  It belongs to
 * *ts. */
static inline const struct scope *
timers_scope(const struct timers *ts, uint32_t scope)
{
	return &ts->scopes[scope];
}

/* Returns the machine's timer.  It belongs to *ts and is valid until the next
 * put or drop.  A machine without a timer gets a zeroed one. */
const struct timer *timers_at(const struct timers *ts, uint32_t id);

/* Names a machine whose time has come, once.  The caller then computes its
 * facts again and calls timers_put.  Returns false if no machine is due. */
bool timers_due(struct timers *ts, int64_t now_ms, uint32_t *id);
/* Returns the server time at which the next machine is due, or STAMP_NONE. */
int64_t timers_next_ms(const struct timers *ts);
/* Returns the boot time at which a cap next changes something, or
 * STAMP_NONE. */
int64_t timers_cap_next_ms(const struct timers *ts);

/* Returns how many new machines it will take to hold the scope when the next
 * machine comes to count. */
uint32_t timers_min_scale_up(const struct timers *ts, uint32_t scope);

/* Returns in how many milliseconds the cap will end the scope's hold, or
 * INT64_MAX if it never does or the scope is not held. */
int64_t timers_cap_in_ms(const struct timers *ts, uint32_t scope,
			 int64_t boot_ms);

/* Returns a scope that has become held or quiet since it was last returned, or
 * on which a window has opened; its member `held` says which.  Call it until it
 * returns NO_ID. */
uint32_t timers_turned(struct timers *ts, struct now now);

/* Returns a scope whose quiet time may have moved since it was last returned,
 * or NO_ID. */
uint32_t timers_moved(struct timers *ts);
/* For sort_ids: in ascending order. */
bool timers_id_before(const void *ctx, uint32_t a, uint32_t b);

/* Takes over what an earlier leader knew of a scope.  *cap has been brought up
 * to now by the caller, max_ms is the cap it was measured by, and `held` says
 * whether that leader held the scope.  at_ms is the server time at which that
 * leader knew this; a released-at before then has had its effect.  Nothing
 * happens if there is no room for another scope. */
void timers_restore(struct timers *ts, const char *name, const struct cap *cap,
		    int64_t max_ms, bool held, int64_t at_ms, struct now now);
/* The same for all scopes, also for those that are made before timers_seen:
 * that leader had one scope for all of them. */
void timers_restore_all(struct timers *ts, const struct cap *cap, bool held,
			int64_t at_ms, struct now now);
/* Returns whether what a later leader has to know has changed since the last
 * timers_unchanged. */
bool timers_changed(const struct timers *ts);
void timers_unchanged(struct timers *ts);
/* Returns whether a later leader has to know anything of this scope. */
bool timers_keeps(const struct timers *ts, uint32_t scope, int64_t boot_ms);

/* Say that what the owner tells by timers_cap and timers_released may have
 * changed, for the scope of this NodePool (if there is one) or for all
 * scopes. */
void timers_unteach(struct timers *ts, const char *nodepool);
void timers_unteach_all(struct timers *ts);
/* Returns a scope whose cap and released-at the owner has to tell now, or
 * NO_ID.  It returns each such scope once. */
uint32_t timers_untaught(struct timers *ts);
/* Sets the scope's own cap.  In scope `cluster` the call does nothing, because
 * the configuration's cap applies. */
void timers_cap(struct timers *ts, uint32_t scope, int64_t max_ms,
		int64_t boot_ms);
/* Tells the scope the earliest released-at of its enabled NodePools, or
 * STAMP_NONE if one of them has none.  The debt is then no more than the time
 * since that moment, and an open window ends if that debt would not have opened
 * it. */
void timers_released(struct timers *ts, uint32_t scope, int64_t released_ms,
		     struct now now);

/* Drops all scopes with their caps, as a lead begins or ends.  The owner has
 * dropped all timers before. */
void timers_forget(struct timers *ts);
/* Call this when the API server's clock has jumped by by_ms.  It shifts the
 * moments of the scopes.  The owner puts the timers again with their new
 * deadlines. */
void timers_shift(struct timers *ts, int64_t by_ms);
/* Tells the table whether we lead and see everything from now on, so that
 * something could be released. */
void timers_usable(struct timers *ts, bool usable);
/* Tells the table that we have seen everything once in this lead.  What the
 * leader before us held no longer counts. */
void timers_seen(struct timers *ts);
/* Returns whether the machine's own deadline is ahead. */
bool timers_own(const struct timers *ts, uint32_t id, int64_t now_ms);
/* Returns whether the machine has a scope and that scope is held. */
bool timers_scope_held(const struct timers *ts, uint32_t id);

/* Returns the ids of the scope's machines in ascending order, and their number.
 * They stand in ts->order. */
const uint32_t *timers_of_scope(struct timers *ts, uint32_t scope, uint32_t *n);
/* Returns when a report should say that the scope will be quiet.  A machine
 * that is booting is taken as if it became ready now.  It looks at all machines
 * of the scope. */
struct quiet timers_expects(const struct timers *ts, uint32_t scope,
			    int64_t now_ms);

#endif
