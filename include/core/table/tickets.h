/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TABLE_TICKETS_H
#define CORE_TABLE_TICKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/index.h"
#include "core/base/ticket.h"

/*
 * The table of the tickets that this leader has seen (docs/rules.md#tickets).
 * Each knows by bits which places of the table of NodePools it holds, so a
 * renewal compares no names.  Times are server_ms.  Not thread-safe: callers
 * hold the owner's lock.
 */
struct ticket_entry {
	struct ticket ticket;
	int64_t seen_ms;  /* when this renewal was first seen */
	int64_t until_ms; /* until when it holds, or STAMP_NONE */
	enum ticket_flaw flaw;
	/* The number of the latest list that showed it, or of the list before
	 * the watch that did. */
	uint32_t generation;
	uint64_t nodepools[SCOPES_MAX / 64]; /* by place */
};

struct tickets {
	struct ticket_entry *at; /* by place; a free place has the name "" */
	uint32_t top, max, n;	 /* n are in the table */
	struct index by_name;
	uint32_t *turned_away; /* see tickets_turn_away */
};

/* Makes an empty table for max tickets.  *ts must not be moved afterwards.
 * Returns -1 if there is no memory; call tickets_done in either case. */
int tickets_init(struct tickets *ts, uint32_t max);
void tickets_done(struct tickets *ts);

/* Returns the ticket with that name, or NULL. */
struct ticket_entry *tickets_find(const struct tickets *ts, const char *name);
/* Adds or replaces a ticket that was seen at now_ms.  Returns NULL if there is
 * no room.  The caller sets the bits of its NodePools if it is new or if its
 * patterns have changed (tickets_place).  If it is the same as before, it also
 * ends when it did before: the clock may have been set since. */
struct ticket_entry *tickets_put(struct tickets *ts, const struct ticket *t,
				 uint32_t generation, int64_t now_ms);
/* Returns whether both tickets hold the same NodePools. */
bool tickets_same_nodepools(const struct ticket *a, const struct ticket *b);
/* Returns whether both tickets hold the same, until the same moment, and leave
 * out as much. */
bool tickets_same(const struct ticket *a, const struct ticket *b);
void tickets_drop(struct tickets *ts, struct ticket_entry *e);
/* Drops all tickets, and forgets which were turned away. */
void tickets_forget(struct tickets *ts);
/* Records that there was no room for the ticket with that name.  Returns
 * whether this is new.  Of two names that have the same place in a table of
 * hashes, only the latter is remembered. */
bool tickets_turn_away(struct tickets *ts, const char *name);
/* Returns a ticket that the list with this generation did not show, or NULL,
 * as nodepools_stale does. */
struct ticket_entry *tickets_stale(const struct tickets *ts,
				   uint32_t generation, uint32_t *i);

/* Sets whether the ticket holds the NodePool in this place.  Call it for each
 * ticket when a place gets another NodePool. */
void tickets_place(struct ticket_entry *e, uint32_t place,
		   const char *nodepool);
static inline bool
tickets_holds(const struct ticket_entry *e, uint32_t place)
{
	return (e->nodepools[place / 64] >> place % 64 & 1) != 0;
}

/* The tickets that hold one NodePool at one moment. */
struct ticket_hold {
	int64_t until_ms; /* when the last of them ends; STAMP_NONE: none */
	int64_t next_ms;  /* when the first of them ends; STAMP_NONE: none */
	/* The one that ends last, or NULL. */
	const struct ticket_entry *last;
	unsigned n;
};
struct ticket_hold tickets_hold(const struct tickets *ts, uint32_t place,
				int64_t now_ms);

/* Call this when the API server's clock was set.  A ticket lasts as long as
 * before. */
void tickets_shift(struct tickets *ts, int64_t by_ms);

/* Writes what people read of a ticket: "ticket NAME of HOLDER: REASON". */
void tickets_words(const struct ticket_entry *e, char *out, size_t cap);

#endif
