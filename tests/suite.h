/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUITE_H
#define TESTS_SUITE_H

#include <check.h>

/* ck_assert_msg for a loop that runs millions of times: Check writes down every
 * assertion that holds, too, which takes longer than most of them. */
#define hot_assert_msg(ok, ...)                          \
	do {                                             \
		if (!(ok))                               \
			ck_abort_msg(__VA_ARGS__);       \
	} while (0)

/* Runs the suite, frees it, and returns the exit status for main. */
int suite_run(Suite *s);

#endif
