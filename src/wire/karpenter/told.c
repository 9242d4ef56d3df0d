/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/karpenter/told.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"

static uint32_t
hash_name(const void *ctx, uint32_t id)
{
	const struct told *t = ctx;

	return index_hash_text(t->at[id].name);
}

static bool
same_name(const void *ctx, uint32_t id, const void *key)
{
	const struct told *t = ctx;

	return strcmp(t->at[id].name, key) == 0;
}

int
told_init(struct told *t, uint32_t max)
{
	*t = (struct told){.max = max, .free = NO_ID};
	t->at = calloc(max, sizeof(*t->at));
	t->gone = calloc(RECORD_GONE_MAX, sizeof(*t->gone));
	for (uint32_t i = 0; t->gone != NULL && i < RECORD_GONE_MAX; i++)
		t->gone[i] = NO_ID;
	if (t->at != NULL && t->gone != NULL &&
	    index_init(&t->index, max, max, hash_name, same_name, t) == 0)
		return 0;
	free(t->at);
	free(t->gone);
	*t = (struct told){.max = max};
	return -1;
}

void
told_done(struct told *t)
{
	for (uint32_t i = 0; i < t->top; i++) {
		free(t->at[i].name);
		free(t->at[i].node);
	}
	free(t->at);
	free(t->gone);
	index_done(&t->index);
	*t = (struct told){.max = 0};
}

void
told_begin(struct told *t)
{
	t->list++;
}

bool
told_full(const struct told *t)
{
	return t->free == NO_ID && t->top == t->max;
}

static uint32_t
add_claim(struct told *t, const char *name)
{
	uint32_t i = t->free != NO_ID ? t->free : t->top;
	uint32_t next = t->free != NO_ID ? t->at[i].next : NO_ID;

	if (told_full(t))
		return NO_ID;
	t->at[i] = (struct told_claim){.name = strdup(name),
				       .node = strdup(""),
				       .list = t->list,
				       .created_ms = STAMP_NONE,
				       .last_ms = STAMP_NONE};
	if (t->at[i].name == NULL || t->at[i].node == NULL) {
		free(t->at[i].name);
		free(t->at[i].node);
		t->at[i] = (struct told_claim){.next = next};
		return NO_ID;
	}
	if (i == t->top)
		t->top++;
	t->free = next;
	index_add(&t->index, i);
	return i;
}

/* Notes the claim's Node, which may become known later than the claim. */
static void
name_node(struct told_claim *c, const char *node)
{
	char *copy;

	if (node[0] == '\0' || strcmp(c->node, node) == 0)
		return;
	copy = strdup(node);
	if (copy == NULL)
		return;
	free(c->node);
	c->node = copy;
}

bool
told_of_event(const struct fact *f)
{
	return f->kind == FACT_DECIDED || f->maker != MAKER_UNKNOWN;
}

const char *
told_name(const struct fact *f)
{
	return f->kind == FACT_DECIDED ? f->nodes[0].claim : f->claim;
}

uint32_t
told_find(const struct told *t, const char *name)
{
	return index_find(&t->index, index_hash_text(name), name);
}

static void
forget_claim(struct told *t, uint32_t i)
{
	index_remove(&t->index, i);
	free(t->at[i].name);
	free(t->at[i].node);
	t->at[i] = (struct told_claim){.next = t->free};
	t->free = i;
}

/* Forgets a claim that is gone.  Another claim may get its name. */
static void
forget_gone(struct told *t, uint32_t i)
{
	for (uint32_t n = 0; n < RECORD_GONE_MAX; n++)
		if (t->gone[n] == i)
			t->gone[n] = NO_ID;
	forget_claim(t, i);
}

static bool
is_another(const struct told_claim *c, const struct fact *f)
{
	return f->kind == FACT_CREATED && f->at_ms > c->created_ms;
}

bool
told_news(struct told *t, const struct fact *f)
{
	const char *name = told_name(f);
	uint32_t i = told_find(t, name);
	uint32_t bit = UINT32_C(1) << f->kind;
	struct told_claim *c;
	bool news;

	if (i != NO_ID && t->at[i].gone && !told_of_event(f)) {
		if (!is_another(&t->at[i], f))
			return false;
		forget_gone(t, i);
		i = NO_ID;
	}
	if (i == NO_ID && !told_of_event(f))
		i = add_claim(t, name);
	if (i == NO_ID)
		return false;
	c = &t->at[i];
	name_node(c, f->node);
	if (c->last_ms == STAMP_NONE || f->at_ms > c->last_ms)
		c->last_ms = f->at_ms;
	if (f->kind == FACT_CREATED && c->created_ms == STAMP_NONE)
		c->created_ms = f->at_ms;
	if (f->kind != FACT_DECIDED && told_of_event(f)) {
		news = !c->replacement;
		c->replacement = true;
		return news;
	}
	if (!told_of_event(f))
		c->list = t->list;
	news = (c->facts & bit) == 0;
	c->facts |= bit;
	return news;
}

bool
told_gone(const struct told *t, uint32_t *i)
{
	while (*i < t->top && (t->at[*i].list == 0 || t->at[*i].gone ||
			       t->at[*i].list == t->list))
		(*i)++;
	return *i < t->top;
}

void
told_going(struct told *t, uint32_t i, int64_t now_ms, struct fact *f)
{
	uint32_t *place = &t->gone[t->gone_next++ % RECORD_GONE_MAX];
	struct told_claim *c = &t->at[i];

	fact_init(f, FACT_GONE, now_ms);
	if (c->last_ms != STAMP_NONE && c->last_ms > now_ms)
		f->at_ms = c->last_ms;
	f->claim = c->name;
	f->node = c->node;
	c->gone = true;
	if (*place != NO_ID)
		forget_claim(t, *place);
	*place = i;
}

void
told_forget(struct told *t, const char *name)
{
	uint32_t i = told_find(t, name);

	if (i != NO_ID)
		forget_gone(t, i);
}
