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

/* Fewer decisions than this are too little to say anything. */
#define ADVICE_DECISIONS 10

enum advice_verdict {
	ADVICE_LITTLE,	/* too little to say */
	ADVICE_ALONE,	/* Karpenter alone leaves no more regret */
	ADVICE_SETTING, /* this setting */
	ADVICE_NONE,	/* no setting does what is asked for */
};

/* What some decisions in a row say. */
struct advice_pick {
	enum advice_verdict verdict;
	size_t setting;	    /* with ADVICE_NONE: the setting that comes
			       nearest */
	uint64_t decisions; /* how many decisions the verdict rests on */
	uint64_t regret;    /* the regret of Karpenter alone */
	uint64_t left;	    /* the regret that is left with the setting; with
			       ADVICE_ALONE the same as `regret` */
	size_t fit, cheap;  /* how many settings leave little enough regret, and
			       how many of these are cheap enough */
	double dollars;	    /* what the setting costs at most; for a half,
			       scaled to the decisions of the whole log */
	bool unpriced;	    /* some decisions that wait with the setting have no
			       price */
};

struct advice {
	struct advice_pick all, half[2];
	uint64_t early; /* decisions for which the log does not show whether
			    there was regret, because it ends */
	bool no_makers; /* the log does not say which machine was a scale-up */
	bool sure;	/* both halves say the same as all */
};

/* After history_end.  There is at least one setting. */
void advice_make(const struct simulate_setup *s, const struct history *h,
		 struct advice *out);

#endif
