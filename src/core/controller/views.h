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
 * them.  Not thread-safe.
 */
struct view {
	bool listing; /* a list is under way that began in this lead */
	/* Whether a list was complete, whether the watch is open, and whether
	 * the API server serves the kind. */
	bool listed, up, served;
	bool full;    /* the table had no room for something */
	bool room;    /* full, and there is room again */
	bool skipped; /* something was left out since the last list began */
	/* A watch left something out, so what is known may be out of date. */
	bool behind;
	bool wants_list;     /* see views_want_list */
	uint32_t generation; /* counts the lists */
	/* The kind is not listed again before then because of what was left
	 * out. */
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
	LEAD_NONE, /* Only NodePools are followed, and nothing is written. */
	LEAD_BEGINS,
	LEAD_ACTS, /* the earlier leader's holds stay */
	LEAD_SEEN, /* everything was seen once, so those holds may end */
};

struct views {
	struct view at[VIEW_COUNT];
	enum lead lead;
	bool blocked; /* Whether it was reported that marks stay. */
	/* If the list of NodeClaims has left something out, NodeClaims count as
	 * known from this moment on, or from the fresh list that shows the
	 * others.  0 if they count as known now. */
	int64_t settle_boot_ms;
	/* When the wait for the first lists ends; 0 if it has not begun. */
	int64_t begin_boot_ms;
	int64_t blocked_boot_ms; /* when `blocked` is reported next, or 0 */
};

/* Call this when a lead begins or ends: nothing is known any more. */
void views_lead(struct views *v, bool leads);

static inline bool
views_leads(const struct views *v)
{
	return v->lead != LEAD_NONE;
}

/* --- the lists and watches ------------------------------------------------ */

/* A list goes through three calls.  Call views_listing when it begins; `counts`
 * is false if this replica does not follow the kind now, so that the list means
 * nothing.  Call views_list_end when its last item has come.  Call views_listed
 * when the table has dropped what the list did not show, so that the kind is
 * known; has_room says whether the table has room for more objects of this
 * kind. */
void views_listing(struct views *v, enum kind kind, bool counts);
void views_list_end(struct views *v, enum kind kind);
void views_listed(struct views *v, enum kind kind, bool served, bool has_room);
/* Tells whether the watch is open.  Returns true if it has opened just now, on
 * a kind that is listed. */
bool views_watch(struct views *v, enum kind kind, bool up);
/* Tell that an object of this kind may have gone, that the table had no room
 * for one, and that it has room again. */
void views_gone(struct views *v, enum kind kind);
void views_full(struct views *v, enum kind kind);
void views_room(struct views *v, enum kind kind);

/* Tells that the list or the watch of this kind has left out an object. */
void views_skipped(struct views *v, enum kind kind);

/* Asks for a list that the watch itself does not need.  views_ask_for_rest asks
 * for those objects for which the table had no room, and for those of which a
 * line was left out, at most once in RELIST_LEFT_OUT_MS. */
void views_want_list(struct views *v, enum kind kind);
/* Returns true once for each request. */
bool views_take_request(struct views *v, enum kind kind);
void views_ask_for_rest(struct views *v, int64_t boot_ms);

/* --- what is seen --------------------------------------------------------- */

/* Returns the name of a kind other than Event that is not listed or not
 * watched, or NULL if everything is seen.  views_all_synced returns whether
 * everything is seen. */
const char *views_unseen(const struct views *v);
bool views_all_synced(const struct views *v);
/* Call this when everything is seen.  Returns whether it is so for the first
 * time since we lead. */
bool views_whole(struct views *v);

/* Returns whether all NodeClaims are known.  They are not while a list is under
 * way, nor after one that has left something out.  That ends with views_settle
 * or, because holding must not depend on it, BEGIN_WAIT_MS later (twice that if
 * the lead has not begun): views_settle_due says when.  Both return true if
 * they are known from now on. */
static inline bool
views_settled(const struct views *v)
{
	return v->at[KIND_NODECLAIM].listed && !v->at[KIND_NODECLAIM].listing &&
	       v->settle_boot_ms == 0;
}
void views_unsettle(struct views *v, int64_t boot_ms);
bool views_settle(struct views *v);
bool views_settle_due(struct views *v, int64_t boot_ms);

/* Returns whether everything is seen, NodeClaims that lists leave out
 * included. */
static inline bool
views_complete(const struct views *v)
{
	return views_all_synced(v) && v->settle_boot_ms == 0;
}

/* Returns whether fresh lists may be made: when everything is seen, or to show
 * which NodeClaims the list has left out. */
static inline bool
views_may_list(const struct views *v)
{
	return views_all_synced(v) ||
	       (v->settle_boot_ms != 0 && v->at[KIND_NODECLAIM].up);
}

/* Returns whether a Node without a claim counts as a machine, which it does
 * only if the API server does not serve NodeClaims. */
static inline bool
views_claimless(const struct views *v)
{
	return v->at[KIND_NODECLAIM].listed && !v->at[KIND_NODECLAIM].served;
}

/* Returns whether all machines are known: NodeClaims, or Nodes if these are the
 * machines. */
static inline bool
views_machines_known(const struct views *v)
{
	return views_settled(v) &&
	       (!views_claimless(v) || v->at[KIND_NODE].listed);
}

/* Returns whether a lead may act yet.  It waits for the list of NodePools and,
 * if `events` is set, for that of Events, but no longer than BEGIN_WAIT_MS.  A
 * note names what is missing then. */
bool views_begin(struct views *v, bool events, int64_t boot_ms,
		 struct notes *notes);
/* Tells that `marked` holds cannot be released because the kind `unseen` is not
 * seen; unseen is NULL if everything is seen.  A note reports it after
 * BLOCKED_MS and then every BLOCKED_EVERY_MS. */
void views_block(struct views *v, const char *unseen, uint32_t marked,
		 int64_t boot_ms, struct notes *notes);
/* Returns when a view has to be looked at again, or STAMP_NONE if never. */
int64_t views_next_boot_ms(const struct views *v);

#endif
