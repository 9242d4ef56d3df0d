/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JSON_JSON_H
#define WIRE_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * Reads JSON (RFC 8259).  A pass over the bytes checks the grammar, and limits
 * the depth and the number of values.  It refuses bytes that are no UTF-8,
 * \u0000, lone surrogates, control bytes, a BOM, and anything after the
 * document.  The same pass copies what the caller wants, which is a small part
 * of a Node, for example.  A tree is built from that copy.  The strings of the
 * tree lie in the copy, and cJSON decodes the strings that have escapes.
 *
 * An error is ERR_INPUT ("not JSON: … at byte N"), ERR_LIMIT if the text is
 * beyond the bounds, or ERR_SYSTEM.  Keys compare case-sensitively; of
 * duplicate keys the first counts.  The functions keep no state; any thread may
 * call them.
 */

/* One value.  The root owns all values below it. */
struct json;

struct json_bounds {
	unsigned depth_max;  /* maximum nesting of arrays and objects */
	unsigned values_max; /* maximum number of values; keys do not count */
	bool nul_ok;	     /* whether \u0000 is allowed; it ends its string */
	/* If the text ends too early, json_pick takes what came of the objects
	 * that are nested no deeper than this: their members that came whole.
	 * 0: such a text is refused. */
	unsigned cut_depth;
	/* Maximum number of values that json_pick keeps. */
	unsigned kept_values_max;
	/* Maximum number of bytes of text that json_pick keeps. */
	size_t kept_bytes_max;
};
/* the bounds of limits.h */
extern const struct json_bounds json_bounds_default;
/* For objects that the API server stores.  Any annotation or message may
 * contain \u0000, and we have to read such objects, too. */
extern const struct json_bounds json_bounds_stored;
/* Like json_bounds_stored, but json_pick keeps at most JSON_SMALL_VALUES_MAX
 * values and JSON_SMALL_BYTES_MAX of text. */
extern const struct json_bounds json_bounds_small;

/* Returns the root, which the caller frees with json_free, or NULL with *e set.
 * The n bytes need no NUL at the end and may be freed afterwards. */
struct json *json_parse(const char *bytes, size_t n,
			const struct json_bounds *bounds, struct err *e);

/* Names a member of an object that the caller wants.  A list of these structs
 * ends with a key of NULL.  `members` lists what is wanted of the member's
 * value.  If that value is a JSON array, `members` applies to each of its
 * elements.  A value that is neither an object nor an array is kept in any
 * case. */
struct json_keep {
	const char *key;
	const struct json_keep *members; /* NULL: the whole value */
};

/* Like json_parse, but the tree has only the members that `keep` names.  All of
 * the text is checked.  A member whose key is written with an escape is kept,
 * too, because it may be one that `keep` names. */
struct json *json_pick(const char *bytes, size_t n,
		       const struct json_keep *keep,
		       const struct json_bounds *bounds, struct err *e);
enum json_end {
	JSON_WHOLE,
	JSON_BAD,   /* not JSON, or nested too deeply */
	JSON_CUT,   /* the text ends too early */
	JSON_LARGE, /* beyond another bound, or there is no memory */
};
/* Like json_pick, but more may follow the value at the beginning.  *used is the
 * number of bytes up to the end of the value or, on failure, to the byte that
 * is to blame. */
struct json *json_pick_first(const char *bytes, size_t n,
			     const struct json_keep *keep,
			     const struct json_bounds *bounds, size_t *used,
			     enum json_end *end);
/* Makes an object of each array of pairs such as {"key":…,"value":…}, and
 * replaces each value of OpenTelemetry, such as {"stringValue":…}, by what it
 * stands for. */
void json_unpair(struct json *root);
void json_free(struct json *root);
void json_freep(struct json **root);
#define AUTO_JSON __attribute__((cleanup(json_freep))) struct json *

/* All functions below accept NULL for a value and then return NULL, false (true
 * for json_is_unset) or -1.  So a path through several objects needs no check
 * at each step.  What they return belongs to the root.  json_member finds a key
 * of an object, json_path follows a chain of n keys, and json_first and
 * json_next walk the values of an array or object. */
const struct json *json_member(const struct json *object, const char *key);
const struct json *json_path(const struct json *object, const char *const *keys,
			     size_t n);
const struct json *json_first(const struct json *array_or_object);
const struct json *json_next(const struct json *value);
/* Returns the key of a member of an object, or NULL for any other value. */
const char *json_key(const struct json *member);
const char *json_string(const struct json *v); /* NULL if v is no string */
/* Returns whether the member `key` is the string `text`. */
bool json_says(const struct json *object, const char *key, const char *text);
bool json_is_object(const struct json *v);
bool json_is_array(const struct json *v);
bool json_is_null(const struct json *v);  /* the value null, not
						   absence */
bool json_is_unset(const struct json *v); /* missing or null */
bool json_is_true(const struct json *v);
bool json_is_false(const struct json *v);
/* Returns -1, with *out untouched, unless v is a whole number greater than
 * -2^53 and less than 2^53. */
int json_integer(const struct json *v, long long *out);
/* Returns -1, with *out untouched, unless v is a number. */
int json_number(const struct json *v, double *out);

#endif
