/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_OLDER_H
#define TESTS_SIM_OLDER_H

#include <stdio.h>

#include "world.h"

/*
 * What a leader leaves for the next one, as text: the soft state in the Lease,
 * and hold, mark and class of each object.  tests/golden/older has such texts as
 * programs of older commits wrote them, in a history that still exists.  A new
 * leader takes over from there.  What it would have written itself has the same
 * members in the same order, so the older program can read that, too.
 *
 *     lease * debt=5m held at=2026-01-02T03:09:05Z
 *     node n0 karpenter.sh/do-not-disrupt=true karpenter-node-holder.io/...
 */

void older_write(const struct world *w, FILE *out);
/* Has everything stand as in that file.  Breaks the run if the file is not like
 * what stands there now, numbers aside. */
void older_take(struct world *w, const char *name);

#endif
