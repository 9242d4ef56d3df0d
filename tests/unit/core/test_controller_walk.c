/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "run.h"
#include "walk.h"

/* Random histories from a seed. */

#define STEPS 1500

START_TEST(random_history)
{
	walk((uint64_t)_i, NULL, 0, STEPS);
}
END_TEST

int
main(int argc, char **argv)
{
	Suite *s = suite_create("controller: walk");
	TCase *c = run_case(s, "walk");
	int first = argc > 1 ? atoi(argv[1]) : 0;
	int last = argc > 2 ? atoi(argv[2]) : first + (argc > 1 ? 1 : 20);

	/* test_controller_walk [FIRST [LAST]]: these seeds. */
	tcase_add_loop_test(c, random_history, first, last);
	return suite_run(s);
}
