/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/karpenter/told.h"

#include <stdlib.h>
#include <string.h>

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
	*t = (struct told){.max = max};
	t->at = calloc(max, sizeof(*t->at));
	if (t->at != NULL &&
	    index_init(&t->index, max, hash_name, same_name, t) == 0)
		return 0;
	free(t->at);
	t->at = NULL;
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
	index_done(&t->index);
	*t = (struct told){.max = 0};
}

void
told_begin(struct told *t)
{
	t->round++;
}

static uint32_t
add_claim(struct told *t, const char *name)
{
	uint32_t i = 0;

	while (i < t->top && t->at[i].round != 0)
		i++;
	if (i == t->max)
		return NO_ID;
	t->at[i] = (struct told_claim){.name = strdup(name),
				       .node = strdup(""),
				       .round = t->round};
	if (t->at[i].name == NULL || t->at[i].node == NULL) {
		free(t->at[i].name);
		free(t->at[i].node);
		t->at[i] = (struct told_claim){.round = 0};
		return NO_ID;
	}
	if (i == t->top)
		t->top++;
	index_add(&t->index, i);
	return i;
}

/* The claim's Node may become known later than the claim. */
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
told_news(struct told *t, const struct fact *f)
{
	const char *name = f->kind == FACT_DECIDED ? f->nodes[0].claim
						   : f->claim;
	bool of_event = f->kind == FACT_DECIDED || f->maker != MAKER_UNKNOWN;
	uint32_t i = index_find(&t->index, index_hash_text(name), name);
	uint32_t bit = UINT32_C(1) << f->kind;
	struct told_claim *c;
	bool news;

	if (i == NO_ID && !of_event)
		i = add_claim(t, name);
	if (i == NO_ID)
		return false;
	c = &t->at[i];
	name_node(c, f->node);
	if (f->kind != FACT_DECIDED && f->maker != MAKER_UNKNOWN) {
		news = !c->replacement;
		c->replacement = true;
		return news;
	}
	if (!of_event)
		c->round = t->round;
	news = (c->facts & bit) == 0;
	c->facts |= bit;
	return news;
}

bool
told_gone(const struct told *t, uint32_t *i, struct fact *f)
{
	for (; *i < t->top; (*i)++) {
		const struct told_claim *c = &t->at[*i];

		if (c->round == 0 || c->round == t->round)
			continue;
		fact_init(f, FACT_GONE, f->at_ms);
		f->claim = c->name;
		f->node = c->node;
		return true;
	}
	return false;
}

void
told_drop(struct told *t, uint32_t i)
{
	index_remove(&t->index, i);
	free(t->at[i].name);
	free(t->at[i].node);
	t->at[i] = (struct told_claim){.round = 0};
}

void
told_forget(struct told *t, const char *name)
{
	uint32_t i = index_find(&t->index, index_hash_text(name), name);

	if (i != NO_ID)
		told_drop(t, i);
}

bool
told_knows(const struct told *t, const char *name, enum fact_kind kind)
{
	uint32_t i = index_find(&t->index, index_hash_text(name), name);

	return i != NO_ID && (t->at[i].facts >> kind & 1) != 0;
}
