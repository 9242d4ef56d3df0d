/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_SORT_H
#define CORE_BASE_SORT_H

#include <stdbool.h>
#include <stdint.h>

/* Sorts n ids in place.  It uses heapsort, because qsort(3) may allocate.
 * before(ctx, a, b) returns whether a comes before b, and has to be a strict
 * weak order.  The sort is not stable: the result depends on the initial order
 * unless `before` orders any two different ids. */
void sort_ids(uint32_t *ids, uint32_t n,
	      bool (*before)(const void *ctx, uint32_t a, uint32_t b),
	      const void *ctx);

#endif
