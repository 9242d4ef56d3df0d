/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_PRICES_H
#define WIRE_KARPENTER_PRICES_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/limits.h"

/*
 * Computes the price of an average Node of a NodePool.  Karpenter reports the
 * cost of all Nodes of the NodePool together, which is divided by their number.
 * Add all figures first, in any order, then call prices_sort, and then
 * prices_at.  A zeroed struct is a valid start.  Not thread-safe.
 */
struct price_level {
	char pool[NODEPOOL_BYTES];
	int64_t from_ms;
	double value;
};

struct price_levels {
	struct price_level *at;
	size_t n, room;
};

struct prices {
	struct price_levels costs, nodes;
};

void prices_done(struct prices *p);
/* Notes that all Nodes of the NodePool together cost so many dollars an hour
 * from from_ms on.  Beyond SIMULATE_FACTS_MAX notes it does nothing.  Returns
 * -1 if there is no memory. */
int prices_cost(struct prices *p, const char *pool, int64_t from_ms,
		double dollars);
/* Notes that the NodePool has one Node more (by is 1) or less (by is -1) from
 * from_ms on.  Returns -1 if there is no memory. */
int prices_node(struct prices *p, const char *pool, int64_t from_ms, int by);
void prices_sort(struct prices *p);
/* Returns what one Node costs an hour at that time, in millionths of a dollar,
 * or -1 if it is not known. */
int64_t prices_at(const struct prices *p, const char *pool, int64_t at_ms);

#endif
