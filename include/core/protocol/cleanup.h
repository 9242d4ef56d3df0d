/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_CLEANUP_H
#define CORE_PROTOCOL_CLEANUP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/object.h"
#include "core/base/stamp.h"
#include "core/table/machines.h"

/*
 * How `uninstall` takes every hold, mark and class of ours off a cluster.
 *
 * A step machine (docs/architecture.md#step-machines): cleanup_next says what to
 * do or for how long to wait, and cleanup_done is told what came of it.  Several
 * WRITEs may be under way at once, of all other steps one.  The steps:
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
 * It remembers nothing but the last list.  Whatever is refused, lost or changed
 * meanwhile is seen in the next one, so the caller may be killed at any moment
 * and start anew.  Which write an object gets is core/rules/decide's answer.
 *
 * A dry run looks at what is registered, lists once and gives out the writes
 * of one round; the caller answers each with CLEANUP_OK and does not make it.
 *
 * Not thread-safe.  Allocates in cleanup_new only.  Times: struct now.
 */
struct cleanup;

struct cleanup_config {
	struct hold_key hold;	/* today's */
	uint32_t machines_max;	/* of each kind; more wait for a later round */
	bool dry_run;
	bool remove_registered;	/* delete what is registered at admission */
	int64_t settle_ms;	/* between two lists that show nothing.  By then
				   every API server has heard of a webhook that
				   is gone, and Karpenter of a cleared claim */
	int64_t until_ms;	/* boot time of the timeout; INT64_MAX: none */
};

enum cleanup_step {
	CLEANUP_WAIT,
	CLEANUP_REGISTERED,	/* look what is registered; `remove` it */
	CLEANUP_LEAD,		/* see to it that nobody else writes */
	CLEANUP_LIST,		/* one consistent list of `kind` */
	CLEANUP_WRITE,		/* `write` */
	CLEANUP_END,		/* `verdict`, and the same ever after */
};

enum cleanup_act {
	CLEANUP_KEEP,		/* nothing; never in a todo */
	CLEANUP_RELEASE,	/* remove hold and mark */
	CLEANUP_UNMARK,		/* remove the mark; the hold is a person's */
	CLEANUP_DECLASSIFY,	/* remove what says which claim it replaces */
};

/* What to write on one object.  The pointers are the machine's, and valid
 * until the write's outcome. */
struct cleanup_write {
	uint32_t id;		/* names the write in its outcome */
	enum cleanup_act act;
	const struct entry *object;
	const struct hold_key *hold;	/* RELEASE: the one to remove */
	bool mark_exact;	/* entry_mark_exact */
};

enum cleanup_verdict {
	CLEANUP_CLEAN,		/* two lists have shown nothing */
	CLEANUP_STILL_REGISTERED,	/* something marks new objects */
	CLEANUP_FOREIGN_MARKS,	/* none is left, but something still holds */
	CLEANUP_DENIED,		/* every write is refused: report->why */
	CLEANUP_UNREADABLE,	/* nothing is left but what cannot be read */
	CLEANUP_LATE,		/* until_ms */
	CLEANUP_BROKEN,		/* a step has FAILED */
};

struct cleanup_todo {
	enum cleanup_step step;
	int64_t wait_ms;	/* WAIT; INT64_MAX: until another call */
	bool trying_again;	/* WAIT: a round has come to nothing, and the
				   one before it had not: worth a line about
				   report->why.  Said once */
	bool remove;		/* REGISTERED */
	enum kind kind;		/* LIST */
	struct cleanup_write write;	/* WRITE */
	enum cleanup_verdict verdict;	/* END */
};

enum cleanup_code {
	CLEANUP_OK,
	CLEANUP_FAILED,		/* not a WRITE: it cannot be had, or the caller
				   is to stop */
	CLEANUP_UNSERVED,	/* LIST: there is no such resource */
	CLEANUP_GONE,		/* WRITE: there is no such object any more */
	CLEANUP_CHANGED,	/* WRITE: not done, a test in it failed */
	CLEANUP_REFUSED,	/* WRITE: not done, of no use to ask again */
	CLEANUP_UNANSWERED,	/* WRITE: may be done, or not now */
};

struct cleanup_outcome {
	enum cleanup_code code;
	unsigned registered;	/* REGISTERED: how many there are still */
	bool anew;		/* LEAD: it was not ours all the time since the
				   last LEAD */
	bool led;		/* LIST: it is still ours */
	uint32_t id;		/* WRITE */
	const char *why;	/* WRITE that is not OK: in words */
};

struct cleanup *cleanup_new(const struct cleanup_config *c, uint64_t seed);
void cleanup_free(struct cleanup *x);	/* NULL: nothing */

/* It goes on giving out WRITEs while others are under way, and says WAIT where
 * the next depends on an answer. */
struct cleanup_todo cleanup_next(struct cleanup *x, struct now now);
void cleanup_done(struct cleanup *x, const struct cleanup_outcome *o,
		  struct now now);
/* The write under way by that id, once more. */
struct cleanup_write cleanup_writing(const struct cleanup *x, uint32_t id);

/* While a LIST is under way.  It begins, or starts over; then its items.
 * unread: one that has a mark and cannot be decoded, in words. */
void cleanup_listing(struct cleanup *x);
void cleanup_seen(struct cleanup *x, const struct object *o, struct now now);
void cleanup_unread(struct cleanup *x, const char *text);

#define CLEANUP_NAMED 10
struct cleanup_list {
	unsigned left[KIND_COUNT];	/* objects with a mark */
	unsigned classes[KIND_COUNT];
	unsigned unread[KIND_COUNT];	/* of left */
	char named[CLEANUP_NAMED][NAME_BYTES + 16];	/* the first of left */
};

/* What to say at the end. */
struct cleanup_report {
	bool listed;		/* there was a complete list … */
	struct cleanup_list last;	/* … and this is the last one */
	unsigned released[KIND_COUNT], unmarked, declassified;
	const char *foreign;	/* the first foreign mark, in words; "": none */
	char why[240];		/* of the last round's failures the first; "" */
};
const struct cleanup_report *cleanup_report(const struct cleanup *x);

#endif
