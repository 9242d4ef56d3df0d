/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_CLEANUP_H
#define CORE_PROTOCOL_CLEANUP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/object.h"
#include "core/base/stamp.h"
#include "core/table/machines.h"

/*
 * Decides how `uninstall` removes every hold, mark and class of ours from a
 * cluster.
 *
 * This is a step machine (docs/architecture.md#step-machines): cleanup_next
 * returns the next step or the time to wait, and cleanup_done receives its
 * outcome.  Several WRITEs may be in flight at once, but only one step of any
 * other kind.  The steps:
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
 * The state is the next step, or the step in flight.
 *
 * A mark may stand for another hold than the configured one.  A list and the
 * round after it are about one hold (cleanup_hold).  When all marks for the
 * configured hold are gone, the command goes on with those for another hold.
 *
 * Only the last list is kept in memory.  The next list shows whatever was
 * refused, lost or changed, so the command may be killed at any time and run
 * again.  core/rules/decide chooses the write for each object.
 *
 * A dry run checks what is registered, lists once for each hold and returns the
 * writes of one round.  The caller reports each write as CLEANUP_OK and writes
 * nothing.
 *
 * cleanup_new allocates all memory.  until_ms is in boot_ms, the times of
 * marks are in server_ms.  Not thread-safe.
 */
struct cleanup;

struct cleanup_config {
	struct hold_key hold; /* the configured hold annotation */
	/* Maximum number of objects of each kind in one round.  Later rounds
	 * take the rest. */
	uint32_t machines_max;
	bool dry_run;
	bool remove_registered; /* delete the webhook registrations */
	/* Pause after the first clean list: UNINSTALL_PAUSE_MS (limits.h). */
	int64_t settle_ms;
	int64_t until_ms; /* deadline in boot time, or INT64_MAX */
};

enum cleanup_step {
	CLEANUP_WAIT,
	/* Find webhooks and policies that mark new objects, and delete them if
	 * `remove` is set. */
	CLEANUP_REGISTERED,
	CLEANUP_LEAD,  /* hold the Lease, so that nobody else writes */
	CLEANUP_LIST,  /* make a consistent list of `kind` */
	CLEANUP_WRITE, /* make the write `write` */
	/* The command has ended with `verdict`.  Later calls return the
	 * same. */
	CLEANUP_END,
};

enum cleanup_act {
	CLEANUP_KEEP,	 /* no write; not used in a todo */
	CLEANUP_RELEASE, /* remove hold and mark */
	/* Remove only the mark, because a person has set, changed or removed
	 * the hold. */
	CLEANUP_UNMARK,
	/* Remove the class (CLASS_KEY and CLASS_UID_KEY). */
	CLEANUP_DECLASSIFY,
};

/* A write on one object.  The pointers belong to the struct cleanup and are
 * valid until cleanup_done. */
struct cleanup_write {
	uint32_t id; /* names the write in its outcome */
	enum cleanup_act act;
	const struct entry *object;
	const char *name; /* the object's name */
	char uid[UID_BYTES], rv[RV_BYTES];
	/* RELEASE: the hold to remove; otherwise NULL */
	const struct hold_key *hold;
	/* the patch tests the mark's text (machines_entry_mark_exact) */
	bool mark_exact;
};

enum cleanup_verdict {
	/* Two lists in a row showed nothing of ours, or a dry run ended. */
	CLEANUP_CLEAN,
	CLEANUP_STILL_REGISTERED, /* something still marks new objects */
	/* No mark is left, but another program marked objects while the command
	 * ran (report->foreign). */
	CLEANUP_FOREIGN_MARKS,
	/* Every write of the last round was refused (report->why). */
	CLEANUP_DENIED,
	CLEANUP_UNREADABLE, /* only objects that cannot be decoded are left */
	CLEANUP_LATE,	    /* until_ms has passed */
	CLEANUP_BROKEN,	    /* a step other than a WRITE failed */
};

struct cleanup_todo {
	enum cleanup_step step;
	/* WAIT: the longest time to wait, or INT64_MAX to wait for another call
	 * of a cleanup function. */
	int64_t wait_ms;
	/* WAIT: no write of the last round succeeded, and this is the first
	 * such round in a row.  Print report->why. */
	bool trying_again;
	bool remove;		      /* REGISTERED: delete what is found */
	enum kind kind;		      /* LIST: the kind to list */
	struct cleanup_write write;   /* WRITE: the write to make */
	enum cleanup_verdict verdict; /* END: how the command has ended */
};

enum cleanup_code {
	CLEANUP_OK,
	/* Any step except WRITE: a permanent failure, or an interruption. */
	CLEANUP_FAILED,
	CLEANUP_UNSERVED, /* LIST: the API server has no such resource */
	CLEANUP_GONE,	  /* WRITE: the object does not exist */
	CLEANUP_CHANGED,  /* WRITE: a test failed, so nothing was written */
	CLEANUP_REFUSED,  /* WRITE: refused; a retry would be refused, too */
	/* WRITE: no reply, or a failure that a retry may overcome.  The object
	 * may have been written. */
	CLEANUP_UNANSWERED,
};

struct cleanup_outcome {
	enum cleanup_code code;
	/* REGISTERED: number of webhooks and policies that still mark
	 * objects. */
	unsigned registered;
	/* LEAD: another process may have led since the last LEAD. */
	bool anew;
	bool led;    /* LIST: we led throughout the list */
	uint32_t id; /* WRITE: the id of the write */
	/* WRITE, except OK: the reason in words, or NULL. */
	const char *why;
};

/* *c is copied.  `seed` is the seed of all jitter.  Returns NULL if there is no
 * memory. */
struct cleanup *cleanup_new(const struct cleanup_config *c, uint64_t seed);
void cleanup_free(struct cleanup *x); /* accepts NULL */

/* cleanup_next returns further WRITEs while others are in flight, and WAIT if
 * the next WRITE depends on an outcome. */
struct cleanup_todo cleanup_next(struct cleanup *x, struct now now);
void cleanup_done(struct cleanup *x, const struct cleanup_outcome *o,
		  struct now now);
/* Returns the write in flight that has this id. */
struct cleanup_write cleanup_writing(const struct cleanup *x, uint32_t id);

/* The next four functions receive the contents of a LIST. */

/* Call this when the list begins, and each time it starts over.  It discards
 * the items seen so far. */
void cleanup_listing(struct cleanup *x);
/* Returns the hold that this list is about, with which its items have to be
 * decoded.  It belongs to the struct cleanup. */
const struct hold_key *cleanup_hold(const struct cleanup *x);
/* Call this for each item that was decoded. */
void cleanup_seen(struct cleanup *x, const struct object *o, struct now now);
/* Call this instead of cleanup_seen for an item that has a mark but cannot be
 * decoded.  `text` identifies the item in the report. */
void cleanup_unread(struct cleanup *x, const char *text);
/* Call this after cleanup_seen for an item that has a hold without our mark and
 * for which object_hold_is_unowned is true.  The item is only reported, because
 * the hold may still be a person's. */
void cleanup_unowned(struct cleanup *x, const char *name);

/* Maximum number of names in each of `named` and named_unowned. */
#define CLEANUP_NAMED 10
/* The contents of one list of all Nodes and NodeClaims. */
struct cleanup_list {
	unsigned left[KIND_COUNT];    /* number of objects with a mark */
	unsigned classes[KIND_COUNT]; /* number of objects with a class */
	/* Number of objects that have a mark but cannot be decoded. */
	unsigned unread[KIND_COUNT];
	unsigned unowned[KIND_COUNT]; /* number of calls of cleanup_unowned */
	/* The first objects that `left` counts, and the first that `unowned`
	 * counts, as "node/NAME" or "nodeclaim/NAME". */
	char named[CLEANUP_NAMED][NAME_BYTES + 16];
	char named_unowned[CLEANUP_NAMED][NAME_BYTES + 16];
};

/* The report at the end. */
struct cleanup_report {
	bool listed;		  /* whether any list was completed */
	struct cleanup_list last; /* the last complete list */
	/* Number of writes that succeeded. */
	unsigned released[KIND_COUNT], unmarked, declassified;
	const char *foreign; /* the first foreign mark in words, or "" */
	char why[240];	     /* the first failure of the last round, or "" */
};
/* Returns the report so far.  It belongs to *x and is valid until
 * cleanup_free. */
const struct cleanup_report *cleanup_report(const struct cleanup *x);

#endif
