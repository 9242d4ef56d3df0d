/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CORE_RUN_H
#define TESTS_CORE_RUN_H

#include <check.h>
#include <stdint.h>

#include "sim/dice.h"
#include "suite.h"

/* What every test program of the core shares: the timeout of its cases, how
 * its suite is run, and the simulator's random numbers. */

/* A new case of the suite, with a timeout that a slow machine keeps. */
TCase *run_case(Suite *s, const char *name);

struct dice dice_new(uint64_t seed);

#endif
