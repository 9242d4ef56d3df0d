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
 * The timer table keeps a deadline for each machine, and finds out from the
 * deadlines which scopes are held
 * (docs/rules.md#each-machine-has-its-own-quiet-time).  A machine that is not
 * ready yet can be treated as if it became ready at created + startupTimeout,
 * because until that time its deadline is in the future either way.  So each
 * machine has one constant deadline until something is seen to change, and a
 * scope is held while the deadline of one of its counted machines is in the
 * future.  After a reboot only the machine's own deadline moves, so there are
 * two.
 *
 * The owner gives the facts of each machine to timers_put.  Later it asks
 * timers_due which machines to put again because their time has come, and
 * timers_turned which scopes have become held or are no longer held.
 *
 * A machine is named by an id below ids_max.  Its scope is a place in `scopes`;
 * in scope `node` there are no scopes.  Deadlines are server_ms, and caps run
 * on boot_ms (core/rules/cap).  Not thread-safe: callers hold the owner's lock.
 */

/* One machine.  A zeroed struct is an id without a timer. */
struct timer {
	/* The machine's id.  Free places form a list: there, id is the next
	 * free place + 1. */
	uint32_t id;
	uint16_t scope; /* NO_SCOPE in scope `node` */
	bool used : 1;
	/* The machine counts: its counts_ms has passed. */
	bool counted : 1;
	/* It is `counted`, and part of a group of at least minScaleUp
	 * machines. */
	bool enough : 1;
	/* It is `enough`, and its deadline is in the future, so its scope is
	 * busy. */
	bool live : 1;
	/* Its counts_ms is in the future.  Until then a busy scope stays
	 * busy. */
	bool coming : 1;
	/* It may become ready, which changes its deadline. */
	bool booting : 1;
	/* It is part of the total that a percentage in minScaleUp refers to. */
	bool machine : 1;
	/* After a reboot: the machine's own deadline is not deadline_ms, and
	 * was in the future at the last put. */
	bool apart : 1, own : 1;
	/* Neighbours in the list of its scope's timers: their places + 1, or 0
	 * at the ends. */
	uint32_t next, before;
	int64_t deadline_ms; /* until then it can keep its scope busy */
	int64_t created_ms;
	int64_t hold_ms; /* the length of its quiet time */
	/* The smallest group of machines with which this machine is `enough`
	 * (minScaleUp).  It is fixed when the machine begins to count.  0
	 * before that, and if one machine is always enough. */
	uint32_t least;
};

#define NO_SCOPE UINT16_MAX

/* When a scope will be quiet, and which machine keeps it busy until then. */
struct quiet {
	int64_t at_ms; /* STAMP_NONE if no machine keeps the scope busy */
	/* at_ms is only the earliest time, because a machine is booting. */
	bool earliest;
	uint32_t id; /* the machine with the latest deadline, or NO_ID */
	/* When that machine was created.  An id may be used again, so both
	 * together identify the machine. */
	int64_t created_ms;
};

struct scope {
	char name[NODEPOOL_BYTES]; /* "" in scope `cluster` */
	uint32_t timers;	   /* number of timers in this scope */
	uint32_t first; /* place of the first of these timers, plus 1, or 0 */
	/* Numbers of its timers with the flag `machine`, with the flag `live`,
	 * and with the flag `coming`. */
	uint32_t machines, live, coming;
	/* A timer is live, or a boot has failed, or the scope was busy before
	 * and a timer is coming. */
	bool busy;
	/* A boot that failed at again_from_ms or later keeps the scope busy
	 * until again_until_ms (timers_boot_failed).  STAMP_NONE if none
	 * did. */
	int64_t again_from_ms, again_until_ms;
	/* The previous leader held the scope, and we do not see everything
	 * yet. */
	bool was_busy;
	bool held; /* busy, and no release window is open */
	struct cap cap;
	int64_t released_ms; /* the latest released-at that was applied */
	bool told_window;    /* timers_turned has reported the window */
	bool dirty;	     /* it is in timers.dirty */
	bool untaught;	     /* it is in timers.untaught */
	bool moved;	     /* it is in timers.moved */
	bool recount;	     /* `enough` of its timers is out of date */
	uint32_t made;	     /* a number that is unique to this scope */
};

struct timers {
	enum scope_kind kind;
	struct cap_rules cap;
	uint32_t min_scale_up, min_scale_up_percent;
	bool changed; /* the state for a later leader; the owner resets it */
	bool usable;  /* we lead, and all lists and watches are current */
	bool seen;    /* all lists were current once in this lead */
	/* A machine of unknown scope makes all scopes busy until this server
	 * time (timers_unknown), and was first seen unknown_ms.  STAMP_NONE if
	 * there is none. */
	int64_t unknown_ms, unknown_until_ms;
	/* A machine has two ids and one timer, so timers are numbered by
	 * places of their own. */
	uint32_t *place;      /* indexed by id: the timer's place + 1, or 0 */
	struct timer *at;     /* indexed by place */
	uint32_t places_top;  /* the first place that was never used */
	uint32_t places_free; /* the first free place + 1, or 0 */
	uint32_t top;	      /* ids from here on were never used */
	uint32_t *order; /* scratch space for ids_max ids within one call */
	/* Places, by the server time at which the timer has to be put again. */
	struct heap due;
	struct scope scopes[SCOPES_MAX];
	uint32_t scopes_top; /* scopes from here on were never used */
	uint32_t made;	     /* number of scopes made so far */
	/* A new scope may take the place of a scope that is no longer needed.
	 * Such a place is searched for only if scopes_top is at least this, or
	 * is SCOPES_MAX. */
	uint32_t spare_from;
	struct index scope_by_name;
	/* Scopes, by the boot time at which time alone next changes the cap. */
	struct heap caps;
	uint32_t dirty[SCOPES_MAX]; /* scopes that timers_turned checks next */
	uint32_t dirty_n;
	bool turning; /* timers_turned was called and has not returned NO_ID */
	/* Scopes whose released-at the owner has to set: new ones, and those
	 * that timers_unteach has added. */
	uint32_t untaught[SCOPES_MAX];
	uint32_t untaught_n;
	uint32_t moved[SCOPES_MAX]; /* the scopes that timers_moved returns */
	uint32_t moved_n;
};

/* Makes an empty table for the ids below ids_max.  *ts must be zeroed memory,
 * because zeroing it here would touch all its pages.  Returns -1 if there is no
 * memory; *ts then owns none. */
int timers_init(struct timers *ts, const struct rules *rules, uint32_t ids_max);
void timers_done(struct timers *ts);

/* The facts about a machine.  Members that are also in struct timer mean the
 * same. */
struct timer_facts {
	const char *nodepool; /* "" without one */
	int64_t deadline_ms;
	int64_t own_ms;	   /* the machine's own deadline */
	int64_t counts_ms; /* when it begins to count, or STAMP_NONE */
	int64_t created_ms, hold_ms;
	uint32_t least; /* as in struct timer; 0 to take it from minScaleUp */
	bool booting;
	bool machine;
};
/* Makes or changes the machine's timer.  now_ms is the server time.  Call it
 * when a fact changes, and after timers_due has returned the machine.  Returns
 * -1 if there is no room for another scope (SCOPES_MAX); the machine then has
 * no timer. */
int timers_put(struct timers *ts, uint32_t id, const struct timer_facts *f,
	       int64_t now_ms);
void timers_drop(struct timers *ts, uint32_t id);
/* Call this when a machine is seen of which nothing can be read.  If none was
 * known yet, all scopes are busy until until_ms.  A later released-at ends this
 * for its scope, and timers_no_unknown for all. */
void timers_unknown(struct timers *ts, int64_t until_ms, int64_t now_ms);
void timers_no_unknown(struct timers *ts);
/* Call this before the timer of a machine whose boot has failed is dropped.  If
 * the machine keeps its scope busy, the scope stays busy for FAILED_BOOT_MS
 * (docs/rules.md#boots-that-are-tried-again). */
void timers_boot_failed(struct timers *ts, uint32_t id, int64_t now_ms);
/* Returns whether a claim of this NodePool was created while a failed boot kept
 * its scope busy.  seen_ms is when the claim was first seen. */
bool timers_again(const struct timers *ts, const char *nodepool,
		  int64_t created_ms, int64_t seen_ms);
/* Call this when the API server's clock has jumped by by_ms. */
void timers_shift(struct timers *ts, int64_t by_ms);
/* Returns the scope in this place, which is below scopes_top.  It belongs to
 * *ts. */
static inline const struct scope *
timers_scope(const struct timers *ts, uint32_t scope)
{
	return &ts->scopes[scope];
}

/* Returns the machine's timer, or a zeroed one if the machine has none.  The
 * timer belongs to *ts and is valid until the next put or drop. */
const struct timer *timers_at(const struct timers *ts, uint32_t id);

/* Finds a machine that is due, and removes it from the heap `due`.  The caller
 * computes the machine's facts again and calls timers_put.  Returns false if no
 * machine is due. */
bool timers_due(struct timers *ts, int64_t now_ms, uint32_t *id);
/* Returns the server time at which the next machine is due, or STAMP_NONE. */
int64_t timers_next_ms(const struct timers *ts);
/* Returns the boot time at which time alone next changes a cap, or
 * STAMP_NONE. */
int64_t timers_cap_next_ms(const struct timers *ts);

/* Returns how many machines must be created together to hold the scope, as of
 * now. */
uint32_t timers_min_scale_up(const struct timers *ts, uint32_t scope);

/* Returns the milliseconds until the cap ends the scope's hold, or INT64_MAX if
 * the scope has no cap or is not held. */
int64_t timers_cap_in_ms(const struct timers *ts, uint32_t scope,
			 int64_t boot_ms);

/* Returns a scope that has become held or is no longer held since it was last
 * returned, or on which a release window has opened.  Its member `held` says
 * whether it is held now.  Call the function until it returns NO_ID. */
uint32_t timers_turned(struct timers *ts, struct now now);

/* Returns a scope whose quiet time may have moved since it was last returned,
 * or NO_ID. */
uint32_t timers_moved(struct timers *ts);
/* For sort_ids: sorts ids in ascending order. */
bool timers_id_before(const void *ctx, uint32_t a, uint32_t b);

/* Restores a scope from the state of an earlier leader.  The caller has
 * advanced debt and window of *left to now, and left->grows says whether that
 * leader held the scope.  at_ms is the server time of that state: every
 * released-at before it had been applied.  The call does nothing if there is no
 * room for another scope. */
void timers_restore(struct timers *ts, const char *name, const struct cap *left,
		    int64_t at_ms, struct now now);
/* Returns whether the scope has state that a later leader needs. */
bool timers_keeps(const struct timers *ts, uint32_t scope, int64_t boot_ms);

/* Tell the table that the argument of timers_released may have changed, for the
 * scope of this NodePool or for all scopes. */
void timers_unteach(struct timers *ts, const char *nodepool);
void timers_unteach_all(struct timers *ts);
/* Returns a scope for which the owner has to call timers_released, or NO_ID.
 * Each such scope is returned once. */
uint32_t timers_untaught(struct timers *ts);
/* Sets the earliest released-at of the NodePools whose machines belong to the
 * scope, or STAMP_NONE if one of them has none.  If it is later than the last
 * one, debt and window end. */
void timers_released(struct timers *ts, uint32_t scope, int64_t released_ms,
		     struct now now);

/* Drops all scopes with their caps when a lead begins or ends.  The owner must
 * have dropped all timers. */
void timers_forget(struct timers *ts);
/* Tells the table whether releases are possible: we lead, and all lists and
 * watches are current. */
void timers_usable(struct timers *ts, bool usable);
/* Tells the table that all lists were current once in this lead.  From then on
 * the holds of the previous leader no longer matter. */
void timers_seen(struct timers *ts);
/* Returns whether the machine's own deadline is in the future. */
bool timers_own(const struct timers *ts, uint32_t id, int64_t now_ms);
/* Returns whether the machine has a scope and that scope is held. */
bool timers_scope_held(const struct timers *ts, uint32_t id);
/* Returns whether the machine has a scope that is quiet, and that may be busy
 * in a moment, because a machine in it is about to count. */
bool timers_scope_may_turn(const struct timers *ts, uint32_t id);

/* Returns the ids of the scope's machines in ascending order, and their number
 * in *n.  The result is ts->order, valid until the next call. */
const uint32_t *timers_of_scope(struct timers *ts, uint32_t scope, uint32_t *n);
/* Predicts when the scope will be quiet, as if every booting machine became
 * ready now.  It scans all machines of the scope. */
struct quiet timers_expects(const struct timers *ts, uint32_t scope,
			    int64_t now_ms);

#endif
