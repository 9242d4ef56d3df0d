/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_SPANS_H
#define TOOLS_SIMULATE_SPANS_H

#include <stdint.h>

#include "core/base/limits.h"

/*
 * The results of Karpenter's decisions, summed up in spans.  Each span has the
 * same number of decisions.  When all spans are used, their length doubles, so
 * the struct has a fixed size, and parts of a log can still be compared.
 * spans_init makes an empty struct spans.  Not thread-safe.
 */
struct span {
	/* Decisions, except those about drift, for which the log shows whether
	 * there was regret.  (Decisions about drift cause no regret.) */
	uint64_t decisions;
	/* Decisions, except those about drift, for which the log ends too early
	 * to show whether there was regret. */
	uint64_t early;
	/* How many of `decisions` a scale-up followed, which is regret. */
	uint64_t regret;
	/* How many of `regret` still waited when the scale-up came, so that the
	 * hold has prevented them. */
	uint64_t spared;
	/* Decisions without a price.  Those about drift count, too. */
	uint64_t unpriced;
	double hours_high, dollars_high; /* as in waits_sums */
};

struct spans {
	uint64_t length; /* number of decisions in a span, a power of two */
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
