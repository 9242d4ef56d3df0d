/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_NOTES_H
#define CORE_CONTROLLER_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/nodepool.h"
#include "core/base/object.h"

/*
 * A note is something that the controller reports; src/daemon/notes.c turns it
 * into log lines and Events.  struct notes is a ring of the latest NOTES_MAX
 * notes.  If there is no room, the oldest note is dropped.  It owns no memory,
 * and a zeroed struct is an empty ring.  Not thread-safe.
 */

/* The type of a note, and which members of struct note it sets.  The name of a
 * note about a scope is the scope's, and members that are not named are 0 or
 * "". */
enum note_type {
	NOTE_SCOPE_HELD,	/* a: when it will be quiet, server time; b: the
				   same if its cap ends the hold then, else 0;
				   earliest; machine */
	NOTE_SCOPE_MOVED,	/* the same, for a scope that was held already
				   and whose quiet time has moved */
	NOTE_SCOPE_QUIET,	/* a: how long it was held, ms; value: what is
				   not seen, so that nothing is released, or
				   "" */
	NOTE_SCOPE_CAPPED,	/* a: released until then at the earliest,
				   server time; b: the scope's cap, ms; value:
				   what is not seen, or "" */
	NOTE_TABLE_FULL,	/* name: the object that is left unheld */
	NOTE_STOPPED,		/* a release waits; name: the kind of which a
				   fresh list showed more than the table knows;
				   a: how many objects */
	NOTE_BLOCKED,		/* holds cannot be released; name: what is not
				   seen; a: how many marks stay */
	NOTE_WITHOUT,		/* name: a kind that a lead begins without,
				   because it could not be listed in time */
	NOTE_REFUSED,		/* name: an object that cannot be written to;
				   value: its kind; a: enum act; why */
	NOTE_NODEPOOL_MANUAL,	/* name, uid: the NodePool's; a: its hold-until,
				   server time */
	NOTE_NODEPOOL_INVALID,	/* name, uid: the NodePool's; a: enum
				   nodepool_key; value: what does not count */
};

struct note {
	enum note_type type;
	char name[NAME_BYTES];	/* of the scope or of the object */
	int64_t a;
	char uid[UID_BYTES];
	char value[NODEPOOL_BAD_BYTES];
	int64_t b;
	char why[NOTE_WHY_BYTES];	/* the reason in the API server's
					   words */
	bool earliest;		/* machines boot, so it will be quiet then or
				   later */
	char machine[NAME_BYTES];	/* the claim (or Node) whose activity
					   restarted the quiet time last */
};

struct notes {
	struct note at[NOTES_MAX];
	uint32_t first, n;
};

/* Adds a note and returns it.  It belongs to *t, and the caller fills in its
 * other members before the next call.  name is shorter than NAME_BYTES. */
struct note *notes_put(struct notes *t, enum note_type type, const char *name,
		       int64_t a);
/* Takes out the oldest note.  Returns false if there is none. */
bool notes_take(struct notes *t, struct note *out);

#endif
