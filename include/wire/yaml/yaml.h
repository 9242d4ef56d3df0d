/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_YAML_YAML_H
#define WIRE_YAML_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * Reads YAML 1.1 (and JSON, which is nearly a subset) with libyaml's event
 * parser, into a tree that has the place of each value.  It reads one document.
 * Aliases, anchors, tags and duplicate keys are errors.  The bounds are in
 * limits.h.  Errors read "FILE:LINE:COL: …".  The functions keep no state; any
 * thread may call them.
 *
 * yaml_tree_free is not called yaml_free, because libyaml exports a function of
 * that name.
 */
struct yaml; /* one value; owned by its root */

/* Returns the root, a map, a list or a scalar, which the caller frees with
 * yaml_tree_free, or NULL with *e set.  `file` is the name for messages.  file
 * and bytes may be freed afterwards. */
struct yaml *yaml_tree_parse(const char *file, const char *bytes, size_t n,
			     struct err *e);
void yaml_tree_free(struct yaml *root);
void yaml_tree_freep(struct yaml **root);
#define AUTO_YAML __attribute__((cleanup(yaml_tree_freep))) struct yaml *

/* All functions from here to yaml_key accept NULL and then return NULL or
 * false, so a path through several maps needs no check at each step.  What they
 * return belongs to the root. */
bool yaml_is_map(const struct yaml *v);
bool yaml_is_list(const struct yaml *v);
bool yaml_is_scalar(const struct yaml *v);
bool yaml_is_null(const struct yaml *v); /* null, ~ or no text at all */
const struct yaml *yaml_member(const struct yaml *map, const char *key);
const struct yaml *yaml_first(const struct yaml *map_or_list);
const struct yaml *yaml_next(const struct yaml *value);
/* Returns the key of a member of a map, or NULL for any other value. */
const char *yaml_key(const struct yaml *member);

/* Returns the text of a scalar, without quotes and escapes, or NULL if v is no
 * scalar.  The text contains no NUL. */
const char *yaml_text(const struct yaml *v);

/* Returns whether the scalar is plain: written without quotes, and not as a
 * block (| or >).  Only a plain scalar can be true, 10 or null; in another form
 * these are strings. */
bool yaml_is_plain(const struct yaml *v);

/* Returns the text of a string, or NULL if v is none.  A string is a scalar
 * that is not plain (yaml_is_plain), or a plain one that YAML 1.1 does not read
 * as a boolean, null or number. */
const char *yaml_string(const struct yaml *v);

/* The place of a value. */
struct yaml_place {
	size_t line, col; /* counted from 1 */
};
struct yaml_place yaml_at(const struct yaml *v);

/* Sets *e to ERR_INPUT with "FILE:LINE:COL: " and the text, and returns -1.
 * Only the end of a long file name is shown. */
int yaml_fail_at(const char *file, struct yaml_place at, struct err *e,
		 const char *text);

/* Set *e to ERR_INPUT with "FILE:LINE:COL: " and the formatted text, and return
 * -1.  yaml_fail names the place of the value, and yaml_fail_key the place of
 * the member's key. */
int yaml_fail(const struct yaml *v, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int yaml_fail_key(const struct yaml *member, struct err *e, const char *fmt,
		  ...) __attribute__((format(printf, 3, 4)));

/* Writes s for a message: quoted, escaped, and cut after about 40 bytes.
 * Returns out. */
#define YAML_SHOW_BYTES 288
const char *yaml_show(const char *s, char out[YAML_SHOW_BYTES]);

#endif
