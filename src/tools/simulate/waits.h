/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_WAITS_H
#define TOOLS_SIMULATE_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spans.h"
#include "wire/karpenter/fact.h"

/*
 * The decisions of Karpenter that would have waited in one setting, and the
 * cost of waiting.  What Karpenter would have decided after the wait is
 * unknown, so the cost is computed under two assumptions:
 *
 *  - cheapest: Karpenter decides the same as soon as the machine is released.
 *    If the same NodePool scales up within regret_ms of the decision, the
 *    machine would have been used, and the wait costs nothing.  If the decision
 *    replaces machines, the cost of one machine is left out, because the
 *    replacement would have run instead.
 *  - dearest: Karpenter decides the same SIMULATE_RETHINK_MS after the release,
 *    and no pod would have used the machine until then.
 *
 * Not thread-safe.
 */
struct waits_setup {
	int64_t regret_ms;
	/* Price of a node-hour in millionths of a dollar, for decisions without
	 * savings.  -1: the price that the decision names, if any. */
	int64_t price;
};

struct waits_sums {
	uint64_t decisions, nodes; /* decisions that waited, and their nodes */
	uint64_t pods; /* pods of these nodes, as far as the log tells */
	/* regret: decisions that a scale-up followed.  spared: those of them
	 * that still waited when the scale-up came. */
	uint64_t regret, spared;
	uint64_t open;	    /* decisions that still waited when the log ended */
	int64_t longest_ms; /* longest wait of a machine */
	/* Node-hours and dollars that the waits cost: `low` under the
	 * assumption "cheapest", `high` under "dearest". */
	double hours_low, hours_high;
	double dollars_low, dollars_high;
	uint64_t unpriced; /* decisions without a price */
};

struct waits;

struct waits *waits_new(const struct waits_setup *setup);
void waits_free(struct waits *w); /* accepts NULL */

/* Call this when *f, which is the nth decision of the log, waits.  The decision
 * has `total` machines, of which `nodes` (at least one) wait.  `pool` is the
 * NodePool of the first machine.  Returns the number for waits_end_one, or
 * UINT32_MAX if there is no memory. */
uint32_t waits_begin(struct waits *w, const struct fact *f, uint64_t nth,
		     const char *pool, size_t total, uint32_t nodes);
/* Call this when one of the machines of this decision no longer waits. */
void waits_end_one(struct waits *w, uint32_t number, int64_t now_ms);
/* Call this when the NodePool has scaled up. */
void waits_scale_up(struct waits *w, const char *pool, int64_t now_ms);
/* Call this when the log ends.  Decisions that still wait are counted as if
 * their wait ended now. */
void waits_finish(struct waits *w, int64_t now_ms);
void waits_report(const struct waits *w, struct waits_sums *out);
/* Returns the same results in spans of decisions (spans.h). */
const struct spans *waits_spans(const struct waits *w);

#endif
