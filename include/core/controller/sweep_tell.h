/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_SWEEP_TELL_H
#define CORE_CONTROLLER_SWEEP_TELL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/nodepool.h"
#include "core/base/object.h"

/* What a sweep tells of itself: notes for the log as they come, reports for
 * the metrics when asked. */
struct sweep;

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
bool sweep_note(struct sweep *s, struct note *out);	/* the oldest; or none */
struct sweep_report {
	uint32_t objects[KIND_COUNT], timers, held[KIND_COUNT];
	bool up[VIEW_COUNT];	/* the watch is open */
	bool blocked;		/* holds that nobody can take away, for more
				   than a minute */
};
void sweep_report(const struct sweep *s, struct sweep_report *out);
struct scope_report {
	char name[POOL_BYTES];
	bool held;
	int64_t quiet_ms;	/* STAMP_NONE: no machine counts in it */
};
/* The i-th scope in use; false at the end. */
bool sweep_scope(const struct sweep *s, uint32_t *i, struct scope_report *out);

struct nodepool_report {
	char name[POOL_BYTES], uid[UID_BYTES];
	bool out;	/* excluded or disabled */
	bool by_hand;	/* held by its hold-until */
};
/* The i-th NodePool seen; false at the end. */
bool sweep_pool_at(const struct sweep *s, uint32_t *i,
		   struct nodepool_report *out);

#endif
