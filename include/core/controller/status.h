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
 * The contents of /status (docs/status.md).  These reports only read the
 * controller.  Each call reads a limited number of machines, so the owner's
 * lock is held for microseconds.  Totals over all machines are counted in
 * slices into a struct figures, which belongs to the caller.
 *
 * Times are server_ms.  The reports do not advance the controller's clock to
 * `now`.  Not thread-safe: callers hold the owner's lock.
 */

/* --- figures: totals over all machines ------------------------------------ */

/* The machines of one NodePool. */
struct nodepool_figures {
	/* Number of machines: each is a NodeClaim with its Node, or a Node
	 * alone. */
	uint32_t machines;
	uint32_t held;	    /* machines that the holder holds */
	uint32_t by_people; /* machines that a person holds */
	/* Machines that may not be held, because a person removed the hold or
	 * set the annotation to another value. */
	uint32_t opted_out;
	/* Machines without any hold that may be held, and are not being
	 * deleted: the holder writes to none that is. */
	uint32_t unheld;
	/* Machines with a failed write that will be retried. */
	uint32_t waiting;
};

struct figures;

/* How many NodePools of a scope are held by hold-until or tickets. */
struct hand_holds {
	uint32_t nodepools; /* number of NodePools that may be held */
	uint32_t held;	    /* number of those that are held */
	uint32_t tickets;   /* number of those that tickets hold */
	/* The earliest and the latest end of these holds, or STAMP_NONE if
	 * there are none. */
	int64_t first_ms, last_ms;
};

/* Makes empty figures of 350 KiB.  A small cluster touches only a few of their
 * pages.  Returns NULL if there is no memory. */
struct figures *figures_new(void);
void figures_free(struct figures *f); /* accepts NULL */

/* Returns the number of objects of this kind with our hold and mark, in
 * NodePools that a hold-until or a ticket holds. */
uint32_t figures_by_hand(const struct figures *f, enum kind kind);

/* Returns how many of all NodePools a hold-until or tickets hold. */
struct hand_holds figures_hand(const struct figures *f);

/* Starts a new count. */
void figures_begin(struct figures *f);
/* Counts the next STATUS_SLICE objects, or a few NodePools.  Returns true if
 * there are more; the caller then releases the lock for a moment and calls it
 * again.  Objects created or deleted in between may be missed. */
bool figures_count(const struct controller *s, struct figures *f,
		   struct now now);

/* --- the whole status ----------------------------------------------------- */

/* Reasons why holds whose release is due are not released yet. */
enum status_wait {
	WAIT_UNSEEN, /* `kind` is not listed, or its watch is not open */
	WAIT_UNREAD, /* an object of `kind` is too large to be read */
	WAIT_LIST,   /* the fresh lists before a release are in progress */
	/* The fresh list of `kind` failed, or was ahead of the watch, and will
	 * be retried. */
	WAIT_LIST_FAILED,
	WAIT_PAUSED, /* the API server has asked for a pause */
	/* Only for a scope: some `machines` are about to count, and the hold
	 * does not end before. */
	WAIT_COMING,
	WAIT_COUNT,
};
struct status_waits {
	unsigned n;
	struct {
		enum status_wait why;
		enum kind kind; /* UNSEEN, UNREAD, LIST_FAILED: the kind */
		/* UNREAD: the object's name, or "" if unknown. */
		char name[JOURNAL_NAME_BYTES];
		uint32_t machines; /* COMING: number of machines */
		/* The end of the wait, or STAMP_NONE if it is unknown. */
		int64_t until_ms;
	} at[WAIT_COUNT + VIEW_COUNT];
};

struct status_report {
	bool leads;
	struct controller_report table;
	bool listed[VIEW_COUNT];
	struct status_waits waits; /* reasons that apply to all scopes */
	uint64_t turns;		   /* number of turns so far */
	/* The history has all turns since this time.  STAMP_NONE if there is no
	 * history yet. */
	int64_t history_ms;
};
void controller_status(const struct controller *s, struct now now,
		       struct status_report *out);

/* Reads the history as journal_turn_at does. */
bool controller_turn(const struct controller *s, uint64_t *before,
		     struct turn *out);

/* --- scopes --------------------------------------------------------------- */

enum scope_state {
	SCOPE_QUIET,
	SCOPE_HELD,
	SCOPE_CAPPED, /* busy, but released by its cap */
};

struct scope_status {
	/* The NodePool.  "" stands for the cluster, or for machines without a
	 * NodePool. */
	char name[NODEPOOL_BYTES];
	/* SCOPE_HELD if the scope itself is held, or if a hold-until or a
	 * ticket holds each of its NodePools. */
	enum scope_state state;
	bool hand_alone; /* it is held only by hold-until or tickets */
	/* When this state began or, if hand_alone is set, when the last of its
	 * NodePools became held.  STAMP_NONE if that is before the history. */
	int64_t since_ms;
	/* CAPPED: the end of the window.  HELD: the end of the hold, which is
	 * the end of the quiet time or the moment of the cap, whichever is
	 * earlier.  If a hold-until or a ticket holds each NodePool of the
	 * scope, until_ms is the later of that moment and the earliest end of
	 * these holds.  STAMP_NONE if unknown. */
	int64_t until_ms;
	bool earliest;	 /* until_ms may move, because machines are booting */
	bool until_cap;	 /* until_ms is due to the cap */
	bool until_hand; /* until_ms is the end of a hold-until or a ticket */
	struct hand_holds by_hand;
	uint32_t machines;     /* number of its machines with a timer */
	uint32_t min_scale_up; /* number of new machines that make a scale-up */
	/* The machine that restarted the quiet time last, or "" if it is gone
	 * or there is none.  `booting` says whether that machine is booting.
	 * restarted_ms is when it became ready, or when it was created if it is
	 * booting or has no NodeClaim. */
	char machine[NAME_BYTES];
	int64_t restarted_ms;
	bool booting;
	int64_t cap_max_ms;	   /* 0 if there is no cap */
	int64_t cap_used_ms;	   /* the debt of the cap (core/rules/cap.h) */
	int64_t cap_window_ms;	   /* the length of a release window */
	struct status_waits waits; /* reasons that apply to this scope only */
};
/* Iterates over the scopes: reports the first scope in use from *i on, and
 * moves *i behind it.  Start with *i = 0.  Returns false at the end.  The count
 * of *f must be complete. */
bool controller_scope_status(const struct controller *s,
			     const struct figures *f, uint32_t *i,
			     struct now now, struct scope_status *out);

/* --- NodePools ------------------------------------------------------------ */

struct nodepool_status {
	/* The NodePool with its annotations, including unreadable ones. */
	struct nodepool nodepool;
	enum nodepool_out out;
	bool by_hand; /* its hold-until is in force */
	/* Tickets hold it, and its hold-until does not end later. */
	bool by_ticket;
	/* The text that describes the ticket that ends last, or "". */
	char ticket[REASON_BYTES];
	/* Tickets that hold it beside what by_hand or by_ticket names: the one
	 * that ends last, if its hold-until ends later, and the one that ends
	 * last among those of another holder.  A text is "" if there is
	 * none. */
	struct nodepool_also {
		int64_t until_ms;
		char words[REASON_BYTES];
	} also[2];
	bool released_ahead; /* its released-at lies in the future, so it does
				not count yet */
	struct nodepool_figures n;
};
/* Iterates over the NodePools that have been seen, as controller_scope_status
 * does over the scopes. */
bool controller_nodepool_status(const struct controller *s,
				const struct figures *f, uint32_t *i,
				struct now now, struct nodepool_status *out);

/* --- tickets -------------------------------------------------------------- */

struct ticket_status {
	char name[NAME_BYTES], holder[TICKET_HOLDER_BYTES];
	char reason[REASON_BYTES];
	int64_t until_ms;   /* when it ends; STAMP_NONE if it does not hold */
	int64_t renewed_ms; /* its renewTime, or STAMP_NONE */
	uint32_t nodepools; /* how many NodePools it holds */
	enum ticket_flaw flaw;
	char fault[TICKET_FAULT_BYTES]; /* of TICKET_UNREADABLE, or "" */
	/* How far its renewTime was ahead of the API server's clock when it was
	 * first seen, or 0. */
	int64_t ahead_ms;
};
/* Iterates over the tickets that have been seen, as controller_scope_status
 * does over the scopes. */
bool controller_ticket_status(const struct controller *s, uint32_t *i,
			      struct now now, struct ticket_status *out);

/* --- one machine ---------------------------------------------------------- */

struct half_status {
	bool present, deleting;
	char name[NAME_BYTES];
	enum tenure tenure;
	/* TENURE_PERSON, but the annotation has a value other than ours.  Such
	 * a value holds nothing. */
	bool other;
	/* The object itself has hold and mark.  With MODE_OBSERVE, they were
	 * set by a holder that enforced. */
	bool carries;
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
	bool drifts; /* it has drifted, and with DRIFT_ALLOW its scope does not
			hold it */
	enum goal goal; /* to be held, cleared or left alone */
	/* The reason for the goal, in the words of the log, such as "scale-up".
	 * Static. */
	const char *why;
	/* Its own deadline.  While the machine boots, this is the deadline that
	 * it would have if it became ready now.  STAMP_NONE if it has none. */
	int64_t own_ms;
	/* The end of its NodePool's hold-until or tickets while they hold it,
	 * otherwise STAMP_NONE. */
	int64_t manual_ms;
	bool by_ticket; /* manual_ms is the end of a ticket */
	/* The reason that the person or the ticket gave for this hold, or
	 * "". */
	char reason[REASON_BYTES];
	/* The number of the machine's scope.  To get this scope, call
	 * controller_scope_status with *i set to this number.  NO_ID if the
	 * machine has no scope. */
	uint32_t scope;
};

/* Finds the Node or, if there is none, the NodeClaim with this very name.
 * Returns false if there is neither. */
bool controller_machine(const struct controller *s, const char *name,
			struct now now, struct machine_status *out);

/* --- all machines --------------------------------------------------------- */

/* The order in which machines are listed.  Those that a person may want to
 * examine come first. */
enum machine_rank {
	/* A person has decided (docs/rules.md#words), or a failed write waits
	 * to be tried again. */
	MACHINE_LOOK,
	MACHINE_HELD, /* we hold it */
	MACHINE_REST,
	MACHINE_RANKS,
};

/* Searches from *i on for a machine of this rank and NodePool ("": any), and
 * moves *i behind the objects that it has searched.  Start with *i = 0.
 * Returns 1 if it found a machine; the members `written` and `last` of its
 * halves are not set.  Returns -1 at the end.  Returns 0 after STATUS_SLICE
 * objects without such a machine; the caller then releases the lock for a
 * moment and calls it again. */
int controller_machine_next(const struct controller *s, uint32_t *i,
			    enum machine_rank rank, const char *nodepool,
			    struct now now, struct machine_status *out);
/* Returns how many machines of this NodePool ("": any) were counted. */
uint32_t figures_machines(const struct controller *s, const struct figures *f,
			  const char *nodepool);

#endif
