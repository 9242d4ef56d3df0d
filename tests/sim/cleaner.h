/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_CLEANER_H
#define TESTS_SIM_CLEANER_H

#include "world.h"

/*
 * The command `uninstall` in the modelled world: the product's own
 * core/protocol/cleanup and core/protocol/lease, with a shell that performs
 * their steps as src/uninstall does.  The holders are gone by then.  The
 * command is killed after a random step, with writes under way, and somebody
 * starts it again, also after it has ended.
 *
 * Its invariant, I11: whenever it says that nothing is left, two whole lists
 * showed nothing and nothing of ours is on an object that has not changed since;
 * it writes on no object that is not as it was listed; it takes no mark for
 * another writer's; and when faults and kills are over it ends so.  That a person's hold is let alone is I1, at each write.
 */
struct cleaner;

/* kills: so often.  elects: there is a Lease to take.  clocks_differ: a holder
 * had a wrong clock, so that marks may look as if somebody else had made them.
 */
struct cleaner *cleaner_new(struct world *w, const struct hold_key *hold,
			    bool elects, unsigned kills, bool clocks_differ);
void cleaner_free(struct cleaner *x);	/* NULL: nothing */
/* Everything that is due now; the moment of the next. */
int64_t cleaner_step(struct cleaner *x);
/* API servers go on calling the webhook for a while. */
bool cleaner_admits(const struct cleaner *x);
/* Faults and kills are over: it starts for the last time, and has to end
 * well. */
void cleaner_calm(struct cleaner *x);
bool cleaner_ended(const struct cleaner *x);	/* … and has */

#endif
