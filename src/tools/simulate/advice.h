/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_ADVICE_H
#define TOOLS_SIMULATE_ADVICE_H

#include "history.h"
#include "simulate.h"

/*
 * Which of the settings to take (docs/what-if.md#which-setting-to-take): the
 * setting with the fewest node-hours among those that leave no more regret than
 * asked for, and cost no more.  It reads what the replays have counted, and
 * replays nothing.
 */

/* Fewer decisions than this are too few for a verdict. */
#define ADVICE_DECISIONS 10

enum advice_verdict {
	ADVICE_LITTLE,	/* too few decisions for a verdict */
	ADVICE_ALONE,	/* Karpenter alone leaves no more regret */
	ADVICE_SETTING, /* take the setting `setting` */
	ADVICE_NONE,	/* no setting keeps the limits */
};

/* The verdict for a range of decisions: for the whole log, or for a half. */
struct advice_pick {
	enum advice_verdict verdict;
	/* The setting to take or, with ADVICE_NONE, the one that comes nearest
	 * to the limits. */
	size_t setting;
	uint64_t decisions; /* how many decisions the verdict rests on */
	uint64_t regret;    /* decisions with regret without a holder */
	/* Decisions with regret that remain with the setting.  With
	 * ADVICE_ALONE it equals `regret`. */
	uint64_t left;
	/* How many settings keep the limit of regret, and how many of these
	 * keep the limit of price as well. */
	size_t fit, cheap;
	/* The highest cost of the setting.  For a half it is scaled to the
	 * decisions of the whole log. */
	double dollars;
	/* Whether some decisions that wait with the setting have no price. */
	bool unpriced;
};

struct advice {
	struct advice_pick all, half[2];
	/* Decisions so near to the end of the log that the log does not show
	 * whether there was regret. */
	uint64_t early;
	/* Whether the log lacks the reasons for which machines were created. */
	bool no_makers;
	bool sure; /* Whether both halves have the same verdict as the whole. */
};

/* Call this after history_end.  There has to be at least one setting. */
void advice_make(const struct simulate_setup *s, const struct history *h,
		 struct advice *out);

#endif
