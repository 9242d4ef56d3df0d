/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/sort.h"
#include "run.h"

#define MANY 500

static bool
key_before(const void *ctx, uint32_t a, uint32_t b)
{
	const uint32_t *keys = ctx;

	return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
}

static bool
key_alone(const void *ctx, uint32_t a, uint32_t b)
{
	const uint32_t *keys = ctx;

	return keys[a] < keys[b];
}

/* Against insertion, for every length and with many keys alike. */
START_TEST(in_order)
{
	struct dice d = dice_new((uint64_t)_i);
	uint32_t keys[MANY] = {0}, ids[MANY], want[MANY], n = (uint32_t)_i;

	for (uint32_t i = 0; i < n; i++) {
		keys[i] = roll(&d, 1 + n / 3);
		ids[i] = i;
	}
	for (uint32_t i = n; i > 1; i--) {	/* in any order */
		uint32_t k = roll(&d, i), id = ids[k];

		ids[k] = ids[i - 1];
		ids[i - 1] = id;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i;

		for (; at > 0 && key_before(keys, ids[i], want[at - 1]); at--)
			want[at] = want[at - 1];
		want[at] = ids[i];
	}
	sort_ids(ids, n, key_before, keys);
	ck_assert(n == 0 || memcmp(ids, want, n * sizeof(ids[0])) == 0);
}
END_TEST

/* Where the order is not total nothing is lost all the same. */
START_TEST(all_alike)
{
	uint32_t keys[MANY] = {0}, ids[MANY];
	bool seen[MANY] = {false};

	for (uint32_t i = 0; i < MANY; i++)
		ids[i] = i;
	sort_ids(ids, MANY, key_alone, keys);
	for (uint32_t i = 0; i < MANY; i++)
		seen[ids[i]] = true;
	for (uint32_t i = 0; i < MANY; i++)
		ck_assert(seen[i]);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("sort");
	TCase *c = run_case(s, "sort");

	tcase_add_loop_test(c, in_order, 0, 120);
	tcase_add_test(c, all_alike);
	return suite_run(s);
}
