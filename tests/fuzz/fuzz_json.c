/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <string.h>

#include "core/base/limits.h"
#include "wire/json/json.h"

static void
walk(const struct json *v, unsigned depth, unsigned *values)
{
	long long i;

	PROMISE(++*values <= JSON_VALUES_MAX);
	PROMISE(depth <= JSON_DEPTH_MAX);
	if (json_string(v) != NULL)
		promise_utf8(json_string(v));
	(void)json_integer(v, &i);
	for (const struct json *m = json_first(v); m; m = json_next(m)) {
		if (json_is_object(v)) {
			promise_utf8(json_key(m));
			PROMISE(json_member(v, json_key(m)) != NULL);
		}
		walk(m, depth + 1, values);
	}
}

static const struct json_keep inner[] = {
	{"x", NULL}, {"a", NULL}, {NULL, NULL}};
static const struct json_keep wanted[] = {
	{"a", NULL}, {"metadata", inner}, {"b", inner}, {NULL, NULL}};

static bool
keeps(const struct json_keep *of, const char *key,
      const struct json_keep **below)
{
	for (; of->key != NULL; of++) {
		*below = of->members;
		if (strcmp(of->key, key) == 0)
			return true;
	}
	return false;
}

/* Promises that `part` has of `all` what `keep` wants.  It may have more: a
 * member whose key is written with an escape. */
static void
compare(const struct json *all, const struct json *part,
	const struct json_keep *keep)
{
	const struct json *p = json_first(part);
	long long i = 0, j = 0;

	PROMISE(json_is_object(all) == json_is_object(part));
	PROMISE(json_is_array(all) == json_is_array(part));
	PROMISE(json_is_null(all) == json_is_null(part));
	PROMISE((json_string(all) == NULL) == (json_string(part) == NULL));
	PROMISE(json_string(all) == NULL ||
		strcmp(json_string(all), json_string(part)) == 0);
	PROMISE(json_integer(all, &i) == json_integer(part, &j) && i == j);
	for (const struct json *m = json_first(all); m; m = json_next(m)) {
		const struct json_keep *below = keep;

		if (json_is_object(all) && keep != NULL) {
			if (!keeps(keep, json_key(m), &below)) {
				if (p != NULL &&
				    strcmp(json_key(p), json_key(m)) == 0)
					p = json_next(p);
				continue;
			}
			PROMISE(p != NULL &&
				strcmp(json_key(p), json_key(m)) == 0);
		}
		PROMISE(p != NULL);
		/* A key with an escape is kept with all below it. */
		if (below == NULL || keep == NULL)
			compare(m, p, NULL);
		else
			compare(m, p, below);
		p = json_next(p);
	}
	PROMISE(p == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct err e = {0};
	unsigned values = 0;
	AUTO_JSON root =
		json_parse((const char *)data, n, &json_bounds_default, &e);

	AUTO_JSON part = json_pick((const char *)data, n, wanted,
				   &json_bounds_default, &e);

	if (root == NULL)
		PROMISE(e.code == ERR_INPUT || e.code == ERR_LIMIT);
	else
		walk(root, 0, &values);
	/* What is kept has bounds of its own. */
	PROMISE(root != NULL || part == NULL);
	PROMISE(part != NULL || e.code == ERR_INPUT || e.code == ERR_LIMIT);
	if (part != NULL && memchr(data, '\\', n) == NULL)
		compare(root, part, wanted);
	return 0;
}
