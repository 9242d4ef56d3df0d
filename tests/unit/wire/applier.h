/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_WIRE_APPLIER_H
#define TESTS_UNIT_WIRE_APPLIER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/limits.h"

/*
 * What an API server does with our answer: a base64 decoder and a JSON Patch
 * applier (RFC 6902, as far as one map of strings goes).  Neither uses the
 * product's encoder.  All of them fail the test on what they cannot read.
 */

/* The annotations of an object as the API server holds them. */
struct map {
	bool is_object;		/* false: the object has no annotations */
	size_t n;
	struct {
		char key[KEY_BYTES], value[HELD_KEY_BYTES];
	} at[8];
};

void map_set(struct map *m, const char *key, const char *value);
/* NULL if the key is not there. */
const char *map_get(const struct map *m, const char *key);
/* The key has to be there. */
void map_remove(struct map *m, const char *key);
bool map_same(const struct map *a, const struct map *b);

/* Appends the bytes that `text` stands for. */
void applier_base64(const char *text, struct buf *out);
/* Applies the patch to the map; its paths begin with /metadata/annotations. */
void applier_patch(struct map *m, const char *patch, size_t n);

#endif
