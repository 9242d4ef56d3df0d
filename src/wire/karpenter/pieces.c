/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "parts.h"

void
pieces_done(struct pieces *p)
{
	free(p->nodes);
	free(p->text);
	*p = (struct pieces){.nodes = NULL};
}

int
pieces_nodes(struct pieces *p, size_t n)
{
	struct fact_node *nodes;

	if (n <= p->nodes_room)
		return 0;
	nodes = realloc(p->nodes, 2 * n * sizeof(*nodes));
	if (nodes == NULL)
		return -1;
	p->nodes = nodes;
	p->nodes_room = 2 * n;
	return 0;
}

void
batch_clear(struct batch *b)
{
	while (b->n > 0)
		free(b->facts[--b->n]);
	b->given = 0;
	b->failed = false;
}

void
batch_add(struct batch *b, const struct fact *f)
{
	if (b->n == LINE_FACTS_MAX || !fact_whole(f))
		return;
	b->facts[b->n] = fact_copy(f);
	if (b->facts[b->n] == NULL)
		b->failed = true;
	else
		b->n++;
}

bool
batch_next(struct batch *b, struct fact *out)
{
	if (b->given == b->n)
		return false;
	*out = *b->facts[b->given++];
	return true;
}

int
pieces_text(struct pieces *p, const char *text)
{
	char *copy = strdup(text);

	if (copy == NULL)
		return -1;
	free(p->text);
	p->text = copy;
	return 0;
}

int
take_name(const struct json *v, size_t max, const char **out)
{
	const char *s = json_string(v);

	if (json_is_unset(v)) {
		*out = "";
		return 0;
	}
	if (s == NULL || strlen(s) >= max)
		return -1;
	*out = s;
	return 0;
}

void
take_reason(const char *text, char reason[NODEPOOL_BYTES])
{
	size_t n = 0;

	for (; text[n] != '\0' && n + 1 < NODEPOOL_BYTES; n++) {
		char c = text[n];

		/* Bytes of non-ASCII characters stay as they are, so the text
		 * stays UTF-8. */
		reason[n] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
	reason[text[n] == '\0' ? n : 0] = '\0';
}

/* Which of claim and node each kind needs. */
int
fact_whole(const struct fact *f)
{
	switch (f->kind) {
	case FACT_REGISTERED:
		return f->claim[0] != '\0' && f->node[0] != '\0';
	case FACT_DECIDED:
		return f->nodes_n > 0;
	case FACT_HELD:
	case FACT_RELEASED:
		return f->pool[0] != '\0';
	case FACT_WATCHED:
		return true;
	case FACT_DELETING:
	case FACT_NODE_GONE:
		return f->node[0] != '\0';
	default:
		return f->claim[0] != '\0';
	}
}
