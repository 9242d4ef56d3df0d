/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_PRICES_H
#define WIRE_KARPENTER_PRICES_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/limits.h"

/*
 * What a Node of a NodePool costs: Karpenter says what all of them cost
 * together, and this is divided by how many there are.  First all that is known
 * is added, in any order; then prices_sort; then prices_at.  A zeroed struct is
 * a valid start.  Not thread-safe.
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
/* From then on all Nodes of the NodePool cost so many dollars an hour.  Beyond
 * SIMULATE_FACTS_MAX this is left out.  Returns -1 if there is no memory. */
int prices_cost(struct prices *p, const char *pool, int64_t from_ms,
		double dollars);
/* From then on it has a Node more (1) or less (-1).  Returns -1 if there is no
 * memory. */
int prices_node(struct prices *p, const char *pool, int64_t from_ms, int by);
void prices_sort(struct prices *p);
/* Returns what one Node costs an hour at that time, in millionths of a dollar,
 * or -1 if it is not known. */
int64_t prices_at(const struct prices *p, const char *pool, int64_t at_ms);

#endif
