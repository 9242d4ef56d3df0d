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
 *	performs the action and says	controller_found, controller_fresh,
 *	what came of it			controller_done
 *	reads what there is to tell	controller_note, controller_report
 *
 * A step machine (docs/architecture.md#step-machines): controller_next says
 * what to do or for how long to wait, and controller_done is told what came of
 * it.  Several actions may be under way at once.
 *
 * controller_new allocates all memory, and no other call can fail: what has no
 * room in the table is left unheld and reported.  Not thread-safe: callers hold
 * the owner's lock.
 */
struct controller;

/* machines_max: how many Nodes fit, and as many NodeClaims.  seed: of all
 * jitter, and of the hash of what anybody may write in Events.  counters has to
 * outlive the controller.  Returns NULL if there is no memory. */
struct controller *controller_new(const struct rules *rules,
				  uint32_t machines_max, uint64_t seed,
				  struct counters *counters);
void controller_free(struct controller *s); /* accepts NULL */

/* --- the lead ------------------------------------------------------------- */

/* Says whether this replica leads.  A new controller leads until it is told
 * otherwise.  A controller that does not lead knows only the NodePools and does
 * nothing.  A lead begins with an empty table. */
void controller_lead(struct controller *s, bool leads, struct now now);

/* The soft state is what the next leader has to know and no object shows
 * (docs/rules.md#what-outlives-a-leader).
 *
 * controller_soft writes it into b, which has to be empty, if it has changed
 * since the last call or if always is set.  It returns whether it wrote
 * anything.  What has no room in b is left out, that of least consequence
 * first, and reported.
 *
 * controller_restore takes over what the leader before us wrote.  text: NULL or
 * "" if there is none; then there is no debt.  renewed_ms: the server time
 * until which the writer led at least, or STAMP_NONE if unknown. */
bool controller_soft(struct controller *s, struct buf *b, bool always,
		     struct now now);
void controller_restore(struct controller *s, const char *text,
			int64_t renewed_ms, struct now now);

/* The history for /status, as the leader before us told it and as the next one
 * is to tell it.  Nothing is decided by it.
 *
 * controller_history writes its latest turns into b, which has to be empty, if
 * there are others than at the last call, or if a lead has begun.  It returns
 * whether it wrote anything.  term: the Lease's leaseTransitions.
 *
 * controller_recall takes over what controller_history of the leader before us
 * wrote.  A text that cannot be read changes nothing.  Call it as soon as the
 * lead has begun. */
bool controller_history(struct controller *s, struct buf *b, int32_t term,
			struct now now);
void controller_recall(struct controller *s, const char *text, int32_t term,
		       struct now now);

/* --- what the watchers see ------------------------------------------------ */

/* controller_listing says that a list begins.  Its items follow through
 * controller_track, controller_nodepool or controller_disruption_event.
 * controller_listed then says that the list is complete: what it did not show
 * is gone.  served = false means that the API server has no such resource.  At
 * the start that counts as an empty list.  Later the table stays as it was. */
void controller_listing(struct controller *s, enum kind kind);
void controller_listed(struct controller *s, enum kind kind, bool served,
		       struct now now);
/* Says whether the watch that follows the list is open. */
void controller_watch(struct controller *s, enum kind kind, bool up);

/* A list or a watch showed an object that was left out, because it is too large
 * or cannot be decoded.  It is counted.  A line of a watch may have said that
 * an object which we know has changed or is gone, so the controller then wants
 * a list of that kind, at most once in RELIST_LEFT_OUT_MS; but not of Events,
 * which say nothing of what is there. */
void controller_skipped(struct controller *s, enum kind kind, struct now now);

/* A list or a watch showed this object.  The controller drops the object if it
 * is not Karpenter's any more. */
void controller_track(struct controller *s, const struct object *o,
		      struct now now);
/* The watch says that this object is gone. */
void controller_forget(struct controller *s, const struct object *o,
		       struct now now);
/* A list or a watch showed this NodePool, or says that it is gone. */
void controller_nodepool(struct controller *s, const struct nodepool *p,
			 struct now now);
void controller_nodepool_gone(struct controller *s, const char *name,
			      struct now now);
/* Karpenter's Event says that this claim replaces another.  It may come at any
 * time, also before the claim.  reason: Karpenter's, or DISRUPTION_UNKNOWN
 * (core/controller/disruption_events.h) if it gives none. */
void controller_disruption_event(struct controller *s, const char *claim_uid,
				 const char *reason, struct now now);

/* Returns true if the controller wants this kind to be listed again, and once
 * only for each time that it does. */
bool controller_wants_list(struct controller *s, enum kind kind);

/* --- what is to be done --------------------------------------------------- */

/* A call to the API server about one object, or a fresh list.  A fresh list is
 * about a whole kind, so it has none of the members from `name` to
 * `replaces` but the reason.  The members id, seq and forgotten are private:
 * the controller finds the action again by them. */
struct action {
	enum act act;
	enum kind kind;
	uint32_t id;
	uint64_t seq;
	char name[NAME_BYTES]; /* the object to GET or PATCH */
	char uid[UID_BYTES];
	char rv[RV_BYTES]; /* the version that the decision is about */
	char nodepool[NODEPOOL_BYTES];
	const char *reason; /* for the log, such as "scale-up"; static */
	/* With ACT_HOLD the mark to write, otherwise the mark that is there. */
	int64_t mark_ms;
	struct hold_key hold; /* with ACT_CLEAR, the hold to remove */
	bool has_held_key;    /* the held-key annotation is there */
	bool mark_exact;      /* CLEAR, UNMARK: machines_entry_mark_exact */
	char replaces[CLASS_BYTES]; /* CLASSIFY: the class to write */
	unsigned page; /* LIST_CLAIMS, LIST_NODEPOOLS: objects a page */
	uint64_t forgotten;
	bool observed; /* a write with MODE_OBSERVE: the caller tells of it and
			   makes no call, and reports it as OK */
	int64_t fence_ms; /* boot time by which the call has to be over.
				   The controller sets INT64_MAX, and whoever
				   knows the Lease lowers it (daemon/state) */
};

enum controller_step {
	CONTROLLER_WAIT,
	CONTROLLER_ACT, /* perform `action` */
};

struct controller_todo {
	enum controller_step step;
	int64_t wait_ms;      /* WAIT: for how long; INT64_MAX: until another
				 function is called */
	struct action action; /* ACT: what to do */
};

enum controller_code {
	CONTROLLER_OK,
	CONTROLLER_CONFLICT, /* 409 */
	CONTROLLER_INVALID,  /* 422: a test failed, or the object would be
				   invalid */
	CONTROLLER_REFUSED,  /* any other 4xx, or somebody's admission
				   webhook fails: trying again soon is of no
				   use */
	CONTROLLER_GONE,     /* 404 */
	CONTROLLER_BUSY,     /* 429, 503: nothing was written */
	CONTROLLER_FAILED,   /* anything else, or no answer: it may have been
				   written */
};

struct controller_outcome {
	enum controller_code code;
	const struct action *action; /* the action that this outcome answers */
	/* After a patch that succeeded, the version that was written; "" if
	 * it is not known. */
	char rv[RV_BYTES];
	/* With CONTROLLER_BUSY the answer's Retry-After, or -1 if it had
	 * none. */
	int64_t retry_after_ms;
	/* With CONTROLLER_REFUSED and CONTROLLER_INVALID the reason in
	 * words, for the log, or NULL. */
	const char *why;
};

struct controller_todo controller_next(struct controller *s, struct now now);
void controller_done(struct controller *s, const struct controller_outcome *o,
		     struct now now);

/* The next three report what an action has read.  Call them before its
 * controller_done. */

/* Takes the object that ACT_READ or ACT_READ_CLAIM has brought.  whole is false
 * if it is a NodeClaim of which only the metadata could be had. */
void controller_found(struct controller *s, const struct action *a,
		      const struct object *o, bool whole, struct now now);
/* Takes an item of ACT_LIST_CLAIMS. */
void controller_fresh(struct controller *s, const struct object *claim,
		      struct now now);
/* Takes an item of ACT_LIST_NODEPOOLS. */
void controller_fresh_nodepool(struct controller *s, const struct nodepool *p,
			       struct now now);
/* An item of one of these two lists was left out, because it is too large or
 * cannot be decoded.  It is counted. */
void controller_fresh_skipped(struct controller *s, enum kind kind);

/* --- reports -------------------------------------------------------------- */

/* Takes out the oldest note.  Returns false if there is none.  If nobody takes
 * notes out, the oldest ones are lost. */
bool controller_note(struct controller *s, struct note *out);

/* What the metrics show. */
struct controller_report {
	uint32_t objects[KIND_COUNT]; /* in the table */
	uint32_t objects_max;	      /* the table's room for each kind */
	uint32_t held[KIND_COUNT];    /* those in the table that have our mark
					 and the hold */
	bool observes;		      /* MODE_OBSERVE */
	uint32_t would[KIND_COUNT];   /* MODE_OBSERVE: those in the table that
					 would be held */
	uint32_t timers;	      /* machines whose deadline lies ahead */
	bool up[VIEW_COUNT];	      /* the watch is open */
	bool blocked; /* holds could not be released for more than
			   BLOCKED_MS */
};
void controller_report(const struct controller *s,
		       struct controller_report *out);

struct scope_report {
	char name[NODEPOOL_BYTES];
	bool held;
	/* The server time at which it will be quiet; STAMP_NONE if no machine
	 * counts in it. */
	int64_t quiet_ms;
};
struct figures;
/* Finds the first scope in use from *i on, and moves *i behind it.  Start at
 * 0.  Returns false at the end.  f: figures that have counted everything
 * (core/controller/status.h), to which quiet_ms belongs. */
bool controller_scope(const struct controller *s, const struct figures *f,
		      uint32_t *i, struct scope_report *out);
/* The same for the scopes that are held, by their names alone.  Returns NULL at
 * the end. */
const char *controller_held_scope(const struct controller *s, uint32_t *i);

struct nodepool_report {
	char name[NODEPOOL_BYTES], uid[UID_BYTES];
	bool out; /* excluded, disabled or inert: no scope holds it */
	/* Its hold-until holds it until then; STAMP_NONE if none does. */
	int64_t hand_ms;
};
/* The same for the NodePools that have been seen. */
bool controller_nodepool_at(const struct controller *s, uint32_t *i,
			    struct nodepool_report *out);

#endif
