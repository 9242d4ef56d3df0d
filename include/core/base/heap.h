/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_HEAP_H
#define CORE_BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A binary min-heap of ids by key, indexed by id: a key changes or leaves in
 * O(log n), so nothing stale is ever in it (no tombstones).  ids are below
 * the capacity given at birth.
 */
struct heap {
	uint32_t n, cap;
	uint32_t *ids;	/* heap order */
	uint32_t *pos;	/* by id: place in ids + 1; 0 = not in it */
	int64_t *keys;	/* by id */
};

int heap_init(struct heap *h, uint32_t cap);	/* -1: no memory */
void heap_done(struct heap *h);
void heap_set(struct heap *h, uint32_t id, int64_t key);	/* or move */
void heap_remove(struct heap *h, uint32_t id);	/* may be absent */
bool heap_top(const struct heap *h, uint32_t *id, int64_t *key);

#endif
