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

#define SLACK_MS 3000		/* what fresh lists and patches may take */
#define LARGE_SLACK_MS 13000	/* the same where a list for a claim that is too
				   large may swallow the line of our own write,
				   which is awaited for 10 s */
#define TROUBLE_SLACK_MS 40000	/* what they may take after a call that failed:
				   the longest backoffs, one after the other */
#define LAG_MS 1000		/* how long a replica may not know what has
				   happened */
#define TURN_MS 1500		/* how far clock and stamps may be off: they
				   have whole seconds */
#define GRACE_MS 5000		/* how long a claim may lack a Launched
				   condition */
#define WRITES_MAX 6		/* writes to one object, beside two for each
				   turn: for what a person does, an Event, a
				   restart */
#define TRIES_MAX 30		/* calls for one object in a minute of trouble */
#define LISTS_MAX 65		/* fresh lists of one kind in a minute */
#define DENIED_MAX 12		/* calls in ten minutes for a write that is
				   refused; after that one in ten minutes */
#define REHOLDS 3		/* how often in a period a stripped hold is
				   restored */

/* lo: it is surely so; hi: it is possibly so. */
struct maybe {
	bool lo, hi;
};

/* A leaky bucket with the highest, or the lowest, values that are possible. */
struct bucket {
	int windows;		/* how many windows have ended */
	double debt, left;	/* debt: in ms; left: what is left of the open
				   window */
	bool open;
};

struct scope_truth {
	struct bucket early, late;
	double high;		/* the most debt that is possible while no
				   window is open */
	double open_left;	/* for how much longer a window may be open */
	bool unknown;		/* any debt and any window may be right */
	double idle_for;	/* for how long it has been idle; that ends
				   `unknown` */
	struct maybe busy;	/* it is busy in the world */
	int64_t hi_last;	/* when it was last possibly busy */
	bool coming;		/* a claim of it may count later */
	int64_t came_at;	/* when that was last so */
	struct maybe seems;	/* it is busy, as replicas may see it */
	struct maybe held;
	int64_t released;	/* the earliest released-at; STAMP_NONE: none */
	int64_t since;		/* the same, as of the last look */
	bool ends;		/* it ends debt and window, and the leader may
				   not know it yet */
	int64_t ends_at;	/* since when that is so, or was last so */
	/* A new leader does not see everything yet.  These hold what the last
	 * one knew. */
	bool gap, gap_held;
	bool gap_over;		/* the leader sees everything, or may have */
};

/* Do tickets hold a NodePool, as the leader sees it?  Once they do, they do so
 * for a minute at least.  Moments are virtual time. */
struct hand_truth {
	struct maybe by;	/* as of the last look, without the minute */
	int64_t since;		/* since when by.hi */
	int64_t last;		/* when by.hi was last so */
	bool begins;		/* nothing held it before `since` */
	bool out;		/* it is disabled or gone, or the leader may
				   think so */
	int64_t least, least_hi;	/* they hold it until then, surely and
					   possibly */
};

enum due_goal {
	DUE_UNSURE,
	DUE_LEFT,		/* it is being deleted, or is not ours to
				   hold */
	DUE_HELD,
	DUE_CLEAR,
};

/* What a claim is, whatever its annotations say. */
enum judged {
	JUDGED_NOT,		/* it does not count yet */
	JUDGED_SCALE_UP,
	JUDGED_SUBSTITUTE,
	JUDGED_EITHER,		/* nobody can know */
};

/* How many machines it takes to hold the scope together with one of them. */
struct share {
	uint32_t fewest, most;	/* most is 0 if the machine has not come to
				   count */
	bool taken;		/* every leader has taken this share, so it
				   stands */
	int64_t sure_since;	/* since when every leader can have taken it */
	bool lost;		/* the machine does not count any more … */
	int64_t lost_at;	/* since when it does not count; -1: it
				   counts */
};

struct machine_truth {
	enum due_goal goal;
	int64_t goal_since;
	int64_t period_since;	/* when its goal last turned away from clear */
	int64_t unread_at;	/* when the leader last did not know all of its
				   claim, because a watch left out a line */
	int64_t due_since;	/* since when its hold may have to go; -1: it
				   does not */
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
	struct maybe kept;	/* it kept its scope busy then */
	struct maybe failed;	/* it kept its scope busy, and its boot
				   failed */
	struct maybe fails;	/* the same, within the minute before */
	struct maybe again;	/* it was made in such a minute */
	bool coming;		/* it may count later: because of it no hold
				   begins, and one may go on */
	int64_t deadline;	/* its own deadline, on the leader's clock */
	int64_t deadline_hi;	/* the later deadline, where two are right */
	int64_t busy_deadline, busy_deadline_hi;	/* the same for its scope:
				   a reboot leaves them as they were */
	int64_t unwatched_until;	/* the leader has not seen the readiness
				   before the reboot: neither begins nor ends a
				   hold until then */
	int64_t created;
	struct share share;
	/* The Node's hold, for the cap. */
	bool was_held;
	int64_t held_since, held_troubled;
	int64_t busy_since;	/* since when it surely keeps its scope busy;
				   -1: it does not */
};

/* How much time a run has looked at, and how much of it was judged: machine-time
 * in which a wrong hold or a wrong clear would be reported, and scope-time in
 * which a wrong window or the lack of one would be.  The rest has a reason. */
enum metered {
	METER_MACHINES,
	METER_MACHINES_JUDGED,
	METER_UNSURE,		/* held and clear may both be right */
	METER_TROUBLE,
	METER_TURNED,		/* what is to be has changed just now */
	METER_UNSEEN,		/* nobody can see whose object it is, or what is
				   on it */
	METER_CAPS,
	METER_CAPS_JUDGED,
	METER_CAP_UNKNOWN,	/* any debt may be right */
	METER_CAP_TROUBLE,
	METER_CAP_OPEN,		/* a window may be open, or closed */
	METERED,
};

struct meter {
	double ms[METERED];
};

struct truth {
	struct world *w;
	struct holder *holders;
	int holders_n;
	const struct holder *leader;	/* NULL: nobody leads */
	unsigned leads_n;
	struct rules rules;		/* the rules of the leader, or of the
					   last one */
	bool usable, maybe_usable;	/* the leader sees everything, so the
					   time since the last look counts */
	bool begins;			/* it waits for its first lists, and
					   begins no hold meanwhile */
	int64_t looked_at, next;
	uint64_t seen_changes;
	int64_t clock;			/* the leader's clock */
	bool calm;
	bool blind;	/* at the last look the leader saw less than there was */
	int64_t trouble_began;		/* when the present trouble began, or
					   the last */
	bool waits;			/* every release waits for a claim that
					   is too large */
	int64_t waited_at;		/* when that was last so */
	int64_t troubled_ms;		/* how long there was either */
	struct scope_truth scopes[POOLS];
	struct machine_truth machines[MACHINES];
	struct hand_truth hands[POOLS];
	int64_t due_at;			/* when a release was last due */
	bool soft_odd;			/* the soft state does not fit */
	int64_t soft_since;		/* since when it does not */
	int soft_at_odds;		/* the scope that the soft state does
					   not fit */
	/* The last fields: nothing depends on them. */
	struct meter meter;
	struct meter rates;		/* how much of each a millisecond adds,
					   as of the last look */
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
