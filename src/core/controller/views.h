/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_VIEWS_H
#define CORE_CONTROLLER_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/object.h"
#include "core/controller/notes.h"

/*
 * What is known of each resource as a whole: whether it is listed, whether its
 * watch is open, and whether a lead may begin with what is known.  All moments
 * are boot time.  Anybody may read the fields.  Only these functions write
 * them, except for `full` and `was_whole`, which the controller sets.  Not
 * thread-safe.
 */
struct view {
	bool listing; /* a list that began since we lead is under way */
	bool listed, up, served;
	bool full; /* something was left out of the table */
	bool room; /* … and something has gone away since */
	bool wants_list;
	uint32_t generation; /* of the latest list */
	int64_t ask_boot_ms; /* what was left out is not asked for before */
	uint64_t forgotten;  /* how often something may have gone */
};

struct views {
	struct view at[VIEW_COUNT];
	bool was_whole; /* everything was seen once since we lead */
	bool begun;	/* a lead may act: all that it waits for is listed, or
			   it has waited long enough */
	bool blocked;	/* it was reported that marks stay */
	int64_t begin_boot_ms;	 /* the wait for first lists ends then; 0: it
				    has not begun */
	int64_t blocked_boot_ms; /* when `blocked` is reported next; 0: never */
};

/* A lead begins or ends, so nothing is known any more. */
void views_forget(struct views *v);

/* --- the lists and watches ------------------------------------------------ */

void views_listing(struct views *v, enum kind kind, bool counts);
/* list_end: the list has come to its end.  listed: the table has followed it,
 * so the resource is known.  has_room: the table has room for more. */
void views_list_end(struct views *v, enum kind kind);
void views_listed(struct views *v, enum kind kind, bool served, bool has_room);
/* Returns true if the watch has opened. */
bool views_watch(struct views *v, enum kind kind, bool up);
/* gone: an object has gone.  room: and so its place in the table is free. */
void views_gone(struct views *v, enum kind kind);
void views_room(struct views *v, enum kind kind);

/* Lists that are wanted beyond those that the watch needs. */
void views_want_list(struct views *v, enum kind kind);
/* Returns true once for each wish. */
bool views_take_wish(struct views *v, enum kind kind);
void views_ask_for_rest(struct views *v, int64_t boot_ms);

/* --- what is seen --------------------------------------------------------- */

/* Returns a kind that is not seen; NULL: everything is seen. */
const char *views_unseen(const struct views *v);
bool views_whole(const struct views *v);

/* Are all NodeClaims known?  Not while a list is under way. */
static inline bool
views_settled(const struct views *v)
{
	return v->at[KIND_NODECLAIM].listed && !v->at[KIND_NODECLAIM].listing;
}

/* Does a Node without a claim count as a machine?  Only where claims are not
 * served. */
static inline bool
views_claimless(const struct views *v)
{
	return v->at[KIND_NODECLAIM].listed && !v->at[KIND_NODECLAIM].served;
}

/* May a lead do anything yet?  events: it waits for Events, too. */
bool views_begin(struct views *v, bool events, int64_t boot_ms,
		 struct notes *notes);
/* Says how many marks stay because of what is not seen; unseen is NULL if
 * everything is seen.  This is reported now and then. */
void views_block(struct views *v, const char *unseen, uint32_t marked,
		 int64_t boot_ms, struct notes *notes);
/* Returns when a view has to be looked at again; STAMP_NONE: never. */
int64_t views_next_boot_ms(const struct views *v);

#endif
