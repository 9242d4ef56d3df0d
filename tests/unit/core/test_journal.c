/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "core/controller/journal.h"
#include "suite.h"

/* The two rings of what has happened. */

static struct journal j;

static void
setup(void)
{
	memset(&j, 0, sizeof(j));
}

static void
turns(int from, int n)
{
	for (int i = from; i < from + n; i++)
		journal_turn(&j, i, TURN_HELD, TURN_BY_SCALE_UP, "p");
}

/* Reads what is left and returns how many that are; *first and *last are the
 * times of the first and the last of them. */
static int
read_all(uint64_t *before, int64_t *first, int64_t *last)
{
	struct turn t;
	int n = 0;

	*first = *last = -1;
	while (journal_turn_at(&j, before, &t)) {
		if (n++ == 0)
			*first = t.at_ms;
		else
			ck_assert_int_eq(t.at_ms, *last - 1);
		*last = t.at_ms;
	}
	return n;
}

START_TEST(test_newest_first)
{
	uint64_t before = UINT64_MAX;
	int64_t first, last;

	ck_assert_int_eq(read_all(&before, &first, &last), 0);
	before = UINT64_MAX;
	turns(0, 3);
	ck_assert_int_eq(read_all(&before, &first, &last), 3);
	ck_assert_int_eq(first, 2);
	ck_assert_int_eq(last, 0);
}
END_TEST

/* The latest are kept, all of them and no more, however many there were. */
START_TEST(test_bounded)
{
	for (int n = JOURNAL_TURNS - 1; n < 3 * JOURNAL_TURNS; n += 517) {
		uint64_t before = UINT64_MAX;
		int64_t first, last;
		int kept = n < JOURNAL_TURNS ? n : JOURNAL_TURNS;

		setup();
		turns(0, n);
		ck_assert_int_eq(read_all(&before, &first, &last), kept);
		ck_assert_int_eq(first, n - 1);
		ck_assert_int_eq(last, n - kept);
	}
}
END_TEST

/* What is added while somebody reads comes not twice, and does not shift what
 * is still to be read. */
START_TEST(test_added_meanwhile)
{
	uint64_t before = UINT64_MAX;
	int64_t first, last;
	struct turn t;

	turns(0, JOURNAL_TURNS);
	ck_assert(journal_turn_at(&j, &before, &t));
	ck_assert_int_eq(t.at_ms, JOURNAL_TURNS - 1);
	turns(JOURNAL_TURNS, 10);
	ck_assert_int_eq(read_all(&before, &first, &last),
			 JOURNAL_TURNS - 1 - 10);
	ck_assert_int_eq(first, JOURNAL_TURNS - 2);
	ck_assert_int_eq(last, 10);
	/* All that was to be read has been overwritten. */
	before = 5;
	ck_assert(!journal_turn_at(&j, &before, &t));
}
END_TEST

START_TEST(test_writes)
{
	struct written w;
	char uid[UID_BYTES];

	ck_assert(!journal_written(&j, "u", &w));
	journal_write(&j, 1, "u", ACT_HOLD, WRITTEN_FAILED);
	journal_write(&j, 2, "v", ACT_CLASSIFY, WRITTEN_GONE);
	journal_write(&j, 3, "u", ACT_HOLD, WRITTEN_OK);
	ck_assert(journal_written(&j, "u", &w));
	ck_assert_int_eq(w.at_ms, 3);
	ck_assert(w.act == ACT_HOLD && w.how == WRITTEN_OK);
	ck_assert(journal_written(&j, "v", &w));
	ck_assert(w.act == ACT_CLASSIFY && w.how == WRITTEN_GONE);
	ck_assert(!journal_written(&j, "w", &w));
	/* The oldest go first. */
	for (int i = 0; i < JOURNAL_WRITES - 2; i++) {
		snprintf(uid, sizeof(uid), "uid-%d", i);
		journal_write(&j, 4 + i, uid, ACT_CLEAR, WRITTEN_OK);
	}
	ck_assert(journal_written(&j, "v", &w));
	journal_write(&j, 9999, "x", ACT_CLEAR, WRITTEN_OK);
	ck_assert(!journal_written(&j, "v", &w));
	ck_assert(journal_written(&j, "u", &w));
	journal_write(&j, 9999, "y", ACT_CLEAR, WRITTEN_OK);
	ck_assert(!journal_written(&j, "u", &w));
	ck_assert(journal_written(&j, "uid-5", &w));
	ck_assert_int_eq(w.at_ms, 9);
}
END_TEST

START_TEST(test_shifted)
{
	uint64_t before = UINT64_MAX;
	struct written w;
	struct turn t;

	turns(100, 1);
	journal_write(&j, 200, "u", ACT_HOLD, WRITTEN_OK);
	journal_shift(&j, -50);
	ck_assert(journal_turn_at(&j, &before, &t));
	ck_assert_int_eq(t.at_ms, 50);
	ck_assert(journal_written(&j, "u", &w));
	ck_assert_int_eq(w.at_ms, 150);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("core/journal");
	TCase *tc = tcase_create("journal");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_newest_first);
	tcase_add_test(tc, test_bounded);
	tcase_add_test(tc, test_added_meanwhile);
	tcase_add_test(tc, test_writes);
	tcase_add_test(tc, test_shifted);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
