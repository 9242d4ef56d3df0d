/* SPDX-License-Identifier: Apache-2.0 */
#include "roster.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/stamp.h"
#include "core/base/str.h"

static uint32_t
hash_claim(const void *ctx, uint32_t id)
{
	const struct roster *c = ctx;

	return index_hash_text(c->at[id].claim);
}

static bool
same_claim(const void *ctx, uint32_t id, const void *key)
{
	const struct roster *c = ctx;

	return strcmp(c->at[id].claim, key) == 0;
}

static uint32_t
hash_node(const void *ctx, uint32_t id)
{
	const struct roster *c = ctx;

	return index_hash_text(c->at[id].node);
}

static bool
same_node(const void *ctx, uint32_t id, const void *key)
{
	const struct roster *c = ctx;

	return strcmp(c->at[id].node, key) == 0;
}

int
roster_init(struct roster *c, uint32_t max)
{
	*c = (struct roster){.max = max};
	c->at = calloc(max, sizeof(*c->at));
	c->free = calloc(max, sizeof(*c->free));
	if (c->at == NULL || c->free == NULL ||
	    index_init(&c->by_claim, max, max, hash_claim, same_claim, c) ||
	    index_init(&c->by_node, max, max, hash_node, same_node, c)) {
		roster_done(c);
		return -1;
	}
	return 0;
}

void
roster_done(struct roster *c)
{
	for (uint32_t id = 0; id < c->top; id++)
		if (c->at[id].used) {
			free(c->at[id].claim);
			free(c->at[id].node);
		}
	free(c->at);
	free(c->free);
	index_done(&c->by_claim);
	index_done(&c->by_node);
	*c = (struct roster){.max = 0};
}

uint32_t
roster_find(const struct roster *c, const char *claim, const char *node)
{
	uint32_t id = NO_ID;

	if (claim[0] != '\0')
		id = index_find(&c->by_claim, index_hash_text(claim), claim);
	if (id == NO_ID && node[0] != '\0')
		id = index_find(&c->by_node, index_hash_text(node), node);
	return id;
}

/* Guesses the NodePool from the claim's name: "general-x8d5x" belongs to
 * NodePool "general". */
static void
guess_pool(const char *claim, char pool[NODEPOOL_BYTES])
{
	const char *dash = strrchr(claim, '-');
	size_t n = dash == NULL ? 0 : (size_t)(dash - claim);

	pool[0] = '\0';
	if (n == 0 || n >= NODEPOOL_BYTES)
		return;
	memcpy(pool, claim, n);
	pool[n] = '\0';
}

uint32_t
roster_add(struct roster *c, const char *claim, const char *node,
	   const char *pool, int64_t created_ms)
{
	struct logged m = {.used = true,
			   .serial = ++c->serials,
			   .created_ms = created_ms,
			   .ready_ms = STAMP_NONE,
			   .registered_ms = STAMP_NONE,
			   .deleted_ms = STAMP_NONE};
	uint32_t id;

	if (c->free_n == 0 && c->top == c->max)
		return NO_ID;
	m.claim = strdup(claim);
	m.node = strdup(node);
	if (m.claim == NULL || m.node == NULL) {
		free(m.claim);
		free(m.node);
		return NO_ID;
	}
	if (pool[0] != '\0')
		str_cut(m.pool, sizeof(m.pool), pool);
	else
		guess_pool(claim, m.pool);
	id = c->free_n > 0 ? c->free[--c->free_n] : c->top++;
	c->at[id] = m;
	if (claim[0] != '\0')
		index_add(&c->by_claim, id);
	if (node[0] != '\0')
		index_add(&c->by_node, id);
	return id;
}

int
roster_name_node(struct roster *c, uint32_t id, const char *node)
{
	struct logged *m = &c->at[id];
	char *copy;

	if (strcmp(m->node, node) == 0)
		return 0;
	copy = strdup(node);
	if (copy == NULL)
		return -1;
	if (m->node[0] != '\0')
		index_remove(&c->by_node, id);
	free(m->node);
	m->node = copy;
	if (node[0] != '\0')
		index_add(&c->by_node, id);
	return 0;
}

void
roster_gone(struct roster *c, uint32_t id)
{
	struct logged *m = &c->at[id];

	if (m->gone)
		return;
	m->gone = true;
	if (m->claim[0] != '\0')
		index_remove(&c->by_claim, id);
	if (m->node[0] != '\0')
		index_remove(&c->by_node, id);
}

void
roster_drop(struct roster *c, uint32_t id)
{
	struct logged *m = &c->at[id];

	roster_gone(c, id);
	free(m->claim);
	free(m->node);
	*m = (struct logged){.used = false};
	c->free[c->free_n++] = id;
}
