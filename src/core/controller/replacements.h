/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_REPLACEMENTS_H
#define CORE_CONTROLLER_REPLACEMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/counters.h"
#include "core/controller/deletions.h"
#include "core/controller/disruption_events.h"
#include "core/table/machines.h"
#include "retries.h"
#include "views.h"

/*
 * Which claims Karpenter made to replace others, and from when on a claim
 * counts as a scale-up (docs/rules.md#replacements).
 *
 * For consolidation and drift, Karpenter's Event says so, whenever it comes.
 * What it said is then written on the claim.  The Event is believed only if
 * another claim was marked for disruption shortly before, because anybody who
 * may create Events could write one.  Until it comes, a claim may be undecided.
 *
 * A claim for the pods of a machine that expired, was interrupted or was
 * deleted by hand looks like any other.  It is matched with the deletion once,
 * when it comes to count.
 *
 * The class of a claim stands in its entry of the table.  The functions return
 * which machines have to be looked at again, and leave that to the caller.  All
 * moments are server time.  Not thread-safe.
 */

/* A moment at which a claim came to be disrupted, as stamped.  several: more
 * than one claim was disrupted in that second. */
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
	struct retries retries;
};

/* Initializes the other members.  The caller has set the pointers before, and
 * initialized machines.  What they point to outlives *r.  seed: of
 * disruption_events.  Returns -1 if there is no memory; call replacements_done
 * in either case. */
int replacements_init(struct replacements *r, uint64_t seed);
void replacements_done(struct replacements *r);
/* Forgets everything, as a lead begins or ends. */
void replacements_forget(struct replacements *r);

/* --- what the watches say ------------------------------------------------- */

/* Call this after *o has been put into the table as entry `id`.  Returns true
 * if it shows a disruption that was not known.  The caller then calls
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
 * the claim is in the table and the Event is believed, it returns the claim's
 * id, and the caller refreshes its machine.  Otherwise it returns NO_ID.  An
 * Event about a claim that is not in the table yet is remembered. */
uint32_t replacements_said(struct replacements *r, const char *claim_uid,
			   const char *reason);
/* Call this when the entry is being deleted and again when it is gone.
 * deleted_ms is its deletionTimestamp, or STAMP_NONE.  Entries that are no
 * claims are ignored. */
void replacements_deleted(struct replacements *r, uint32_t id,
			  int64_t deleted_ms, bool gone, int64_t now_ms);

/* --- what a claim is ------------------------------------------------------ */

/* If the claim has come to count, finds out once whether it is a substitute, or
 * another try of a boot that failed, and sets its `replaces` or
 * tried_before_ms.  Call it whenever the claim may have come to count. */
void replacements_judge(struct replacements *r, struct entry *claim,
			int64_t now_ms);
/* Judges all claims, the oldest first.  Call it when a list of the NodeClaims
 * is complete. */
void replacements_judge_all(struct replacements *r, int64_t now_ms);
/* The class of this claim stands on the object from now on. */
void replacements_classed(struct replacements *r, uint32_t id);
/* Returns whether the claim is known to replace another. */
bool replacements_is_one(const struct replacements *r,
			 const struct entry *claim);
/* Returns the server time from which the claim counts for its scope.
 * STAMP_NONE: never.  COUNTS_ALWAYS (deadline.h): it counts already. */
int64_t replacements_counts_ms(const struct replacements *r,
			       const struct entry *claim);
/* Returns the server time until which the claim is undecided.  STAMP_NONE: it
 * is not.  COUNTS_LATER (deadline.h): until all NodeClaims are known. */
int64_t replacements_undecided_ms(const struct replacements *r,
				  const struct entry *claim);

#endif
