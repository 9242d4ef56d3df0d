/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUITE_H
#define TESTS_SUITE_H

#include <check.h>

/* Runs the suite, frees it, and returns the exit status for main. */
int suite_run(Suite *s);

#endif
