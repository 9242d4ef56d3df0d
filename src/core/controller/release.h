/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_RELEASE_H
#define CORE_CONTROLLER_RELEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/index.h"
#include "core/base/object.h"
#include "core/base/pace.h"
#include "core/base/stamp.h"
#include "core/controller/notes.h"

/*
 * Decides when to make the fresh lists that a release begins with: first one of
 * the NodeClaims, then one of the NodePools, then one of the tickets if there
 * may be any (docs/rules.md#fresh-lists-before-a-release).  A machine may be
 * released once all lists were made after it fell due and showed nothing that
 * the table does not know.  If the list of tickets fails for FRESH_TICKETS_MS,
 * the release goes on without it.  One list is under way at a time, and all
 * machines that are due share it.  All moments are boot time.  Not
 * thread-safe.
 *
 *     idle ── release_may ────────────────────▶ wanted
 *     wanted ── release_start ────────────────▶ in flight
 *
 *     in flight ── release_done:
 *         the list is good                      wanted, the next list
 *         the last list is good as well         idle
 *         the list failed, or showed
 *         something unknown, or the
 *         view was lost                         wanted, the NodeClaims next
 */
struct release {
	bool wanted, in_flight;
	bool without; /* a note has reported that tickets are missing */
	/* Number of lists that a release needs, and of those that are complete
	 * and good. */
	unsigned lists, good;
	enum kind failed; /* the kind that could not be listed, or VIEW_COUNT */
	int64_t begun_boot_ms; /* when the latest list of NodeClaims began */
	int64_t done_boot_ms;  /* when the last good lists began, or 0 */
	int64_t not_before_boot_ms;
	/* While the list of tickets fails: when the first round of lists in
	 * which it failed began.  Otherwise 0. */
	int64_t failing_boot_ms;
	/* Number of objects that the present list shows in a state that the
	 * table does not know. */
	unsigned unknown;
	unsigned tries;
	/* Indexed by id: since when the machine is due to be released, or 0 if
	 * it is not due.  `met` says that the release has met a claim that is
	 * about to count; the time then counts from when it first did. */
	int64_t *due_boot_ms;
	bool *met;
	/* The ids that wait for lists are in [waits_from, waits_to). */
	uint32_t waits_from, waits_to;
};

/* `tickets` says whether tickets are listed, too.  Returns -1 if there is no
 * memory. */
int release_init(struct release *r, uint32_t ids, bool tickets);
void release_free(struct release *r);
/* Call this when a lead begins or ends.  It forgets earlier lists.  A list in
 * flight stays in flight until its answer. */
void release_forget(struct release *r);

/* release_due records that the machine with the head `id`
 * (core/table/machines.h) has to be released.  The first call sets since when
 * its release is due.  release_not_due records that the machine no longer has
 * to be released. */
void release_due(struct release *r, uint32_t id, int64_t boot_ms);
void release_not_due(struct release *r, uint32_t id);
/* Returns whether the machine, whose release is due, may be released now.
 * Otherwise requests the fresh lists.  `may_turn` says that a claim which is
 * about to count may hold the machine's scope in a moment.  The release waits
 * for that, but only for as long as one claim takes, so that no stream of
 * claims stops it. */
bool release_may(struct release *r, uint32_t id, bool may_turn,
		 int64_t boot_ms);

/* Returns a machine that is due and waits for lists, and forgets that it waits.
 * Returns NO_ID if there is none.  Call it after RELEASE_GOOD until it returns
 * NO_ID. */
uint32_t release_take(struct release *r);

/* Call this when something is not seen.  The fresh lists of this round that are
 * already complete then no longer count. */
void release_unseen(struct release *r);
/* Returns whether a list has to be sent now.  If so, it counts as in flight,
 * and *kind is KIND_NODECLAIM, KIND_NODEPOOL or KIND_TICKET.  Call it only
 * while everything is seen. */
bool release_start(struct release *r, int64_t boot_ms, enum kind *kind);
/* Returns how many objects a page of the next list has.  After a failed list
 * there are fewer, because a page may have been too large to come within the
 * timeout of a call. */
unsigned release_page(const struct release *r);
/* Call this when the list in flight shows something that the table does not
 * know. */
void release_unknown(struct release *r);

enum release_result {
	RELEASE_WAITS, /* the release waits for another list */
	RELEASE_GOOD,  /* machines that were due may be released */
	/* The release waits.  The watch has missed something, so the kind has
	 * to be listed again. */
	RELEASE_MISTRUSTS,
};
/* Takes the answer to the list in flight.  `ok` says whether the list is
 * complete. */
enum release_result release_done(struct release *r, enum kind kind, bool ok,
				 int64_t boot_ms, struct pace *pace,
				 struct notes *notes);
/* Returns when the wanted list may be sent, or STAMP_NONE if none is wanted. */
int64_t release_next_boot_ms(const struct release *r);

#endif
