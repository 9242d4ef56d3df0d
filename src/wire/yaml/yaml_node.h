/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_YAML_YAML_NODE_H
#define WIRE_YAML_YAML_NODE_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/yaml/yaml.h"

/*
 * The nodes of a tree.  yaml.c builds the tree from libyaml's events, and
 * yaml_node.c reads it.  No other file includes this header.
 */
enum yaml_shape {
	SHAPE_MAP,
	SHAPE_LIST,
	SHAPE_SCALAR,
};

struct yaml_tree {
	char *file;
	struct yaml *made; /* every node, the newest first */
};

struct yaml {
	enum yaml_shape shape;
	bool plain;
	struct yaml_place at, key_at;
	char *key, *text;
	struct yaml *parent, *first, *last, *next;
	size_t children;
	struct yaml_tree *tree;
	struct yaml *made_before;
};

/* Frees t and all its nodes. */
void yaml_nodes_done(struct yaml_tree *t);

#endif
