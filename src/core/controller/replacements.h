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
 * Which claims Karpenter made to replace others, and from when a claim counts
 * as a scale-up (docs/rules.md#replacements).
 *
 * Its Event says so of consolidation and drift, whenever it comes; what it said
 * is then written on the claim.  It is believed only where another claim was
 * marked for disruption shortly before, as anybody who may create Events could
 * write one.  Until it comes a claim may be undecided.
 *
 * A claim for the pods of a machine that expired, was interrupted or was
 * deleted by hand looks like any other: it is matched with the deletion when it
 * comes to count, once and for all.
 *
 * The class of a claim stands in its entry of the table.  What is returned says
 * which machines are to be looked at again: that is the caller's to do.  All
 * moments are server time.  Not thread-safe.
 */

/* When a claim came to be disrupted, as stamped; or several in one second. */
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

/* The pointers are set already, and what they point to has been born.
 * -1: no memory. */
int replacements_init(struct replacements *r);
void replacements_done(struct replacements *r);
void replacements_forget(struct replacements *r); /* a lead begins */

/* --- what the watches say ------------------------------------------------- */

/* A line of the claim by that id has been put into the table.  true: it shows
 * a disruption that is news, and each entry is to be asked
 * replacements_look_back. */
bool replacements_track(struct replacements *r, uint32_t id,
			const struct object *o);
/* May it replace the claim that was disrupted then? */
bool replacements_look_back(struct replacements *r, struct entry *e,
			    int64_t disrupted_ms);
/* Karpenter says that a claim replaces another.  The claim's id where that
 * changes what it is; NO_ID: it changes nothing. */
uint32_t replacements_said(struct replacements *r, const char *claim_uid,
			   const char *reason);
/* A claim that is being deleted, or is gone. */
void replacements_deleted(struct replacements *r, uint32_t id,
			  int64_t deleted_ms, bool gone, int64_t now_ms);

/* --- what a claim is ------------------------------------------------------ */

/* It has come to count, perhaps: is it a substitute, or another try of a boot
 * that failed? */
void replacements_judge(struct replacements *r, struct entry *claim,
			int64_t now_ms);
void replacements_judge_all(struct replacements *r, int64_t now_ms);
bool replacements_is_one(const struct replacements *r,
			 const struct entry *claim);
/* From when it counts for its scope; STAMP_NONE: never. */
int64_t replacements_counts_ms(const struct replacements *r,
			       const struct entry *claim);
/* Until when it is undecided; STAMP_NONE: it is not. */
int64_t replacements_undecided_ms(const struct replacements *r,
				  const struct entry *claim);

#endif
