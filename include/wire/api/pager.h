/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_PAGER_H
#define WIRE_API_PAGER_H

#include <stdbool.h>

#include "core/base/limits.h"
#include "wire/api/split.h"

/*
 * Reads a list in pages.  The caller makes the calls.  The pager passes on the
 * items of each answer and says where the next page begins.
 *
 *	pager_init
 *	again: GET …?limit=p->limit&continue=p->cont (resource_list_query)
 *	       pager_begin, pager_feed …, pager_end, pager_turn
 *	       p->cont is not ""?  again
 *
 * pager_page does all four for an answer that was kept whole.  If the call
 * failed, the same page may be asked for again; one that was too large to be
 * kept is asked for with pager_streams.  If one of the four failed, the list
 * starts again with pager_init or pager_restart.  A pager is used by one
 * thread.
 */
struct pager {
	unsigned limit; /* objects a page */
	/* Whether pages have to be fed while they arrive (pager_streams). */
	bool streams;
	unsigned pages; /* how many pages have come */
	/* The token of the next page.  "" stands for the first page or, after
	 * pager_turn, means that there is no other page. */
	char cont[CONTINUE_BYTES];
	char rv[RV_BYTES];   /* the list's version, after a turn */
	struct split *split; /* splits the page under way; or NULL */
};

/* Begins a list with `limit` objects a page.  It does not free an earlier page:
 * call pager_drop first if there may be one. */
void pager_init(struct pager *p, unsigned limit);
/* Frees the memory of a page that pager_turn has not freed.  It may be called
 * at any time after pager_init. */
void pager_drop(struct pager *p);

/* Begins the answer of a page.  item and ctx are those of split_new.
 * ERR_SYSTEM: there is no memory. */
int pager_begin(struct pager *p, split_item_fn *item, void *ctx, struct err *e);
/* ERR_SYSTEM also if pager_begin had no memory. */
int pager_feed(struct pager *p, const char *bytes, size_t n, struct err *e);
/* Call this when the answer has ended.  ERR_CUT: the list in it is incomplete.
 */
int pager_end(struct pager *p, struct err *e);
/* Sets p->cont and p->rv from the page, and frees it.  ERR_INPUT: the answer
 * was no list.  ERR_LIMIT: the list has more than LIST_PAGES_MAX pages. */
int pager_turn(struct pager *p, struct err *e);

int pager_page(struct pager *p, const char *bytes, size_t n,
	       split_item_fn *item, void *ctx, struct err *e);

/* Call this after a call has failed.  If its answer was too large to be kept
 * (ERR_LIMIT), this sets p->streams, clears *e and returns true: ask for the
 * same page again, and feed the answer as it arrives.  Then even the largest
 * object does not end the list.  Returns false if the error is another one,
 * or if the page streamed already. */
bool pager_streams(struct pager *p, struct err *e);
/* Call this after a 410, when the continue token has expired.  The list starts
 * again with its first page.  This counts as a page, so it may fail with
 * ERR_LIMIT. */
int pager_restart(struct pager *p, struct err *e);

#endif
