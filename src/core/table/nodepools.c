/* SPDX-License-Identifier: Apache-2.0 */
#include "core/table/nodepools.h"

#include <stdlib.h>
#include <string.h>

int
nodepools_init(struct nodepools *p, const struct rules *rules, uint32_t max)
{
	*p = (struct nodepools){.rules = rules, .max = max};
	p->at = calloc(max, sizeof(*p->at));
	p->generation = calloc(max, sizeof(*p->generation));
	return p->at == NULL || p->generation == NULL ? -1 : 0;
}

void
nodepools_done(struct nodepools *p)
{
	free(p->at);
	free(p->generation);
	*p = (struct nodepools){0};
}

static struct nodepool *
nodepool_find(const struct nodepools *p, const char *name)
{
	for (uint32_t i = 0; name[0] != '\0' && i < p->top; i++)
		if (strcmp(p->at[i].name, name) == 0)
			return &p->at[i];
	return NULL;
}

const struct nodepool *
nodepools_find(const struct nodepools *p, const char *name)
{
	return nodepool_find(p, name);
}

static struct nodepool *
spare(struct nodepools *p)
{
	for (uint32_t i = 0; i < p->top; i++)
		if (p->at[i].name[0] == '\0')
			return &p->at[i];
	return p->top < p->max ? &p->at[p->top++] : NULL;
}

bool
nodepools_put(struct nodepools *p, const struct nodepool *nodepool,
	      uint32_t generation)
{
	struct nodepool *mine = nodepool_find(p, nodepool->name);

	if (mine == NULL)
		mine = spare(p);
	if (mine == NULL)
		return false;
	*mine = *nodepool;
	p->generation[mine - p->at] = generation;
	return true;
}

void
nodepools_drop(struct nodepools *p, const char *name)
{
	struct nodepool *mine = nodepool_find(p, name);

	if (mine != NULL)
		mine->name[0] = '\0';
}

const struct nodepool *
nodepools_stale(const struct nodepools *p, uint32_t generation)
{
	for (uint32_t i = 0; i < p->top; i++)
		if (p->at[i].name[0] != '\0' &&
		    p->generation[i] != generation)
			return &p->at[i];
	return NULL;
}

/* nodepool: the one of that name; NULL: it has not been seen. */
static struct nodepool_terms
terms_of(const struct rules *r, const char *name,
	 const struct nodepool *nodepool, int64_t now_ms)
{
	bool excluded = !rules_nodepool_included(r, name);
	struct nodepool_terms t = {
		.out = excluded,
		.uncounted = excluded,
		.until_ms = STAMP_NONE,
		.released_ms = STAMP_NONE,
		.hold_ms = r->hold_ms,
		.max_ms = r->cap.max_ms,
	};

	if (nodepool == NULL)
		return t;
	t.uncounted = excluded || nodepool->disabled || nodepool->inert;
	t.out = excluded || nodepool_alone_ms(nodepool) <= now_ms;
	if (nodepool->hold_until_ms > now_ms)
		t.until_ms = nodepool->hold_until_ms;
	if (nodepool->released_at_ms <= now_ms)
		t.released_ms = nodepool->released_at_ms;
	if (nodepool->hold_ms >= 0)
		t.hold_ms = nodepool->hold_ms;
	if (nodepool->max_hold_ms >= 0)
		t.max_ms = nodepool->max_hold_ms;
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

static int64_t
next_ms(const struct nodepool *nodepool, int64_t ms)
{
	int64_t a = nodepool->hold_until_ms, b = nodepool->released_at_ms;

	if (a <= ms || (b > ms && b < a))
		a = b;
	return a > ms ? a : STAMP_NONE;
}

bool
nodepool_turns(const struct nodepool *nodepool, int64_t from_ms, int64_t to_ms)
{
	int64_t at = next_ms(nodepool, from_ms);

	return at != STAMP_NONE && at <= to_ms;
}

int64_t
nodepools_next_ms(const struct nodepools *p, int64_t ms)
{
	int64_t next = STAMP_NONE, at;

	for (uint32_t i = 0; i < p->top; i++) {
		if (p->at[i].name[0] == '\0')
			continue;
		at = next_ms(&p->at[i], ms);
		if (at != STAMP_NONE && (next == STAMP_NONE || at < next))
			next = at;
	}
	return next;
}
