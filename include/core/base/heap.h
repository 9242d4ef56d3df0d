/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_HEAP_H
#define CORE_BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A binary min-heap of ids, each with a key.  An id is in the heap at most
 * once.  Its key can be changed, and the id removed, in O(log n), so the heap
 * never contains stale entries.  Ids are below the capacity given to heap_init,
 * and the functions assert that.  heap_init allocates all memory and heap_done
 * frees it.  Other code may read the fields.  Not thread-safe.
 */
struct heap {
	uint32_t n, cap;
	uint32_t *ids; /* the ids, in heap order */
	/* Indexed by id: the id's place in `ids`, plus 1, or 0 if the id is not
	 * in the heap. */
	uint32_t *pos;
	/* Ids from `known` on have never been in the heap, so their pos is not
	 * initialized. */
	uint32_t known;
	int64_t *keys; /* the keys, in heap order */
};

/* Returns -1 if there is no memory.  *h is then empty, and heap_done is not
 * needed but allowed. */
int heap_init(struct heap *h, uint32_t cap);
void heap_done(struct heap *h);
/* Adds the id, or changes its key if it is in the heap already. */
void heap_set(struct heap *h, uint32_t id, int64_t key);
void heap_remove(struct heap *h, uint32_t id); /* the id may be absent */
bool heap_has(const struct heap *h, uint32_t id);
/* Returns the key of an id, which must be in the heap. */
int64_t heap_key(const struct heap *h, uint32_t id);
/* Gets the id with the smallest key, and that key.  The id stays in the heap.
 * Returns false, with the outputs untouched, if the heap is empty.  Equal keys
 * come in no particular order. */
bool heap_top(const struct heap *h, uint32_t *id, int64_t *key);

#endif
