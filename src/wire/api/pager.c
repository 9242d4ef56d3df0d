/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/pager.h"

#include "wire/api/object.h"

void
pager_init(struct pager *p, unsigned limit)
{
	p->limit = limit;
	p->streams = false;
	p->pages = 0;
	p->cont[0] = p->rv[0] = '\0';
	p->split = NULL;
}

void
pager_drop(struct pager *p)
{
	split_free(p->split);
	p->split = NULL;
}

_Static_assert(LIST_PAGES_MAX *LIST_METADATA_PAGE >= MACHINES_MAX,
	       "a list may show as many objects as the table can have");

/* Counts a page.  Call it before each page after the first one.  It fails if
 * the list would have more than LIST_PAGES_MAX pages. */
static int
count_page(struct pager *p, struct err *e)
{
	if (++p->pages < LIST_PAGES_MAX)
		return 0;
	return err_set(e, ERR_LIMIT, "a list of more than %d pages",
		       LIST_PAGES_MAX);
}

int
pager_begin(struct pager *p, split_item_fn *item, void *ctx, struct err *e)
{
	pager_drop(p);
	p->split = split_new(SPLIT_LIST, item, ctx);
	return p->split == NULL ? err_set(e, ERR_SYSTEM, "out of memory") : 0;
}

int
pager_feed(struct pager *p, const char *bytes, size_t n, struct err *e)
{
	if (p->split == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	return split_feed(p->split, bytes, n, e);
}

int
pager_end(struct pager *p, struct err *e)
{
	if (p->split == NULL)
		return err_set(e, ERR_CUT, "no list came");
	return split_end(p->split, e);
}

int
pager_turn(struct pager *p, struct err *e)
{
	size_t n;
	const char *envelope = split_envelope(p->split, &n);
	int rc = object_list_meta_decode(envelope, n, p->rv, p->cont, e);

	pager_drop(p);
	return rc == 0 && p->cont[0] != '\0' ? count_page(p, e) : rc;
}

int
pager_page(struct pager *p, const char *bytes, size_t n, split_item_fn *item,
	   void *ctx, struct err *e)
{
	int rc = -1;

	if (pager_begin(p, item, ctx, e) == 0 &&
	    pager_feed(p, bytes, n, e) == 0 && pager_end(p, e) == 0)
		rc = pager_turn(p, e);
	pager_drop(p);
	return rc;
}

bool
pager_streams(struct pager *p, struct err *e)
{
	if (e->code != ERR_LIMIT || p->streams)
		return false;
	p->streams = true;
	*e = (struct err){0};
	return true;
}

int
pager_restart(struct pager *p, struct err *e)
{
	p->cont[0] = '\0';
	return count_page(p, e);
}
