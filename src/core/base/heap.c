/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/heap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int
heap_init(struct heap *h, uint32_t cap)
{
	/* malloc leaves pages untouched until they are used.  calloc may clear
	 * small arrays. */
	*h = (struct heap){.cap = cap};
	h->ids = malloc(cap * sizeof(*h->ids));
	h->pos = malloc(cap * sizeof(*h->pos));
	h->keys = malloc(cap * sizeof(*h->keys));
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
place(struct heap *h, uint32_t at, uint32_t id, int64_t key)
{
	h->ids[at] = id;
	h->keys[at] = key;
	h->pos[id] = at + 1;
}

/* Puts the id where its key belongs, at or above the free place `at`. */
static void
sift_up(struct heap *h, uint32_t at, uint32_t id, int64_t key)
{
	while (at > 0) {
		uint32_t up = (at - 1) / 2;

		if (h->keys[up] <= key)
			break;
		place(h, at, h->ids[up], h->keys[up]);
		at = up;
	}
	place(h, at, id, key);
}

static void
sift_down(struct heap *h, uint32_t at, uint32_t id, int64_t key)
{
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= h->n)
			break;
		if (child + 1 < h->n && h->keys[child + 1] < h->keys[child])
			child++;
		if (h->keys[child] >= key)
			break;
		place(h, at, h->ids[child], h->keys[child]);
		at = child;
	}
	place(h, at, id, key);
}

bool
heap_has(const struct heap *h, uint32_t id)
{
	return id < h->known && h->pos[id] != 0;
}

static void
know(struct heap *h, uint32_t id)
{
	if (id < h->known)
		return;
	memset(h->pos + h->known, 0, (id + 1 - h->known) * sizeof(*h->pos));
	h->known = id + 1;
}

void
heap_set(struct heap *h, uint32_t id, int64_t key)
{
	assert(id < h->cap);
	know(h, id);
	if (h->pos[id] == 0)
		place(h, h->n++, id, key);
	sift_up(h, h->pos[id] - 1, id, key);
	sift_down(h, h->pos[id] - 1, id, key);
}

void
heap_remove(struct heap *h, uint32_t id)
{
	uint32_t at, last;
	int64_t key;

	assert(id < h->cap);
	if (!heap_has(h, id))
		return;
	at = h->pos[id] - 1;
	h->pos[id] = 0;
	last = h->ids[--h->n];
	key = h->keys[h->n];
	if (last == id)
		return;
	sift_up(h, at, last, key);
	sift_down(h, h->pos[last] - 1, last, key);
}

int64_t
heap_key(const struct heap *h, uint32_t id)
{
	assert(heap_has(h, id));
	return h->keys[h->pos[id] - 1];
}

bool
heap_top(const struct heap *h, uint32_t *id, int64_t *key)
{
	if (h->n == 0)
		return false;
	*id = h->ids[0];
	*key = h->keys[0];
	return true;
}
