/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/json/json.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "wire/json/json_scan.h"
#include "wire/json/json_text.h"

/*
 * Builds a tree of the part of a document that json_scan has kept.  json_scan
 * has checked grammar and bounds, so building the tree repeats no check and can
 * fail only if there is no memory.  json_scan has also counted the values, so
 * all of them are in one piece of memory.
 *
 * Keys and strings stay in the copied text: their closing quote becomes a NUL.
 * Only strings with escapes are given to cJSON, and the decoded text replaces
 * the original in place.  The functions that read the tree accept NULL, so a
 * reader need not check each level.
 */

const struct json_bounds json_bounds_default = {
	.depth_max = JSON_DEPTH_MAX,
	.values_max = JSON_VALUES_MAX,
	.kept_values_max = JSON_KEPT_VALUES_MAX,
	.kept_bytes_max = JSON_KEPT_BYTES_MAX,
};

const struct json_bounds json_bounds_stored = {
	.depth_max = JSON_DEPTH_MAX,
	.values_max = JSON_VALUES_MAX,
	.nul_ok = true,
	.kept_values_max = JSON_KEPT_VALUES_MAX,
	.kept_bytes_max = JSON_KEPT_BYTES_MAX,
};

const struct json_bounds json_bounds_small = {
	.depth_max = JSON_DEPTH_MAX,
	.values_max = JSON_VALUES_MAX,
	.nul_ok = true,
	.kept_values_max = JSON_SMALL_VALUES_MAX,
	.kept_bytes_max = JSON_SMALL_BYTES_MAX,
};

enum type {
	TYPE_NULL,
	TYPE_FALSE,
	TYPE_TRUE,
	TYPE_NUMBER,
	TYPE_STRING,
	TYPE_ARRAY,
	TYPE_OBJECT,
};

struct json {
	const struct json *next;
	const char *key; /* the key, for a member of an object */
	union {
		/* The first value of an array or object. */
		const struct json *child;
		const char *string;
		double number;
	};
	enum type type;
};

/* What json_scan has kept, and the values in it.  Keys and strings stay where
 * they are in the text, and a NUL takes the place of the closing quote. */
struct tree {
	char *text;
	size_t n;
	struct json values[]; /* the root is the first */
};

/* The state of the build: its place in the text, and the first value that is
 * still unused (`free`).  The text has passed json_scan and ends with a NUL. */
struct build {
	char *p, *end;
	bool escapes; /* Whether the text contains a backslash. */
	struct json *free;
	struct err *e;
};

static void
skip_space(struct build *b)
{
	while (json_is_space(*b->p))
		b->p++;
}

/* Called at the opening quote, which is the byte before `out`.  cJSON decodes
 * the escapes.  That never makes the string longer, so the decoded text fits at
 * `out`. */
static int
build_escaped(struct build *b, char *out)
{
	const char *after;
	cJSON *v = cJSON_ParseWithLengthOpts(b->p, (size_t)(b->end - b->p),
					     &after, 0);

	if (v == NULL)
		return err_set(b->e, ERR_SYSTEM,
			       "cJSON refuses a string, or has no memory");
	memcpy(out, v->valuestring, strlen(v->valuestring) + 1);
	b->p += after - b->p;
	cJSON_Delete(v);
	return 0;
}

/* Called at an opening quote. */
static int
build_string(struct build *b, const char **out)
{
	char *from = b->p + 1;
	char *quote = memchr(from, '"', (size_t)(b->end - from));

	*out = from;
	if (b->escapes && memchr(from, '\\', (size_t)(quote - from)) != NULL)
		return build_escaped(b, from);
	*quote = '\0';
	b->p = quote + 1;
	return 0;
}

static int build_value(struct build *b, struct json *v);

static int
build_member(struct build *b, struct json *m)
{
	if (build_string(b, &m->key))
		return -1;
	skip_space(b);
	b->p++; /* the colon */
	skip_space(b);
	return build_value(b, m);
}

static int
build_children(struct build *b, struct json *v)
{
	const struct json **at = &v->child;
	bool more;

	b->p++;
	skip_space(b);
	more = *b->p != '}' && *b->p != ']';
	b->p += !more;
	while (more) {
		struct json *m = b->free++;

		*m = (struct json){0};
		if (v->type == TYPE_OBJECT ? build_member(b, m)
					   : build_value(b, m))
			return -1;
		*at = m;
		at = &m->next;
		skip_space(b);
		more = *b->p++ == ',';
		skip_space(b);
	}
	return 0;
}

static int
build_value(struct build *b, struct json *v)
{
	switch (*b->p) {
	case '{':
	case '[':
		v->type = *b->p == '{' ? TYPE_OBJECT : TYPE_ARRAY;
		return build_children(b, v);
	case '"':
		v->type = TYPE_STRING;
		return build_string(b, &v->string);
	case 'n':
	case 't':
		v->type = *b->p == 'n' ? TYPE_NULL : TYPE_TRUE;
		b->p += 4;
		return 0;
	case 'f':
		v->type = TYPE_FALSE;
		b->p += 5;
		return 0;
	default:
		v->type = TYPE_NUMBER;
		v->number = strtod(b->p, &b->p);
		return 0;
	}
}

/* Takes ownership of the text, even on failure. */
static struct json *
tree_new(char *text, const struct json_tally *kept, struct err *e)
{
	struct tree *t =
		malloc(sizeof(*t) + kept->values * sizeof(t->values[0]));
	struct build b = {
		.p = text,
		.end = text + kept->bytes,
		.escapes = memchr(text, '\\', kept->bytes) != NULL,
		.e = e,
	};

	if (t == NULL) {
		free(text);
		(void)err_set(e, ERR_SYSTEM, "out of memory");
		return NULL;
	}
	t->text = text;
	t->n = kept->values;
	t->values[0] = (struct json){0};
	b.free = t->values + 1;
	*b.end = '\0';
	if (build_value(&b, t->values)) {
		json_free(t->values);
		return NULL;
	}
	assert(b.free == t->values + kept->values);
	return t->values;
}

/* `alone`: nothing may follow the value. */
static struct json *
pick(const char *bytes, size_t n, const struct json_keep *keep,
     const struct json_bounds *bounds, bool alone, struct json_tally *kept,
     struct err *e)
{
	size_t room = n < bounds->kept_bytes_max ? n : bounds->kept_bytes_max;
	/* A bracket more for each object that is cut, and a NUL. */
	char *text = malloc(room + bounds->cut_depth + 1);

	if (text == NULL) {
		(void)err_set(e, ERR_SYSTEM, "out of memory");
		return NULL;
	}
	if (json_scan(bytes, n, bounds, keep, alone, text, kept, e)) {
		free(text);
		return NULL;
	}
	return tree_new(text, kept, e);
}

struct json *
json_pick(const char *bytes, size_t n, const struct json_keep *keep,
	  const struct json_bounds *bounds, struct err *e)
{
	struct json_tally kept;

	return pick(bytes, n, keep, bounds, true, &kept, e);
}

struct json *
json_pick_first(const char *bytes, size_t n, const struct json_keep *keep,
		const struct json_bounds *bounds, size_t *used,
		enum json_end *end)
{
	struct json_tally kept = {.end = JSON_LARGE};
	struct json *root = pick(bytes, n, keep, bounds, false, &kept, NULL);

	*used = kept.used;
	*end = root == NULL && kept.end == JSON_WHOLE ? JSON_LARGE : kept.end;
	return root;
}

struct json *
json_parse(const char *bytes, size_t n, const struct json_bounds *bounds,
	   struct err *e)
{
	struct json_bounds all = *bounds;

	all.kept_values_max = bounds->values_max;
	all.kept_bytes_max = n;
	return json_pick(bytes, n, NULL, &all, e);
}

static struct tree *
tree_of(struct json *root)
{
	return (struct tree *)((char *)root - offsetof(struct tree, values));
}

void
json_free(struct json *root)
{
	if (root == NULL)
		return;
	free(tree_of(root)->text);
	free(tree_of(root));
}

void
json_freep(struct json **root)
{
	json_free(*root);
}

/* Returns the member of the object that has the value of its pair, and sets
 * *key; or NULL if it is no pair: CloudWatch's {"field":…,"value":…}. */
static const struct json *
pair_value(const struct json *v, const char **key)
{
	static const char *const keys[] = {"key", "field", "name"};
	const struct json *first = json_first(v), *second = json_next(first);

	*key = NULL;
	if (!json_is_object(v) || json_next(second) != NULL)
		return NULL;
	for (int i = 0; i < 3 && *key == NULL; i++)
		*key = json_string(json_member(v, keys[i]));
	return *key == NULL ? NULL : json_member(v, "value");
}

static bool
is_pairs(const struct json *array)
{
	const struct json *v = array->child;
	const char *key;

	if (array->type != TYPE_ARRAY || v == NULL)
		return false;
	while (v != NULL && pair_value(v, &key) != NULL)
		v = v->next;
	return v == NULL;
}

/* Returns what an OpenTelemetry value stands for, or NULL for another value. */
static const struct json *
any_value(const struct json *v)
{
	static const char *const kinds[] = {"stringValue", "intValue",
					    "doubleValue", "boolValue",
					    "kvlistValue", "arrayValue"};
	const struct json *in = v->child;
	int i = 0;

	if (v->type != TYPE_OBJECT || in == NULL || in->next != NULL)
		return NULL;
	while (i < 6 && strcmp(in->key, kinds[i]) != 0)
		i++;
	if (i == 6)
		return NULL;
	return i < 4 ? in : json_member(in, "values");
}

/* Gives v the type and the content of another value. */
static void
become(struct json *v, const struct json *from)
{
	const struct json *next = v->next;
	const char *key = v->key;

	*v = *from;
	v->next = next;
	v->key = key;
}

void
json_unpair(struct json *root)
{
	struct tree *t = tree_of(root);
	const struct json *in;
	const char *key;
	char *end;
	double number;

	/* What is in a value comes behind it. */
	for (struct json *v = t->values + t->n; v-- > t->values;) {
		if (v->type < TYPE_ARRAY)
			continue;
		in = any_value(v);
		if (in != NULL) {
			/* OpenTelemetry writes whole numbers as strings. */
			bool whole = strcmp(in->key, "intValue") == 0;

			become(v, in);
			if (!whole || v->type != TYPE_STRING)
				continue;
			number = strtod(v->string, &end);
			if (*end == '\0' && end > v->string) {
				v->type = TYPE_NUMBER;
				v->number = number;
			}
		}
		if (!is_pairs(v))
			continue;
		v->type = TYPE_OBJECT;
		for (in = v->child; in != NULL; in = in->next) {
			struct json *pair = &t->values[in - t->values];

			become(pair, pair_value(in, &key));
			pair->key = key;
		}
	}
}

const struct json *
json_member(const struct json *object, const char *key)
{
	const struct json *m = json_is_object(object) ? object->child : NULL;

	while (m != NULL && strcmp(m->key, key) != 0)
		m = m->next;
	return m;
}

const struct json *
json_path(const struct json *object, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		object = json_member(object, keys[i]);
	return object;
}

const struct json *
json_first(const struct json *v)
{
	return json_is_array(v) || json_is_object(v) ? v->child : NULL;
}

const struct json *
json_next(const struct json *value)
{
	return value == NULL ? NULL : value->next;
}

const char *
json_key(const struct json *member)
{
	return member == NULL ? NULL : member->key;
}

static bool
is_of(const struct json *v, enum type type)
{
	return v != NULL && v->type == type;
}

const char *
json_string(const struct json *v)
{
	return is_of(v, TYPE_STRING) ? v->string : NULL;
}

bool
json_says(const struct json *object, const char *key, const char *text)
{
	const char *s = json_string(json_member(object, key));

	return s != NULL && strcmp(s, text) == 0;
}

bool
json_is_object(const struct json *v)
{
	return is_of(v, TYPE_OBJECT);
}

bool
json_is_array(const struct json *v)
{
	return is_of(v, TYPE_ARRAY);
}

bool
json_is_null(const struct json *v)
{
	return is_of(v, TYPE_NULL);
}

bool
json_is_unset(const struct json *v)
{
	return v == NULL || json_is_null(v);
}

bool
json_is_true(const struct json *v)
{
	return is_of(v, TYPE_TRUE);
}

bool
json_is_false(const struct json *v)
{
	return is_of(v, TYPE_FALSE);
}

int
json_number(const struct json *v, double *out)
{
	if (!is_of(v, TYPE_NUMBER))
		return -1;
	*out = v->number;
	return 0;
}

int
json_integer(const struct json *v, long long *out)
{
	const double exact = 9007199254740992.0; /* 2^53 */

	if (!is_of(v, TYPE_NUMBER))
		return -1;
	if (!(v->number > -exact && v->number < exact) ||
	    (double)(long long)v->number != v->number)
		return -1;
	*out = (long long)v->number;
	return 0;
}
