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

/* The caller has set the pointers and initialized what they point to.  Returns
 * -1 if there is no memory. */
int replacements_init(struct replacements *r);
void replacements_done(struct replacements *r);
void replacements_forget(struct replacements *r); /* a lead begins */

/* --- what the watches say ------------------------------------------------- */

/* A line of the claim with this id has been put into the table.  Returns true
 * if it shows a disruption that is news; the caller then has to ask
 * replacements_look_back about each entry. */
bool replacements_track(struct replacements *r, uint32_t id,
			const struct object *o);
/* May this entry replace the claim that was disrupted at that moment?  If so,
 * its machine has to be looked at again. */
bool replacements_look_back(struct replacements *r, struct entry *e,
			    int64_t disrupted_ms);
/* Karpenter's Event says that a claim replaces another.  Returns the claim's id
 * if that changes what the claim is, else NO_ID. */
uint32_t replacements_said(struct replacements *r, const char *claim_uid,
			   const char *reason);
/* The claim is being deleted, or is gone. */
void replacements_deleted(struct replacements *r, uint32_t id,
			  int64_t deleted_ms, bool gone, int64_t now_ms);

/* --- what a claim is ------------------------------------------------------ */

/* The claim may have come to count.  If it has, this finds out whether it is a
 * substitute, or another try of a boot that failed. */
void replacements_judge(struct replacements *r, struct entry *claim,
			int64_t now_ms);
void replacements_judge_all(struct replacements *r, int64_t now_ms);
bool replacements_is_one(const struct replacements *r,
			 const struct entry *claim);
/* Returns from when on the claim counts for its scope; STAMP_NONE: never. */
int64_t replacements_counts_ms(const struct replacements *r,
			       const struct entry *claim);
/* Returns until when the claim is undecided; STAMP_NONE: it is not;
 * COUNTS_LATER: until all NodeClaims are known. */
int64_t replacements_undecided_ms(const struct replacements *r,
				  const struct entry *claim);

#endif
