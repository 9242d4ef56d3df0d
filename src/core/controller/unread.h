/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_UNREAD_H
#define CORE_CONTROLLER_UNREAD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Keeps which NodeClaims are unread.  Lists and watches leave out an unread
 * NodeClaim, because it is too large or cannot be decoded.  Only the
 * metadata-only lists before a release show unread NodeClaims
 * (docs/rules.md#objects-that-are-too-large).  Such a list also shows which of
 * them are gone: those that were unread before the list began and that the list
 * does not show.  Not thread-safe.
 *
 *              a list left something out and did not show it, or
 *              only its metadata could be had (unread_put)
 *     (read) ────────────────────────────────────────────────▶ unread
 *        ▲                                                       │
 *        └─ a list, a watch or a GET showed all of it, or it is ─┘
 *           gone (unread_end)
 */
struct unread {
	/* Indexed by id: the number of the latest list that had begun when the
	 * claim was last known to exist, or 0 if the claim is not unread. */
	uint32_t *at;
	uint32_t n;	 /* number of unread claims */
	uint32_t list;	 /* the number of the latest list, from 1 on */
	bool incomplete; /* the latest list has left out an item */
};

/* Returns -1 if there is no memory. */
int unread_init(struct unread *u, uint32_t ids);
void unread_free(struct unread *u);

void unread_put(struct unread *u, uint32_t id);
void unread_end(struct unread *u, uint32_t id);

static inline bool
unread_has(const struct unread *u, uint32_t id)
{
	return u->at[id] != 0;
}

/* Call unread_list when a metadata-only list begins, and unread_put again for
 * each unread claim that the list shows.  If the list leaves out an item, call
 * unread_list_incomplete, because nobody knows which item is missing. */
void unread_list(struct unread *u);
void unread_list_incomplete(struct unread *u);
/* Call this when the list is complete.  Returns whether the unread claim is
 * gone. */
bool unread_is_gone(const struct unread *u, uint32_t id);

#endif
