/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define USED_MIN 256u

/* Returns whether n ids take more than seven eighths of the `used` slots. */
static bool
is_full(uint32_t n, uint32_t used)
{
	return n > used / 8 * 7;
}

/* Multiplies a by b and folds the product to 64 bits.  If an attacker may
 * choose one factor, the other has to be secret, so that nobody can predict how
 * a change of the first changes the result. */
static uint64_t
mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Hashes eight bytes at a time.  Speed matters, because every watch line leads
 * to several lookups. */
uint32_t
index_hash(const char *text, uint64_t seed)
{
	const uint64_t factor = seed ^ 0x9fb21c651e98df25u;
	size_t n = strlen(text);
	uint64_t h = n ^ seed >> 32, piece;

	for (; n >= sizeof(piece); n -= sizeof(piece)) {
		memcpy(&piece, text, sizeof(piece));
		h = mix(h ^ piece, factor);
		text += sizeof(piece);
	}
	piece = 0;
	memcpy(&piece, text, n);
	h = mix(h ^ piece, factor);
	return (uint32_t)(h >> 32 ^ h);
}

uint32_t
index_hash_text(const char *text)
{
	return index_hash(text, 0);
}

int
index_init(struct index *x, uint32_t ids_max, uint32_t ids_end,
	   index_hash_fn *hash, index_same_fn *same, const void *ctx)
{
	uint32_t cap = USED_MIN, id_mask = 1;

	while (is_full(ids_max, cap))
		cap *= 2;
	while (id_mask < ids_end)
		id_mask = 2 * id_mask + 1;
	*x = (struct index){.cap = cap,
			    .id_mask = id_mask,
			    .used = USED_MIN,
			    .hash = hash,
			    .same = same,
			    .ctx = ctx};
	/* Slots beyond USED_MIN are cleared when they come into use.  calloc
	 * might clear all slots now, and so touch their pages. */
	x->slots = malloc(cap * sizeof(*x->slots));
	if (x->slots == NULL) {
		index_done(x);
		return -1;
	}
	memset(x->slots, 0, USED_MIN * sizeof(*x->slots));
	return 0;
}

void
index_done(struct index *x)
{
	free(x->slots);
	*x = (struct index){0};
}

static uint32_t
id_at(const struct index *x, uint32_t i)
{
	return (x->slots[i] & x->id_mask) - 1;
}

static uint32_t
home(const struct index *x, uint32_t id)
{
	return x->hash(x->ctx, id) & (x->used - 1);
}

static void
insert(struct index *x, uint32_t id)
{
	uint32_t hash = x->hash(x->ctx, id), i = hash & (x->used - 1);

	while (x->slots[i] != 0)
		i = (i + 1) & (x->used - 1);
	x->slots[i] = (hash & ~x->id_mask) | (id + 1);
}

/* Doubles the number of slots in use.  Each id is taken out and inserted again.
 * The slots are visited in probe order, starting after a free slot.  An id's
 * new home is its old home, or its old home plus the old number of slots.  So
 * an id ends up no further from its home than before, and never after an id
 * that has yet to be moved.  Therefore no gap opens between an id and its home.
 * Ids with the same key keep their order. */
static void
grow(struct index *x)
{
	uint32_t n = x->used, from = 0;

	while (x->slots[from] != 0)
		from++;
	memset(x->slots + n, 0, n * sizeof(*x->slots));
	x->used *= 2;
	for (uint32_t i = 1; i < n; i++) {
		uint32_t at = (from + i) & (n - 1), id;

		if (x->slots[at] == 0)
			continue;
		id = id_at(x, at);
		x->slots[at] = 0;
		insert(x, id);
	}
}

void
index_add(struct index *x, uint32_t id)
{
	if (is_full(x->n + 1, x->used) && x->used < x->cap)
		grow(x);
	assert(x->n + 1 < x->used && id < x->id_mask);
	insert(x, id);
	x->n++;
}

/* Returns whether a search would still find the id at `from` if the id moved
 * back to `hole`.  That is so if the id's home is at or before `hole`. */
static bool
may_move(const struct index *x, uint32_t from, uint32_t hole)
{
	uint32_t h = home(x, id_at(x, from)), mask = x->used - 1;

	return ((from - h) & mask) >= ((from - hole) & mask);
}

void
index_remove(struct index *x, uint32_t id)
{
	uint32_t i = home(x, id), mask = x->used - 1;

	while (id_at(x, i) != id) {
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
index_find(const struct index *x, uint32_t hash, const void *key)
{
	uint32_t i = hash & (x->used - 1);

	for (; x->slots[i] != 0; i = (i + 1) & (x->used - 1))
		if (((x->slots[i] ^ hash) & ~x->id_mask) == 0 &&
		    x->same(x->ctx, id_at(x, i), key))
			return id_at(x, i);
	return NO_ID;
}
