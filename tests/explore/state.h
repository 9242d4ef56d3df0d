/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EXPLORE_STATE_H
#define TESTS_EXPLORE_STATE_H

#include "history.h"

/*
 * What a state of the modelled world is: everything that its future depends
 * on, as 128 bits.  Moments count as they lie before or ahead of now, and
 * resourceVersions as they are equal or not, so that two histories which come
 * to the same state by different ways, or at different times, are one.
 */
struct state {
	uint64_t a, b;
};

struct state state_of(const struct run *r);

#endif
