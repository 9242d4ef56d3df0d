/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_CONTROLLER_H
#define CORE_CONTROLLER_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/counters.h"
#include "core/base/nodepool.h"
#include "core/base/object.h"
#include "core/base/stamp.h"
#include "core/base/ticket.h"
#include "core/controller/notes.h"
#include "core/rules/decide.h"
#include "core/rules/rules.h"

/*
 * The controller decides what to write on Nodes and NodeClaims, and when.  It
 * keeps the table of machines with their deadlines and holds, asks the rules,
 * and gives out one action at a time.  Its caller
 *
 *	shows it the cluster		controller_track and its kin
 *	asks what to do			controller_next
 *	performs the action and		controller_found, controller_fresh,
 *	reports its outcome		controller_done
 *	reads notes and figures		controller_note, controller_report
 *
 * This is a step machine (docs/architecture.md#step-machines): controller_next
 * returns the next action or the time to wait, and controller_done receives the
 * outcome.  Several actions may be in flight at once.
 *
 * controller_new allocates all memory.  No other call can fail: objects that do
 * not fit the table are not held, and are reported.  Not thread-safe: callers
 * hold the owner's lock.
 */
struct controller;

/* The table has room for machines_max Nodes and as many NodeClaims.  `seed` is
 * the seed of all jitter, and of the hash of uids from Events.  *counters must
 * outlive the controller.  Returns NULL if there is no memory. */
struct controller *controller_new(const struct rules *rules,
				  uint32_t machines_max, uint64_t seed,
				  struct counters *counters);
void controller_free(struct controller *s); /* accepts NULL */

/* --- the lead ------------------------------------------------------------- */

/* Sets whether this replica leads.  A new controller leads.  A controller that
 * does not lead tracks the NodePools and does nothing else.  A lead begins with
 * an empty table. */
void controller_lead(struct controller *s, bool leads, struct now now);

/* Sets the hold that replaces the one of the rules.  Call it while the
 * controller does not lead. */
void controller_hold(struct controller *s, const struct hold_key *hold);

/* The soft state is the part of a leader's state that the next leader needs and
 * that no object shows (docs/rules.md#what-outlives-a-leader).
 *
 * controller_soft writes it to the empty buffer *b if it has changed since the
 * last call, or if `always` is set.  It returns whether it wrote anything.  If
 * *b is too small, the least important scopes are left out and reported.
 *
 * controller_restore reads the text of the previous leader.  If the text is
 * NULL or "", no scope has a debt (core/rules/cap.h).  The previous leader led
 * at least until renewed_ms (server time), or for an unknown time if renewed_ms
 * is STAMP_NONE. */
bool controller_soft(struct controller *s, struct buf *b, bool always,
		     struct now now);
void controller_restore(struct controller *s, const char *text,
			int64_t renewed_ms, struct now now);

/* The history for /status is handed from leader to leader.  No decision depends
 * on it.
 *
 * controller_history writes the latest turns to the empty buffer *b if there
 * are new turns since the last call, and at the first call of each lead.  It
 * returns whether it wrote anything.  `term` is the Lease's leaseTransitions.
 *
 * controller_recall reads the text of the previous leader's
 * controller_history.  An unreadable text changes nothing.  Call it at once
 * when a lead begins. */
bool controller_history(struct controller *s, struct buf *b, int32_t term,
			struct now now);
void controller_recall(struct controller *s, const char *text, int32_t term,
		       struct now now);

/* --- from the watchers ---------------------------------------------------- */

/* controller_listing begins a list.  The caller then passes each item to the
 * function for its kind, such as controller_track.  controller_listed ends the
 * list.  It removes the objects that were not in the list, unless the list has
 * left something out.  `served` is false if the API server does not serve the
 * resource.  If `served` is false, the first list of a lead counts as an empty
 * list, and a later list leaves the table unchanged. */
void controller_listing(struct controller *s, enum kind kind);
void controller_listed(struct controller *s, enum kind kind, bool served,
		       struct now now);
/* Sets whether the watch that follows the list is open. */
void controller_watch(struct controller *s, enum kind kind, bool up);

/* Counts an object that was skipped, because not even its metadata could be
 * read.  A NodeClaim that a list skipped holds all scopes for a time
 * (timers_unknown).  A skipped watch line may be about an object in the table,
 * or about none, so the controller requests a new list of that kind, at most
 * once in RELIST_LEFT_OUT_MS.  It requests no list of Events. */
void controller_skipped(struct controller *s, enum kind kind, struct now now);

/* Handles an object that a list or a watch shows.  The controller drops the
 * object if it no longer belongs to Karpenter. */
void controller_track(struct controller *s, const struct object *o,
		      struct now now);
/* Handles a deletion of an object that the watch shows. */
void controller_forget(struct controller *s, const struct object *o,
		       struct now now);
/* Handle a NodePool that a list or a watch shows, and its deletion. */
void controller_nodepool(struct controller *s, const struct nodepool *p,
			 struct now now);
void controller_nodepool_gone(struct controller *s, const char *name,
			      struct now now);
/* Handle a ticket that a list or a watch shows, and its deletion. */
void controller_ticket(struct controller *s, const struct ticket *t,
		       struct now now);
void controller_ticket_gone(struct controller *s, const char *name,
			    struct now now);
/* Takes Karpenter's Event that this claim replaces another.  The Event may come
 * before the claim.  `reason` is Karpenter's, or DISRUPTION_UNKNOWN
 * (core/controller/disruption_events.h) if the Event has none. */
void controller_disruption_event(struct controller *s, const char *claim_uid,
				 const char *reason, struct now now);

/* Returns true once for each time that the controller requests a new list of
 * this kind. */
bool controller_wants_list(struct controller *s, enum kind kind);

/* --- what is to be done --------------------------------------------------- */

/* A call to the API server about one object, or a fresh list of a whole kind.
 * A fresh list is about no object: it sets only act, kind, seq, hold, reason,
 * page and fence_ms, and its id is NO_ID.  The members `id`, `seq` and
 * `forgotten` are private to the controller. */
struct action {
	enum act act;
	enum kind kind;
	uint32_t id;
	uint64_t seq;
	char name[NAME_BYTES]; /* the object to GET or PATCH */
	char uid[UID_BYTES];
	char rv[RV_BYTES]; /* the version on which the decision is based */
	char nodepool[NODEPOOL_BYTES];
	const char *reason; /* for the log, such as "scale-up"; static */
	/* ACT_HOLD: the mark to write; otherwise the present mark. */
	int64_t mark_ms;
	struct hold_key hold; /* the hold that the holder sets */
	bool has_held_key;    /* the object has the held-key annotation */
	/* CLEAR, UNMARK: the patch tests the mark's text and not the
	 * resourceVersion (machines_entry_mark_exact) */
	bool mark_exact;
	char replaces[CLASS_BYTES]; /* CLASSIFY: the class to write */
	unsigned page; /* fresh list: maximum number of items per page */
	uint64_t forgotten;
	/* A write with MODE_OBSERVE: the caller logs it, makes no call, and
	 * reports CONTROLLER_OK. */
	bool observed;
	/* Boot time by which the call must have ended.  The controller sets
	 * INT64_MAX; daemon/state lowers it according to the Lease. */
	int64_t fence_ms;
};

enum controller_step {
	CONTROLLER_WAIT,
	CONTROLLER_ACT, /* perform `action` */
};

struct controller_todo {
	enum controller_step step;
	/* WAIT: the longest time to wait, or INT64_MAX to wait for another call
	 * of a controller function. */
	int64_t wait_ms;
	struct action action; /* ACT: the action to perform */
};

enum controller_code {
	CONTROLLER_OK,
	CONTROLLER_CONFLICT, /* 409 */
	/* 422: a test of the patch failed, or the object would be invalid. */
	CONTROLLER_INVALID,
	/* A 4xx that has no code of its own here, or the failure of another
	 * admission webhook.  An immediate retry is pointless. */
	CONTROLLER_REFUSED,
	CONTROLLER_GONE,   /* 404 */
	CONTROLLER_BUSY,   /* 429, 503: nothing was written */
	CONTROLLER_FAILED, /* any other failure: the write may have been made */
};

struct controller_outcome {
	enum controller_code code;
	const struct action *action;
	/* After a successful patch, the new resourceVersion, or "". */
	char rv[RV_BYTES];
	int64_t retry_after_ms; /* BUSY: the Retry-After, or -1 */
	const char *why; /* REFUSED, INVALID: the reason for the log, or NULL */
};

struct controller_todo controller_next(struct controller *s, struct now now);
void controller_done(struct controller *s, const struct controller_outcome *o,
		     struct now now);

/* The next functions take what an action has read.  Call them before
 * controller_done for that action. */

/* Takes the object read by ACT_READ or ACT_READ_CLAIM. */
void controller_found(struct controller *s, const struct action *a,
		      const struct object *o, struct now now);
/* Takes an item of ACT_LIST_CLAIMS. */
void controller_fresh(struct controller *s, const struct object *claim,
		      struct now now);
/* Takes an item of ACT_LIST_NODEPOOLS. */
void controller_fresh_nodepool(struct controller *s, const struct nodepool *p);
/* Takes an item of ACT_LIST_TICKETS. */
void controller_fresh_ticket(struct controller *s, const struct ticket *t,
			     struct now now);

/* --- reports -------------------------------------------------------------- */

/* Takes out the oldest note.  Returns false if there is none.  The oldest notes
 * are lost if nobody takes them out for a long time (NOTES_MAX). */
bool controller_note(struct controller *s, struct note *out);

/* The figures for the metrics. */
struct controller_report {
	uint32_t objects[KIND_COUNT]; /* number of objects in the table */
	uint32_t objects_max; /* maximum number of objects of each kind */
	/* Number of objects with our hold and mark. */
	uint32_t held[KIND_COUNT];
	bool observes; /* MODE_OBSERVE */
	/* MODE_OBSERVE: number of objects that would be held. */
	uint32_t would[KIND_COUNT];
	uint32_t timers; /* number of machines with a deadline in the future */
	bool up[VIEW_COUNT]; /* the watch is open */
	bool has_tickets;    /* tickets are listed and watched */
	uint32_t tickets;    /* number of tickets in force */
	bool blocked;	     /* holds could not be released for BLOCKED_MS */
};
void controller_report(const struct controller *s,
		       struct controller_report *out);

struct scope_report {
	char name[NODEPOOL_BYTES];
	bool held; /* by a scale-up */
	/* A hold-until or tickets hold each of its NodePools. */
	bool by_hand;
	/* The server time at which the scope becomes or became quiet, or
	 * STAMP_NONE if no machine counts in it. */
	int64_t quiet_ms;
};
struct figures;
/* Iterates over the scopes in use: reports the first scope from *i on and
 * advances *i past it.  Start with *i = 0.  Returns false at the end.  The
 * count of *f must be complete (core/controller/status.h), and quiet_ms is as
 * of that count. */
bool controller_scope(const struct controller *s, const struct figures *f,
		      uint32_t *i, struct scope_report *out);
/* Iterates over the names of the held scopes as controller_scope does over the
 * scopes.  Returns NULL at the end. */
const char *controller_held_scope(const struct controller *s, uint32_t *i);

struct nodepool_report {
	char name[NODEPOOL_BYTES], uid[UID_BYTES];
	/* The NodePool is excluded, disabled or inert, so its machines belong
	 * to no scope. */
	bool out;
	/* When the hold by its hold-until or by tickets ends, or STAMP_NONE if
	 * there is no such hold. */
	int64_t hand_ms;
};
/* Iterates over the NodePools as controller_scope does over the scopes. */
bool controller_nodepool_at(const struct controller *s, uint32_t *i,
			    struct nodepool_report *out);

#endif
