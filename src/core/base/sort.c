/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/sort.h"

typedef bool before_fn(const void *ctx, uint32_t a, uint32_t b);

/* Moves the id at `at` down until the root of each subtree is the id that sorts
 * last in that subtree. */
static void
sift(uint32_t *ids, uint32_t at, uint32_t n, before_fn *before, const void *ctx)
{
	for (;;) {
		uint32_t child = 2 * at + 1, last = at, id;

		if (child < n && before(ctx, ids[last], ids[child]))
			last = child;
		if (child + 1 < n && before(ctx, ids[last], ids[child + 1]))
			last = child + 1;
		if (last == at)
			return;
		id = ids[at];
		ids[at] = ids[last];
		ids[last] = id;
		at = last;
	}
}

void
sort_ids(uint32_t *ids, uint32_t n, before_fn *before, const void *ctx)
{
	for (uint32_t i = n / 2; i-- > 0;)
		sift(ids, i, n, before, ctx);
	for (uint32_t i = n; i-- > 1;) {
		uint32_t id = ids[0];

		ids[0] = ids[i];
		ids[i] = id;
		sift(ids, 0, i, before, ctx);
	}
}
