/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/json/json.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "wire/json/json_scan.h"

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

/*
 * Each document has one block of memory, and its root lies at the start of it.
 * The scan has counted what cJSON will ask for.  One allocation for each value
 * would be a third of the cost of a review.  cJSON's hooks get no context, so
 * each thread keeps the block that it is parsing into beside them.
 */
struct arena {
	size_t used, size;
	bool full;
	alignas(cJSON) char data[];
};

static _Thread_local struct arena *parsing;

static size_t
aligned(size_t n)
{
	return (n + alignof(cJSON) - 1) / alignof(cJSON) * alignof(cJSON);
}

static void *
arena_take(size_t n)
{
	struct arena *a = parsing;
	char *p;

	if (a == NULL || aligned(n) > a->size - a->used) {
		if (a != NULL)
			a->full = true;
		return NULL;
	}
	p = a->data + a->used;
	a->used += aligned(n);
	return p;
}

static void
arena_keep(void *p)
{
	(void)p;
}

__attribute__((constructor)) static void
hooks_set(void)
{
	cJSON_Hooks hooks = {.malloc_fn = arena_take, .free_fn = arena_keep};

	cJSON_InitHooks(&hooks);
}

/* The block has room for a node for each value, and for a copy of each key and
 * string with its NUL.  Newer versions of cJSON copy the digits of a number,
 * too. */
static struct arena *
arena_new(const struct json_tally *t)
{
	size_t size = t->values * aligned(sizeof(cJSON)) +
		      (t->values + t->keys) * alignof(cJSON) + t->text_bytes;
	struct arena *a = malloc(sizeof(*a) + size);

	if (a != NULL)
		*a = (struct arena){.size = size};
	return a;
}

static struct arena *
arena_of(struct json *root)
{
	return (struct arena *)((char *)root - offsetof(struct arena, data));
}

static struct json *
to_json(cJSON *v)
{
	return (struct json *)v;
}

static const cJSON *
to_cjson(const struct json *v)
{
	return (const cJSON *)v;
}

static int
parse_into(struct arena *a, const char *bytes, size_t n, struct err *e)
{
	const cJSON *root;

	parsing = a;
	/* cJSON_GetErrorPtr is not used because its variable is shared by all
	 * threads. */
	root = cJSON_ParseWithLengthOpts(bytes, n, NULL, 0);
	parsing = NULL;
	if (root == NULL)
		return err_set(e, ERR_SYSTEM,
			       a->full ? "JSON outgrew its memory"
				       : "cJSON refuses what is JSON");
	assert((const char *)root == a->data);
	return 0;
}

/* Parses the n bytes, of which *kept is counted. */
static struct json *
parse_counted(const char *bytes, size_t n, const struct json_tally *kept,
	      struct err *e)
{
	struct arena *a = arena_new(kept);

	if (a == NULL) {
		(void)err_set(e, ERR_SYSTEM, "out of memory");
		return NULL;
	}
	if (parse_into(a, bytes, n, e)) {
		free(a);
		return NULL;
	}
	return to_json((cJSON *)a->data);
}

struct json *
json_parse(const char *bytes, size_t n, const struct json_bounds *bounds,
	   struct err *e)
{
	struct json_bounds all = *bounds;
	struct json_tally kept;

	all.kept_values_max = bounds->values_max;
	if (json_scan(bytes, n, &all, NULL, NULL, &kept, e))
		return NULL;
	return parse_counted(bytes, n, &kept, e);
}

struct json *
json_pick(const char *bytes, size_t n, const struct json_keep *keep,
	  const struct json_bounds *bounds, struct err *e)
{
	size_t room = n < bounds->kept_bytes_max ? n : bounds->kept_bytes_max;
	char *text = malloc(room + 1); /* 0 bytes are memory, too */
	struct json_tally kept;
	struct json *root = NULL;

	if (text == NULL)
		(void)err_set(e, ERR_SYSTEM, "out of memory");
	else if (json_scan(bytes, n, bounds, keep, text, &kept, e) == 0)
		root = parse_counted(text, kept.bytes, &kept, e);
	free(text);
	return root;
}

void
json_free(struct json *root)
{
	if (root != NULL)
		free(arena_of(root));
}

void
json_freep(struct json **root)
{
	json_free(*root);
}

const struct json *
json_member(const struct json *object, const char *key)
{
	if (!json_is_object(object))
		return NULL;
	return to_json(cJSON_GetObjectItemCaseSensitive(to_cjson(object), key));
}

const struct json *
json_path(const struct json *object, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		object = json_member(object, keys[i]);
	return object;
}

const struct json *
json_first(const struct json *array_or_object)
{
	if (!json_is_array(array_or_object) && !json_is_object(array_or_object))
		return NULL;
	return to_json(to_cjson(array_or_object)->child);
}

const struct json *
json_next(const struct json *value)
{
	return value == NULL ? NULL : to_json(to_cjson(value)->next);
}

const char *
json_key(const struct json *member)
{
	return member == NULL ? NULL : to_cjson(member)->string;
}

const char *
json_string(const struct json *v)
{
	return cJSON_IsString(to_cjson(v)) ? to_cjson(v)->valuestring : NULL;
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
	return cJSON_IsObject(to_cjson(v));
}

bool
json_is_array(const struct json *v)
{
	return cJSON_IsArray(to_cjson(v));
}

bool
json_is_null(const struct json *v)
{
	return cJSON_IsNull(to_cjson(v));
}

bool
json_is_unset(const struct json *v)
{
	return v == NULL || json_is_null(v);
}

bool
json_is_true(const struct json *v)
{
	return cJSON_IsTrue(to_cjson(v));
}

int
json_integer(const struct json *v, long long *out)
{
	const double exact = 9007199254740992.0; /* 2^53 */
	double d;

	if (!cJSON_IsNumber(to_cjson(v)))
		return -1;
	d = to_cjson(v)->valuedouble;
	if (!(d > -exact && d < exact) || (double)(long long)d != d)
		return -1;
	*out = (long long)d;
	return 0;
}
