/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_INDEX_H
#define CORE_BASE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#define NO_ID UINT32_MAX

/*
 * A hash index of ids by a string that the owner keeps: open addressing,
 * linear probing, removal by shifting back (no tombstones).  The slots are
 * allocated at birth; only as many as the count asks for are in use, so a
 * small table touches few pages.  The same string may stand for several ids.
 */
typedef const char *index_key_fn(const void *ctx, uint32_t id);

struct index {
	uint32_t *slots;	/* id + 1; 0 = free */
	uint32_t *scratch;	/* while the slots in use double */
	uint32_t n, cap, used;	/* ids in it; slots there are; slots in use */
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
