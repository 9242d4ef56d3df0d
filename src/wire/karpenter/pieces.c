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
	for (size_t i = 0; i < sizeof(p->parsed) / sizeof(p->parsed[0]); i++)
		json_free(p->parsed[i]);
	*p = (struct pieces){.nodes = NULL};
}

int
pieces_add(struct pieces *p, struct fact *f, const char *node,
	   const char *claim)
{
	size_t room = f->nodes_n < p->room ? p->room : 2 * f->nodes_n + 8;
	struct fact_node *nodes = p->nodes;

	if (room > p->room)
		nodes = realloc(nodes, room * sizeof(*nodes));
	if (nodes == NULL)
		return -1;
	nodes[f->nodes_n++] = (struct fact_node){node, claim};
	f->nodes = p->nodes = nodes;
	p->room = room;
	return 0;
}

int
pieces_add_list(struct pieces *p, struct fact *f, const struct json *list,
		const char *node_key, const char *claim_key)
{
	for (const struct json *v = json_first(list); v != NULL;
	     v = json_next(v)) {
		const char *node, *claim;

		if (pieces_take_name(json_member(v, node_key), NAME_BYTES,
				     &node) ||
		    pieces_take_name(json_member(v, claim_key), NAME_BYTES,
				     &claim) ||
		    (node[0] == '\0' && claim[0] == '\0') ||
		    pieces_add(p, f, node, claim))
			return -1;
	}
	return 0;
}

struct json *
pieces_parse(const char *s, size_t n, size_t *used, enum json_end *end)
{
	struct json_bounds bounds = json_bounds_stored;

	/* One decision may be about thousands of nodes. */
	bounds.kept_values_max = bounds.values_max;
	bounds.kept_bytes_max = ITEM_BYTES_MAX;
	return json_pick_first(s, n, NULL, &bounds, used, end);
}

int
pieces_take_name(const struct json *v, size_t max, const char **out)
{
	const char *s =
		json_string(json_is_object(v) ? v = json_member(v, "name") : v);

	if (json_is_unset(v)) {
		*out = "";
		return 0;
	}
	if (s == NULL || strlen(s) >= max)
		return -1;
	*out = s;
	return 0;
}

int
pieces_take_reason(const char *text, size_t n, char reason[NODEPOOL_BYTES])
{
	reason[0] = '\0';
	if (n >= NODEPOOL_BYTES)
		return -1;
	/* Bytes of non-ASCII characters stay as they are, so the text stays
	 * UTF-8. */
	for (size_t i = 0; i < n; i++)
		reason[i] = text[i] >= 'A' && text[i] <= 'Z'
				    ? (char)(text[i] - 'A' + 'a')
				    : text[i];
	reason[n] = '\0';
	return 0;
}
