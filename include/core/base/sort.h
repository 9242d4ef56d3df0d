/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_SORT_H
#define CORE_BASE_SORT_H

#include <stdbool.h>
#include <stdint.h>

/* Sorts ids in place by heapsort, because qsort(3) may allocate. before(ctx, a,
 * b) is a strict order.  Where it is total, the result depends on nothing else.
 */
void ids_sort(uint32_t *ids, uint32_t n,
	      bool (*before)(const void *ctx, uint32_t a, uint32_t b),
	      const void *ctx);

#endif
