/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CORE_WALK_H
#define TESTS_CORE_WALK_H

#include <stddef.h>
#include <stdint.h>

/*
 * A random history: Karpenter, people, faults and restarts in any order.  Now
 * and then the faults stop for a while.  Then exactly those objects must be
 * held that a computation from the world alone says (invariants I1, I2 and I3).
 *
 * With n bytes, these decide what happens, and the history ends with them.  It
 * has no more than that many steps.
 */
void walk(uint64_t seed, const uint8_t *bytes, size_t n, int steps);

#endif
