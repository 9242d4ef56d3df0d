/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_INDEX_H
#define CORE_BASE_INDEX_H

#include <stdint.h>

#define NO_ID UINT32_MAX

/*
 * A hash index that finds an id by its string.  The index keeps ids only.  The
 * strings are the owner's, and the callback `key` returns the string of an id.
 * That string must not change while the id is in the index: remove the id,
 * change the string, and add the id again.  Several ids may have the same
 * string.
 *
 * It uses open addressing with linear probing and no tombstones.  index_init
 * allocates all slots, but only as many are used as there are ids to store, so
 * a small table touches few pages.  Not thread-safe.
 */
typedef const char *index_key_fn(const void *ctx, uint32_t id);

struct index {
	uint32_t *slots;	/* id + 1; 0 = free */
	uint32_t *scratch;	/* used while the number of slots doubles */
	uint32_t n, cap, used;	/* ids in the index; slots that exist; slots in
				   use */
	index_key_fn *key;
	const void *ctx;
};

/* ids_max is how many ids the index holds at most.  ctx is passed to key and
 * outlives the index.  Returns -1 if there is no memory; *x is then empty. */
int index_init(struct index *x, uint32_t ids_max, index_key_fn *key,
	       const void *ctx);
void index_done(struct index *x);
/* The id must not be in the index. */
void index_add(struct index *x, uint32_t id);
/* The id must be in the index, and its string must be the one it was added
 * with. */
void index_remove(struct index *x, uint32_t id);
/* Returns an id with this string, any of them if there are several, or
 * NO_ID. */
uint32_t index_find(const struct index *x, const char *key);

#endif
