/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_CLEANUP_H
#define CORE_PROTOCOL_CLEANUP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/object.h"
#include "core/base/stamp.h"
#include "core/table/machines.h"

/*
 * Decides how `uninstall` takes every hold, mark and class of ours off a
 * cluster.
 *
 * A step machine (docs/architecture.md#step-machines): cleanup_next says what
 * to do or for how long to wait, and cleanup_done is told what came of it.
 * Several WRITEs may be under way at once, but only one step of any other kind.
 * The steps:
 *
 *	REGISTERED ── nothing marks new objects any more
 *	    ▼
 *	LEAD ──────── nobody else writes                           ◀──────┐
 *	    ▼                                                             │
 *	LIST ──────── all Nodes, then all NodeClaims                      │
 *	    │                                                             │
 *	    ├─ something is left ─▶ WRITE, each object once ──────────────┤
 *	    │                       (after a WAIT if nothing was written) │
 *	    ├─ nothing is left, for the first time ─▶ WAIT settle_ms ─────┘
 *	    ▼
 *	REGISTERED ─▶ END
 *
 * The next step, or the one under way, is its state.
 *
 * It remembers nothing but the last list.  Whatever is refused, lost or changed
 * meanwhile is seen in the next one, so the caller may be killed at any moment
 * and start anew.  Which write an object gets is core/rules/decide's answer.
 *
 * A dry run looks at what is registered, lists once and gives out the writes
 * of one round; the caller answers each with CLEANUP_OK and does not make it.
 *
 * cleanup_new allocates all memory.  until_ms is boot_ms, and the times of
 * marks are server_ms.  Not thread-safe.
 */
struct cleanup;

struct cleanup_config {
	struct hold_key hold;  /* today's hold */
	uint32_t machines_max; /* of each kind; more wait for a later round */
	bool dry_run;
	bool remove_registered; /* delete what is registered at admission */
	int64_t settle_ms;	/* the wait between two lists that show nothing
				   (limits.h, UNINSTALL_PAUSE_MS) */
	int64_t until_ms;	/* boot time of the timeout; INT64_MAX: none */
};

enum cleanup_step {
	CLEANUP_WAIT,
	CLEANUP_REGISTERED, /* see what is registered at admission, and
				   delete it if `remove` is set */
	CLEANUP_LEAD,	    /* make sure that the Lease is ours, so that
				   nobody else writes */
	CLEANUP_LIST,	    /* make one consistent list of `kind` */
	CLEANUP_WRITE,	    /* make the write `write` */
	CLEANUP_END,	    /* stop: `verdict` says how it ended.  All later
				   calls return the same */
};

enum cleanup_act {
	CLEANUP_KEEP,	    /* write nothing; it never comes in a todo */
	CLEANUP_RELEASE,    /* remove hold and mark */
	CLEANUP_UNMARK,	    /* remove the mark; the hold is a person's */
	CLEANUP_DECLASSIFY, /* remove what says which claim it replaces */
};

/* What to write on one object.  The pointers belong to the struct cleanup and
 * are valid until the write's outcome. */
struct cleanup_write {
	uint32_t id; /* names the write in its outcome */
	enum cleanup_act act;
	const struct entry *object;
	const char *name; /* the object's name */
	char uid[UID_BYTES], rv[RV_BYTES];
	const struct hold_key *hold; /* RELEASE: the hold to remove */
	bool mark_exact;	     /* machines_entry_mark_exact */
};

enum cleanup_verdict {
	CLEANUP_CLEAN, /* two lists in a row have shown nothing; or it
				   was a dry run */
	CLEANUP_STILL_REGISTERED, /* something still marks new objects */
	CLEANUP_FOREIGN_MARKS, /* no mark is left, but somebody else has marked
				   objects meanwhile: report->foreign */
	CLEANUP_DENIED,	       /* every write was refused: report->why */
	CLEANUP_UNREADABLE,    /* only marks that cannot be decoded are left */
	CLEANUP_LATE,	       /* until_ms has come */
	CLEANUP_BROKEN,	       /* a step other than a WRITE has failed */
};

struct cleanup_todo {
	enum cleanup_step step;
	int64_t wait_ms;   /* WAIT: for how long; INT64_MAX: until another
			      function is called */
	bool trying_again; /* WAIT: no write of the last round succeeded,
				   and it is the first such round in a row:
				   print report->why.  Set once each time */
	bool remove;	   /* REGISTERED: whether to delete what is found */
	enum kind kind;	   /* LIST: the kind to list */
	struct cleanup_write write;   /* WRITE: the write to make */
	enum cleanup_verdict verdict; /* END: how the command ended */
};

enum cleanup_code {
	CLEANUP_OK,
	CLEANUP_FAILED,	    /* any step but WRITE: it failed for good, or
				   the command was interrupted */
	CLEANUP_UNSERVED,   /* LIST: the API server does not serve the
				   resource */
	CLEANUP_GONE,	    /* WRITE: the object is gone */
	CLEANUP_CHANGED,    /* WRITE: a test in it failed; nothing is
				   written */
	CLEANUP_REFUSED,    /* WRITE: nothing is written, and trying again
				   is of no use */
	CLEANUP_UNANSWERED, /* WRITE: it may have been done; or nothing is
				   written, and trying again may help */
};

struct cleanup_outcome {
	enum cleanup_code code;
	unsigned registered; /* REGISTERED: how many are still registered */
	bool anew;	     /* LEAD: somebody else may have had the Lease
				   since the last LEAD */
	bool led;	     /* LIST: the Lease is still ours */
	uint32_t id;	     /* WRITE: the id of the write */
	const char *why;     /* WRITE that is not OK: the reason in words;
				   NULL: none */
};

/* c is copied.  seed: of all jitter.  Returns NULL if there is no memory. */
struct cleanup *cleanup_new(const struct cleanup_config *c, uint64_t seed);
void cleanup_free(struct cleanup *x); /* accepts NULL */

/* cleanup_next goes on giving out WRITEs while others are under way.  It says
 * WAIT where the next WRITE depends on an answer. */
struct cleanup_todo cleanup_next(struct cleanup *x, struct now now);
void cleanup_done(struct cleanup *x, const struct cleanup_outcome *o,
		  struct now now);
/* Returns the write with this id, which is under way, again. */
struct cleanup_write cleanup_writing(const struct cleanup *x, uint32_t id);

/* The next four report what a LIST shows while it is under way. */

/* Call this when the list begins, and again when it has to start over: what it
 * has shown so far is dropped. */
void cleanup_listing(struct cleanup *x);
/* Call this for each item. */
void cleanup_seen(struct cleanup *x, const struct object *o, struct now now);
/* Call this instead for an item that has a mark and cannot be decoded.  text
 * names it in the report. */
void cleanup_unread(struct cleanup *x, const char *text);
/* Call this as well for an item that has the hold without our mark and whose
 * object_hold_is_unowned.  It is only reported, because it may be a person's
 * all the same. */
void cleanup_unowned(struct cleanup *x, const char *name);

#define CLEANUP_NAMED 10
/* What one list of all Nodes and NodeClaims has shown. */
struct cleanup_list {
	unsigned left[KIND_COUNT];    /* objects with a mark */
	unsigned classes[KIND_COUNT]; /* objects with a class */
	unsigned unread[KIND_COUNT];  /* those objects of `left` that could not
					 be decoded */
	unsigned unowned[KIND_COUNT]; /* cleanup_unowned */
	/* The first ones of left and of unowned, "node/NAME". */
	char named[CLEANUP_NAMED][NAME_BYTES + 16];
	char named_unowned[CLEANUP_NAMED][NAME_BYTES + 16];
};

/* What to say at the end. */
struct cleanup_report {
	bool listed; /* `last` is the last complete list; false:
				   there was none */
	struct cleanup_list last;
	unsigned released[KIND_COUNT], unmarked, declassified; /* writes */
	const char *foreign; /* the first foreign mark, in words; "": none */
	char why[240];	     /* the first failure of the last round; "":
				   none */
};
/* Returns the report so far.  It belongs to *x and is valid until
 * cleanup_free. */
const struct cleanup_report *cleanup_report(const struct cleanup *x);

#endif
