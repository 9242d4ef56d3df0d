/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_STATUS_H
#define CORE_CONTROLLER_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/index.h"
#include "core/base/nodepool.h"
#include "core/base/object.h"
#include "core/controller/controller.h"
#include "core/controller/journal.h"
#include "core/table/nodepools.h"

/*
 * What /status says (docs/status.md): reports that only read the controller.
 * None of them looks at more than a bounded number of machines, so that the
 * owner's lock is held for microseconds.  What depends on all machines is
 * counted in slices into a struct figures, which belongs to the caller.
 *
 * Times are server_ms, and `now` is the caller's: the reports do not move the
 * controller's clock.  Not thread-safe: callers hold the owner's lock.
 */

/* --- figures: what depends on all machines -------------------------------- */

/* The machines of one NodePool. */
struct nodepool_figures {
	uint32_t machines;  /* NodeClaims with their Nodes, and Nodes
				   without one */
	uint32_t held;	    /* those that we hold */
	uint32_t by_people; /* those that a person holds */
	/* Those whose hold a person has taken off, or that another value of the
	 * annotation keeps from being held. */
	uint32_t opted_out;
	uint32_t waiting; /* those with a write that waits to be tried again */
};

struct figures;

/* The NodePools of a scope that people hold by hold-until. */
struct hand_holds {
	uint32_t nodepools; /* its NodePools that may be held */
	uint32_t held;	    /* those of them with a hold-until in force */
	/* When the first and the last of these hold-untils end; STAMP_NONE if
	 * held is 0. */
	int64_t first_ms, last_ms;
};

/* Makes figures that have counted nothing.  They take 350 KiB, of which
 * only the pages are touched that the cluster needs.  Returns NULL if there is
 * no memory. */
struct figures *figures_new(void);
void figures_free(struct figures *f); /* accepts NULL */

/* Returns how many objects carry our hold and mark while a hold-until holds
 * their NodePool. */
uint32_t figures_by_hand(const struct figures *f, enum kind kind);

/* Begins to count anew. */
void figures_begin(struct figures *f);
/* Counts the next STATUS_SLICE objects, or a few NodePools.  Returns true while
 * there are more: the caller gives the lock away in between.  What comes or
 * goes meanwhile may be missed. */
bool figures_count(const struct controller *s, struct figures *f,
		   struct now now);

/* --- the whole status ----------------------------------------------------- */

/* Something that keeps due holds from being released. */
enum status_wait {
	WAIT_UNSEEN,	  /* `kind` is not listed, or its watch is not open */
	WAIT_UNSETTLED,	  /* the list of NodeClaims has left something out */
	WAIT_LIST,	  /* the fresh lists before a release are under way, or
			   are about to begin */
	WAIT_LIST_FAILED, /* one of these lists, that of `kind`, failed or
			     showed more than is known: it is made again */
	WAIT_PAUSED,	  /* the API server has asked for a pause */
	WAIT_UNDECIDED,	  /* of a scope: `machines` may replace others or be
			   scale-ups */
	WAIT_COUNT,
};
struct status_waits {
	unsigned n;
	struct {
		enum status_wait why;
		enum kind kind;	   /* UNSEEN, LIST_FAILED: the kind that is
				      meant */
		uint32_t machines; /* UNDECIDED: how many machines */
		int64_t until_ms;  /* STAMP_NONE if nobody knows */
	} at[WAIT_COUNT + VIEW_COUNT];
};

struct status_report {
	bool leads;
	struct controller_report table;
	bool listed[VIEW_COUNT];
	struct status_waits waits; /* what all scopes wait for */
	uint64_t turns;		   /* how many there have ever been */
	/* Since when all turns are known; STAMP_NONE if nothing is known
	 * yet. */
	int64_t history_ms;
};
void controller_status(const struct controller *s, struct now now,
		       struct status_report *out);

/* Reads the history as journal_turn_at. */
bool controller_turn(const struct controller *s, uint64_t *before,
		     struct turn *out);

/* --- scopes --------------------------------------------------------------- */

enum scope_state {
	SCOPE_QUIET,
	SCOPE_HELD,
	SCOPE_CAPPED, /* busy, but released by its cap */
};

struct scope_status {
	char name[NODEPOOL_BYTES]; /* "": the cluster, or the machines
					   without a NodePool */
	/* HELD too while hold-untils hold all its NodePools. */
	enum scope_state state;
	bool hand_alone;  /* only hold-untils hold it */
	int64_t since_ms; /* STAMP_NONE if it has not turned as far as the
				   history goes, or hand_alone */
	/* HELD: when it will be quiet, or its cap ends the hold if that comes
	 * first, or the first of the hold-untils that hold all of it, if that
	 * comes last; CAPPED: when the window ends.  STAMP_NONE: nobody
	 * knows. */
	int64_t until_ms;
	bool earliest;	 /* machines boot, so it may be later than until_ms */
	bool until_cap;	 /* until_ms is the end by the cap */
	bool until_hand; /* until_ms is the end of a hold-until */
	struct hand_holds by_hand;
	uint32_t machines;     /* its machines that have a timer */
	uint32_t min_scale_up; /* how many new machines it takes */
	/* The machine that restarted the quiet time last; "": none counts, or
	 * it is gone.  restarted_ms: when it became ready or, while it boots,
	 * when it was created. */
	char machine[NAME_BYTES];
	int64_t restarted_ms;
	bool booting;
	int64_t cap_max_ms;	   /* 0 if no cap */
	int64_t cap_used_ms;	   /* the debt: docs/rules.md */
	int64_t cap_window_ms;	   /* how long a release by the cap lasts */
	struct status_waits waits; /* what only this scope waits for */
};
/* Finds the first scope in use from *i on, and moves *i behind it.  Start at 0.
 * Returns false at the end.  f: figures that have counted everything. */
bool controller_scope_status(const struct controller *s,
			     const struct figures *f, uint32_t *i,
			     struct now now, struct scope_status *out);

/* --- NodePools ------------------------------------------------------------ */

struct nodepool_status {
	struct nodepool nodepool; /* its annotations, also the bad ones */
	enum nodepool_out out;
	bool by_hand;	     /* its hold-until is in force */
	bool released_ahead; /* its released-at does not count: it lies ahead
				   of now */
	struct nodepool_figures n;
};
/* The same for the NodePools that have been seen. */
bool controller_nodepool_status(const struct controller *s,
				const struct figures *f, uint32_t *i,
				struct now now, struct nodepool_status *out);

/* --- one machine ---------------------------------------------------------- */

struct half_status {
	bool present, deleting;
	char name[NAME_BYTES];
	enum tenure tenure;
	bool other;	 /* TENURE_PERSON by another value of the
				   annotation than ours: it holds nothing */
	bool carries;	 /* the object itself has hold and mark: with
				   MODE_OBSERVE, those of a holder that
				   enforced */
	int64_t mark_ms; /* the mark's time; STAMP_NONE if it has no mark */
	bool written;	 /* `last`, the last write on it, is known */
	struct written last;
	bool in_flight;	  /* a write is under way */
	int64_t again_ms; /* when a write is tried again, or STAMP_NONE */
};

struct machine_status {
	struct half_status claim, node;
	char nodepool[NODEPOOL_BYTES];
	bool registered, booting;
	enum goal goal; /* what ought to be */
	/* The reason for the goal, in the words of the log, such as "scale-up".
	 * Static. */
	const char *why;
	/* Its own deadline or, while it boots, the earliest moment at which
	 * this can be; STAMP_NONE if it has none. */
	int64_t own_ms;
	/* Its NodePool's hold-until while that holds it, otherwise
	 * STAMP_NONE. */
	int64_t manual_ms;
	/* The reason that a person gave for the hold-until, or "". */
	char reason[REASON_BYTES];
	uint32_t scope; /* for controller_scope_status; NO_ID if it has none */
};

/* Finds the Node or, if there is none, the NodeClaim with this very name.
 * Returns false if there is neither. */
bool controller_machine(const struct controller *s, const char *name,
			struct now now, struct machine_status *out);

/* --- all machines --------------------------------------------------------- */

/* What is worth a look comes first. */
enum machine_rank {
	MACHINE_LOOK, /* a person has a say, or a write waits to be tried
			   again */
	MACHINE_HELD, /* we hold it */
	MACHINE_REST,
	MACHINE_RANKS,
};

/* Looks from *i on for a machine of this rank and NodePool ("": any), and moves
 * *i behind what it has looked at.  Start at 0.  Returns 1 if it found one,
 * which is told without its last writes; -1 at the end; 0 after STATUS_SLICE
 * objects without one: the caller gives the lock away and asks again. */
int controller_machine_next(const struct controller *s, uint32_t *i,
			    enum machine_rank rank, const char *nodepool,
			    struct now now, struct machine_status *out);
/* Returns how many machines of this NodePool ("": any) were counted. */
uint32_t figures_machines(const struct controller *s, const struct figures *f,
			  const char *nodepool);

#endif
