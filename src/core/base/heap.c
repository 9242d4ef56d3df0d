/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/heap.h"

#include <assert.h>
#include <stdlib.h>

int
heap_init(struct heap *h, uint32_t cap)
{
	/* calloc, because pages that are never used then stay untouched. */
	*h = (struct heap){.cap = cap};
	h->ids = calloc(cap, sizeof(*h->ids));
	h->pos = calloc(cap, sizeof(*h->pos));
	h->keys = calloc(cap, sizeof(*h->keys));
	if (h->ids == NULL || h->pos == NULL || h->keys == NULL) {
		heap_done(h);
		return -1;
	}
	return 0;
}

void
heap_done(struct heap *h)
{
	free(h->ids);
	free(h->pos);
	free(h->keys);
	*h = (struct heap){0};
}

static void
place(struct heap *h, uint32_t at, uint32_t id)
{
	h->ids[at] = id;
	h->pos[id] = at + 1;
}

static void
sift_up(struct heap *h, uint32_t at)
{
	uint32_t id = h->ids[at];

	while (at > 0) {
		uint32_t up = (at - 1) / 2;

		if (h->keys[h->ids[up]] <= h->keys[id])
			break;
		place(h, at, h->ids[up]);
		at = up;
	}
	place(h, at, id);
}

static void
sift_down(struct heap *h, uint32_t at)
{
	uint32_t id = h->ids[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= h->n)
			break;
		if (child + 1 < h->n &&
		    h->keys[h->ids[child + 1]] < h->keys[h->ids[child]])
			child++;
		if (h->keys[h->ids[child]] >= h->keys[id])
			break;
		place(h, at, h->ids[child]);
		at = child;
	}
	place(h, at, id);
}

void
heap_set(struct heap *h, uint32_t id, int64_t key)
{
	assert(id < h->cap);
	h->keys[id] = key;
	if (h->pos[id] == 0)
		place(h, h->n++, id);
	sift_up(h, h->pos[id] - 1);
	sift_down(h, h->pos[id] - 1);
}

void
heap_remove(struct heap *h, uint32_t id)
{
	uint32_t at, last;

	assert(id < h->cap);
	if (h->pos[id] == 0)
		return;
	at = h->pos[id] - 1;
	h->pos[id] = 0;
	last = h->ids[--h->n];
	if (last == id)
		return;
	place(h, at, last);
	sift_up(h, at);
	sift_down(h, h->pos[last] - 1);
}

bool
heap_top(const struct heap *h, uint32_t *id, int64_t *key)
{
	if (h->n == 0)
		return false;
	*id = h->ids[0];
	*key = h->keys[h->ids[0]];
	return true;
}
