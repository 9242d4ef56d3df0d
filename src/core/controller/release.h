/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_RELEASE_H
#define CORE_CONTROLLER_RELEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/object.h"
#include "core/base/pace.h"
#include "core/base/stamp.h"
#include "core/controller/notes.h"

/*
 * The fresh lists that a release begins with: the NodeClaims, then the
 * NodePools.  A machine may be released once both were listed after it fell
 * due and showed nothing that the table does not know.  One list is under way
 * at a time; all machines that are due share it.  Moments that end in boot_ms
 * are boot time.  Not thread-safe.
 *
 *             release_want          release_start
 *     (idle) ─────────────▶ wanted ──────────────▶ in flight
 *        ▲                    ▲ ▲                      │
 *        │                    │ └ failed, or not known,┤ release_done
 *        │                    │   or the view was lost │
 *        │                    └─ NodeClaims good ──────┤
 *        └────────────────────── NodePools good ───────┘
 */
struct release {
	bool wanted, in_flight;
	bool claims_good;      /* the first half is done */
	const char *failed;    /* which kind could not be listed; NULL */
	int64_t begun_boot_ms; /* of the NodeClaims' list, the latest */
	int64_t done_boot_ms;  /* the last good one began then; 0 none */
	int64_t not_before_boot_ms;
	unsigned unknown; /* so many in this list the table is behind of */
	unsigned tries;
	int64_t hint_waited_ms;	    /* boot time of the last wait for a hint */
	int64_t hint_until_boot_ms; /* … and the end of this one */
	int64_t *due_boot_ms; /* by id: to be released since; 0: it is not */
};

int release_init(struct release *r, uint32_t ids); /* -1: no memory */
void release_free(struct release *r);
/* A lead begins or ends.  A list in flight stays so until its answer. */
void release_forget(struct release *r);

/* The machine is to be released, or is not. */
void release_due(struct release *r, uint32_t id, int64_t boot_ms);
void release_not_due(struct release *r, uint32_t id);
/* May it be, now?  If not, a list is wanted. */
bool release_may(struct release *r, uint32_t id);

/* Something is not seen: half a fresh list is worth nothing any more. */
void release_unseen(struct release *r);
/* A list is to be sent now: of the kind *kind.  hint_ms: server time of the
 * latest creation admitted; STAMP_NONE: none.  The caller knows that all is
 * seen. */
bool release_start(struct release *r, struct now now, int64_t hint_ms,
		   enum kind *kind);
/* It showed something of which the table is behind. */
void release_unknown(struct release *r);

enum release_result {
	RELEASE_WAITS,	   /* for another list */
	RELEASE_GOOD,	   /* machines that were due may be released */
	RELEASE_MISTRUSTS, /* it waits, and the watch should have known by
			      now: its list is wanted */
};
/* What came of it; ok: the list is complete. */
enum release_result release_done(struct release *r, enum kind kind, bool ok,
				 int64_t boot_ms, struct pace *pace,
				 struct notes *notes);
/* When the list that is wanted may be sent; STAMP_NONE: none is. */
int64_t release_next_boot_ms(const struct release *r, int64_t boot_ms);

#endif
