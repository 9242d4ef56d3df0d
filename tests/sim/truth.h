/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_TRUTH_H
#define TESTS_SIM_TRUTH_H

#include "holder.h"

/*
 * What ought to be, computed from the world alone; and the invariants, checked
 * after every step.  No function of the product is called here: the rules are
 * written down a second time, naively (docs/testing.md says which).  What is
 * taken from a replica is what its shell in the simulator knows: whether it
 * leads, what its clock says, which streams are open, and when they showed an
 * object first.
 *
 * Where nobody can know, because a stream is cut or a lead has moved, there are
 * two answers, and a check fails only where it fails under both.
 */

#define SLACK_MS 8000		/* 5 s of the hint, fresh lists, patches */
#define TROUBLE_SLACK_MS 40000	/* the longest backoffs, one after the other */
#define LAG_MS 1000		/* what has happened is known by then */
#define TURN_MS 1500		/* whole seconds, of the clock and of stamps */
#define WRITES_MAX 6		/* to one object, beside two for each turn, for
				   what a person does, an Event, a restart */
#define TRIES_MAX 30		/* calls for one object in a minute, in trouble */
#define LISTS_MAX 65		/* fresh ones of one kind in a minute */
#define DENIED_MAX 12		/* calls for what is refused: in ten minutes;
				   one more in each ten after them */
#define REHOLDS 3		/* stripped and held again, in a period */

/* Surely, possibly. */
struct maybe {
	bool lo, hi;
};

/* A leaky bucket: what it ought to be, were it as far on (or as far behind) as
 * it can be. */
struct bucket {
	int windows;		/* that have ended */
	double debt, left;	/* ms; of the window that is open */
	bool open;
	int64_t opened_at;
};

struct scope_truth {
	struct bucket early, late;
	double high;		/* the most debt without a window yet … */
	double open_left;	/* … but one may be open for so long */
	bool unknown;		/* any debt may be right, any window … */
	double idle_for;	/* … until it has been idle for long enough */
	int64_t max;		/* the cap, as of the last look */
	struct maybe busy;	/* as the world is */
	int64_t hi_last;	/* it was, possibly, until then */
	struct maybe seems;	/* … with what may not be known yet */
	struct maybe held;
	int64_t released;	/* the earliest released-at; STAMP_NONE */
	int64_t limited_since, limited_at;	/* the same, for the debt, and
				   when that was in virtual time */
	bool heard_late;	/* … that came in trouble */
	/* A new leader does not see everything yet: what the last one knew. */
	bool gap, gap_held, guess;
	bool guessed;		/* by marks it may have been held: who is
				   undecided may keep it so */
	bool gap_over;		/* it may see everything, or may have */
};

enum due_wish {
	DUE_UNSURE,
	DUE_LEFT,		/* being deleted, or none of our business */
	DUE_HELD,
	DUE_CLEAR,
};

/* What a claim is, beside what stands on it. */
enum judged {
	JUDGED_NOT,		/* it does not count yet, or is undecided */
	JUDGED_SCALE_UP,
	JUDGED_SUBSTITUTE,
	JUDGED_EITHER,		/* nobody can know */
};

struct machine_truth {
	enum due_wish wish;
	int64_t wish_since;
	int64_t due_since;	/* not to be held any more, perhaps; -1 */
	/* In this lead. */
	enum judged judged;
	int64_t judged_at;
	int substitute;		/* the thing it is matched with */
	/* As of the last look. */
	struct maybe counts, enough, replaced;
	struct maybe counted;	/* it did when it was alive last */
	struct maybe came;	/* … or at any time */
	bool undecided;		/* because of it no hold begins or ends */
	bool opted_out;		/* a person took the hold away; the mark went
				   with a former configuration */
	int64_t deadline;	/* own, on the leader's clock */
	int64_t deadline_hi;	/* … where two answers are right */
	int64_t created;
	int64_t tried_since;	/* it may be the next try of one made then */
	bool failed_boot;
	struct maybe ongoing;	/* a failed boot that is not tried again yet */
	/* The node's hold, for the cap. */
	bool was_held;
	int64_t held_since, held_troubled;
	int64_t held_max;	/* … under this cap */
	int64_t busy_since;	/* it surely keeps its scope busy; -1: not */
};

struct truth {
	struct world *w;
	struct holder *holders;
	int holders_n;
	const struct holder *leader;	/* NULL: nobody leads */
	unsigned leads_n;
	struct rules rules;		/* of who leads, or led last */
	bool usable, maybe_usable;	/* its time, since the last look */
	int64_t looked_at, next;
	uint64_t seen_changes;
	int64_t clock;			/* the leader's */
	bool calm;
	int64_t trouble_began;		/* of the trouble that is on, or was */
	int64_t troubled_ms;
	struct scope_truth scopes[POOLS];
	struct machine_truth machines[MACHINES];
	int64_t due_at;			/* a release was, and waited, last */
	bool soft_odd;			/* the soft state does not fit … */
	int64_t soft_since;		/* … since then … */
	int soft_at_odds;		/* … with what is known of that scope */
};

void truth_init(struct truth *t, struct world *w, struct holder *holders,
		int holders_n);
void truth_check(struct truth *t);
void truth_look(struct truth *t);	/* the same, whether it is due or not */
/* When it is to be looked at again, whatever else happens. */
int64_t truth_next(const struct truth *t);
/* Faults have stopped and everything is quiet for good (I8). */
void truth_last(struct truth *t);

/* For the pictures: when the machine's own quiet time ends, as of now (server
 * time); STAMP_NONE: its NodePool is left out. */
int64_t truth_own_ms(const struct world *w, const struct rules *r,
		     const struct machine *m);

#endif
