/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_CLEANER_H
#define TESTS_SIM_CLEANER_H

#include "world.h"

/*
 * The command `uninstall` in the modelled world: the product's own
 * core/protocol/cleanup and core/protocol/lease, with a shell that performs
 * their steps as src/tools/uninstall does.  The holders are gone by then.  The
 * command is killed after a random step, with writes under way, and somebody
 * starts it again, also after it has ended.
 *
 * Its invariant is I11.  When the command says that nothing is left, two
 * complete lists have shown nothing, and nothing of ours is on an object that
 * has not changed since.  It writes to no object that has changed since it was
 * listed.  It never takes a mark of ours for another writer's.  When faults and
 * kills are over, it ends with nothing left.  I1, which thing_patch checks at
 * each write, says that a person's hold stays.
 */
struct cleaner;

/* kills: how often it is killed.  elects: there is a Lease to take.
 * clocks_differ: a holder had a wrong clock, so that marks may look as if
 * somebody else had made them. */
struct cleaner *cleaner_new(struct world *w, const struct hold_key *hold,
			    bool elects, unsigned kills, bool clocks_differ);
void cleaner_free(struct cleaner *x);	/* NULL: nothing */
/* Does everything that is due now.  Returns the moment of what comes next. */
int64_t cleaner_step(struct cleaner *x);
/* Do API servers still call the webhook?  They do so for a while after it was
 * removed. */
bool cleaner_admits(const struct cleaner *x);
/* Faults and kills are over.  The command starts for the last time, and has to
 * end well. */
void cleaner_calm(struct cleaner *x);
bool cleaner_ended(const struct cleaner *x);	/* the last one has ended */

#endif
