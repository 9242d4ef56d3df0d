/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_TRUTH_H
#define TESTS_SIM_TRUTH_H

#include "holder.h"

/*
 * The truth is what ought to be, computed from the world alone.  It checks the
 * invariants after every step.  It calls no function of the product: the rules
 * are written down a second time, naively (docs/testing.md says which).  From a
 * replica it takes only what the replica's shell in the simulator knows:
 * whether it leads, what its clock says, which streams are open, and when they
 * first showed an object.
 *
 * Where nobody can know, because a stream is cut or a lead has moved, there are
 * two answers, and a check fails only if it fails under both.
 */

#define SLACK_MS 3000		/* fresh lists, patches */
#define TROUBLE_SLACK_MS 40000	/* after a call that failed: the longest
				   backoffs, one after the other */
#define LAG_MS 1000		/* until a replica knows what has happened */
#define TURN_MS 1500		/* clock and stamps have whole seconds */
#define GRACE_MS 5000		/* for a claim without a Launched condition */
#define WRITES_MAX 6		/* to one object, beside two for each turn: for
				   what a person does, an Event, a restart */
#define TRIES_MAX 30		/* calls for one object in a minute of trouble */
#define LISTS_MAX 65		/* fresh lists of one kind in a minute */
#define DENIED_MAX 12		/* calls in ten minutes for a write that is
				   refused; after that one in ten minutes */
#define REHOLDS 3		/* holds anew after a strip, in a period */

/* lo: surely; hi: possibly. */
struct maybe {
	bool lo, hi;
};

/* A leaky bucket that is as far on, or as far behind, as it can be. */
struct bucket {
	int windows;		/* how many have ended */
	double debt, left;	/* ms; of the window that is open */
	bool open;
	int64_t opened_at;
};

struct scope_truth {
	struct bucket early, late;
	double high;		/* the most debt of those without a window */
	double open_left;	/* a window may be open for so much longer */
	bool unknown;		/* any debt and any window may be right */
	double idle_for;	/* idle for so long; that ends `unknown` */
	int64_t max;		/* the cap, as of the last look */
	struct maybe busy;	/* as the world is */
	int64_t hi_last;	/* it was possibly busy until then */
	struct maybe seems;	/* busy, as replicas may see it */
	struct maybe held;
	int64_t released;	/* the earliest released-at; STAMP_NONE */
	int64_t limited_since, limited_at;	/* the released-at that limits
				   the debt, and its virtual time */
	bool heard_late;	/* that released-at came in trouble */
	/* A new leader does not see everything yet.  These hold what the last
	 * one knew. */
	bool gap, gap_held;
	bool gap_over;		/* the leader sees everything, or may have */
};

enum due_goal {
	DUE_UNSURE,
	DUE_LEFT,		/* being deleted, or not ours to hold */
	DUE_HELD,
	DUE_CLEAR,
};

/* What a claim is, whatever its annotations say. */
enum judged {
	JUDGED_NOT,		/* does not count yet, or is undecided */
	JUDGED_SCALE_UP,
	JUDGED_SUBSTITUTE,
	JUDGED_EITHER,		/* nobody can know */
};

/* Which boot that failed does a claim try again? */
enum tries {
	TRIES_UNKNOWN,
	TRIES_NONE,
	TRIES_OWN,		/* one of its own NodePool */
	TRIES_THIS,
};

struct retry_truth {
	enum tries tries;
	bool coming;		/* the claim may count, as of the last look */
	bool asked;		/* that has been settled, in this lead */
	int failed;		/* TRIES_THIS: that machine */
	int64_t at;		/* since then, or the claim may count since
				   then */
	/* Its first try may be so much older than itself, in ms.  sure: the
	 * two are the same, and it is. */
	int64_t least, most;
	bool sure;
};

/* How many machines it takes to hold the scope together with one of them. */
struct share {
	uint32_t fewest, most;	/* most 0: it has not come to count */
	bool taken;		/* every leader has taken it: it stands */
	int64_t sure_since;	/* every leader can take it since then */
	bool lost;		/* the machine does not count any more … */
	int64_t lost_at;	/* … since then, last; -1: it counts */
	bool first;		/* those of an earlier try are in it */
};

struct machine_truth {
	enum due_goal goal;
	int64_t goal_since;
	int64_t period_since;	/* its last turn away from clear */
	int64_t due_since;	/* perhaps its hold is to go; -1: not */
	/* In this lead. */
	enum judged judged;
	int64_t judged_at;
	int substitute;		/* the thing it is matched with */
	bool seemed;		/* it may have been a substitute in any lead */
	/* Its deletion waits for a substitute that is made up to until, or may
	 * wait up to until_hi (stamps), because of `extender`, which went at
	 * failed_ms without a launch.  unsure: nobody knows whom it extended. */
	int64_t until, until_hi, failed_ms;
	int extender;
	bool unsure, extended;	/* extended: as such a claim, it has */
	/* As of the last look. */
	struct maybe counts, enough, replaced;
	struct maybe counted;	/* it counted when it was last alive */
	struct maybe came;	/* it counted at any time */
	bool undecided;		/* perhaps: because of it no hold begins, and
				 * one may go on */
	bool opted_out;		/* a person took the hold away; the mark went
				   with an earlier configuration */
	int64_t deadline;	/* its own, on the leader's clock */
	int64_t deadline_hi;	/* the later one where two are right */
	int64_t busy_deadline, busy_deadline_hi;	/* the same for its scope:
				   a reboot leaves them as they were */
	int64_t created;
	struct retry_truth retry;
	struct share share;
	bool failed_boot;
	struct maybe ongoing;	/* its boot failed and has no retry yet */
	/* The Node's hold, for the cap. */
	bool was_held;
	int64_t held_since, held_troubled;
	int64_t held_max;	/* the cap meanwhile */
	int64_t busy_since;	/* since when it surely keeps its scope busy;
				   -1: it does not */
};

/* How much time a run has looked at, and how much of it was judged: machine-time
 * in which a wrong hold or a wrong clear would be reported, and scope-time in
 * which a wrong window or the lack of one would be. */
struct meter {
	double machines_ms, machines_judged_ms, scopes_ms, scopes_judged_ms;
};

struct truth {
	struct world *w;
	struct holder *holders;
	int holders_n;
	const struct holder *leader;	/* NULL: nobody leads */
	unsigned leads_n;
	struct rules rules;		/* of the leader, or of the last one */
	bool usable, maybe_usable;	/* the leader sees everything, so the
					   time since the last look counts */
	bool begins;			/* it waits for its first lists, and
					   begins no hold meanwhile */
	int64_t looked_at, next;
	uint64_t seen_changes;
	int64_t clock;			/* the leader's */
	bool calm;
	int64_t trouble_began;		/* the present trouble, or the last */
	int64_t troubled_ms;
	struct scope_truth scopes[POOLS];
	struct machine_truth machines[MACHINES];
	int64_t due_at;			/* when a release last was due */
	bool soft_odd;			/* the soft state does not fit */
	int64_t soft_since;		/* since when it does not */
	int soft_at_odds;		/* the scope that it does not fit */
	/* The last fields: nothing depends on them. */
	struct meter meter;
	struct meter rates;		/* … in a millisecond, as of the last
					   look */
};

void truth_init(struct truth *t, struct world *w, struct holder *holders,
		int holders_n);
void truth_check(struct truth *t);
/* The same, even if nothing is due. */
void truth_look(struct truth *t);
/* Returns when the next check is due, whatever else happens. */
int64_t truth_next(const struct truth *t);
/* The last check, once faults have stopped and everything is quiet for good
 * (I8). */
void truth_last(struct truth *t);

#endif
