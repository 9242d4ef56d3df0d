/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_VIEWS_H
#define CORE_CONTROLLER_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/object.h"
#include "core/controller/notes.h"

/*
 * What is known of each resource as a whole: is it listed, is its watch open,
 * and may a lead begin with what is known?  All moments are boot time.  The
 * fields are there to be read; only these functions write them, but for `full`
 * and `was_whole`, which the controller sets.  Not thread-safe.
 */
struct view {
	bool listing; /* a list since we lead is under way */
	bool listed, up, served;
	bool full; /* something was left out of the table */
	bool room; /* since then something went away */
	bool wants_list;
	uint32_t generation; /* of the latest list */
	int64_t ask_boot_ms; /* not before, for what was left out */
	uint64_t forgotten;  /* times that something may have gone */
};

struct views {
	struct view at[VIEW_COUNT];
	bool was_whole; /* all was seen once, since we lead */
	bool begun;	/* of all that a lead waits for nothing is missing, or
			   it has waited long enough */
	bool blocked;	/* it has been told that marks stay */
	int64_t begin_boot_ms;	 /* it waits no longer for a first list; 0 */
	int64_t blocked_boot_ms; /* when that is told next; 0: never */
};

/* A lead begins or ends: nothing is known any more. */
void views_forget(struct views *v);

/* --- the lists and watches --------------------------------------------------
 */

void views_listing(struct views *v, enum kind kind, bool counts);
/* The list is at its end; then, when the table has followed it, it is known:
 * has_room: the table has. */
void views_list_end(struct views *v, enum kind kind);
void views_listed(struct views *v, enum kind kind, bool served, bool has_room);
bool views_watch(struct views *v, enum kind kind, bool up); /* it opened */
/* An object has gone. */
void views_gone(struct views *v, enum kind kind);
void views_room(struct views *v, enum kind kind); /* and its place */

/* Lists that are wanted beyond those of the watch. */
void views_want_list(struct views *v, enum kind kind);
bool views_take_wish(struct views *v, enum kind kind); /* once a wish */
void views_ask_for_rest(struct views *v, int64_t boot_ms);

/* --- what is seen ------------------------------------------------------------
 */

const char *views_unseen(const struct views *v); /* the kind; NULL: whole */
bool views_whole(const struct views *v);

/* Are the NodeClaims known, all of them?  Not while a list is under way. */
static inline bool
views_settled(const struct views *v)
{
	return v->at[KIND_NODECLAIM].listed && !v->at[KIND_NODECLAIM].listing;
}

/* Is a Node without a claim a machine?  Only where claims are not served. */
static inline bool
views_claimless(const struct views *v)
{
	return v->at[KIND_NODECLAIM].listed && !v->at[KIND_NODECLAIM].served;
}

/* May a lead do anything yet?  events: it waits for those, too. */
bool views_begin(struct views *v, bool events, int64_t boot_ms,
		 struct notes *notes);
/* So many marks stay because of what is not seen (NULL: all is); it is told
 * now and then. */
void views_block(struct views *v, const char *unseen, uint32_t marked,
		 int64_t boot_ms, struct notes *notes);
/* When a view is to be looked at again; STAMP_NONE: never. */
int64_t views_next_boot_ms(const struct views *v);

#endif
