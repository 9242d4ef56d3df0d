/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_INDEX_H
#define CORE_BASE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#define NO_ID UINT32_MAX

/*
 * A hash index of ids by a string that the owner keeps: open addressing, linear
 * probing, removal by shifting back (no tombstones). index_init allocates all
 * slots.  Only as many are in use as the number of ids asks for, so a small
 * table touches few pages.  Several ids may have the same string.  Not
 * thread-safe.
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

int index_init(struct index *x, uint32_t ids_max, index_key_fn *key,
	       const void *ctx);	/* -1: no memory */
void index_done(struct index *x);
void index_add(struct index *x, uint32_t id);
void index_remove(struct index *x, uint32_t id);	/* by its present key */
uint32_t index_find(const struct index *x, const char *key);	/* or NO_ID */

#endif
