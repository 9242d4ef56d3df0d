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
pieces_take_name(const struct json *v, size_t max, const char **out)
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
pieces_take_reason(const char *text, char reason[NODEPOOL_BYTES])
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
