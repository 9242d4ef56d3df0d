/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <string.h>

#include "daemon/recent.h"
#include "suite.h"

/* The admission reviews of the last minute. */

#define START 1000000

static struct counters c;
static struct recent r;

static void
setup(void)
{
	memset(&c, 0, sizeof(c));
	recent_init(&r, START);
}

static struct status_admissions
read_at(int64_t boot_ms)
{
	struct status_admissions a;

	recent_read(&r, &c, boot_ms, &a);
	return a;
}

START_TEST(test_since_the_start)
{
	struct status_admissions a;

	counter_add(&c, COUNTER_NODE_HELD);
	counter_add(&c, COUNTER_CLAIM_HELD);
	counter_add(&c, COUNTER_NODE_WOULD);
	counter_add(&c, COUNTER_CLAIM_WOULD);
	counter_add(&c, COUNTER_NODE_UNCHANGED);
	counter_add(&c, COUNTER_CLAIM_UNCHANGED);
	counter_add(&c, COUNTER_OTHER_UNCHANGED);
	counter_add(&c, COUNTER_REFUSED);
	counter_add(&c, COUNTER_FAILED);
	counter_add(&c, COUNTER_SHED);
	a = read_at(START + 7000);
	ck_assert_uint_eq(a.seconds, 7);
	ck_assert_uint_eq(a.held, 2);
	ck_assert_uint_eq(a.would_hold, 2);
	ck_assert_uint_eq(a.unchanged, 3);
	ck_assert_uint_eq(a.refused, 1);
	ck_assert_uint_eq(a.failed, 1);
	ck_assert_uint_eq(a.shed, 1);
}
END_TEST

/* A review a second, for ten minutes, and then none: the figures are those of a
 * minute, whenever they are asked for. */
START_TEST(test_a_minute)
{
	struct status_admissions a;
	int64_t ms = START;

	for (int s = 0; s < 600; s++, ms += 1000) {
		recent_look(&r, &c, ms);
		counter_add(&c, COUNTER_NODE_HELD);
		a = read_at(ms);
		ck_assert_uint_eq(a.held, a.seconds + 1);
		if (s < 60) {
			ck_assert_uint_eq(a.seconds, s);
			continue;
		}
		ck_assert_uint_ge(a.seconds, 60);
		ck_assert_uint_le(a.seconds, 60 + RECENT_MS / 1000);
	}
	for (int s = 0; s < 80; s++, ms += 1000)
		recent_look(&r, &c, ms);
	ck_assert_uint_eq(read_at(ms).held, 0);
	/* Main was stuck for an hour. */
	ck_assert_uint_eq(read_at(ms + 3600000).held, 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("daemon/recent");
	TCase *tc = tcase_create("recent");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_since_the_start);
	tcase_add_test(tc, test_a_minute);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
