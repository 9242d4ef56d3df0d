/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_SPANS_H
#define TOOLS_SIMULATE_SPANS_H

#include <stdint.h>

#include "core/base/limits.h"

/*
 * What came of Karpenter's decisions, in spans of equally many of them, which
 * get longer as the log does.  So parts of a log can be told apart although its
 * decisions are not kept.  spans_init makes an empty one.  Not thread-safe.
 */
struct span {
	uint64_t decisions; /* of which a recommendation counts the regret, and
			       for which the log shows whether there was any */
	uint64_t early;	    /* for which it does not show it: the log ends */
	uint64_t regret;    /* how many of these a scale-up followed */
	uint64_t spared;    /* how many of them still waited then */
	uint64_t unpriced;  /* how many decisions of all have no price */
	double hours_high, dollars_high; /* as in waits_sums */
};

struct spans {
	uint64_t length; /* a power of two */
	struct span at[SIMULATE_SPANS_MAX];
};

void spans_init(struct spans *s);
/* Returns the span of the decision with that number. */
struct span *spans_at(struct spans *s, uint64_t number);
/* Adds up the decisions with the numbers from `from` to `to` - 1.  `from` and
 * `to` are multiples of s->length, and `to` may be UINT64_MAX. */
void spans_sum(const struct spans *s, uint64_t from, uint64_t to,
	       struct span *out);

#endif
