/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EXPLORE_STATE_H
#define TESTS_EXPLORE_STATE_H

#include "history.h"

/*
 * A state of the modelled world is everything that its future depends on, as
 * 128 bits.  Moments count by how they lie before or ahead of now, and
 * resourceVersions by whether they are equal.  So two histories that come to
 * one state in different ways, or at different times, have the same hash.
 */
struct state {
	uint64_t a, b;
};

struct state state_of(const struct run *r);

#endif
