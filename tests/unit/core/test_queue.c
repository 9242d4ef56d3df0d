/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/queue.h"
#include "run.h"

#define IDS 32

START_TEST(first_in_first_out)
{
	struct queue q;

	ck_assert_int_eq(queue_init(&q, IDS), 0);
	ck_assert(queue_is_empty(&q) && queue_take(&q) == NO_ID);
	queue_put(&q, 7);
	queue_put(&q, 3);
	queue_put(&q, 7); /* it keeps its place */
	queue_put(&q, 0);
	ck_assert_uint_eq(queue_take(&q), 7);
	queue_put(&q, 7);
	ck_assert_uint_eq(queue_take(&q), 3);
	ck_assert_uint_eq(queue_take(&q), 0);
	ck_assert_uint_eq(queue_take(&q), 7);
	ck_assert(queue_is_empty(&q) && queue_take(&q) == NO_ID);
	queue_done(&q);
	queue_done(&q);
}
END_TEST

/* Against an array. */
START_TEST(random_operations)
{
	struct dice dice = dice_new((uint64_t)_i + 1);
	uint32_t model[IDS], n = 0;
	struct queue q;

	ck_assert_int_eq(queue_init(&q, IDS), 0);
	for (int step = 0; step < 5000; step++) {
		uint32_t id = roll(&dice, IDS), i = 0;

		if (roll(&dice, 2) == 0) {
			queue_put(&q, id);
			while (i < n && model[i] != id)
				i++;
			if (i == n)
				model[n++] = id;
			continue;
		}
		id = queue_take(&q);
		ck_assert_uint_eq(id, n == 0 ? NO_ID : model[0]);
		for (n -= n > 0; i < n; i++)
			model[i] = model[i + 1];
	}
	queue_done(&q);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("queue");
	TCase *c = run_case(s, "queue");

	tcase_add_test(c, first_in_first_out);
	tcase_add_loop_test(c, random_operations, 0, 10);
	return suite_run(s);
}
