/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_PAGER_H
#define WIRE_API_PAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "wire/api/split.h"

/*
 * Reads a list in pages.  The caller makes the calls to the API server.  The
 * pager passes on the items of each answer and says where the next page begins.
 *
 *	pager_init
 *	again: GET …?limit=p->limit&continue=p->cont (resource_list_query)
 *	       pager_begin, pager_feed …, pager_end, pager_turn
 *	       p->cont is not ""?  again
 *
 * For an answer that was kept whole, pager_page does the work of the four
 * functions from pager_begin to pager_turn.  If a call to the API server fails,
 * the caller may ask for the same page again.  If it failed because the answer
 * was too large to be kept, the caller calls pager_streams first.  If one of
 * the four functions fails, the list begins again with pager_init or
 * pager_restart.  A pager is used by one thread.
 */
struct pager {
	unsigned limit; /* maximum number of objects in a page */
	/* When the list began, and how long it may take. */
	int64_t begun_ms, whole_ms;
	/* Whether pages have to be fed to pager_feed while they arrive, because
	 * they may be too large to be kept (pager_streams). */
	bool streams;
	/* Number of pages before the current one.  A restart counts as a
	 * page. */
	unsigned pages;
	unsigned objects; /* number of objects since the list began */
	/* The token of the next page.  "" stands for the first page or, after
	 * pager_turn, means that the list is complete. */
	char cont[CONTINUE_BYTES];
	char rv[RV_BYTES]; /* The list's resourceVersion, after pager_turn. */
	/* Splits the current page, or NULL if there is none, and passes its
	 * items on to `item`. */
	struct split *split;
	split_item_fn *item;
	void *ctx;
};

/* Begins a list with `limit` objects a page.  After whole_ms no further page is
 * asked for; now_ms is on any clock that never goes back.  It does not free an
 * earlier page: call pager_drop first if there may be one. */
void pager_init(struct pager *p, unsigned limit, int64_t now_ms,
		int64_t whole_ms);
/* Frees the memory of a page that pager_turn has not freed.  It may be called
 * at any time after pager_init. */
void pager_drop(struct pager *p);

/* Begins the answer of a page.  item and ctx are those of split_new.  Until the
 * page is dropped, *p stays where it is.  ERR_SYSTEM: there is no memory. */
int pager_begin(struct pager *p, split_item_fn *item, void *ctx, struct err *e);
/* Takes the next bytes of the answer (split_feed).  It fails with ERR_SYSTEM if
 * pager_begin had no memory, and with ERR_LIMIT if the list has more than
 * LIST_OBJECTS_MAX objects. */
int pager_feed(struct pager *p, const char *bytes, size_t n, struct err *e);
/* Call this when the answer has ended.  ERR_CUT: there was no list in the
 * answer, or only a part of one. */
int pager_end(struct pager *p, struct err *e);
/* Sets p->cont and p->rv from the page, and frees the page.  ERR_INPUT: the
 * answer was no list.  ERR_LIMIT: there is another page, and the list has had
 * LIST_PAGES_MAX pages or the time of pager_init. */
int pager_turn(struct pager *p, int64_t now_ms, struct err *e);

/* Takes an answer that was kept whole.  It fails if one of the four functions
 * would. */
int pager_page(struct pager *p, const char *bytes, size_t n,
	       split_item_fn *item, void *ctx, int64_t now_ms, struct err *e);

/* Call this with the error of a call to the API server that has failed.  If the
 * answer was too large to be kept (ERR_LIMIT), it sets p->streams, clears *e
 * and returns true.  Then ask for the same page again, and feed the answer as
 * it arrives.  In this way even an object that is too large does not make the
 * list fail.  Returns false if the error is another one, or if p->streams was
 * set already. */
bool pager_streams(struct pager *p, struct err *e);
/* Call this after a 410, which says that the continue token has expired.  The
 * list begins again with its first page.  The restart counts as a page and
 * takes of the list's time, so it may fail with ERR_LIMIT. */
int pager_restart(struct pager *p, int64_t now_ms, struct err *e);

#endif
