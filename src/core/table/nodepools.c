/* SPDX-License-Identifier: Apache-2.0 */
#include "core/table/nodepools.h"

#include <stdlib.h>
#include <string.h>

/*
 * Each NodePool is in a place of an array.  An index finds it by name, and the
 * free places form a list through `generation`.  Two heaps avoid scans of all
 * NodePools.  `moments` has the next time at which time alone changes a
 * NodePool's terms.  `released` has the released-at of each NodePool whose
 * machines count; a NodePool without a released-at comes first.  sort_in enters
 * a NodePool into both heaps, as they are at the time p->ms.
 */

static uint32_t
name_hash(const void *ctx, uint32_t i)
{
	return index_hash_text(((const struct nodepools *)ctx)->at[i].name);
}

static bool
name_same(const void *ctx, uint32_t i, const void *key)
{
	return strcmp(((const struct nodepools *)ctx)->at[i].name, key) == 0;
}

int
nodepools_init(struct nodepools *p, const struct rules *rules, uint32_t max)
{
	*p = (struct nodepools){.rules = rules, .max = max, .ms = STAMP_NONE};
	p->at = calloc(max, sizeof(*p->at));
	p->generation = calloc(max, sizeof(*p->generation));
	return p->at == NULL || p->generation == NULL ||
			       index_init(&p->by_name, max, max, name_hash,
					  name_same, p) ||
			       heap_init(&p->moments, max) ||
			       heap_init(&p->released, max)
		       ? -1
		       : 0;
}

void
nodepools_done(struct nodepools *p)
{
	free(p->at);
	free(p->generation);
	index_done(&p->by_name);
	heap_done(&p->moments);
	heap_done(&p->released);
	*p = (struct nodepools){0};
}

static struct nodepool *
nodepool_find(const struct nodepools *p, const char *name)
{
	uint32_t i = index_find(&p->by_name, index_hash_text(name), name);

	return i == NO_ID ? NULL : &p->at[i];
}

const struct nodepool *
nodepools_find(const struct nodepools *p, const char *name)
{
	return nodepool_find(p, name);
}

/* Returns the next moment after `ms` at which time alone changes the terms, or
 * STAMP_NONE.  ticket_next_ms may be before `ms`, because it shifts with the
 * clock.  It counts even then: the controller replaces it as soon as its moment
 * was handled, so its moment was not handled yet. */
static int64_t
next_ms(const struct nodepool *nodepool, int64_t ms)
{
	const int64_t moments[] = {nodepool->hold_until_ms,
				   nodepool->released_at_ms};
	int64_t next = nodepool->ticket_next_ms;

	for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++)
		if (moments[i] > ms &&
		    (next == STAMP_NONE || moments[i] < next))
			next = moments[i];
	return next;
}

const char *
nodepools_out_name(enum nodepool_out out)
{
	static const char *const names[] = {
		[NODEPOOL_IN] = NULL,
		[NODEPOOL_EXCLUDED] = "excluded",
		[NODEPOOL_DISABLED] = "disabled",
		[NODEPOOL_INERT] = "never-consolidated",
	};

	return names[out];
}

/* Returns why the NodePool's machines belong to no scope.  `nodepool` is the
 * NodePool with that name, or NULL if it has not been seen. */
static enum nodepool_out
uncounted(const struct rules *r, const char *name,
	  const struct nodepool *nodepool)
{
	if (!rules_nodepool_included(r, name))
		return NODEPOOL_EXCLUDED;
	if (nodepool == NULL)
		return NODEPOOL_IN;
	return nodepool->disabled ? NODEPOOL_DISABLED
	       : nodepool->inert  ? NODEPOOL_INERT
				  : NODEPOOL_IN;
}

static int64_t
released_ms(const struct nodepool *nodepool, int64_t now_ms)
{
	return nodepool->released_at_ms <= now_ms ? nodepool->released_at_ms
						  : STAMP_NONE;
}

/* Enters the NodePool into both heaps, as of p->ms. */
static void
sort_in(struct nodepools *p, uint32_t i)
{
	const struct nodepool *mine = &p->at[i];
	int64_t next = next_ms(mine, p->ms);

	if (next == STAMP_NONE)
		heap_remove(&p->moments, i);
	else
		heap_set(&p->moments, i, next);
	if (uncounted(p->rules, mine->name, mine) != NODEPOOL_IN)
		heap_remove(&p->released, i);
	else
		heap_set(&p->released, i, released_ms(mine, p->ms));
}

static struct nodepool *
place_make(struct nodepools *p, const char *name)
{
	uint32_t i = p->free - 1;

	if (p->free != 0)
		p->free = p->generation[i];
	else if (p->top < p->max)
		i = p->top++;
	else
		return NULL;
	memcpy(p->at[i].name, name, sizeof(p->at[i].name));
	index_add(&p->by_name, i);
	return &p->at[i];
}

bool
nodepools_put(struct nodepools *p, const struct nodepool *nodepool,
	      uint32_t generation)
{
	struct nodepool *mine = nodepool_find(p, nodepool->name);

	if (mine == NULL)
		mine = place_make(p, nodepool->name);
	if (mine == NULL)
		return false;
	*mine = *nodepool;
	p->generation[mine - p->at] = generation;
	sort_in(p, (uint32_t)(mine - p->at));
	return true;
}

void
nodepools_drop(struct nodepools *p, const char *name)
{
	struct nodepool *mine = nodepool_find(p, name);
	uint32_t i;

	if (mine == NULL)
		return;
	i = (uint32_t)(mine - p->at);
	index_remove(&p->by_name, i);
	heap_remove(&p->moments, i);
	heap_remove(&p->released, i);
	mine->name[0] = '\0';
	p->generation[i] = p->free;
	p->free = i + 1;
}

const struct nodepool *
nodepools_stale(const struct nodepools *p, uint32_t generation, uint32_t *i)
{
	for (; *i < p->top; (*i)++)
		if (p->at[*i].name[0] != '\0' &&
		    p->generation[*i] != generation)
			return &p->at[*i];
	return NULL;
}

static struct nodepool_terms
terms_of(const struct rules *r, const char *name,
	 const struct nodepool *nodepool, int64_t now_ms)
{
	enum nodepool_out out = uncounted(r, name, nodepool);
	bool excluded = out == NODEPOOL_EXCLUDED;
	struct nodepool_terms t = {
		.out = excluded,
		.uncounted = out,
		.until_ms = STAMP_NONE,
		.released_ms = STAMP_NONE,
		.hold_ms = r->hold_ms,
	};

	if (nodepool == NULL)
		return t;
	t.out = excluded || nodepool_alone_ms(nodepool) <= now_ms;
	if (!t.out && nodepool_until_ms(nodepool) > now_ms)
		t.until_ms = nodepool_until_ms(nodepool);
	t.by_ticket = t.until_ms != STAMP_NONE && nodepool_by_ticket(nodepool);
	t.released_ms = released_ms(nodepool, now_ms);
	if (nodepool->hold_ms >= 0)
		t.hold_ms = nodepool->hold_ms;
	return t;
}

struct nodepool_terms
nodepools_terms(const struct nodepools *p, const char *name, int64_t now_ms)
{
	return terms_of(p->rules, name, nodepool_find(p, name), now_ms);
}

struct nodepool_terms
nodepools_terms_at(const struct nodepools *p, uint32_t i, int64_t now_ms)
{
	return terms_of(p->rules, p->at[i].name, &p->at[i], now_ms);
}

const struct nodepool *
nodepools_turned(struct nodepools *p, int64_t now_ms)
{
	uint32_t i;
	int64_t at;

	p->ms = now_ms;
	if (!heap_top(&p->moments, &i, &at) || at > now_ms)
		return NULL;
	sort_in(p, i);
	return &p->at[i];
}

int64_t
nodepools_next_ms(const struct nodepools *p)
{
	uint32_t i;
	int64_t at;

	return heap_top(&p->moments, &i, &at) ? at : STAMP_NONE;
}

int64_t
nodepools_released_ms(const struct nodepools *p)
{
	uint32_t i;
	int64_t at;

	return heap_top(&p->released, &i, &at) ? at : STAMP_NONE;
}

void
nodepools_shift_tickets(struct nodepools *p, int64_t by_ms)
{
	for (uint32_t i = 0; i < p->top; i++) {
		if (p->at[i].name[0] == '\0' ||
		    p->at[i].ticket_next_ms == STAMP_NONE)
			continue;
		if (p->at[i].ticket_ms != STAMP_NONE)
			p->at[i].ticket_ms += by_ms;
		if (p->at[i].ticket_least_ms != STAMP_NONE)
			p->at[i].ticket_least_ms += by_ms;
		p->at[i].ticket_next_ms += by_ms;
		sort_in(p, i);
	}
}

void
nodepools_set_back(struct nodepools *p, int64_t now_ms)
{
	if (p->ms <= now_ms)
		return;
	p->ms = now_ms;
	for (uint32_t i = 0; i < p->top; i++)
		if (p->at[i].name[0] != '\0')
			sort_in(p, i);
}
