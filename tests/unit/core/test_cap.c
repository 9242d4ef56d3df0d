/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/base/duration.h"
#include "core/rules/cap.h"
#include "run.h"

/*
 * The leaky bucket: values worked out by hand, and a naive model that lets
 * each millisecond pass on its own.
 */

#define S 1000
static const struct cap_rules rules = {.max_ms = 100 * S, .window_ms = 20 * S};

/* Time is usable, nothing is known of before: the everyday case. */
static bool
step(struct cap *c, bool busy, int64_t boot_ms)
{
	return cap_step(c, &rules, busy, false, true, boot_ms);
}

static int64_t
debt(const struct cap *c, int64_t boot_ms)
{
	return cap_debt_ms(c, &rules, boot_ms);
}

START_TEST(held_until_the_cap_and_released_for_the_window)
{
	struct cap c = {0};

	ck_assert(!step(&c, false, 0));
	ck_assert(cap_is_none(&c, &rules, 0));
	ck_assert_int_eq(cap_next_ms(&c, &rules), STAMP_NONE);
	ck_assert(step(&c, true, 10 * S));
	ck_assert_int_eq(cap_next_ms(&c, &rules), 110 * S);
	ck_assert(step(&c, true, 110 * S - 1));
	ck_assert_int_eq(debt(&c, 110 * S - 1), 100 * S - 1);
	ck_assert(!step(&c, true, 110 * S));
	ck_assert_int_eq(cap_window_ms(&c, 110 * S), 20 * S);
	ck_assert_int_eq(debt(&c, 129 * S), 100 * S);
	ck_assert_int_eq(cap_next_ms(&c, &rules), 130 * S);
	ck_assert(!step(&c, true, 130 * S - 1));
	ck_assert(step(&c, true, 130 * S));
	ck_assert_int_eq(debt(&c, 130 * S), 0);
	ck_assert_int_eq(cap_next_ms(&c, &rules), 230 * S);
}
END_TEST

/* 10 s of quiet pay 50 s of debt: breaks count for what they are. */
START_TEST(a_break_pays_for_what_it_is)
{
	struct cap c = {0};

	ck_assert(step(&c, true, 0));
	ck_assert(!step(&c, false, 80 * S));
	ck_assert_int_eq(debt(&c, 80 * S), 80 * S);
	ck_assert_int_eq(debt(&c, 83 * S), 65 * S);
	ck_assert_int_eq(debt(&c, 90 * S), 30 * S);
	ck_assert_int_eq(cap_next_ms(&c, &rules), 96 * S + 1);
	ck_assert(step(&c, true, 90 * S));
	ck_assert_int_eq(cap_next_ms(&c, &rules), 160 * S);
	ck_assert(step(&c, true, 160 * S - 1));
	ck_assert(!step(&c, true, 160 * S));
}
END_TEST

START_TEST(a_long_break_pays_all)
{
	struct cap c = {0};

	ck_assert(step(&c, true, 0));
	ck_assert(!step(&c, false, 50 * S));
	ck_assert(!cap_is_none(&c, &rules, 60 * S - 1));
	ck_assert(cap_is_none(&c, &rules, 60 * S));
	ck_assert(!step(&c, false, cap_next_ms(&c, &rules)));
	ck_assert_int_eq(cap_next_ms(&c, &rules), STAMP_NONE);
	ck_assert(step(&c, true, 70 * S));
	ck_assert(step(&c, true, 170 * S - 1));
	ck_assert(!step(&c, true, 170 * S));
}
END_TEST

/* Held for 12 s and quiet for 3, by turns: 3 s pay 15, it never fills. */
START_TEST(no_more_than_it_pays)
{
	struct cap c = {0};
	int64_t t = 0;

	for (int i = 0; i < 1000; i++, t += 15 * S) {
		ck_assert(step(&c, true, t));
		ck_assert_int_eq(debt(&c, t + 12 * S), 12 * S);
		ck_assert(!step(&c, false, t + 12 * S));
		ck_assert_int_eq(debt(&c, t + 15 * S), 0);
	}
	/* With a second less of quiet it fills by 2 s a turn: 44 turns are
	 * 88 s, and 12 more the cap. */
	for (int i = 0; i < 44; i++, t += 14 * S) {
		ck_assert(step(&c, true, t));
		ck_assert(!step(&c, false, t + 12 * S));
	}
	ck_assert_int_eq(debt(&c, t), 88 * S);
	ck_assert(step(&c, true, t));
	ck_assert(step(&c, true, t + 12 * S - 1));
	ck_assert(!step(&c, true, t + 12 * S));
}
END_TEST

START_TEST(quiet_in_the_window_ends_it_not)
{
	struct cap c = {0};

	(void)step(&c, true, 0);
	ck_assert(!step(&c, true, 100 * S));
	ck_assert(!step(&c, false, 101 * S));
	ck_assert_int_eq(debt(&c, 110 * S), 100 * S);
	ck_assert(!step(&c, true, 105 * S));
	ck_assert(step(&c, true, 120 * S));
	(void)step(&c, false, 121 * S);
	(void)step(&c, false, 141 * S);
	ck_assert(cap_is_none(&c, &rules, 141 * S));
}
END_TEST

START_TEST(no_cap)
{
	static const struct cap_rules none = {.window_ms = 20 * S};
	struct cap c = {0};

	for (int64_t t = 0; t < 100000 * (int64_t)S; t += 1000 * S)
		ck_assert(cap_step(&c, &none, true, false, true, t));
	ck_assert_int_eq(cap_next_ms(&c, &none), STAMP_NONE);
	ck_assert(cap_is_none(&c, &none, 100000 * (int64_t)S));
}
END_TEST

/* A full debt is forgiven at once, and counted anew. */
START_TEST(no_window)
{
	static const struct cap_rules none = {.max_ms = 100 * S};
	struct cap c = {0};

	ck_assert(cap_step(&c, &none, true, false, true, 0));
	ck_assert_int_eq(cap_next_ms(&c, &none), 100 * S);
	ck_assert(cap_step(&c, &none, true, false, true, 100 * S));
	ck_assert_int_eq(cap_debt_ms(&c, &none, 100 * S), 0);
	ck_assert_int_eq(cap_next_ms(&c, &none), 200 * S);
	(void)cap_step(&c, &none, false, false, true, 150 * S);
	ck_assert(cap_is_none(&c, &none, 150 * S));
}
END_TEST

/* Nothing can be released: quiet pays nothing, and no window runs. */
START_TEST(time_that_is_not_usable)
{
	struct cap c = {0};

	(void)cap_step(&c, &rules, true, false, false, 0);
	ck_assert_int_eq(debt(&c, 40 * S), 40 * S);	/* held all the same */
	(void)cap_step(&c, &rules, false, false, false, 40 * S);
	ck_assert_int_eq(debt(&c, 4000 * S), 40 * S);
	ck_assert_int_eq(cap_next_ms(&c, &rules), STAMP_NONE);
	ck_assert(!cap_step(&c, &rules, false, false, true, 4000 * S));
	ck_assert_int_eq(debt(&c, 4002 * S), 30 * S);
	ck_assert(cap_step(&c, &rules, true, false, true, 4002 * S));
	ck_assert(!cap_step(&c, &rules, true, false, true, 4072 * S));
	/* 5 s of the window, then nothing for an hour, then 15 s. */
	ck_assert(!cap_step(&c, &rules, true, false, false, 4077 * S));
	ck_assert_int_eq(cap_next_ms(&c, &rules), STAMP_NONE);
	ck_assert_int_eq(cap_window_ms(&c, 8000 * S), 15 * S);
	ck_assert(!cap_step(&c, &rules, true, false, true, 8000 * S));
	ck_assert_int_eq(cap_next_ms(&c, &rules), 8015 * S);
	ck_assert(!cap_step(&c, &rules, true, false, true, 8015 * S - 1));
	ck_assert(cap_step(&c, &rules, true, false, true, 8015 * S));
}
END_TEST

/* A window that opens where nothing can be released waits as well. */
START_TEST(opened_in_time_that_is_not_usable)
{
	struct cap c = {0};

	(void)cap_step(&c, &rules, true, false, false, 0);
	ck_assert(!cap_step(&c, &rules, true, false, false, 100 * S));
	ck_assert(!cap_step(&c, &rules, true, false, false, 900 * S));
	ck_assert_int_eq(cap_window_ms(&c, 900 * S), 20 * S);
	ck_assert(!cap_step(&c, &rules, true, false, true, 900 * S));
	ck_assert(cap_step(&c, &rules, true, false, true, 920 * S));
}
END_TEST

/* The leader before us held it: the debt grows though nothing is busy yet. */
START_TEST(held_by_the_leader_before_us)
{
	struct cap c = {.debt_ms = 30 * S};

	ck_assert(!cap_step(&c, &rules, false, true, false, 0));
	ck_assert_int_eq(debt(&c, 20 * S), 50 * S);
	ck_assert(cap_step(&c, &rules, true, true, false, 20 * S));
	ck_assert_int_eq(debt(&c, 30 * S), 60 * S);
	/* All is seen, and it is quiet: from now on it is paid. */
	ck_assert(!cap_step(&c, &rules, false, false, true, 30 * S));
	ck_assert_int_eq(debt(&c, 34 * S), 40 * S);
}
END_TEST

/* … but not while a window of the leader before us is open. */
START_TEST(a_window_of_the_leader_before_us)
{
	struct cap c = {.debt_ms = 100 * S, .window_ms = 12 * S};

	ck_assert(!cap_step(&c, &rules, true, true, false, 0));
	ck_assert(!c.grows);
	ck_assert(!cap_step(&c, &rules, true, true, true, 50 * S));
	ck_assert(!cap_step(&c, &rules, true, false, true, 62 * S - 1));
	ck_assert(cap_step(&c, &rules, true, false, true, 62 * S));
	ck_assert_int_eq(debt(&c, 62 * S), 0);
}
END_TEST

/* What is held is ended by the new cap; what is quiet owes no more than it. */
START_TEST(a_lowered_cap)
{
	static const struct cap_rules low = {30 * S, 20 * S};
	struct cap c = {0};

	(void)step(&c, true, 0);
	cap_settle(&c, &rules, 80 * S);
	ck_assert(!cap_step(&c, &low, true, false, true, 80 * S));
	ck_assert_int_eq(cap_window_ms(&c, 80 * S), 20 * S);
	c = (struct cap){0};
	(void)step(&c, true, 0);
	(void)step(&c, false, 80 * S);
	cap_settle(&c, &rules, 80 * S);
	ck_assert(!cap_step(&c, &low, false, false, true, 80 * S));
	ck_assert_int_eq(cap_debt_ms(&c, &low, 80 * S), 30 * S);
	ck_assert_int_eq(cap_debt_ms(&c, &low, 82 * S), 27 * S);
}
END_TEST

START_TEST(ten_years)
{
	static const struct cap_rules long_ones = {DURATION_MS_MAX,
						   DURATION_MS_MAX};
	struct cap c = {0};

	(void)cap_step(&c, &long_ones, true, false, true, 0);
	(void)cap_step(&c, &long_ones, false, false, true,
		       DURATION_MS_MAX - 1);
	ck_assert_int_eq(cap_debt_ms(&c, &long_ones,
				     DURATION_MS_MAX + DURATION_MS_MAX / 2),
			 DURATION_MS_MAX / 2 - 2);
}
END_TEST

/* --- the naive model ------------------------------------------------------ */

struct model {
	struct cap_rules r;
	int64_t debt;		/* in parts: r.window_ms to the millisecond */
	int64_t window;
	bool busy, was_held, usable, held;
};

/* What holds at this very millisecond, before it passes. */
static void
model_look(struct model *m)
{
	int64_t full = m->r.max_ms * m->r.window_ms;

	if (m->r.max_ms > 0 && m->busy && m->window == 0 && m->debt >= full) {
		m->window = m->r.window_ms;
		m->debt = full;
	}
	m->held = m->busy && m->window == 0;
}

static void
model_pass(struct model *m)
{
	if (m->r.max_ms == 0)
		return;
	if (m->window > 0) {
		m->window -= m->usable;
		if (m->window == 0)
			m->debt = 0;
	} else if (m->held || m->was_held) {
		m->debt += m->r.window_ms;
		if (m->debt > m->r.max_ms * m->r.window_ms)
			m->debt = m->r.max_ms * m->r.window_ms;
	} else if (m->usable) {
		m->debt -= m->r.max_ms;
		if (m->debt < 0)
			m->debt = 0;
	}
}

static void
random_input(struct model *m, struct dice *d)
{
	switch (roll(d, 8)) {
	case 0:
		m->usable = !m->usable;
		break;
	case 1:
		m->was_held = m->window == 0 && !m->was_held &&
			      roll(d, 4) == 0;
		break;
	default:
		m->busy = roll(d, 5) > 0;
	}
}

/* Asked at random, and when it says; what it said stands until then.  Where
 * max/window is whole nothing is rounded: the model is met exactly. */
static void
walk(const struct cap_rules *r, int64_t slack_ms, uint64_t seed)
{
	struct dice d = dice_new(seed);
	struct model m = {.r = *r, .usable = true};
	struct cap c = {0};
	int64_t ask = 0, windows = 0;
	bool held = false;

	for (int64_t now = 0; now < 2000 * S; now++) {
		if (now == ask || cap_next_ms(&c, r) == now) {
			bool opened = c.window_ms > 0;

			if (now == ask) {
				random_input(&m, &d);
				ask = now + 1 + roll(&d, 20 * S);
			}
			held = cap_step(&c, r, m.busy, m.was_held, m.usable,
					now);
			opened = !opened && c.window_ms > 0;
			windows += opened;
			/* What is rounded may open it a little early. */
			if (opened && slack_ms > 0 &&
			    m.debt / r->window_ms >= r->max_ms - slack_ms)
				m.debt = r->max_ms * r->window_ms;
		}
		model_look(&m);
		/* Check writes a file at each assertion: not two million. */
		if (held != m.held || cap_window_ms(&c, now) != m.window ||
		    llabs(cap_debt_ms(&c, r, now) * r->window_ms - m.debt) >
			    slack_ms * r->window_ms)
			ck_abort_msg("seed %llu at %lld: held %d %d, window "
				     "%lld %lld, debt %lld %lld",
				     (unsigned long long)seed, (long long)now,
				     held, m.held,
				     (long long)cap_window_ms(&c, now),
				     (long long)m.window,
				     (long long)cap_debt_ms(&c, r, now),
				     (long long)(m.debt / r->window_ms));
		model_pass(&m);
	}
	ck_assert_int_ge(windows, 1);
}

START_TEST(exact)
{
	walk(&rules, 0, (uint64_t)_i);
}
END_TEST

START_TEST(rounded)
{
	static const struct cap_rules odd[] = {{70 * S, 30 * S},
					       {50 * S + 1, 77 * S},
					       {99 * S, 7 * S + 3}};

	walk(&odd[_i % 3], 200, 100 + (uint64_t)_i);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("cap");
	TCase *c = run_case(s, "cap"), *m = run_case(s, "model");

	tcase_add_test(c, held_until_the_cap_and_released_for_the_window);
	tcase_add_test(c, a_break_pays_for_what_it_is);
	tcase_add_test(c, a_long_break_pays_all);
	tcase_add_test(c, no_more_than_it_pays);
	tcase_add_test(c, quiet_in_the_window_ends_it_not);
	tcase_add_test(c, no_cap);
	tcase_add_test(c, no_window);
	tcase_add_test(c, time_that_is_not_usable);
	tcase_add_test(c, opened_in_time_that_is_not_usable);
	tcase_add_test(c, held_by_the_leader_before_us);
	tcase_add_test(c, a_window_of_the_leader_before_us);
	tcase_add_test(c, a_lowered_cap);
	tcase_add_test(c, ten_years);
	tcase_add_loop_test(m, exact, 0, 10);
	tcase_add_loop_test(m, rounded, 0, 9);
	return suite_run(s);
}
