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

/* The type of a note.  Beside each type stands what the name of the note is
 * and, after a semicolon, which member of `as` is set. */
enum note_type {
	NOTE_SCOPE_HELD, /* the scope; as.held */
	/* The name is a scope that was held already, and whose quiet time has
	 * moved; as.held. */
	NOTE_SCOPE_MOVED,
	NOTE_SCOPE_QUIET,  /* the scope; as.quiet */
	NOTE_SCOPE_CAPPED, /* the scope, released by its cap; as.capped */
	NOTE_TABLE_FULL,   /* the object that is left unheld */
	/* A release waits.  The name is the kind of which a fresh list showed
	 * something that the table does not know; as.objects. */
	NOTE_STOPPED,
	/* Holds cannot be released.  The name is the kind that is not seen;
	 * as.objects. */
	NOTE_BLOCKED,
	/* The name is the kind without which a lead begins, or a release goes
	 * on, because it could not be listed in time. */
	NOTE_WITHOUT,
	/* MODE_OBSERVE: objects carry hold and mark, which stay; as.objects. */
	NOTE_LEFT,
	/* The state for the next leader has no room for all scopes;
	 * as.objects. */
	NOTE_STATE_SHORT,
	/* The name is the object that cannot be written; as.refused. */
	NOTE_REFUSED,
	NOTE_NODEPOOL_MANUAL, /* the NodePool that is held by hand; as.manual */
	/* The name is the NodePool with an annotation that is ignored;
	 * as.invalid. */
	NOTE_NODEPOOL_INVALID,
	NOTE_TICKET, /* a ticket with a flaw; ticket */
};

struct note {
	enum note_type type;
	char name[NAME_BYTES];
	union {
		struct {
			/* Server time at which the scope becomes quiet, or at
			 * which its cap ends the hold. */
			int64_t until_ms;
			bool capped; /* Whether the cap comes first. */
			/* Whether it may become quiet later, because machines
			 * are booting. */
			bool earliest;
			/* The NodeClaim (or Node) that restarted the quiet time
			 * last, or "" if it is unknown. */
			char machine[NAME_BYTES];
		} held;
		struct {
			int64_t held_ms; /* how long it was held */
			/* The kind that is not seen, so that nothing is
			 * released, or NULL. */
			const char *unseen;
		} quiet;
		struct {
			int64_t until_ms;   /* released until then at the
						   earliest, server time */
			int64_t max_ms;	    /* the scope's cap */
			const char *unseen; /* as in `quiet` */
		} capped;
		/* How many objects: STOPPED counts the objects of which the
		 * fresh list showed something new; BLOCKED and LEFT, the
		 * objects whose marks stay.  STATE_SHORT counts scopes
		 * instead. */
		uint32_t objects;
		struct {
			enum kind kind;
			enum act act; /* a write */
			/* the reason in the API server's words */
			char why[API_MESSAGE_BYTES];
		} refused;
		struct {
			char uid[UID_BYTES];
			int64_t until_ms;	   /* server time */
			char reason[REASON_BYTES]; /* "" if none was given */
			bool ticket; /* by a ticket, and not by hold-until */
		} manual;
		struct {
			char uid[UID_BYTES];
			enum nodepool_key key;
			char value[NODEPOOL_BAD_BYTES];
		} invalid;
		struct {
			enum ticket_flaw flaw;
			char holder[TICKET_HOLDER_BYTES];
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
