/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/index.h"
#include "run.h"

/* The owner of the keys, and the model at once. */
struct owner {
	char key[4096][16];
	bool in[4096];
	uint32_t n;
};

static const char *
owner_key(const void *ctx, uint32_t id)
{
	return ((const struct owner *)ctx)->key[id];
}

static bool
model_has(const struct owner *o, uint32_t cap, const char *key)
{
	for (uint32_t i = 0; i < cap; i++)
		if (o->in[i] && strcmp(o->key[i], key) == 0)
			return true;
	return false;
}

/* Any id of that key will do: the same key may stand for several. */
static void
look_up(const struct index *x, const struct owner *o, uint32_t cap,
	const char *key, uint64_t seed)
{
	uint32_t id = index_find(x, key);

	if (id == NO_ID) {
		ck_assert_msg(!model_has(o, cap, key), "seed %llu: %s lost",
			      (unsigned long long)seed, key);
		return;
	}
	ck_assert_msg(id < cap && o->in[id] && strcmp(o->key[id], key) == 0,
		      "seed %llu: %s found as %u", (unsigned long long)seed,
		      key, id);
}

/* One id comes or goes, or changes its key. */
static void
step(struct index *x, struct owner *o, struct dice *d, uint32_t cap,
     uint32_t keys)
{
	uint32_t id = roll(d, cap);

	if (o->in[id]) {
		index_remove(x, id);
		o->in[id] = false;
		o->n--;
		if (roll(d, 2) == 0)
			return;
	}
	snprintf(o->key[id], sizeof(o->key[id]), "k%u", roll(d, keys));
	o->in[id] = true;
	o->n++;
	index_add(x, id);
}

static void
walk(uint64_t seed, uint32_t cap, uint32_t keys, int steps)
{
	struct owner *o = calloc(1, sizeof(*o));
	struct dice d = dice_new(seed);
	struct index x;
	char key[16];

	ck_assert_ptr_nonnull(o);
	ck_assert_int_eq(index_init(&x, cap, owner_key, o), 0);
	for (int i = 0; i < steps; i++) {
		step(&x, o, &d, cap, keys);
		ck_assert_uint_eq(x.n, o->n);
		snprintf(key, sizeof(key), "k%u", roll(&d, keys));
		look_up(&x, o, cap, key, seed);
	}
	for (uint32_t id = 0; id < cap; id++)
		if (o->in[id])
			look_up(&x, o, cap, o->key[id], seed);
	index_done(&x);
	free(o);
}

START_TEST(few_keys_many_ids)
{
	walk(1 + (uint64_t)_i, 60, 5, 6000);
}
END_TEST

START_TEST(tight_table)
{
	walk(50 + (uint64_t)_i, 128, 200, 8000);
}
END_TEST

START_TEST(grows)
{
	walk(90 + (uint64_t)_i, 4096, 3000, 12000);
}
END_TEST

START_TEST(full_to_the_last_id)
{
	struct owner *o = calloc(1, sizeof(*o));
	struct index x;

	ck_assert_ptr_nonnull(o);
	ck_assert_int_eq(index_init(&x, 4096, owner_key, o), 0);
	for (uint32_t id = 0; id < 4096; id++) {
		snprintf(o->key[id], sizeof(o->key[id]), "node-%u", id);
		index_add(&x, id);
	}
	for (uint32_t id = 0; id < 4096; id++)
		ck_assert_uint_eq(index_find(&x, o->key[id]), id);
	for (uint32_t id = 0; id < 4096; id += 2)
		index_remove(&x, id);
	for (uint32_t id = 0; id < 4096; id++)
		ck_assert_uint_eq(index_find(&x, o->key[id]),
				  id % 2 == 0 ? NO_ID : id);
	index_done(&x);
	free(o);
}
END_TEST

START_TEST(one_of_two_with_the_same_key)
{
	struct owner *o = calloc(1, sizeof(*o));
	struct index x;

	ck_assert_ptr_nonnull(o);
	ck_assert_int_eq(index_init(&x, 8, owner_key, o), 0);
	strcpy(o->key[3], "same");
	strcpy(o->key[5], "same");
	index_add(&x, 3);
	index_add(&x, 5);
	index_remove(&x, _i == 0 ? 3 : 5);	/* either may go */
	ck_assert_uint_eq(index_find(&x, "same"), _i == 0 ? 5 : 3);
	index_remove(&x, _i == 0 ? 5 : 3);
	ck_assert_uint_eq(index_find(&x, "same"), NO_ID);
	ck_assert_uint_eq(x.n, 0);
	index_done(&x);
	free(o);
}
END_TEST

START_TEST(empty_key_is_a_key)
{
	struct owner *o = calloc(1, sizeof(*o));
	struct index x;

	ck_assert_ptr_nonnull(o);
	ck_assert_int_eq(index_init(&x, 8, owner_key, o), 0);
	ck_assert_uint_eq(index_find(&x, ""), NO_ID);
	index_add(&x, 1);
	ck_assert_uint_eq(index_find(&x, ""), 1);
	index_done(&x);
	free(o);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("index");
	TCase *c = run_case(s, "index");

	tcase_add_loop_test(c, few_keys_many_ids, 0, 5);
	tcase_add_loop_test(c, tight_table, 0, 5);
	tcase_add_loop_test(c, grows, 0, 3);
	tcase_add_test(c, full_to_the_last_id);
	tcase_add_loop_test(c, one_of_two_with_the_same_key, 0, 2);
	tcase_add_test(c, empty_key_is_a_key);
	return suite_run(s);
}
