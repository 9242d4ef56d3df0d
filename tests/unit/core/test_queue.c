/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/queue.h"
#include "run.h"

#define IDS 32

START_TEST(first_in_first_out)
{
	struct queue q;
	bool exposed = _i == 1;

	ck_assert_int_eq(queue_init(&q, IDS), 0);
	ck_assert(queue_is_empty(&q) && queue_take(&q) == NO_ID);
	queue_put(&q, 7, exposed);
	queue_put(&q, 3, exposed);
	queue_put(&q, 7, !exposed); /* it keeps its place */
	queue_put(&q, 0, exposed);
	ck_assert_uint_eq(queue_take(&q), 7);
	queue_put(&q, 7, exposed);
	ck_assert_uint_eq(queue_take(&q), 3);
	ck_assert_uint_eq(queue_take(&q), 0);
	ck_assert(!queue_is_empty(&q));
	ck_assert_uint_eq(queue_take(&q), 7);
	ck_assert(queue_is_empty(&q) && queue_take(&q) == NO_ID);
	queue_done(&q);
	queue_done(&q);
}
END_TEST

/* An id that leads to no action takes nobody's turn. */
START_TEST(the_others_have_their_turn)
{
	struct queue q;

	ck_assert_int_eq(queue_init(&q, IDS), 0);
	queue_put(&q, 0, false);
	queue_put(&q, 1, false);
	for (uint32_t i = 2; i < IDS; i++)
		queue_put(&q, i, true);
	for (uint32_t i = 2; i < 2 + QUEUE_EXPOSED_RUN; i++) {
		ck_assert_uint_eq(queue_take(&q), i);
		queue_acted(&q);
	}
	ck_assert_uint_eq(queue_take(&q), 0);
	ck_assert_uint_eq(queue_take(&q), 1);
	queue_acted(&q);
	ck_assert_uint_eq(queue_take(&q), 2 + QUEUE_EXPOSED_RUN);
	queue_done(&q);
}
END_TEST

/* Against two arrays. */
START_TEST(random_operations)
{
	struct dice dice = dice_new((uint64_t)_i + 1);
	uint32_t model[2][IDS], n[2] = {0}, run = 0;
	struct queue q;

	ck_assert_int_eq(queue_init(&q, IDS), 0);
	for (int step = 0; step < 5000; step++) {
		uint32_t id = roll(&dice, IDS), line = roll(&dice, 2), i;
		bool is_in = false;

		if (roll(&dice, 2) == 0) {
			for (uint32_t l = 0; l < 2; l++)
				for (i = 0; i < n[l]; i++)
					is_in |= model[l][i] == id;
			queue_put(&q, id, line == 1);
			if (!is_in)
				model[line][n[line]++] = id;
			continue;
		}
		line = n[1] > 0 && (run < QUEUE_EXPOSED_RUN || n[0] == 0);
		id = queue_take(&q);
		ck_assert_uint_eq(id, n[line] == 0 ? NO_ID : model[line][0]);
		if (n[line] == 0)
			continue;
		n[line]--;
		for (i = 0; i < n[line]; i++)
			model[line][i] = model[line][i + 1];
		if (roll(&dice, 4) > 0) {
			queue_acted(&q);
			run = line == 1 ? run + 1 : 0;
		}
	}
	queue_done(&q);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("queue");
	TCase *c = run_case(s, "queue");

	tcase_add_loop_test(c, first_in_first_out, 0, 2);
	tcase_add_test(c, the_others_have_their_turn);
	tcase_add_loop_test(c, random_operations, 0, 10);
	return suite_run(s);
}
