/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_WAITS_H
#define TOOLS_SIMULATE_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spans.h"
#include "wire/karpenter/fact.h"

/*
 * Decisions of Karpenter that fell into held time in one setting, and what
 * waiting would have cost.  What Karpenter would have decided later is not
 * known, so there are two assumptions:
 *
 *   cheapest  it decides the same as soon as the machine is released; where the
 *             same NodePool scales up within `regret` of the decision, the
 *             machine would have been used; a replacement would have run
 *             instead of one of the machines
 *   dearest   it decides the same, SIMULATE_RETHINK_MS after the release, and
 *             nobody would have used the machine meanwhile
 *
 * Not thread-safe.
 */
struct waits_setup {
	int64_t regret_ms;
	int64_t price; /* the price of a node and hour, in millionths of a
			  dollar, for decisions without savings; -1: the price
			  that the decision names */
};

struct waits_sums {
	uint64_t decisions, nodes; /* how many decisions would have waited, and
				      their nodes */
	uint64_t pods;		   /* how many pods these nodes had, as far as
				      the log says */
	uint64_t regret;    /* after how many decisions a scale-up came */
	uint64_t spared;    /* how many of them still waited then */
	uint64_t open;	    /* how many decisions still waited at the
				      end */
	int64_t longest_ms; /* how long a machine waited at most */
	double hours_low, hours_high; /* node-hours beyond the decisions: the
					 least and the most */
	double dollars_low, dollars_high;
	uint64_t unpriced; /* how many decisions have no price */
};

struct waits;

struct waits *waits_new(const struct waits_setup *setup);
void waits_free(struct waits *w); /* accepts NULL */

/* Tells that `nodes` machines (at least one) of decision *f, the nth of the
 * log, wait.  The decision is about `total` machines of this NodePool.  Returns
 * its number here, or UINT32_MAX if there is no memory. */
uint32_t waits_begin(struct waits *w, const struct fact *f, uint64_t nth,
		     const char *pool, size_t total, uint32_t nodes);
/* Tells that one of its machines waits no longer. */
void waits_end_one(struct waits *w, uint32_t number, int64_t now_ms);
/* Tells that the NodePool has scaled up. */
void waits_scale_up(struct waits *w, const char *pool, int64_t now_ms);
/* Call this at the end.  Whatever still waits has waited until now. */
void waits_finish(struct waits *w, int64_t now_ms);
void waits_report(const struct waits *w, struct waits_sums *out);
/* What came of them, by the order of the decisions in the log. */
const struct spans *waits_spans(const struct waits *w);

#endif
