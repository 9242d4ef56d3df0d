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
 * For each ticket the table keeps one bit per place in the table of NodePools.
 * The bit says whether the ticket holds the NodePool in that place, so a
 * renewal compares no names.  Times are server_ms.  Not thread-safe: callers
 * hold the owner's lock.
 */
struct ticket_entry {
	struct ticket ticket;
	int64_t seen_ms; /* when its latest renewal was first seen */
	/* by how many ms the API server's clock was set since seen_ms */
	int64_t set_ms;
	int64_t until_ms; /* until when it holds, or STAMP_NONE */
	enum ticket_flaw flaw;
	/* The number of the latest list that showed the ticket.  If a watch has
	 * shown it since, the number of the list before that watch. */
	uint32_t generation;
	/* A bit for each place in the table of NodePools: the ticket holds the
	 * NodePool there. */
	uint64_t nodepools[SCOPES_MAX / 64];
};

struct tickets {
	/* Indexed by place.  A free place has the name "". */
	struct ticket_entry *at;
	/* `top` is the first place that was never used, `max` the number of
	 * places, and `n` the number of tickets in the table. */
	uint32_t top, max, n;
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
 * no room.  If the ticket is new, or if its patterns have changed, the caller
 * sets the bits of its NodePools (tickets_place).  If nothing about the ticket
 * has changed (tickets_same), its end stays the same, even if the API server's
 * clock was set in the meantime. */
struct ticket_entry *tickets_put(struct tickets *ts, const struct ticket *t,
				 uint32_t generation, int64_t now_ms);
/* Returns whether both tickets have the same patterns. */
bool tickets_same_nodepools(const struct ticket *a, const struct ticket *b);
/* Returns whether both are the same ticket with the same renewal, the same
 * duration and the same patterns. */
bool tickets_same(const struct ticket *a, const struct ticket *b);
void tickets_drop(struct tickets *ts, struct ticket_entry *e);
/* Drops all tickets, and forgets which were turned away. */
void tickets_forget(struct tickets *ts);
/* Records that there was no room for the ticket with that name.  Returns
 * whether this is new.  The names are remembered as hashes.  If two hashes
 * share a place in turned_away, the later one replaces the earlier. */
bool tickets_turn_away(struct tickets *ts, const char *name);
/* Returns a ticket that the list with this generation did not show, or NULL,
 * as nodepools_stale does. */
struct ticket_entry *tickets_stale(const struct tickets *ts,
				   uint32_t generation, uint32_t *i);

/* Sets the bit of this place according to the ticket's patterns and the name of
 * the NodePool there.  Call it for each ticket when a place gets another
 * NodePool. */
void tickets_place(struct ticket_entry *e, uint32_t place,
		   const char *nodepool);
static inline bool
tickets_holds(const struct ticket_entry *e, uint32_t place)
{
	return (e->nodepools[place / 64] >> place % 64 & 1) != 0;
}

/* The tickets that hold one NodePool at one moment. */
struct ticket_hold {
	int64_t until_ms; /* when the last of them ends, or STAMP_NONE */
	int64_t next_ms;  /* when the first of them ends, or STAMP_NONE */
	/* The ticket that ends last, of equals the first by name, or NULL. */
	const struct ticket_entry *last;
	unsigned n;
};
struct ticket_hold tickets_hold(const struct tickets *ts, uint32_t place,
				int64_t now_ms);
/* Returns the ticket that ends last among those that hold the NodePool and have
 * another holder than *e, or NULL. */
const struct ticket_entry *tickets_other(const struct tickets *ts,
					 uint32_t place, int64_t now_ms,
					 const struct ticket_entry *e);

/* Call this when the API server's clock has jumped by by_ms.  It shifts the
 * ends of all tickets, so that each lasts as long as before. */
void tickets_shift(struct tickets *ts, int64_t by_ms);
/* Call this after tickets_shift if the API server's clock was wrong before.
 * Each ticket then ends as if the clock had never been wrong. */
void tickets_restamp(struct tickets *ts);

/* Writes the text that describes a ticket to people: "ticket NAME of HOLDER:
 * REASON". */
void tickets_words(const struct ticket_entry *e, char *out, size_t cap);

#endif
