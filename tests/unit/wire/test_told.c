/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/limits.h"
#include "suite.h"
#include "wire/karpenter/told.h"

/* Which claims the table of a record knows, and what that costs. */

static bool
says(struct told *t, unsigned claim, enum fact_kind kind, int64_t at_ms)
{
	char name[32];
	struct fact f;

	(void)snprintf(name, sizeof(name), "pool-%06u", claim);
	fact_init(&f, kind, at_ms);
	f.claim = name;
	return told_news(t, &f);
}

static uint32_t
find(const struct told *t, unsigned claim)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "pool-%06u", claim);
	return told_find(t, name);
}

static void
forget(struct told *t, unsigned claim)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "pool-%06u", claim);
	told_forget(t, name);
}

START_TEST(test_full)
{
	struct told t;

	ck_assert_int_eq(told_init(&t, 3), 0);
	told_begin(&t);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert(!told_full(&t));
		ck_assert(says(&t, i, FACT_CREATED, 1));
	}
	ck_assert(told_full(&t));
	ck_assert(!says(&t, 3, FACT_CREATED, 1));
	ck_assert_uint_eq(find(&t, 3), NO_ID);
	ck_assert(says(&t, 1, FACT_READY, 2));	/* of one that it knows */
	forget(&t, 1);
	ck_assert(!told_full(&t));
	ck_assert(says(&t, 3, FACT_CREATED, 1));
	ck_assert(told_full(&t));
	told_done(&t);
}
END_TEST

#define PLACES 50
#define NAMES 80

/* Against a naive model: claims come, go and are forgotten. */
START_TEST(test_random)
{
	bool known[NAMES] = {false};
	unsigned n = 0, claim, seed = 1;
	struct told t;

	ck_assert_int_eq(told_init(&t, PLACES), 0);
	told_begin(&t);
	for (unsigned step = 0; step < 100000; step++) {
		seed = seed * 1103515245u + 12345u;
		claim = (seed >> 16) % NAMES;
		if ((seed >> 8) % 5 == 0) {
			forget(&t, claim);
			n -= known[claim];
			known[claim] = false;
		} else {
			bool news = !known[claim] && n < PLACES;

			ck_assert(says(&t, claim, FACT_CREATED, 1) == news);
			n += news;
			known[claim] |= news;
		}
		ck_assert((find(&t, claim) != NO_ID) == known[claim]);
		ck_assert(told_full(&t) == (n == PLACES));
		ck_assert_uint_le(t.top, PLACES);
	}
	told_done(&t);
}
END_TEST

static double
took(unsigned claims)
{
	double least = 1e9, s;
	struct timespec a, b;
	struct told t;

	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(told_init(&t, SIMULATE_MACHINES_MAX), 0);
		told_begin(&t);
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
		for (unsigned n = 0; n < claims; n++)
			ck_assert(says(&t, n, FACT_CREATED, 1));
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
		told_done(&t);
		s = (double)(b.tv_sec - a.tv_sec) +
		    (double)(b.tv_nsec - a.tv_nsec) / 1e9;
		least = s < least ? s : least;
	}
	return least;
}

/* Sixteen times the claims take some sixteen times as long, and not 256. */
START_TEST(test_linear)
{
	double small = took(4096), large = took(SIMULATE_MACHINES_MAX);

	ck_assert_msg(large < 64 * small, "%f s and %f s", small, large);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/told");
	TCase *tc = tcase_create("told");

	tcase_add_test(tc, test_full);
	tcase_add_test(tc, test_random);
	tcase_add_test(tc, test_linear);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
