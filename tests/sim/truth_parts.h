/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_TRUTH_PARTS_H
#define TESTS_SIM_TRUTH_PARTS_H

#include "truth.h"

/* What truth*.c share. */

static inline int64_t
later_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Something turns then (virtual time), if that is yet to come. */
static inline void
turns_at(struct truth *t, int64_t at)
{
	if (at > t->w->now && at < t->next)
		t->next = at;
}

/* Has the moment on the leader's clock passed?  If not, it turns then. */
static inline bool
has_passed(struct truth *t, int64_t clock_ms)
{
	if (clock_ms <= t->clock)
		return true;
	turns_at(t, t->w->now + clock_ms - t->clock);
	return false;
}

static inline struct thing *
thing_alive(const struct world *w, int thing)
{
	return thing >= 0 && w->things[thing].used
		       ? (struct thing *)&w->things[thing]
		       : NULL;
}

/* truth_object.c: what stands on an object, read as text */
bool truth_marked(const struct thing *t);
bool truth_held(const struct thing *t, const struct rules *r);
bool truth_held_today(const struct thing *t, const struct rules *r);
bool truth_person(const struct thing *t, const struct rules *r);
/* Its class is one that holders believe. */
bool truth_classed(const struct thing *claim);

/* truth_machine.c: each machine as of now */
int truth_scope_of(const struct truth *t, const struct machine *m);
bool truth_out(const struct world *w, const struct rules *r,
	       const struct machine *m);
void truth_machines(struct truth *t);
/* May the claim be a substitute for that one, as far as anybody can tell? */
bool truth_may_match(const struct truth *t, const struct thing *claim,
		     const struct thing *deleted);
/* Has another claim been disrupted that it may replace? */
bool truth_disrupted_before(const struct truth *t, const struct thing *claim,
			    int64_t within_ms);

/* truth_scope.c: debts and windows */
void truth_pass_time(struct truth *t);
void truth_scopes(struct truth *t);
bool truth_may_be_open(const struct truth *t, int scope);
/* The scope is seen to be released though it is busy; just now, or for long. */
void truth_seen_open(struct truth *t, int scope, bool just_now);
/* How it came to be is not known: any debt may be right. */
void truth_lost_count(struct truth *t);
void truth_soft(struct truth *t);

#endif
