/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/index.h"
#include "core/controller/disruption_events.h"
#include "run.h"

/* The owner of the keys, and the model at once. */
struct owner {
	char key[4096][16];
	bool in[4096];
	uint64_t since[4096];	/* when it was added */
	uint64_t added;
	uint32_t n;
	bool crowded;	/* the homes of all keys lie close together, at the end
			   of the slots, however many there are */
	bool alike;	/* all keys have the same hash */
	uint32_t *looks;	/* counts the keys that were looked at, or
				   NULL */
};

static uint32_t
hash(const struct owner *o, const char *key)
{
	uint32_t h = o->alike ? UINT32_MAX : index_hash_text(key);

	return o->crowded ? h << 8 | (248 + h % 8) : h;
}

static uint32_t
owner_hash(const void *ctx, uint32_t id)
{
	const struct owner *o = ctx;

	return hash(o, o->key[id]);
}

static bool
owner_same(const void *ctx, uint32_t id, const void *key)
{
	const struct owner *o = ctx;

	if (o->looks != NULL)
		++*o->looks;
	return strcmp(o->key[id], key) == 0;
}

static uint32_t
find(const struct index *x, const char *key)
{
	return index_find(x, hash(x->ctx, key), key);
}

static uint32_t
model_find(const struct owner *o, uint32_t cap, const char *key)
{
	uint32_t first = NO_ID;

	for (uint32_t i = 0; i < cap; i++)
		if (o->in[i] && strcmp(o->key[i], key) == 0 &&
		    (first == NO_ID || o->since[i] < o->since[first]))
			first = i;
	return first;
}

static void
look_up(const struct index *x, const struct owner *o, uint32_t cap,
	const char *key, uint64_t seed)
{
	uint32_t id = find(x, key), want = model_find(o, cap, key);

	if (id != want)
		ck_abort_msg("seed %llu: %s is %u and not %u",
			     (unsigned long long)seed, key, id, want);
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
	o->since[id] = ++o->added;
	o->n++;
	index_add(x, id);
}

static void
walk(uint64_t seed, uint32_t cap, uint32_t keys, int steps, bool crowded,
     bool alike)
{
	struct owner *o = calloc(1, sizeof(*o));
	struct dice d = dice_new(seed);
	struct index x;
	char key[16];

	ck_assert_ptr_nonnull(o);
	o->crowded = crowded;
	o->alike = alike;
	ck_assert_int_eq(index_init(&x, cap, cap, owner_hash, owner_same, o), 0);
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
	walk(1 + (uint64_t)_i, 60, 5, 6000, false, false);
}
END_TEST

START_TEST(tight_table)
{
	walk(50 + (uint64_t)_i, 128, 200, 8000, false, false);
}
END_TEST

START_TEST(grows)
{
	walk(90 + (uint64_t)_i, 4096, 3000, 12000, false, false);
}
END_TEST

START_TEST(grows_while_crowded)
{
	walk(120 + (uint64_t)_i, 1000, 600, 4000, true, false);
}
END_TEST

/* Names that somebody has chosen so. */
START_TEST(all_hashes_are_the_same)
{
	walk(150 + (uint64_t)_i, 300, 200, 3000, false, true);
}
END_TEST

START_TEST(full_to_the_last_id)
{
	struct owner *o = calloc(1, sizeof(*o));
	uint32_t looks = 0;
	struct index x;

	ck_assert_ptr_nonnull(o);
	ck_assert_int_eq(index_init(&x, 4096, 4096, owner_hash, owner_same, o), 0);
	for (uint32_t id = 0; id < 4096; id++) {
		snprintf(o->key[id], sizeof(o->key[id]), "node-%u", id);
		index_add(&x, id);
	}
	o->looks = &looks;
	for (uint32_t id = 0; id < 4096; id++)
		ck_assert_uint_eq(find(&x, o->key[id]), id);
	/* A search rarely looks at another id's key. */
	ck_assert_uint_lt(looks, 4096 + 4096 / 16);
	for (uint32_t id = 0; id < 4096; id += 2)
		index_remove(&x, id);
	for (uint32_t id = 0; id < 4096; id++)
		ck_assert_uint_eq(find(&x, o->key[id]),
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
	ck_assert_int_eq(index_init(&x, 8, 8, owner_hash, owner_same, o), 0);
	strcpy(o->key[3], "same");
	strcpy(o->key[5], "same");
	index_add(&x, 3);
	index_add(&x, 5);
	index_remove(&x, _i == 0 ? 3 : 5);	/* either may go */
	ck_assert_uint_eq(find(&x, "same"), _i == 0 ? 5 : 3);
	index_remove(&x, _i == 0 ? 5 : 3);
	ck_assert_uint_eq(find(&x, "same"), NO_ID);
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
	ck_assert_int_eq(index_init(&x, 8, 8, owner_hash, owner_same, o), 0);
	ck_assert_uint_eq(find(&x, ""), NO_ID);
	index_add(&x, 1);
	ck_assert_uint_eq(find(&x, ""), 1);
	index_done(&x);
	free(o);
}
END_TEST

/* Keys that somebody has chosen because they have the same home lie apart with
 * another seed, whichever it is. */
START_TEST(a_seed_parts_chosen_keys)
{
	uint32_t n = 0, mates = 0;
	uint32_t at[4096] = {0};
	char key[24];

	for (uint32_t i = 0; n < 1024; i++) {
		snprintf(key, sizeof(key), "%08x-made-up", i);
		if ((index_hash(key, 0) & 4095) != 0)
			continue;
		n++;
		mates += at[index_hash(key, 1 + (uint64_t)_i) & 4095]++;
	}
	/* At random there are 1024² / 2 / 4096 pairs. */
	ck_assert_uint_lt(mates, 256);
}
END_TEST

/* So do keys of which the last byte of one piece and that of the next balance
 * each other where a product is not folded. */
START_TEST(a_seed_parts_balanced_keys)
{
	uint32_t mates = 0;
	uint32_t at[4096] = {0};
	char key[17] = "abcdefg.abc.efg.";

	for (uint32_t i = 0; i < 1024; i++) {
		key[7] = (char)(64 + i % 32);
		key[11] = key[15] = (char)(64 + i / 32);
		mates += at[index_hash(key, 1 + (uint64_t)_i) & 4095]++;
	}
	ck_assert_uint_lt(mates, 256);
}
END_TEST

/* The uids of Events are such keys. */
START_TEST(events_have_the_seed)
{
	struct disruption_events a, b;

	ck_assert_int_eq(disruption_events_init(&a, 64, 1), 0);
	ck_assert_int_eq(disruption_events_init(&b, 64, 2), 0);
	for (char uid[] = "a"; uid[0] <= 'z'; uid[0]++) {
		disruption_events_put(&a, uid, "Drifted");
		disruption_events_put(&b, uid, "Drifted");
	}
	ck_assert_str_eq(disruption_events_take(&b, "q"), "Drifted");
	ck_assert_str_eq(disruption_events_take(&a, "q"), "Drifted");
	ck_assert_mem_ne(a.by_uid.slots, b.by_uid.slots,
			 a.by_uid.used * sizeof(*a.by_uid.slots));
	disruption_events_done(&a);
	disruption_events_done(&b);
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
	tcase_add_loop_test(c, grows_while_crowded, 0, 5);
	tcase_add_loop_test(c, all_hashes_are_the_same, 0, 3);
	tcase_add_test(c, full_to_the_last_id);
	tcase_add_loop_test(c, one_of_two_with_the_same_key, 0, 2);
	tcase_add_test(c, empty_key_is_a_key);
	tcase_add_loop_test(c, a_seed_parts_chosen_keys, 0, 8);
	tcase_add_loop_test(c, a_seed_parts_balanced_keys, 0, 8);
	tcase_add_test(c, events_have_the_seed);
	return suite_run(s);
}
