/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_REPLACEMENTS_H
#define CORE_CONTROLLER_REPLACEMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/counters.h"
#include "core/controller/deletions.h"
#include "core/controller/disruption_events.h"
#include "core/table/machines.h"
#include "core/table/nodepools.h"
#include "core/table/timers.h"
#include "views.h"

/*
 * Finds out which claims Karpenter made to replace others, and from when on a
 * claim counts as a scale-up (docs/rules.md#replacements).
 *
 * If a claim was made because of consolidation or drift, an Event of Karpenter
 * says so.  The Event may come before or after the claim.  The reason in the
 * Event is then written on the claim.  The Event is believed only if another
 * claim was marked for disruption shortly before, because anybody who may
 * create Events could write one.  A claim begins to count only when it is some
 * seconds old, so that the Event comes first.
 *
 * A claim for the pods of a machine that expired, was interrupted or was
 * deleted by hand looks like any other.  Such a claim is matched with the
 * deletion once, when the claim comes to count.
 *
 * The class of a claim is in the claim's entry of the table.  The functions
 * return which machines have to be refreshed, and leave the refresh to the
 * caller.  All moments are server time.  Not thread-safe.
 */

/* When Karpenter marked a claim for disruption, as the condition
 * DisruptionReason says in whole seconds.  `several` means that more than one
 * claim was marked in that second. */
struct disruption {
	int64_t ms;
	char uid[UID_BYTES];
	bool several;
};

struct replacements {
	const struct rules *rules;
	const struct views *views;
	const struct nodepools *nodepools;
	struct machines *machines;
	struct timers *timers;
	struct counters *counters;
	struct disruption_events disruption_events;
	struct disruption disruptions[DISRUPTIONS_MAX];
	uint32_t disruptions_n;
	struct deletions deletions;
};

/* Initializes all members except the pointers.  The caller has set the
 * pointers, and has initialized *machines.  What the pointers point to outlives
 * *r.  `seed` is the seed of disruption_events.  Returns -1 if there is no
 * memory; call replacements_done in either case. */
int replacements_init(struct replacements *r, uint64_t seed);
void replacements_done(struct replacements *r);
/* Forgets everything.  Call it when a lead begins or ends. */
void replacements_forget(struct replacements *r);

/* --- what the watches say ------------------------------------------------- */

/* Call this after *o has been put into the table as entry `id`.  Returns true
 * if *o shows a disruption that was not known.  The caller then calls
 * replacements_look_back for each entry, with o->disrupted_ms. */
bool replacements_track(struct replacements *r, uint32_t id,
			const struct object *o);
/* Judges again what an Event has said of this entry, now that a claim is known
 * to have been disrupted at disrupted_ms.  Returns true if the entry may
 * replace that claim; the caller then refreshes its machine.  The entry may be
 * unused or of any kind. */
bool replacements_look_back(struct replacements *r, uint32_t id,
			    int64_t disrupted_ms);
/* Takes Karpenter's Event that the claim replaces another, for this reason.  If
 * the claim is in the table and the Event is believed, returns the claim's id,
 * and the caller refreshes the claim's machine.  Otherwise returns NO_ID.  An
 * Event about a claim that is not in the table yet is remembered. */
uint32_t replacements_said(struct replacements *r, const char *claim_uid,
			   const char *reason);
/* Call this when the entry's object is being deleted, and again when the object
 * is gone.  deleted_ms is the object's deletionTimestamp, and disrupted_ms when
 * Karpenter chose it, or STAMP_NONE.  Entries that are no claims are
 * ignored. */
void replacements_deleted(struct replacements *r, uint32_t id,
			  int64_t deleted_ms, int64_t disrupted_ms, bool gone,
			  int64_t now_ms);

/* --- the class of a claim ------------------------------------------------- */

/* If the claim has come to count, finds out once whether it is a substitute or
 * comes after a failed boot, and sets its `replaces` or `again`.  Call it
 * whenever the claim may have come to count. */
void replacements_judge(struct replacements *r, struct entry *claim,
			int64_t now_ms);
/* Judges all claims, the oldest first.  Call it when a list of the NodeClaims
 * is complete. */
void replacements_judge_all(struct replacements *r, int64_t now_ms);
/* Returns whether the claim is known to replace another. */
bool replacements_is_one(const struct replacements *r,
			 const struct entry *claim);
/* It is not known yet whether the claim counts.  It becomes known once all
 * NodeClaims are listed and, if minScaleUp is a percentage, once all machines
 * are known. */
#define COUNTS_LATER INT64_MAX
/* Returns the server time from which the claim counts for its scope,
 * COUNTS_LATER, or STAMP_NONE if it does not count as far as is known. */
int64_t replacements_counts_ms(const struct replacements *r,
			       const struct entry *claim);

#endif
