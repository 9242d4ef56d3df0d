/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_HEAP_H
#define CORE_BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A binary min-heap of ids, ordered by key and indexed by id.  Changing or
 * removing a key takes O(log n), so the heap never contains anything stale
 * (there are no tombstones). ids are below the capacity given to heap_init,
 * which allocates all memory.  Not thread-safe.
 */
struct heap {
	uint32_t n, cap;
	uint32_t *ids;	/* heap order */
	uint32_t *pos;	/* by id: place in ids + 1; 0 = not in it */
	int64_t *keys;	/* by id */
};

int heap_init(struct heap *h, uint32_t cap);	/* -1: no memory */
void heap_done(struct heap *h);
void heap_set(struct heap *h, uint32_t id, int64_t key);	/* adds or
								   moves */
void heap_remove(struct heap *h, uint32_t id);	/* id may be absent */
bool heap_top(const struct heap *h, uint32_t *id, int64_t *key);

#endif
