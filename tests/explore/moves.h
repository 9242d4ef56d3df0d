/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EXPLORE_MOVES_H
#define TESTS_EXPLORE_MOVES_H

#include "history.h"

/*
 * The alphabet of the histories: every event that may come next in a state.
 * Passing time is one of them.
 */
extern const int moves_n;
const char *move_name(int move);
/* Writes the event and its moment in the history.  False if it cannot happen in
 * this state or would change nothing. */
bool move_make(int move, const struct run *r, struct op *out);

#endif
