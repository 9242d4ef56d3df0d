/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_SPLIT_H
#define WIRE_API_SPLIT_H

#include <stddef.h>

#include "core/base/err.h"

/*
 * Cuts a streamed answer of an API server into single JSON documents while it
 * arrives.  A list of 100 MB thus takes the memory of one item, and no item
 * takes more than its bound.
 *
 *   SPLIT_LIST   one list object: each element of its top-level "items" is
 *                an item, and the rest is the envelope (also metadata that
 *                comes after items, because keys of CRD lists are sorted)
 *   SPLIT_LINES  a watch: one document a line
 *   SPLIT_MATRIX Prometheus' answer to a range query: split like a list, but
 *                the items are the elements of "result" in "data"
 *
 * A body that is no list (a Status, plain text) ends up whole in the envelope,
 * and so does the value of an "items" that is no array.  The splitter does not
 * parse.  Items and envelope may therefore be no JSON, and their decoders have
 * to expect that.  A struct split is used by one thread at a time.
 */
enum split_mode {
	SPLIT_LIST,
	SPLIT_LINES,
	SPLIT_MATRIX,
};

/* The caller's function for each item.  The bytes are valid during the call
 * only.  If it returns -1 with *e set, split_feed returns that error.  An item
 * of more than item_max bytes is cut: n is the size of the whole item, but only
 * its first item_max bytes are there. */
typedef int split_item_fn(void *ctx, const char *bytes, size_t n,
			  struct err *e);

struct split;

/* Return NULL if there is no memory.  split_new bounds items by
 * ITEM_BYTES_MAX, and split_new_bounded by item_max. */
struct split *split_new(enum split_mode mode, split_item_fn *fn, void *ctx);
struct split *split_new_bounded(enum split_mode mode, size_t item_max,
				split_item_fn *fn, void *ctx);
void split_free(struct split *s);

/* Takes the next bytes.  The items do not depend on how the stream is divided
 * into calls.  ERR_LIMIT: the envelope is larger than ENVELOPE_BYTES_MAX.
 * ERR_INPUT: a comma of the list has no item before or after it, or a '}' comes
 * where the list should end.  After an error only split_free may be called. */
int split_feed(struct split *s, const char *bytes, size_t n, struct err *e);

/* Call this when the stream has ended.  It fails with ERR_CUT if the stream
 * ended inside an item, a line or a list, or if a list was expected and no byte
 * came. */
int split_end(struct split *s, struct err *e);

/* Returns the list without its items, as if "items" were [], and sets *n to the
 * length.  The text belongs to s and ends with a NUL. */
const char *split_envelope(const struct split *s, size_t *n);

#endif
