/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <string.h>

#include "core/base/limits.h"
#include "core/base/utf8.h"
#include "wire/json/json.h"

static void
check_text(const char *s)
{
	size_t left = strlen(s);

	while (left > 0) {
		size_t n = utf8_len(s, left);

		PROMISE(n > 0);
		s += n;
		left -= n;
	}
}

static void
walk(const struct json *v, unsigned depth, unsigned *values)
{
	long long i;

	PROMISE(++*values <= JSON_VALUES_MAX);
	PROMISE(depth <= JSON_DEPTH_MAX);
	if (json_string(v) != NULL)
		check_text(json_string(v));
	(void)json_integer(v, &i);
	for (const struct json *m = json_first(v); m; m = json_next(m)) {
		if (json_is_object(v)) {
			check_text(json_key(m));
			PROMISE(json_member(v, json_key(m)) != NULL);
		}
		walk(m, depth + 1, values);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct err e = {0};
	unsigned values = 0;
	AUTO_JSON root =
		json_parse((const char *)data, n, &json_bounds_default, &e);

	if (root == NULL)
		PROMISE(e.code == ERR_INPUT || e.code == ERR_LIMIT);
	else
		walk(root, 0, &values);
	return 0;
}
