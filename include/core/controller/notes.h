/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_NOTES_H
#define CORE_CONTROLLER_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/nodepool.h"
#include "core/base/object.h"
#include "core/base/ticket.h"
#include "core/rules/decide.h"

/*
 * A note is something that the controller reports; src/daemon/notes.c turns it
 * into log lines and Events.  struct notes is a ring of the latest NOTES_MAX
 * notes.  If there is no room, the oldest note is dropped.  The ring owns no
 * memory, and a zeroed struct is an empty ring.  Not thread-safe.
 */

/* The type of a note.  The comment on each type says what the note's `name` is
 * and, after a semicolon, which member of `as` is set. */
enum note_type {
	NOTE_SCOPE_HELD, /* the scope; as.held */
	/* A scope that was held already and whose quiet time has moved;
	 * as.held. */
	NOTE_SCOPE_MOVED,
	NOTE_SCOPE_QUIET, /* the scope; as.quiet */
	/* The scope that its cap has released; as.capped. */
	NOTE_SCOPE_CAPPED,
	NOTE_TABLE_FULL, /* the object that is left unheld */
	/* The kind of a fresh list that showed something that the table does
	 * not know, so that a release waits; as.objects. */
	NOTE_STOPPED,
	/* The kind that is not seen, so that holds cannot be released;
	 * as.objects. */
	NOTE_BLOCKED,
	/* The kind that could not be listed in time.  A lead begins, or a
	 * release goes on, without the list of this kind. */
	NOTE_WITHOUT,
	/* "".  With MODE_OBSERVE, some objects still carry our hold and mark,
	 * which stay; as.objects. */
	NOTE_LEFT,
	/* "".  The state for the next leader has no room for all scopes;
	 * as.objects. */
	NOTE_STATE_SHORT,
	/* The object that cannot be written; as.refused. */
	NOTE_REFUSED,
	/* The NodePool that a person or a ticket holds; as.manual. */
	NOTE_NODEPOOL_MANUAL,
	/* The NodePool with an annotation that is not valid and therefore
	 * ignored; as.invalid. */
	NOTE_NODEPOOL_INVALID,
	NOTE_TICKET, /* the ticket, which has a flaw; as.ticket */
};

struct note {
	enum note_type type;
	char name[NAME_BYTES];
	union {
		struct {
			/* Server time at which the scope becomes quiet, or at
			 * which its cap ends the hold. */
			int64_t until_ms;
			bool capped; /* the cap ends the hold, at until_ms */
			/* Whether the scope may become quiet later than
			 * until_ms, because machines are booting. */
			bool earliest;
			/* The NodeClaim (or Node) that restarted the quiet time
			 * last, or "" if it is unknown. */
			char machine[NAME_BYTES];
		} held;
		struct {
			int64_t held_ms; /* how long the scope was held */
			/* The name of a kind that is not listed or not watched,
			 * so that holds are not released yet.  NULL if
			 * everything is seen. */
			const char *unseen;
		} quiet;
		struct {
			/* The earliest server time at which the scope can be
			 * held again. */
			int64_t until_ms;
			int64_t max_ms;	    /* the scope's cap */
			const char *unseen; /* as in `quiet` above */
		} capped;
		/* For STOPPED, the number of objects of which the fresh list
		 * showed something new.  For BLOCKED and LEFT, the number of
		 * objects whose marks stay.  For STATE_SHORT, the number of
		 * scopes without room. */
		uint32_t objects;
		struct {
			enum kind kind;
			enum act act; /* the write that was refused */
			/* The reason in the API server's words. */
			char why[API_MESSAGE_BYTES];
		} refused;
		struct {
			char uid[UID_BYTES];
			int64_t until_ms;	   /* server time */
			char reason[REASON_BYTES]; /* "" if none was given */
			/* Whether a ticket holds the NodePool for longer than
			 * the NodePool's hold-until. */
			bool ticket;
		} manual;
		struct {
			char uid[UID_BYTES];
			enum nodepool_key key;
			char value[NODEPOOL_BAD_BYTES];
		} invalid;
		struct {
			enum ticket_flaw flaw;
			char holder[TICKET_HOLDER_BYTES];
			char fault[TICKET_FAULT_BYTES]; /* of the ticket */
		} ticket;
	} as;
};

struct notes {
	struct note at[NOTES_MAX];
	uint32_t first, n;
};

/* Adds a note and returns it.  The note belongs to *t, and the caller fills in
 * `as`, which is zeroed, before the next call.  name is shorter than
 * NAME_BYTES. */
struct note *notes_put(struct notes *t, enum note_type type, const char *name);
/* Takes out the oldest note.  Returns false if there is none. */
bool notes_take(struct notes *t, struct note *out);

#endif
