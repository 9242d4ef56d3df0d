/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/heap.h"
#include "run.h"

/* The model: an array of keys, with a flag for what is in it. */
struct model {
	bool in[512];
	int64_t key[512];
};

static bool
model_least(const struct model *m, uint32_t cap, int64_t *key)
{
	bool any = false;

	for (uint32_t i = 0; i < cap; i++) {
		if (!m->in[i] || (any && m->key[i] >= *key))
			continue;
		any = true;
		*key = m->key[i];
	}
	return any;
}

static void
compare(const struct heap *h, const struct model *m, uint64_t seed)
{
	uint32_t id = 0;
	int64_t want = 0, got = 0;
	bool any = model_least(m, h->cap, &want);

	hot_assert_msg(heap_top(h, &id, &got) == any, "seed %llu",
		       (unsigned long long)seed);
	if (any)
		hot_assert_msg(m->in[id] && m->key[id] == got && got == want,
			       "seed %llu: id %u key %lld, least %lld",
			       (unsigned long long)seed, id, (long long)got,
			       (long long)want);
	for (uint32_t i = 0; i < h->cap; i++)
		hot_assert_msg(m->in[i] == heap_has(h, i) &&
				       (!m->in[i] || heap_key(h, i) == m->key[i]),
			       "seed %llu: id %u", (unsigned long long)seed, i);
}

static void
walk(uint64_t seed, uint32_t cap, uint32_t keys, int steps)
{
	struct dice d = dice_new(seed);
	struct model m = {0};
	struct heap h;

	ck_assert_int_eq(heap_init(&h, cap), 0);
	for (int i = 0; i < steps; i++) {
		uint32_t id = roll(&d, cap);

		if (roll(&d, 3) > 0) {
			m.in[id] = true;
			m.key[id] = (int64_t)roll(&d, keys) - keys / 2;
			heap_set(&h, id, m.key[id]);
		} else {
			m.in[id] = false;
			heap_remove(&h, id);
		}
		compare(&h, &m, seed);
	}
	heap_done(&h);
}

START_TEST(random_operations)
{
	walk((uint64_t)_i, 1 + (uint32_t)_i * 37, 1000000, 8000);
}
END_TEST

START_TEST(many_equal_keys)
{
	walk(100 + (uint64_t)_i, 200, 3, 8000);
}
END_TEST

START_TEST(comes_out_in_order)
{
	struct dice d = dice_new(7);
	int64_t last = INT64_MIN, key;
	struct heap h;
	uint32_t id, n = 0;

	ck_assert_int_eq(heap_init(&h, 5000), 0);
	for (uint32_t i = 0; i < 5000; i++)
		heap_set(&h, i, (int64_t)roll(&d, 100000));
	for (; heap_top(&h, &id, &key); n++) {
		ck_assert_int_ge(key, last);
		last = key;
		heap_remove(&h, id);
		heap_remove(&h, id);	/* absent: nothing happens */
	}
	ck_assert_uint_eq(n, 5000);
	heap_done(&h);
}
END_TEST

START_TEST(extreme_keys)
{
	struct heap h;
	uint32_t id;
	int64_t key;

	ck_assert_int_eq(heap_init(&h, 3), 0);
	ck_assert(!heap_top(&h, &id, &key));
	heap_set(&h, 0, INT64_MAX);
	heap_set(&h, 2, INT64_MIN);
	heap_set(&h, 1, 0);
	ck_assert(heap_top(&h, &id, &key) && id == 2 && key == INT64_MIN);
	heap_set(&h, 2, INT64_MAX);
	ck_assert(heap_top(&h, &id, &key) && id == 1);
	heap_done(&h);
	heap_done(&h);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("heap");
	TCase *c = run_case(s, "heap");

	tcase_add_loop_test(c, random_operations, 0, 10);
	tcase_add_loop_test(c, many_equal_keys, 0, 4);
	tcase_add_test(c, comes_out_in_order);
	tcase_add_test(c, extreme_keys);
	return suite_run(s);
}
