/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_INDEX_H
#define CORE_BASE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#define NO_ID UINT32_MAX

/*
 * A hash index that finds an id by its key.  The index keeps ids, each beside a
 * few bits of its hash, so that a search rarely has to fetch another id's key
 * from memory.  The owner keeps the keys and provides two callbacks: `hash`
 * returns the hash of an id's key, and `same` returns whether an id's key
 * equals the key that is searched for.  The key of an id must not change while
 * the id is in the index: remove the id, change the key, and add the id again.
 * Several ids may have the same key.
 *
 * It uses open addressing with linear probing and no tombstones.  index_init
 * allocates all slots, but the index uses only as many as its ids have needed
 * so far, so a small index touches few pages.  Not thread-safe.
 */
typedef uint32_t index_hash_fn(const void *ctx, uint32_t id);
typedef bool index_same_fn(const void *ctx, uint32_t id, const void *key);

struct index {
	uint32_t *slots; /* id + 1 in the bits of id_mask, and the id's hash in
			    the other bits; 0 = free */
	uint32_t id_mask;
	/* `n` is the number of ids in the index, `cap` the number of allocated
	 * slots, and `used` the number of slots in use. */
	uint32_t n, cap, used;
	index_hash_fn *hash;
	index_same_fn *same;
	const void *ctx;
};

/* The index holds at most ids_max ids, and each id is less than ids_end.  ctx
 * is passed to the callbacks and outlives the index.  Returns -1 if there is no
 * memory; *x is then empty. */
int index_init(struct index *x, uint32_t ids_max, uint32_t ids_end,
	       index_hash_fn *hash, index_same_fn *same, const void *ctx);
void index_done(struct index *x);
/* The id must not be in the index. */
void index_add(struct index *x, uint32_t id);
/* The id must be in the index and have the same key as when it was added. */
void index_remove(struct index *x, uint32_t id);
/* Returns the id with this key, or NO_ID.  If several ids have this key,
 * returns the one that was added first.  `hash` is the hash of the key, as the
 * callback `hash` computes it.  `key` is passed to the callback `same`. */
uint32_t index_find(const struct index *x, uint32_t hash, const void *key);

/* Return a hash of the text, for callers whose keys are texts.  index_hash_text
 * uses the seed 0.  If anybody may choose the texts, use a secret seed, because
 * an attacker could otherwise choose texts with the same hash.  Names and uids
 * of objects need no seed: the API server checks names and makes uids. */
uint32_t index_hash(const char *text, uint64_t seed);
uint32_t index_hash_text(const char *text);

#endif
