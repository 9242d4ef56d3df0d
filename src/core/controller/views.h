/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_VIEWS_H
#define CORE_CONTROLLER_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/object.h"
#include "core/controller/notes.h"

/*
 * Keeps the state of each kind's list and watch, and decides whether a lead may
 * begin with what is known.  All times are boot time.  Other code may read the
 * members, but only these functions write them.  Not thread-safe.
 */
struct view {
	bool listing; /* A list that began in this lead is under way. */
	/* `listed`: a list was complete.  `up`: the watch is open.  `served`:
	 * the API server serves the kind. */
	bool listed, up, served;
	bool full;    /* The table had no room for an object. */
	bool room;    /* The table was full and has room again. */
	bool skipped; /* An object was left out since the last list began. */
	/* The watch left out an object, so the table may be out of date. */
	bool behind;
	bool wants_list;     /* see views_want_list */
	uint32_t generation; /* number of lists that have begun */
	/* Earliest time of the next list that is requested because an object
	 * was left out. */
	int64_t ask_boot_ms;
	/* Grows whenever an object of the kind may have left the table. */
	uint64_t forgotten;
};

/*
 * How far our lead has come.
 *
 *     NONE ── this replica comes to lead ─────────────▶ BEGINS
 *     BEGINS ── all that it waits for is listed, or
 *               BEGIN_WAIT_MS (views_begin) ──────────▶ ACTS
 *     ACTS ── everything is seen (views_whole) ───────▶ SEEN
 *     any ── another replica leads ───────────────────▶ NONE
 */
enum lead {
	LEAD_NONE, /* Only NodePools are watched, and nothing is written. */
	LEAD_BEGINS,
	LEAD_ACTS, /* The previous leader's holds stay. */
	/* Everything was seen once, so the previous leader's holds may end. */
	LEAD_SEEN,
};

struct views {
	struct view at[VIEW_COUNT];
	enum lead lead;
	bool blocked; /* A note has reported that holds cannot be released. */
	/* When the wait for the first lists ends; 0 if it has not begun. */
	int64_t begin_boot_ms;
	/* When the next note about `blocked` is due, or 0. */
	int64_t blocked_boot_ms;
};

/* Call this when a lead begins or ends.  It forgets what all lists and watches
 * have shown. */
void views_lead(struct views *v, bool leads);

static inline bool
views_leads(const struct views *v)
{
	return v->lead != LEAD_NONE;
}

/* --- the lists and watches ------------------------------------------------ */

/* A list goes through three calls.  Call views_listing when the list begins;
 * `counts` is false if this replica does not follow the kind now, so that the
 * list is ignored.  Call views_list_end after the last item of the list.  Call
 * views_listed when the table has dropped the objects that the list did not
 * show; the kind is then known.  has_room says whether the table has room for
 * more objects of this kind. */
void views_listing(struct views *v, enum kind kind, bool counts);
void views_list_end(struct views *v, enum kind kind);
void views_listed(struct views *v, enum kind kind, bool served, bool has_room);
/* Records whether the watch is open.  Returns true if the watch has just opened
 * and the kind is listed. */
bool views_watch(struct views *v, enum kind kind, bool up);
/* views_gone records that an object of this kind may have left the table,
 * views_full that the table had no room for an object, and views_room that the
 * table has room again. */
void views_gone(struct views *v, enum kind kind);
void views_full(struct views *v, enum kind kind);
void views_room(struct views *v, enum kind kind);

/* Records that the list or the watch of this kind has left out an object. */
void views_skipped(struct views *v, enum kind kind);

/* views_want_list requests a new list although the watch is still open.
 * views_ask_for_rest requests a new list of each kind for which a full table
 * has room again, or whose watch left out a line, but at most once in
 * RELIST_LEFT_OUT_MS. */
void views_want_list(struct views *v, enum kind kind);
/* Returns true once for each request of a new list. */
bool views_take_request(struct views *v, enum kind kind);
void views_ask_for_rest(struct views *v, int64_t boot_ms);

/* --- what is seen --------------------------------------------------------- */

/* Returns the name of a kind other than Event and Ticket that is not listed or
 * not watched, or NULL if everything is seen.  views_all_synced returns whether
 * everything is seen. */
const char *views_unseen(const struct views *v);
bool views_all_synced(const struct views *v);
/* Call this when everything is seen.  Returns whether this is the first time in
 * this lead. */
bool views_whole(struct views *v);

/* Returns whether all NodeClaims are known.  They are not known while a list is
 * under way. */
static inline bool
views_settled(const struct views *v)
{
	return v->at[KIND_NODECLAIM].listed && !v->at[KIND_NODECLAIM].listing;
}

/* Returns whether a Node without a claim counts as a machine.  It does so only
 * if the API server does not serve NodeClaims. */
static inline bool
views_claimless(const struct views *v)
{
	return v->at[KIND_NODECLAIM].listed && !v->at[KIND_NODECLAIM].served;
}

/* Returns whether all machines are known.  The machines are the NodeClaims, or
 * the Nodes if the API server does not serve NodeClaims. */
static inline bool
views_machines_known(const struct views *v)
{
	return views_settled(v) &&
	       (!views_claimless(v) || v->at[KIND_NODE].listed);
}

/* Returns whether a lead may act yet.  It waits for the list of NodePools and,
 * if `events` and `tickets` are set, for those of Events and of tickets, but no
 * longer than BEGIN_WAIT_MS.  If a list is still missing after that time, a
 * note names its kind. */
bool views_begin(struct views *v, bool events, bool tickets, int64_t boot_ms,
		 struct notes *notes);
/* Records that `marked` holds cannot be released because the kind `unseen` is
 * not seen; unseen is NULL if everything is seen.  A note reports it after
 * BLOCKED_MS and then every BLOCKED_EVERY_MS. */
void views_block(struct views *v, const char *unseen, uint32_t marked,
		 int64_t boot_ms, struct notes *notes);
/* Returns the boot time at which time alone next changes a view, or
 * STAMP_NONE. */
int64_t views_next_boot_ms(const struct views *v);

#endif
