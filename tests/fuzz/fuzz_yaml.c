/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <string.h>

#include "core/base/limits.h"
#include "wire/yaml/yaml.h"

static void
check_value(const struct yaml *v)
{
	struct yaml_place at = yaml_at(v);
	char shown[YAML_SHOW_BYTES];
	struct err e = {0};

	PROMISE(at.line > 0 && at.col > 0);
	PROMISE(yaml_is_map(v) + yaml_is_list(v) + yaml_is_scalar(v) == 1);
	PROMISE(yaml_is_scalar(v) == (yaml_text(v) != NULL));
	PROMISE(yaml_string(v) == NULL || yaml_string(v) == yaml_text(v));
	PROMISE(yaml_fail(v, &e, "%s", "why") == -1);
	promise_refused(&e);
	if (yaml_text(v) != NULL) {
		promise_utf8(yaml_text(v));
		promise_utf8(yaml_show(yaml_text(v), shown));
	}
}

static void
walk(const struct yaml *v, unsigned depth)
{
	PROMISE(depth <= YAML_DEPTH_MAX);
	check_value(v);
	for (const struct yaml *m = yaml_first(v); m; m = yaml_next(m)) {
		PROMISE(yaml_is_map(v) == (yaml_key(m) != NULL));
		/* There are no duplicates. */
		if (yaml_is_map(v))
			PROMISE(yaml_member(v, yaml_key(m)) == m);
		walk(m, depth + 1);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct err e = {0};
	AUTO_YAML root = yaml_tree_parse("file", (const char *)data, n, &e);

	if (root == NULL)
		promise_refused(&e);
	else
		walk(root, 0);
	return 0;
}
