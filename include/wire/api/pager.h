/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_PAGER_H
#define WIRE_API_PAGER_H

#include <stdbool.h>

#include "core/base/limits.h"
#include "wire/api/list.h"

/*
 * A list that is taken in pages.  The caller makes the calls; the pager hands
 * on the items of each answer and says from where the next page goes on.
 *
 *	pager_init
 *	again: GET …?limit=p->limit&continue=p->cont (list_query)
 *	       pager_begin, pager_feed …, pager_end, pager_turn
 *	       p->cont is not ""?  again
 *
 * pager_page is all four for an answer that is there as a whole.  Where a call
 * failed the same page may be asked for again; where one of the four failed,
 * the list starts again with pager_init or pager_restart.  One thread.
 */
struct pager {
	unsigned limit;	/* objects a page */
	unsigned pages;	/* so far */
	char cont[CONTINUE_BYTES];	/* of the next page; "": the first, or
					   after a turn: none */
	char rv[RV_BYTES];	/* the list's version, after a turn */
	struct split *split;	/* of the page under way; or NULL */
};

void pager_init(struct pager *p, unsigned limit);
/* Frees what is left of a page that was not turned; any time. */
void pager_drop(struct pager *p);

/* ERR_SYSTEM: out of memory.  item, with ctx: as split_new says. */
int pager_begin(struct pager *p, split_item_fn *item, void *ctx, struct err *e);
int pager_feed(struct pager *p, const char *bytes, size_t n, struct err *e);
/* The answer has ended.  -1: not with its list. */
int pager_end(struct pager *p, struct err *e);
/* Reads p->cont and p->rv.  ERR_INPUT: it was no list; ERR_LIMIT: another page
 * is to come after LIST_PAGES_MAX of them. */
int pager_turn(struct pager *p, struct err *e);

int pager_page(struct pager *p, const char *bytes, size_t n,
	       split_item_fn *item, void *ctx, struct err *e);

/* A page was too large (ERR_LIMIT, taken back): the same is to be asked for
 * with half as many objects.  A continue token goes with any limit.  false:
 * the error is another, or one object alone is too large. */
bool pager_smaller(struct pager *p, struct err *e);
/* 410: the list starts again from its first page.  It counts as a page, with
 * ERR_LIMIT as of pager_turn. */
int pager_restart(struct pager *p, struct err *e);

#endif
