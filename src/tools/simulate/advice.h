/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_ADVICE_H
#define TOOLS_SIMULATE_ADVICE_H

#include "history.h"
#include "simulate.h"

/*
 * Chooses a setting (docs/what-if.md#which-setting-to-take) from what the
 * replays have counted: the one with the fewest node-hours among the settings
 * that keep the limits of regret and price (struct advice_setup).  Regret is a
 * decision that a scale-up followed (spans.h).
 */

/* Fewer decisions than this are too few for a verdict. */
#define ADVICE_DECISIONS 10

enum advice_verdict {
	ADVICE_LITTLE,	/* too few decisions for a verdict */
	ADVICE_ALONE,	/* Karpenter without a holder keeps the limit */
	ADVICE_SETTING, /* take the setting `setting` */
	ADVICE_NONE,	/* no setting keeps the limits */
};

/* The verdict for the decisions of the whole log, or of one half of it. */
struct advice_pick {
	enum advice_verdict verdict;
	/* The setting to take or, with ADVICE_NONE, the setting that comes
	 * nearest to the limits. */
	size_t setting;
	uint64_t decisions; /* how many decisions the verdict rests on */
	uint64_t regret; /* those of them with regret, if there is no holder */
	/* Decisions with regret that remain with the setting.  With
	 * ADVICE_ALONE it equals `regret`. */
	uint64_t left;
	/* fit: number of settings that keep the limit of regret.  cheap: number
	 * of settings that keep both limits. */
	size_t fit, cheap;
	/* The cost of the setting under the dearest assumption (waits.h).  For
	 * a half of the log it is scaled up to the whole log. */
	double dollars;
	/* Whether the price of some decisions that wait in this setting is not
	 * known. */
	bool unpriced;
};

struct advice {
	struct advice_pick all, half[2];
	/* Number of decisions so near to the end of the log that the log cannot
	 * show whether they were regretted. */
	uint64_t early;
	/* Whether the log lacks the reasons for which machines were created. */
	bool no_makers;
	/* Number of decisions that could not be read. */
	uint64_t unread;
	/* Whether the input lacks the decisions about nodes that were deleted,
	 * or has facts too late. */
	bool gaps;
	/* Whether both halves have the same verdict as the whole, and no
	 * decision is known to be missing. */
	bool sure;
};

/* Call this after history_end.  There has to be at least one setting. */
void advice_make(const struct simulate_setup *s, const struct history *h,
		 struct advice *out);

#endif
