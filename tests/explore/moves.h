/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EXPLORE_MOVES_H
#define TESTS_EXPLORE_MOVES_H

#include "history.h"

/*
 * The alphabet: what may happen next in a state.  Time is part of it.
 */
extern const int moves_n;
const char *move_name(int move);
/* The event, and at what moment of the history; false: it cannot happen here,
 * or would change nothing. */
bool move_make(int move, const struct run *r, struct op *out);

#endif
