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
};

const struct json_bounds json_bounds_stored = {
	.depth_max = JSON_DEPTH_MAX,
	.values_max = JSON_VALUES_MAX,
	.nul_ok = true,
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

/* The block has room for a node for each value, and one more in case the text
 * proves to be no value.  It has room for a copy of each string with its NUL,
 * and as much again for the digits of numbers, which newer versions of cJSON
 * copy too. */
static struct arena *
arena_new(size_t n, const struct json_tally *t)
{
	size_t size = (t->values + 1) * aligned(sizeof(cJSON)) +
		      (t->values + t->strings) * alignof(cJSON) + 2 * n;
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
not_json(struct err *e, const char *why, const char *bytes, const char *at)
{
	return err_set(e, ERR_INPUT, "not JSON: %s at byte %zu", why,
		       (size_t)(at - bytes));
}

/* Parses all of bytes[0..n) as one document into a. */
static int
parse_into(struct arena *a, const char *bytes, size_t n, struct err *e)
{
	const char *at = bytes;
	cJSON *root;

	parsing = a;
	/* cJSON_GetErrorPtr is not used because its variable is shared by all
	 * threads. */
	root = cJSON_ParseWithLengthOpts(bytes, n, &at, 0);
	parsing = NULL;
	if (root == NULL && a->full)
		return err_set(e, ERR_SYSTEM, "JSON outgrew its memory");
	if (root == NULL)
		return not_json(e, "syntax error", bytes, at);
	assert((char *)root == a->data);
	while (at < bytes + n && json_is_space(*at))
		at++;
	if (at < bytes + n)
		return not_json(e, "more than one document", bytes, at);
	return 0;
}

struct json *
json_parse(const char *bytes, size_t n, const struct json_bounds *bounds,
	   struct err *e)
{
	struct json_tally tally;
	struct arena *a;

	if (n == 0) {
		(void)not_json(e, "nothing", bytes, bytes);
		return NULL;
	}
	if (json_scan(bytes, n, bounds, &tally, e))
		return NULL;
	a = arena_new(n, &tally);
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
