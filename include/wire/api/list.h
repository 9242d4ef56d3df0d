/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_LIST_H
#define WIRE_API_LIST_H

#include <stddef.h>

#include "core/base/err.h"

/*
 * Cuts what an API server streams into single JSON documents while it arrives,
 * so that a list of 100 MB costs one item of memory.
 *
 *   SPLIT_LIST   one list object: each element of its top-level "items" is
 *                an item, and the rest is the envelope (also metadata that
 *                comes after items, because keys of CRD lists are sorted)
 *   SPLIT_LINES  a watch: one document a line
 *
 * A body that is no list (a Status, plain text) ends up whole in the envelope,
 * and so does an "items" that is no array.  It cuts and does not parse: whoever
 * decodes the items and the envelope finds out what is no JSON.  One thread for
 * each split.
 */
enum split_mode {
	SPLIT_LIST,
	SPLIT_LINES,
};

/* Called with each item.  bytes are valid during the call only.  -1 with *e
 * stops the stream. */
typedef int split_item_fn(void *ctx, const char *bytes, size_t n,
			  struct err *e);

struct split;

/* Returns NULL if there is no memory. */
struct split *split_new(enum split_mode mode, split_item_fn *fn, void *ctx);
void split_free(struct split *s);

/* Takes the next bytes.  However the stream is cut, the items are the same.
 * ERR_LIMIT: an item is over ITEM_BYTES_MAX or an envelope over
 * ENVELOPE_BYTES_MAX.  ERR_INPUT: the list has a hole in it.  After an error
 * only split_free may follow. */
int split_feed(struct split *s, const char *bytes, size_t n, struct err *e);

/* The stream has ended.  ERR_CUT if it ended inside an item, line or list, or
 * before a list had begun. */
int split_end(struct split *s, struct err *e);

/* The list without its items (they read as []); owned by s, NUL-terminated. */
const char *split_envelope(const struct split *s, size_t *n);

#endif
