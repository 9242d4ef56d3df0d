/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cap.h"
#include "run.h"

/* The cap against a naive model that looks back over all that happened. */

#define S 1000
static const struct cap_rules rules = {.max_ms = 100 * S, .window_ms = 20 * S};

START_TEST(held_until_the_cap_and_released_for_the_window)
{
	struct cap c = CAP_NONE;

	ck_assert(!cap_step(&c, &rules, false, 0));
	ck_assert(cap_is_none(&c));
	ck_assert(cap_step(&c, &rules, true, 10 * S));
	ck_assert_int_eq(cap_next_ms(&c, &rules, true), 110 * S);
	ck_assert(cap_step(&c, &rules, true, 110 * S - 1));
	ck_assert(!cap_step(&c, &rules, true, 110 * S));
	ck_assert_int_eq(cap_next_ms(&c, &rules, true), 130 * S);
	ck_assert(!cap_step(&c, &rules, true, 130 * S - 1));
	ck_assert(cap_step(&c, &rules, true, 130 * S));
	ck_assert_int_eq(cap_next_ms(&c, &rules, true), 230 * S);
}
END_TEST

START_TEST(a_short_break_does_not_reset)
{
	struct cap c = CAP_NONE;

	ck_assert(cap_step(&c, &rules, true, 0));
	ck_assert(!cap_step(&c, &rules, false, 50 * S));
	ck_assert(cap_step(&c, &rules, true, 70 * S - 1));
	ck_assert(!cap_step(&c, &rules, true, 100 * S));
}
END_TEST

START_TEST(a_long_break_does)
{
	struct cap c = CAP_NONE;

	ck_assert(cap_step(&c, &rules, true, 0));
	ck_assert(!cap_step(&c, &rules, false, 50 * S));
	ck_assert_int_eq(cap_next_ms(&c, &rules, false), 70 * S);
	ck_assert(cap_step(&c, &rules, true, 70 * S));
	ck_assert(cap_step(&c, &rules, true, 170 * S - 1));
	ck_assert(!cap_step(&c, &rules, true, 170 * S));
}
END_TEST

START_TEST(quiet_in_the_window_ends_it_not)
{
	struct cap c = CAP_NONE;

	(void)cap_step(&c, &rules, true, 0);
	ck_assert(!cap_step(&c, &rules, true, 100 * S));
	ck_assert(!cap_step(&c, &rules, false, 101 * S));
	ck_assert(!cap_step(&c, &rules, true, 105 * S));
	ck_assert(cap_step(&c, &rules, true, 120 * S));
	(void)cap_step(&c, &rules, false, 121 * S);
	(void)cap_step(&c, &rules, false, 141 * S);
	ck_assert(cap_is_none(&c));
}
END_TEST

START_TEST(no_cap)
{
	static const struct cap_rules none = {.window_ms = 20 * S};
	struct cap c = CAP_NONE;

	for (int64_t t = 0; t < 100000 * (int64_t)S; t += 1000 * S)
		ck_assert(cap_step(&c, &none, true, t));
	ck_assert_int_eq(cap_next_ms(&c, &none, true), STAMP_NONE);
	ck_assert(cap_is_none(&c));
}
END_TEST

/* A restart that comes late: the window is whole all the same. */
START_TEST(cap_missed)
{
	struct cap c = {.run_ms = 0, .idle_ms = STAMP_NONE,
			.open_ms = STAMP_NONE};

	ck_assert(!cap_step(&c, &rules, true, 5000 * S));
	ck_assert_int_eq(c.open_ms, 5020 * S);
}
END_TEST

START_TEST(clock_set_back)
{
	struct cap c = CAP_NONE;

	(void)cap_step(&c, &rules, true, 5000 * S);
	ck_assert(cap_step(&c, &rules, true, 0));
	ck_assert(!cap_step(&c, &rules, true, 100 * S));
}
END_TEST

/* A leader that was ahead left them: neither a window nor a break is longer
 * for it. */
START_TEST(moments_of_a_clock_ahead)
{
	struct cap c = {.run_ms = 0, .idle_ms = STAMP_NONE,
			.open_ms = 5000 * S};

	ck_assert(!cap_step(&c, &rules, true, 100 * S));
	ck_assert(!cap_step(&c, &rules, true, 120 * S - 1));
	ck_assert(cap_step(&c, &rules, true, 120 * S));
	c = (struct cap){.run_ms = 0, .idle_ms = 5000 * S,
			 .open_ms = STAMP_NONE};
	ck_assert(!cap_step(&c, &rules, false, 100 * S));
	ck_assert_int_eq(cap_next_ms(&c, &rules, false), 120 * S);
	ck_assert(cap_step(&c, &rules, true, 120 * S));
}
END_TEST

/* Looked at whenever something happens, and when it says. */
START_TEST(at_random)
{
	struct dice d = dice_new((uint64_t)_i);
	struct cap c = CAP_NONE;
	int64_t now = 0, run = -1, idle = -1, opened = -1;
	bool busy = false;

	for (int i = 0; i < 5000; i++) {
		int64_t then = now + 1 + (int64_t)roll(&d, 30 * S);
		int64_t next = cap_next_ms(&c, &rules, busy);

		if (next != STAMP_NONE && next < then)
			then = next > now ? next : now + 1;
		else
			busy = roll(&d, 3) > 0;
		now = then;
		/* The same by looking back. */
		if (opened >= 0 && now - opened >= rules.window_ms)
			opened = run = idle = -1;
		if (idle >= 0 && opened < 0 && now - idle >= rules.window_ms)
			run = idle = -1;
		if (busy) {
			run = run < 0 ? now : run;
			idle = -1;
		} else if (run >= 0 && idle < 0) {
			idle = now;
		}
		if (busy && opened < 0 && now - run >= rules.max_ms)
			opened = now;
		ck_assert_msg(cap_step(&c, &rules, busy, now) ==
				      (busy && opened < 0),
			      "step %d at %lld", i, (long long)now);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("cap");
	TCase *c = run_case(s, "cap");

	tcase_add_test(c, held_until_the_cap_and_released_for_the_window);
	tcase_add_test(c, a_short_break_does_not_reset);
	tcase_add_test(c, a_long_break_does);
	tcase_add_test(c, quiet_in_the_window_ends_it_not);
	tcase_add_test(c, no_cap);
	tcase_add_test(c, cap_missed);
	tcase_add_test(c, clock_set_back);
	tcase_add_test(c, moments_of_a_clock_ahead);
	tcase_add_loop_test(c, at_random, 0, 20);
	return run_suite(s);
}
