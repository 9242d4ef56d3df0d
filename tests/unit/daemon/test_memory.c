/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>

#include "core/base/limits.h"
#include "core/table/tickets.h"
#include "daemon/memory.h"
#include "suite.h"

#define MIB ((int64_t)1 << 20)

/* What the documents promise (docs/operations.md#memory). */
START_TEST(test_promises)
{
	struct memory m = memory_divide(128 * MIB, 64, false, MACHINES_MAX);

	ck_assert_uint_ge(m.machines_max, 131000);
	/* The least part of the sum is worth 1,400 machines. */
	ck_assert_uint_lt(m.machines_max, 132000);
	ck_assert_uint_ge(m.connections_max, SERVER_CONNECTIONS_LEAST);
	m = memory_divide(256 * MIB, 100, false, MACHINES_MAX);
	ck_assert_uint_eq(m.machines_max, 262144);
	ck_assert_uint_ge(m.connections_max, 490);
	m = memory_divide(MEMORY_MIN, 100, false, MACHINES_MAX);
	ck_assert_uint_ge(m.machines_max, 5000);
	ck_assert_uint_ge(m.connections_max, SERVER_CONNECTIONS_LEAST);
}
END_TEST

/* More memory never means less of anything, and there are ends. */
START_TEST(test_grows)
{
	struct memory before = memory_divide(MEMORY_MIN, 64, false, 0);

	for (int64_t limit = MEMORY_MIN; limit < 512 * MIB; limit += MIB / 2) {
		struct memory m = memory_divide(limit, 64, false, 0);

		ck_assert_uint_ge(m.machines_max, before.machines_max);
		if (m.machines_max == MACHINES_MAX)
			ck_assert_uint_ge(m.connections_max + 1,
					  before.connections_max);
		ck_assert_uint_ge(m.connections_max, SERVER_CONNECTIONS_LEAST);
		before = m;
	}
	before = memory_divide(INT64_MAX, 1, false, 0);
	ck_assert_uint_eq(before.machines_max, MACHINES_MAX);
	ck_assert_uint_eq(before.connections_max, SERVER_CONNECTIONS_MAX);
}
END_TEST

/* What the table takes, the webhook does not have, and it keeps its least. */
START_TEST(test_shared)
{
	struct memory full = memory_divide(128 * MIB, 64, false, MACHINES_MAX);
	struct memory before = memory_divide(128 * MIB, 64, false, 0);

	ck_assert_uint_eq(before.bodies_max, SERVER_BYTES_MAX);
	ck_assert_uint_ge(before.connections_max, 400);
	for (uint32_t n = 0; n < MACHINES_MAX; n += 500) {
		struct memory m = memory_divide(128 * MIB, 64, false, n);
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

/* --- with tickets --------------------------------------------------------- */

/* Bytes of a machine in memory.c. */
#define MACHINE (2 * 244 + 8 + 72)

/* What tickets need, machines do not have: the table, an item of the fifth
 * stream, and its tree. */
START_TEST(test_tickets)
{
	int64_t need = TICKETS_MAX * (int64_t)sizeof(struct ticket_entry) +
		       ITEM_BYTES_MAX + 2 * (int64_t)JSON_SMALL_BYTES_MAX;
	struct memory without = memory_divide(128 * MIB, 64, false, 0);
	struct memory with = memory_divide(128 * MIB, 64, true, 0);
	int64_t less = (int64_t)without.machines_max - with.machines_max;
	int64_t left = (int64_t)without.connections_max - with.connections_max;

	ck_assert_int_ge(less * MACHINE, need);
	ck_assert_int_le(less * MACHINE, need * 21 / 20);
	ck_assert_uint_ge(with.machines_max, 122600);
	ck_assert_int_ge(left * (100 << 10), need - (200 << 10));
	ck_assert_uint_eq(with.bodies_max, without.bodies_max);
	/* With all the memory in the world there is room for both. */
	without = memory_divide(INT64_MAX, 64, false, 0);
	with = memory_divide(INT64_MAX, 64, true, 0);
	ck_assert_mem_eq(&with, &without, sizeof(with));
}
END_TEST

static bool
is_about(unsigned have, unsigned told)
{
	return have * 100ull >= told * 99ull && have * 100ull <= told * 101ull;
}

/* The figures of docs/operations.md#memory, which are rounded. */
START_TEST(test_figures)
{
	static const struct {
		int64_t mib;
		bool tickets;
		unsigned machines, connections, full;
	} rows[] = {
		{64, false, 12800, 128, 128},
		{128, false, 131000, 490, 128},
		{192, false, 249000, 1140, 128},
		{256, false, 262144, 1800, 530},
		{72, true, 19300, 128, 128},
		{128, true, 123000, 443, 128},
		{192, true, 241000, 1100, 128},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t limit = rows[i].mib * MIB;
		bool tickets = rows[i].tickets;
		struct memory m = memory_divide(limit, 64, tickets, 0);
		struct memory full =
			memory_divide(limit, 64, tickets, MACHINES_MAX);

		ck_assert(is_about(m.machines_max, rows[i].machines));
		ck_assert(is_about(m.connections_max, rows[i].connections));
		ck_assert(is_about(full.connections_max, rows[i].full));
	}
}
END_TEST

/* A limit that is too small counts as the least, so the bounds are never
 * negative. */
START_TEST(test_least_with_tickets)
{
	struct memory least =
		memory_divide(MEMORY_TICKETS_MIN, 100, true, MACHINES_MAX);

	ck_assert_uint_ge(least.machines_max, 13000);
	ck_assert_uint_lt(least.machines_max, 14000);
	ck_assert_uint_ge(least.connections_max, SERVER_CONNECTIONS_LEAST);
	ck_assert_uint_ge(least.bodies_max, SERVER_BYTES_LEAST);
	for (int64_t limit = 0; limit < MEMORY_TICKETS_MIN; limit += MIB) {
		struct memory m =
			memory_divide(limit, 100, true, MACHINES_MAX);

		ck_assert_mem_eq(&m, &least, sizeof(m));
	}
	least = memory_divide(MEMORY_MIN, 100, false, 0);
	for (int64_t limit = 0; limit < MEMORY_MIN; limit += MIB) {
		struct memory m = memory_divide(limit, 100, false, 0);

		ck_assert_mem_eq(&m, &least, sizeof(m));
	}
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
	tcase_add_test(tc, test_tickets);
	tcase_add_test(tc, test_figures);
	tcase_add_test(tc, test_least_with_tickets);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
