/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/index.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define USED_MIN 256u

/* Returns the FNV-1a hash of s.  It has no secret seed: the API server checks
 * names and uids, and the table is bounded, so nobody gains anything by
 * collisions. */
static uint32_t
hash(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s != '\0'; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h ^ (h >> 15);
}

int
index_init(struct index *x, uint32_t ids_max, index_key_fn *key,
	   const void *ctx)
{
	uint32_t cap = USED_MIN;

	while (cap < 2 * ids_max)
		cap *= 2;
	*x = (struct index){
		.cap = cap, .used = USED_MIN, .key = key, .ctx = ctx};
	x->slots = calloc(cap, sizeof(*x->slots));
	x->scratch = calloc(ids_max, sizeof(*x->scratch));
	if (x->slots == NULL || x->scratch == NULL) {
		index_done(x);
		return -1;
	}
	return 0;
}

void
index_done(struct index *x)
{
	free(x->slots);
	free(x->scratch);
	*x = (struct index){0};
}

static uint32_t
home(const struct index *x, uint32_t id)
{
	return hash(x->key(x->ctx, id)) & (x->used - 1);
}

static void
insert(struct index *x, uint32_t id)
{
	uint32_t i = home(x, id);

	while (x->slots[i] != 0)
		i = (i + 1) & (x->used - 1);
	x->slots[i] = id + 1;
}

/* Doubles the number of slots in use.  The ids go through the scratch array,
 * because inserting in place would leave holes in probe chains. */
static void
grow(struct index *x)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < x->used; i++) {
		if (x->slots[i] == 0)
			continue;
		x->scratch[kept++] = x->slots[i] - 1;
		x->slots[i] = 0;
	}
	x->used *= 2;
	for (uint32_t i = 0; i < kept; i++)
		insert(x, x->scratch[i]);
}

void
index_add(struct index *x, uint32_t id)
{
	if (2 * (x->n + 1) > x->used && x->used < x->cap)
		grow(x);
	assert(x->n + 1 < x->used);
	insert(x, id);
	x->n++;
}

/* Returns whether a search would still find the id at `from` if it moved back
 * to `hole`, that is, whether its home lies at or before `hole`. */
static bool
may_move(const struct index *x, uint32_t from, uint32_t hole)
{
	uint32_t h = home(x, x->slots[from] - 1), mask = x->used - 1;

	return ((from - h) & mask) >= ((from - hole) & mask);
}

void
index_remove(struct index *x, uint32_t id)
{
	uint32_t i = home(x, id), mask = x->used - 1;

	while (x->slots[i] != id + 1) {
		assert(x->slots[i] != 0);
		i = (i + 1) & mask;
	}
	for (uint32_t j = (i + 1) & mask; x->slots[j] != 0;
	     j = (j + 1) & mask) {
		if (!may_move(x, j, i))
			continue;
		x->slots[i] = x->slots[j];
		i = j;
	}
	x->slots[i] = 0;
	x->n--;
}

uint32_t
index_find(const struct index *x, const char *key)
{
	uint32_t i = hash(key) & (x->used - 1);

	for (; x->slots[i] != 0; i = (i + 1) & (x->used - 1))
		if (strcmp(x->key(x->ctx, x->slots[i] - 1), key) == 0)
			return x->slots[i] - 1;
	return NO_ID;
}
