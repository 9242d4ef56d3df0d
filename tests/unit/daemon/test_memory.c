/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>

#include "core/base/limits.h"
#include "daemon/memory.h"
#include "suite.h"

#define MIB ((int64_t)1 << 20)

/* What the documents promise (docs/operations.md#memory). */
START_TEST(test_promises)
{
	struct memory m = memory_divide(128 * MIB, 64, MACHINES_MAX);

	ck_assert_uint_ge(m.machines_max, 131000);
	/* The least part of the sum is worth 1,400 machines. */
	ck_assert_uint_lt(m.machines_max, 132000);
	ck_assert_uint_ge(m.connections_max, SERVER_CONNECTIONS_LEAST);
	m = memory_divide(256 * MIB, 100, MACHINES_MAX);
	ck_assert_uint_eq(m.machines_max, 262144);
	ck_assert_uint_ge(m.connections_max, 490);
	m = memory_divide(MEMORY_MIN, 100, MACHINES_MAX);
	ck_assert_uint_ge(m.machines_max, 5000);
	ck_assert_uint_ge(m.connections_max, SERVER_CONNECTIONS_LEAST);
}
END_TEST

/* More memory never means less of anything, and there are ends. */
START_TEST(test_grows)
{
	struct memory before = memory_divide(MEMORY_MIN, 64, 0);

	for (int64_t limit = MEMORY_MIN; limit < 512 * MIB; limit += MIB / 2) {
		struct memory m = memory_divide(limit, 64, 0);

		ck_assert_uint_ge(m.machines_max, before.machines_max);
		if (m.machines_max == MACHINES_MAX)
			ck_assert_uint_ge(m.connections_max + 1,
					  before.connections_max);
		ck_assert_uint_ge(m.connections_max, SERVER_CONNECTIONS_LEAST);
		before = m;
	}
	before = memory_divide(INT64_MAX, 1, 0);
	ck_assert_uint_eq(before.machines_max, MACHINES_MAX);
	ck_assert_uint_eq(before.connections_max, SERVER_CONNECTIONS_MAX);
}
END_TEST

/* What the table takes, the webhook does not have, and it keeps its least. */
START_TEST(test_shared)
{
	struct memory full = memory_divide(128 * MIB, 64, MACHINES_MAX);
	struct memory before = memory_divide(128 * MIB, 64, 0);

	ck_assert_uint_eq(before.bodies_max, SERVER_BYTES_MAX);
	ck_assert_uint_ge(before.connections_max, 400);
	for (uint32_t n = 0; n < MACHINES_MAX; n += 500) {
		struct memory m = memory_divide(128 * MIB, 64, n);
		int64_t more = (int64_t)(m.connections_max -
					 full.connections_max) * (100 << 10) +
			       (int64_t)(m.bodies_max - full.bodies_max);

		ck_assert_uint_eq(m.machines_max, full.machines_max);
		ck_assert_uint_le(m.connections_max, before.connections_max);
		ck_assert_uint_le(m.bodies_max, before.bodies_max);
		ck_assert_uint_ge(m.connections_max, SERVER_CONNECTIONS_LEAST);
		ck_assert_uint_ge(m.bodies_max, SERVER_BYTES_LEAST);
		/* An object takes 244 bytes, and a pending write 72. */
		if (n < full.machines_max)
			ck_assert_int_le(more, ((int64_t)full.machines_max -
						n) * 560 + (100 << 10));
		before = m;
	}
	ck_assert_uint_lt(full.bodies_max, SERVER_BYTES_LEAST + 560);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("daemon/memory");
	TCase *tc = tcase_create("memory");

	tcase_add_test(tc, test_promises);
	tcase_add_test(tc, test_grows);
	tcase_add_test(tc, test_shared);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
