/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_DICE_H
#define TESTS_SIM_DICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Random numbers from a seed, so that a failure can be run again. */

struct dice {
	uint64_t state;	/* not 0 */
	bool even;	/* nothing is left to chance: always the middle */
	/* As long as there are some, these bytes decide instead: a fuzzer's. */
	const uint8_t *bytes;
	size_t left;
};

uint32_t roll(struct dice *d, uint32_t n);	/* 0 .. n-1 */
int64_t between(struct dice *d, int64_t low, int64_t high);

#endif
