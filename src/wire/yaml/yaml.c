/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/yaml/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/base/limits.h"
#include "yaml_node.h"

/*
 * Builds a tree from libyaml's events.  There is no recursion, so a deep file
 * costs no stack: `open` is the innermost map or list whose end has not come
 * yet, and each node knows its parent.
 *
 * What a configuration does not need is refused: anchors, aliases, tags,
 * several documents, keys that are no scalars, and a key that comes twice.  The
 * nodes and their depth are bounded.  Every node keeps its place in the file
 * for error messages.  yaml_node.c has the functions that read the tree.
 */

/* The state of the build. */
struct builder {
	yaml_parser_t parser;
	struct yaml_tree *tree;
	struct yaml *root, *open;
	char *key; /* the key in `open` whose value is yet to come */
	struct yaml_place key_at;
	unsigned depth, nodes;
	struct err *e;
};

static struct yaml_place
place_of(yaml_mark_t mark)
{
	return (struct yaml_place){mark.line + 1, mark.column + 1};
}

static int
fail_parser(struct builder *b, const char *bytes, size_t n)
{
	struct yaml_place at = place_of(b->parser.problem_mark);
	char text[sizeof(b->e->text)];

	if (b->parser.error == YAML_MEMORY_ERROR)
		return err_set(b->e, ERR_SYSTEM, "%s: out of memory",
			       b->tree->file);
	if (b->parser.error == YAML_READER_ERROR) {
		/* libyaml's reader knows the offset and not the line. */
		at = (struct yaml_place){1, 1};
		for (size_t i = 0; i < n && i < b->parser.problem_offset; i++) {
			at.line += bytes[i] == '\n';
			at.col = bytes[i] == '\n' ? 1 : at.col + 1;
		}
	}
	(void)snprintf(text, sizeof(text), "%s, expected YAML",
		       b->parser.problem ? b->parser.problem : "unreadable");
	return yaml_fail_at(b->tree->file, at, b->e, text);
}

/* --- building ------------------------------------------------------------- */

static int
no_memory(struct builder *b)
{
	return err_set(b->e, ERR_SYSTEM, "%s: out of memory", b->tree->file);
}

/* Copies the text of a scalar event.  Returns NULL and sets the error if the
 * text has a NUL byte. */
static char *
scalar_copy(struct builder *b, const yaml_event_t *ev)
{
	const char *s = (const char *)ev->data.scalar.value;
	char *copy;

	if (memchr(s, '\0', ev->data.scalar.length) != NULL) {
		(void)yaml_fail_at(b->tree->file, place_of(ev->start_mark),
				   b->e, "a NUL byte, expected text");
		return NULL;
	}
	copy = strndup(s, ev->data.scalar.length);
	if (copy == NULL)
		(void)no_memory(b);
	return copy;
}

static void
link_node(struct builder *b, struct yaml *v)
{
	v->parent = b->open;
	v->key = b->key;
	v->key_at = b->key ? b->key_at : v->at;
	b->key = NULL;
	if (b->open == NULL) {
		b->root = v;
		return;
	}
	if (b->open->last)
		b->open->last->next = v;
	else
		b->open->first = v;
	b->open->last = v;
	b->open->children++;
}

static struct yaml *
add_node(struct builder *b, enum yaml_shape shape, struct yaml_place at)
{
	struct yaml *v;

	if (++b->nodes > YAML_NODES_MAX) {
		(void)yaml_fail_at(b->tree->file, at, b->e, "too many values");
		b->e->code = ERR_LIMIT;
		return NULL;
	}
	v = calloc(1, sizeof(*v));
	if (v == NULL) {
		(void)no_memory(b);
		return NULL;
	}
	v->shape = shape;
	v->at = at;
	v->tree = b->tree;
	v->made_before = b->tree->made;
	b->tree->made = v;
	link_node(b, v);
	return v;
}

static bool
key_is_next(const struct builder *b)
{
	return b->open != NULL && b->open->shape == SHAPE_MAP && b->key == NULL;
}

static int
on_scalar(struct builder *b, const yaml_event_t *ev)
{
	struct yaml_place at = place_of(ev->start_mark);
	char *text = scalar_copy(b, ev);
	struct yaml *v;

	if (text == NULL)
		return -1;
	if (key_is_next(b)) {
		b->key = text;
		b->key_at = at;
		return 0;
	}
	v = add_node(b, SHAPE_SCALAR, at);
	if (v == NULL) {
		free(text);
		return -1;
	}
	v->text = text;
	v->plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	return 0;
}

static int
on_start(struct builder *b, enum yaml_shape shape, const yaml_event_t *ev)
{
	struct yaml_place at = place_of(ev->start_mark);
	struct yaml *v;

	if (key_is_next(b))
		return yaml_fail_at(b->tree->file, at, b->e,
				    "a key that is no scalar, expected a name");
	if (++b->depth > YAML_DEPTH_MAX) {
		(void)yaml_fail_at(b->tree->file, at, b->e,
				   "nested too deeply");
		b->e->code = ERR_LIMIT;
		return -1;
	}
	v = add_node(b, shape, at);
	if (v == NULL)
		return -1;
	b->open = v;
	return 0;
}

static int
by_key(const void *a, const void *b)
{
	const struct yaml *x = *(const struct yaml *const *)a;
	const struct yaml *y = *(const struct yaml *const *)b;
	int c = strcmp(x->key, y->key);

	if (c != 0)
		return c;
	if (x->key_at.line != y->key_at.line)
		return x->key_at.line < y->key_at.line ? -1 : 1;
	return x->key_at.col < y->key_at.col ? -1 : 1;
}

/* Fails if a key comes twice.  The keys are sorted and not compared pairwise,
 * because a hostile file may have as many keys as it may have values. */
static int
check_unique(struct builder *b, const struct yaml *map)
{
	char shown[YAML_SHOW_BYTES];
	struct yaml **sorted, *v, *twice = NULL;
	size_t n = 0;

	if (map->children < 2)
		return 0;
	sorted = calloc(map->children, sizeof(struct yaml *));
	if (sorted == NULL)
		return no_memory(b);
	for (v = map->first; v != NULL; v = v->next)
		sorted[n++] = v;
	qsort(sorted, n, sizeof(struct yaml *), by_key);
	for (size_t i = 1; i < n && twice == NULL; i++)
		if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0)
			twice = sorted[i];
	free(sorted);
	if (twice == NULL)
		return 0;
	return yaml_fail_key(twice, b->e, "%s stands twice, expected it once",
			     yaml_show(twice->key, shown));
}

static int
on_end(struct builder *b)
{
	struct yaml *v = b->open;

	b->depth--;
	b->open = v->parent;
	return v->shape == SHAPE_MAP ? check_unique(b, v) : 0;
}

static int
refuse_extras(struct builder *b, const yaml_event_t *ev,
	      const yaml_char_t *anchor, const yaml_char_t *tag)
{
	if (anchor != NULL)
		return yaml_fail_at(b->tree->file, place_of(ev->start_mark),
				    b->e,
				    "an anchor (&), expected plain values");
	if (tag != NULL)
		return yaml_fail_at(b->tree->file, place_of(ev->start_mark),
				    b->e, "a tag (!), expected plain values");
	return 0;
}

static int
on_event(struct builder *b, const yaml_event_t *ev)
{
	switch (ev->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (b->root == NULL)
			return 0;
		return yaml_fail_at(b->tree->file, place_of(ev->start_mark),
				    b->e, "a second document, expected one");
	case YAML_ALIAS_EVENT:
		return yaml_fail_at(b->tree->file, place_of(ev->start_mark),
				    b->e,
				    "an alias (*), expected plain values");
	case YAML_SCALAR_EVENT:
		if (refuse_extras(b, ev, ev->data.scalar.anchor,
				  ev->data.scalar.tag))
			return -1;
		return on_scalar(b, ev);
	case YAML_MAPPING_START_EVENT:
		if (refuse_extras(b, ev, ev->data.mapping_start.anchor,
				  ev->data.mapping_start.tag))
			return -1;
		return on_start(b, SHAPE_MAP, ev);
	case YAML_SEQUENCE_START_EVENT:
		if (refuse_extras(b, ev, ev->data.sequence_start.anchor,
				  ev->data.sequence_start.tag))
			return -1;
		return on_start(b, SHAPE_LIST, ev);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		return on_end(b);
	default:
		return 0;
	}
}

static int
build(struct builder *b, const char *bytes, size_t n)
{
	yaml_event_t ev;
	bool end = false;
	int rc = 0;

	while (rc == 0 && !end) {
		if (!yaml_parser_parse(&b->parser, &ev))
			return fail_parser(b, bytes, n);
		end = ev.type == YAML_STREAM_END_EVENT;
		rc = on_event(b, &ev);
		yaml_event_delete(&ev);
	}
	if (rc == 0 && b->root == NULL)
		return yaml_fail_at(b->tree->file, (struct yaml_place){1, 1},
				    b->e, "nothing in it, expected a mapping");
	return rc;
}

static struct yaml_tree *
tree_new(const char *file)
{
	struct yaml_tree *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->file = strdup(file);
	if (t->file != NULL)
		return t;
	free(t);
	return NULL;
}

struct yaml *
yaml_tree_parse(const char *file, const char *bytes, size_t n, struct err *e)
{
	struct err ignored;
	struct builder b = {.e = e ? e : &ignored, .tree = tree_new(file)};
	int rc = -1;

	if (b.tree == NULL || !yaml_parser_initialize(&b.parser)) {
		(void)err_set(e, ERR_SYSTEM, "%s: out of memory", file);
	} else if (n > CONFIG_BYTES_MAX) {
		(void)err_set(e, ERR_LIMIT,
			      "%s: %zu bytes, expected at most %u", file, n,
			      CONFIG_BYTES_MAX);
	} else {
		yaml_parser_set_input_string(
			&b.parser, (const unsigned char *)(n ? bytes : ""), n);
		rc = build(&b, bytes, n);
	}
	yaml_parser_delete(&b.parser);
	free(b.key);
	if (rc == 0)
		return b.root;
	if (b.tree != NULL)
		yaml_nodes_done(b.tree);
	return NULL;
}
