/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/strings.h"
#include "run.h"

#define ARENA 8192

static struct strings s;

static void
setup(void)
{
	ck_assert_int_eq(strings_init(&s, ARENA), 0);
}

static void
teardown(void)
{
	strings_done(&s);
}

/* Fills the arena with different texts of n bytes, NUL included, and returns
 * how many there was room for. */
static uint32_t
fill(size_t n, uint32_t refs[ARENA])
{
	uint32_t count = 0;
	char text[STRING_BYTES];

	ck_assert_uint_le(n, sizeof(text));
	memset(text, 'x', sizeof(text));
	text[n - 1] = '\0';
	for (;;) {
		char digits[8];

		snprintf(digits, sizeof(digits), "%04u", count);
		memcpy(text, digits, 4);
		refs[count] = strings_take(&s, text);
		if (refs[count] == NO_ID)
			return count;
		count++;
	}
}

START_TEST(equal_texts_are_one_string)
{
	uint32_t a = strings_take(&s, "ip-10-0-0-1.internal");
	uint32_t b = strings_take(&s, "ip-10-0-0-2.internal");
	const char *text = strings_text(&s, a);

	ck_assert_uint_ne(a, b);
	ck_assert_uint_eq(strings_take(&s, "ip-10-0-0-1.internal"), a);
	ck_assert_str_eq(text, "ip-10-0-0-1.internal");
	ck_assert_str_eq(strings_text(&s, b), "ip-10-0-0-2.internal");
	strings_drop(&s, a);
	ck_assert_ptr_eq(strings_text(&s, a), text);
	ck_assert_str_eq(text, "ip-10-0-0-1.internal");
	ck_assert_uint_eq(strings_find(&s, text), a);
	strings_drop(&s, a);
	ck_assert_uint_eq(strings_find(&s, "ip-10-0-0-1.internal"), NO_ID);
	ck_assert_uint_eq(strings_find(&s, "ip-10-0-0-2.internal"), b);
	ck_assert_uint_eq(s.n, 1);
}
END_TEST

START_TEST(a_reference_changes)
{
	static uint32_t refs[ARENA];
	uint32_t ref = 0;

	ck_assert_int_eq(strings_set(&s, &ref, "a"), 0);
	ck_assert_str_eq(strings_text(&s, ref), "a");
	ck_assert_int_eq(strings_set(&s, &ref, "a"), 0);
	ck_assert_int_eq(strings_set(&s, &ref, "b"), 0);
	ck_assert_str_eq(strings_text(&s, ref), "b");
	ck_assert_uint_eq(s.n, 1);
	(void)fill(28, refs);
	ck_assert_int_eq(strings_set(&s, &ref, "this is longer than that"), -1);
	ck_assert_str_eq(strings_text(&s, ref), "b");
	ck_assert_int_eq(strings_set(&s, &ref, ""), 0);
	ck_assert_uint_eq(ref, 0);
	ck_assert_uint_eq(strings_find(&s, "b"), NO_ID);
}
END_TEST

START_TEST(the_empty_string_is_free)
{
	ck_assert_uint_eq(strings_take(&s, ""), 0);
	ck_assert_uint_eq(strings_find(&s, ""), 0);
	ck_assert_str_eq(strings_text(&s, 0), "");
	strings_drop(&s, 0);
	ck_assert_uint_eq(s.n, 0);
}
END_TEST

static const struct {
	size_t n;	/* with the NUL */
	uint32_t strings;
} sizes[] = {
	/* The first 8 bytes of the arena are the empty string's. */
	{STRING_BYTES, (ARENA - 8) / 264},
	{60, (ARENA - 8) / 64},
	{61, (ARENA - 8) / 72},
	{28, (ARENA - 8) / 32},
	{5, ARENA / 32},	/* the number of strings is bounded, too */
};

START_TEST(full)
{
	static uint32_t refs[ARENA];
	uint32_t n = fill(sizes[_i].n, refs);

	ck_assert_uint_eq(n, sizes[_i].strings);
	/* One that is there already needs no room. */
	ck_assert_uint_eq(strings_take(&s, strings_text(&s, refs[n / 2])),
			  refs[n / 2]);
	strings_drop(&s, refs[n / 2]);
	strings_drop(&s, refs[1]);
	ck_assert_uint_ne(strings_take(&s, "one"), NO_ID);
}
END_TEST

/* A long string leaves room for several short ones, and when all are gone, for
 * long ones again. */
START_TEST(room_is_used_again)
{
	static uint32_t refs[ARENA], more[ARENA];
	uint32_t n = fill(STRING_BYTES, refs);
	char text[STRING_BYTES];

	strings_drop(&s, refs[3]);
	for (uint32_t i = 0; i < 33; i++) {
		snprintf(text, sizeof(text), "%02u", i);
		more[i] = strings_take(&s, text);
		ck_assert_uint_ne(more[i], NO_ID);
	}
	for (uint32_t i = 0; i < 33; i++)
		strings_drop(&s, more[i]);
	for (uint32_t i = 0; i < n; i++)
		if (i != 3)
			strings_drop(&s, refs[i]);
	ck_assert_uint_eq(s.n, 0);
	ck_assert_uint_eq(s.top, 1);
	ck_assert_uint_eq(fill(STRING_BYTES, refs), n);
}
END_TEST

/* Nine strings of 28 bytes give room for one of STRING_BYTES, in whatever order
 * they go, and for all nine again after it. */
START_TEST(what_lies_side_by_side_is_joined)
{
	static const uint8_t orders[][9] = {
		{0, 1, 2, 3, 4, 5, 6, 7, 8},
		{8, 7, 6, 5, 4, 3, 2, 1, 0},
		{0, 2, 4, 6, 8, 1, 3, 5, 7},
		{7, 1, 5, 3, 0, 8, 4, 2, 6},
	};
	static uint32_t refs[ARENA];
	char text[STRING_BYTES];
	uint32_t n = fill(28, refs), ref;

	memset(text, 'y', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	ck_assert_uint_eq(strings_take(&s, text), NO_ID);
	for (uint32_t i = 0; i < 9; i++) {
		ck_assert_uint_eq(strings_take(&s, text), NO_ID);
		strings_drop(&s, refs[n / 2 + orders[_i][i]]);
	}
	ref = strings_take(&s, text);
	ck_assert_uint_ne(ref, NO_ID);
	strings_drop(&s, ref);
	ck_assert_uint_eq(fill(28, refs), n);
}
END_TEST

/* --- migrations ----------------------------------------------------------- */

#define FLEET_ARENA 32768
#define LONGEST 80		/* bytes of the arena that a name takes */
#define FLEET (FLEET_ARENA / 10 * 8 / LONGEST)
#define MIGRATIONS 1000

static void
rename_member(uint32_t *ref, uint32_t i, uint32_t bytes, uint32_t turn)
{
	char text[STRING_BYTES];

	/* Beside the text there are 4 bytes and the NUL. */
	snprintf(text, sizeof(text), "%03u%0*u", i, (int)bytes - 8, turn);
	strings_drop(&s, *ref);
	*ref = strings_take(&s, text);
	ck_assert_msg(*ref != NO_ID, "migration %u: no room for %u bytes", turn,
		      bytes);
}

/* All members of a fleet get names of another NodePool, again and again, in
 * order or at random.  If the longest names take no more than eight tenths of
 * the arena, there is always room.  (Those of EKS take less than six.) */
START_TEST(migrations)
{
	struct dice d = dice_new(1 + (uint64_t)_i);
	uint32_t refs[FLEET] = {0}, spread = _i / 2 == 0 ? 3 : 30;

	strings_done(&s);
	ck_assert_int_eq(strings_init(&s, FLEET_ARENA), 0);
	for (uint32_t turn = 1; turn <= MIGRATIONS; turn++) {
		uint32_t bytes = 16 + roll(&d, LONGEST - 16 - spread + 2);

		for (uint32_t n = 0; n < FLEET; n++) {
			uint32_t i = _i % 2 == 0 ? n : roll(&d, FLEET);

			rename_member(&refs[i], i, bytes + roll(&d, spread),
				      turn);
		}
	}
	for (uint32_t i = 0; i < FLEET; i++)
		strings_drop(&s, refs[i]);
	ck_assert_uint_eq(s.top, 1);
}
END_TEST

/* --- against a naive model ------------------------------------------------ */

#define TEXTS 200

struct model {
	char text[TEXTS][STRING_BYTES];
	uint32_t users[TEXTS], ref[TEXTS];
};

/* Every text that somebody has is there, and no other. */
static void
compare(const struct model *m, uint64_t seed)
{
	uint32_t n = 0;

	for (int i = 0; i < TEXTS; i++) {
		uint32_t want = m->users[i] > 0 ? m->ref[i] : NO_ID;

		n += m->users[i] > 0;
		if (strings_find(&s, m->text[i]) != want ||
		    (want != NO_ID &&
		     strcmp(strings_text(&s, want), m->text[i]) != 0))
			ck_abort_msg("seed %llu: %s",
				     (unsigned long long)seed, m->text[i]);
	}
	ck_assert_uint_eq(s.n, n);
}

START_TEST(random_operations)
{
	struct dice d = dice_new(1 + (uint64_t)_i);
	struct model *m = calloc(1, sizeof(*m));
	uint32_t refused = 0;

	ck_assert_ptr_nonnull(m);
	for (uint32_t i = 0; i < TEXTS; i++)
		snprintf(m->text[i], STRING_BYTES, "%u-%0*u", i,
			 1 + (int)roll(&d, 240), 0);
	for (int step = 0; step < 8000; step++) {
		uint32_t i = roll(&d, TEXTS), ref;

		/* It fills up and runs empty by turns. */
		if (roll(&d, 10) < (step / 1000 % 2 == 0 ? 7u : 3u)) {
			ref = strings_take(&s, m->text[i]);
			refused += ref == NO_ID;
			ck_assert(ref != NO_ID || m->users[i] == 0);
			if (ref == NO_ID)
				continue;
			ck_assert(m->users[i] == 0 || m->ref[i] == ref);
			m->ref[i] = ref;
			m->users[i]++;
		} else if (m->users[i] > 0) {
			strings_drop(&s, m->ref[i]);
			m->users[i]--;
		}
		if (step % 16 == 0)
			compare(m, (uint64_t)_i);
	}
	ck_assert_uint_gt(refused, 0);
	for (uint32_t i = 0; i < TEXTS; i++)
		while (m->users[i]-- > 0)
			strings_drop(&s, m->ref[i]);
	ck_assert_uint_eq(s.n, 0);
	ck_assert_uint_eq(s.top, 1);
	free(m);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("strings");
	TCase *c = run_case(suite, "strings");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, equal_texts_are_one_string);
	tcase_add_test(c, a_reference_changes);
	tcase_add_test(c, the_empty_string_is_free);
	tcase_add_loop_test(c, full, 0, sizeof(sizes) / sizeof(sizes[0]));
	tcase_add_test(c, room_is_used_again);
	tcase_add_loop_test(c, what_lies_side_by_side_is_joined, 0, 4);
	tcase_add_loop_test(c, migrations, 0, 4);
	tcase_add_loop_test(c, random_operations, 0, 10);
	return suite_run(suite);
}
