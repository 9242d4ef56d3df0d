/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>

#include "tools/simulate/story.h"
#include "suite.h"

static struct story s;

static void
setup(void)
{
	story_init(&s);
}

START_TEST(test_steps)
{
	story_count(&s, 5000, 1, 0, 0);
	story_count(&s, 5500, 1, 0, 0);
	story_count(&s, 5900, 0, 0, 1);
	story_count(&s, 8000, 1, 0, 0);
	ck_assert_uint_eq(s.steps_n, 4);
	ck_assert_int_eq(story_machines(&s, 0), 2);
	ck_assert_int_eq(story_machines(&s, 1), 1);
	ck_assert_int_eq(story_machines(&s, 2), 1);
	ck_assert_int_eq(story_machines(&s, 3), 2);
}
END_TEST

/* A machine that was there before the log has been there all the time. */
START_TEST(test_before)
{
	story_count(&s, 0, 1, 0, 0);
	story_count(&s, 2000, 0, 1, 0);
	story_count(&s, 4000, 0, 0, 1);
	ck_assert_int_eq(story_machines(&s, 0), 2);
	ck_assert_int_eq(story_machines(&s, 1), 2);
	ck_assert_int_eq(story_machines(&s, 2), 2);
	ck_assert_int_eq(story_machines(&s, 3), 2);
	story_count(&s, 6000, 0, 0, 0);
	ck_assert_int_eq(story_machines(&s, 5), 1);
}
END_TEST

/* However long the log is, the steps suffice, and none loses its most. */
START_TEST(test_long)
{
	int64_t peak = 770 + _i, peak_ms = peak * 3600000;

	for (int64_t hour = 0; hour < 2000; hour++) {
		story_count(&s, hour * 3600000, hour == peak ? 50 : 1, 0, 0);
		story_count(&s, hour * 3600000 + 1, 0, 0, hour == peak ? 50 : 1);
	}
	ck_assert_uint_le(s.steps_n, SIMULATE_STEPS_MAX);
	ck_assert_uint_gt(s.steps_n, SIMULATE_STEPS_MAX / 2);
	for (uint32_t i = 0; i < s.steps_n; i++) {
		int64_t from = i * s.step_ms;

		ck_assert_int_eq(story_machines(&s, i) == 50,
				 from <= peak_ms && peak_ms < from + s.step_ms);
		ck_assert_int_le(story_machines(&s, i), 50);
	}
}
END_TEST

START_TEST(test_marks)
{
	for (int i = 0; i < SIMULATE_MARKS_MAX + 3; i++)
		story_mark(&s, i, 2, 5);
	ck_assert_uint_eq(s.marks_n, SIMULATE_MARKS_MAX);
	ck_assert_uint_eq(s.marks_beyond, 3);
	ck_assert_int_eq(s.marks[7].at_ms, 7);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("tools/simulate/story");
	TCase *tc = tcase_create("story");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_steps);
	tcase_add_test(tc, test_before);
	tcase_add_loop_test(tc, test_long, 0, 16);
	tcase_add_test(tc, test_marks);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
