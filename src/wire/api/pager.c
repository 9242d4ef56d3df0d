/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/pager.h"

#include "wire/api/object.h"

void
pager_init(struct pager *p, unsigned limit, int64_t now_ms, int64_t whole_ms)
{
	p->limit = limit;
	p->begun_ms = now_ms;
	p->whole_ms = whole_ms;
	p->streams = false;
	p->pages = p->objects = 0;
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
 * the list would have too many pages, or take too long. */
static int
count_page(struct pager *p, int64_t now_ms, struct err *e)
{
	if (++p->pages >= LIST_PAGES_MAX)
		return err_set(e, ERR_LIMIT, "a list of more than %d pages",
			       LIST_PAGES_MAX);
	if (now_ms - p->begun_ms >= p->whole_ms)
		return err_set(e, ERR_LIMIT,
			       "a list without an end within %lld s",
			       (long long)p->whole_ms / 1000);
	return 0;
}

static int
count_item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct pager *p = ctx;

	if (++p->objects > LIST_OBJECTS_MAX)
		return err_set(e, ERR_LIMIT, "a list of more than %d objects",
			       LIST_OBJECTS_MAX);
	return p->item(p->ctx, bytes, n, e);
}

int
pager_begin(struct pager *p, split_item_fn *item, void *ctx, struct err *e)
{
	pager_drop(p);
	p->item = item;
	p->ctx = ctx;
	p->split = split_new(SPLIT_LIST, count_item, p);
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
pager_turn(struct pager *p, int64_t now_ms, struct err *e)
{
	size_t n;
	const char *envelope = split_envelope(p->split, &n);
	int rc = object_list_meta_decode(envelope, n, p->rv, p->cont, e);

	pager_drop(p);
	return rc == 0 && p->cont[0] != '\0' ? count_page(p, now_ms, e) : rc;
}

int
pager_page(struct pager *p, const char *bytes, size_t n, split_item_fn *item,
	   void *ctx, int64_t now_ms, struct err *e)
{
	int rc = -1;

	if (pager_begin(p, item, ctx, e) == 0 &&
	    pager_feed(p, bytes, n, e) == 0 && pager_end(p, e) == 0)
		rc = pager_turn(p, now_ms, e);
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
pager_restart(struct pager *p, int64_t now_ms, struct err *e)
{
	p->cont[0] = '\0';
	p->objects = 0;
	return count_page(p, now_ms, e);
}
