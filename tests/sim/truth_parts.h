/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_TRUTH_PARTS_H
#define TESTS_SIM_TRUTH_PARTS_H

#include "truth.h"

/* What the files of the truth share. */

/* truth.c: moments */
int64_t later_of(int64_t a, int64_t b);
/* Since when the object's machine is surely in its present period. */
int64_t truth_period_of(const struct truth *t, const struct thing *o);
/* Something turns at that virtual time, if it is yet to come. */
void turns_at(struct truth *t, int64_t at);
/* Has the moment on the leader's clock passed?  If not, something turns then. */
bool has_passed(struct truth *t, int64_t clock_ms);
/* NULL if there is no such thing, or it is gone. */
struct thing *thing_alive(const struct world *w, int thing);

/* truth.c: the rules of the leader count from now on */
void truth_take_rules(struct truth *t, const struct holder *h);
/* truth_object.c: what an object's annotations say, read as text */
bool truth_marked(const struct thing *t, const struct rules *r);
bool truth_held(const struct thing *t, const struct rules *r);
bool truth_person(const struct thing *t, const struct rules *r);
/* Our mark without the hold that it stands for: a person has taken it off. */
bool truth_opted_out(const struct thing *t, const struct rules *r);
/* Does a hold of ours stand there without its mark? */
bool truth_unmarked(const struct thing *t);
/* Has the claim a class that replicas believe? */
bool truth_classed(const struct thing *claim);

/* truth_machine.c: each machine as of now.  A scope of -1 is none. */
int truth_scope_of(const struct truth *t, const struct machine *m);
/* Is its NodePool excluded or disabled, so that it is never held? */
bool truth_out(const struct world *w, const struct rules *r,
	       const struct machine *m);
/* Can a hold do nothing for it?  Then only a person's hold-until holds it. */
bool truth_inert(const struct world *w, const struct machine *m);
/* Either of these: it belongs to no scope. */
bool truth_uncounted(const struct world *w, const struct rules *r,
		     const struct machine *m);
void truth_machines(struct truth *t);
/* In trouble: may the leader not have heard of the NodePool's released-at? */
bool truth_release_unheard(const struct truth *t, int nodepool);
/* Has a released-at ended what its claim began? */
bool truth_released(const struct truth *t, int machine);
/* truth_share.c: what minScaleUp means for each machine.  truth_share looks at
 * it: does it count? */
bool truth_takes_several(const struct truth *t);
void truth_share(struct truth *t, int machine, struct maybe counts);
uint32_t truth_takes(const struct truth *t, int machine, bool fewest);
/* How far the clocks that stamps and moments come from may lie apart, now or
 * since that moment. */
int64_t truth_clocks_apart(const struct truth *t, int64_t since);
/* How far a moment that the leader remembers of the object may be off, because
 * its clock has jumped. */
int64_t truth_jumped_by(const struct truth *t, const struct thing *o);
/* May the claim be a substitute for the deleted one, as far as anybody can
 * tell? */
bool truth_may_match(const struct truth *t, const struct thing *claim,
		     const struct thing *deleted);
/* Has another claim been disrupted that this one may replace? */
bool truth_disrupted_before(const struct truth *t, const struct thing *claim,
			    int64_t within_ms);

/* truth_ticket.c: looks at the tickets that hold each NodePool.  Call it before
 * the functions below. */
void truth_tickets(struct truth *t);
/* Do a person or tickets hold the NodePool by hand?  And until
 * when at the latest, as far as that is known; STAMP_NONE: nobody does. */
struct maybe truth_by_hand(struct truth *t, int nodepool);
int64_t truth_hand_until(const struct truth *t, int nodepool);

/* truth_act.c: would it be reported if the leader did that to the object now? */
bool truth_sees_act(const struct truth *t, const struct thing *o, enum act act);

/* truth_scope.c: debts and windows */
void truth_pass_time(struct truth *t);
void truth_scopes(struct truth *t);
bool truth_may_be_open(const struct truth *t, int scope);
/* The moment up to which the leader has heard of NodePools. */
int64_t truth_heard_nodepools(const struct truth *t);
/* Has it not heard yet what was changed in a NodePool of the scope?  Then it may
 * take other machines for some of the scope. */
bool truth_missed_a_nodepool(const struct truth *t, int scope);
/* Counts the scopes with a cap, and those of which the cap is judged. */
void truth_meter(struct truth *t);
/* The scope is seen to be released although it is busy, just now or for long. */
void truth_seen_open(struct truth *t, int scope, bool just_now);
/* Nobody knows how it came to this: from now on any debt may be right. */
void truth_lost_count(struct truth *t);
void truth_soft(struct truth *t);

#endif
