/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_NOTES_H
#define CORE_CONTROLLER_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/nodepool.h"
#include "core/base/object.h"

/*
 * What the controller tells of itself, for the log and for Events: a ring that
 * holds the latest NOTES_MAX notes, oldest first.  Where there is no room the
 * oldest goes.  Not thread-safe.
 */
enum note_type {	/* and what `a` is */
	NOTE_SCOPE_HELD,	/* quiet_ms; earliest, machine; b: not 0 where
				   the cap ends it, at that moment */
	NOTE_SCOPE_MOVED,	/* the same, of a scope that was held already:
				   its quiet time has moved */
	NOTE_SCOPE_QUIET,	/* how long it was held, ms; value: what is not
				   seen, so that nothing is released; or "" */
	NOTE_SCOPE_CAPPED,	/* released until, at the earliest; b: the
				   scope's cap, ms; value: what is not seen */
	NOTE_TABLE_FULL,	/* name: the object left unheld */
	NOTE_STOPPED,		/* a release waits; name: the kind of which
				   the table does not know all; a: how many */
	NOTE_BLOCKED,		/* name: what is not seen; marks that stay */
	NOTE_WITHOUT,		/* name: what a lead begins without, as it
				   could not be listed in time */
	NOTE_REFUSED,		/* name: an object that cannot be written to;
				   a: enum act; value: its kind */
	NOTE_POOL_MANUAL,	/* name, uid: the pool's; hold-until */
	NOTE_POOL_INVALID,	/* …; enum nodepool_key, and the value */
};

struct note {
	enum note_type type;
	char name[NAME_BYTES];	/* scope or object */
	int64_t a;
	char uid[UID_BYTES];
	char value[NODEPOOL_BAD_BYTES];
	int64_t b;
	char why[NOTE_WHY_BYTES];	/* REFUSED: in the API server's words */
	bool earliest;		/* machines boot: quiet then, or later */
	char machine[NAME_BYTES];	/* the claim (or Node) whose activity
					   restarted the quiet time last */
};

struct notes {
	struct note at[NOTES_MAX];
	uint32_t first, n;
};

/* A new note, the rest of which the caller fills in; good until the next
 * call. */
struct note *notes_put(struct notes *t, enum note_type type, const char *name,
		       int64_t a);
/* Takes the oldest out; false: there is none. */
bool notes_take(struct notes *t, struct note *out);

#endif
