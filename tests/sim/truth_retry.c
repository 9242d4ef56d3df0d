/* SPDX-License-Identifier: Apache-2.0 */
#include "truth_parts.h"

#include <string.h>

/*
 * Which failed boot a claim tries again, and how old that makes it towards
 * minScaleUp (docs/rules.md#boots-that-are-tried-again).  That is settled when
 * the claim comes to count, and stands for the rest of the lead.  Nobody can
 * know it if two boots of one NodePool wait, or if the leader may not have seen
 * everything.
 */

#define FAILED_MS 60000		/* from a failed boot to its next try */

static const struct thing *
claim_of(const struct truth *t, int machine)
{
	int claim = t->w->machines[machine].claim;

	return claim < 0 ? NULL : &t->w->things[claim];
}

static bool
same_pool(const struct truth *t, int a, int b)
{
	return t->w->machines[a].pool_id == t->w->machines[b].pool_id;
}

static const struct pool_state *
pool_of(const struct truth *t, int machine)
{
	return &t->w->nodepools[t->w->machines[machine].pool_id];
}

bool
truth_may_follow(const struct thing *claim, const struct thing *failed)
{
	return claim->born + 1000 >= failed->deleted_at ||
	       claim->created_ms + 1000 >= failed->deleted_ms;
}

bool
truth_knows_of(const struct truth *t, int machine)
{
	const struct thing *claim = claim_of(t, machine);

	return t->leader == NULL || claim == NULL || claim->used ||
	       t->leader->sights[claim->index].at >= 0;
}

bool
truth_may_try(const struct truth *t, int machine, int failed)
{
	const struct retry_truth *r = &t->machines[machine].retry;

	return !r->asked || r->tries == TRIES_UNKNOWN ||
	       (r->tries == TRIES_OWN && same_pool(t, machine, failed)) ||
	       (r->tries == TRIES_THIS && r->failed == failed);
}

bool
truth_is_retried(struct truth *t, int failed)
{
	for (int i = 0; i < t->w->machines_n; i++) {
		const struct retry_truth *r = &t->machines[i].retry;

		if (r->tries != TRIES_THIS || r->failed != failed ||
		    !truth_knows_of(t, i))
			continue;
		turns_at(t, r->at + LAG_MS + 1);
		return t->w->now > r->at + LAG_MS;
	}
	return false;
}

/* --- which one ------------------------------------------------------------ */

static bool
is_candidate(struct truth *t, int machine, int failed)
{
	const struct machine_truth *y = &t->machines[failed];
	const struct thing *f = claim_of(t, failed);

	/* What counts for no scope takes no place in it. */
	return failed != machine && f != NULL && y->failed_boot &&
	       y->ongoing.hi &&
	       !truth_uncounted(t->w, &t->rules, &t->w->machines[machine]) &&
	       truth_scope_of(t, &t->w->machines[failed]) ==
		       truth_scope_of(t, &t->w->machines[machine]) &&
	       truth_may_follow(claim_of(t, machine), f) &&
	       !truth_is_retried(t, failed);
}

/* May any other claim have taken that boot? */
static bool
is_disputed(const struct truth *t, int machine, int failed)
{
	for (int i = 0; i < t->w->machines_n; i++) {
		const struct thing *c = claim_of(t, i);

		if (i != machine && c != NULL && t->machines[i].came.hi &&
		    truth_scope_of(t, &t->w->machines[i]) ==
			    truth_scope_of(t, &t->w->machines[machine]) &&
		    truth_may_follow(c, claim_of(t, failed)) &&
		    truth_may_try(t, i, failed))
			return true;
	}
	return false;
}

/* Does every leader still know the boot when it sees that the claim counts? */
static bool
is_sure(const struct truth *t, int machine, int failed)
{
	const struct world *w = t->w;
	const struct machine_truth *y = &t->machines[failed];
	const struct thing *claim = claim_of(t, machine);
	const struct thing *f = claim_of(t, failed);

	return y->ongoing.lo && claim->born > f->deleted_at + LAG_MS &&
	       claim->created_ms >= f->deleted_ms &&
	       t->leader->sights[f->index].deleted_at >= 0 &&
	       t->leader->jumped_at < f->deleted_at &&
	       f->deleted_ms + FAILED_MS - 2 * LAG_MS > t->clock &&
	       y->deadline - 2 * LAG_MS > t->clock &&
	       !truth_released(t, failed) &&
	       !truth_uncounted(w, &t->rules, &w->machines[failed]) &&
	       pool_of(t, failed)->changed <= f->deleted_at &&
	       pool_of(t, machine)->changed <= claim->born &&
	       !is_disputed(t, machine, failed);
}

/* Of its own NodePool before others. */
static void
choose(struct truth *t, int machine)
{
	struct retry_truth *r = &t->machines[machine].retry;
	int own = 0, others = 0, sure = 0, any = -1;

	for (int i = 0; i < t->w->machines_n; i++) {
		if (!is_candidate(t, machine, i))
			continue;
		if (same_pool(t, machine, i))
			sure += is_sure(t, machine, i);
		own += same_pool(t, machine, i);
		others += !same_pool(t, machine, i);
		if (any < 0 || same_pool(t, machine, i))
			any = i;
	}
	if (own == 0 && others == 1)
		sure = is_sure(t, machine, any);
	if (own + others == 0 && r->most == 0)
		r->tries = TRIES_NONE;
	else if (!t->calm || !claim_of(t, machine)->launched || sure == 0 ||
		 t->w->now > r->at + LAG_MS)
		r->tries = TRIES_UNKNOWN;
	else
		r->tries = own > 1 ? TRIES_OWN : TRIES_THIS;
	r->failed = any;
}

/* Has the leader seen all that it goes by? */
static bool
is_seen(const struct truth *t, int machine)
{
	const struct thing *claim = claim_of(t, machine);

	return t->machines[machine].judged != JUDGED_NOT && t->usable &&
	       (claim->launched
			? t->leader->sights[claim->index].launched_at >= 0
			: t->leader->sights[claim->index].at >= 0);
}

static void
settle(struct truth *t, int machine)
{
	struct machine_truth *x = &t->machines[machine];
	struct retry_truth *r = &x->retry;

	if (x->judged == JUDGED_SUBSTITUTE || (x->replaced.lo && !x->came.hi))
		r->tries = TRIES_NONE;
	else if (!is_seen(t, machine))
		return;
	else if (x->judged == JUDGED_SCALE_UP &&
		 !claim_of(t, machine)->large)
		choose(t, machine);
	r->asked = true;
	r->at = t->w->now;
	r->sure = r->tries == TRIES_NONE;
	if (r->tries != TRIES_THIS)
		return;
	tell(t->w, "truth      %s tries %s again",
	     claim_of(t, machine)->name, claim_of(t, r->failed)->name);
	r->least = x->created - t->machines[r->failed].created +
		   t->machines[r->failed].retry.least;
	r->most = x->created - t->machines[r->failed].created +
		  t->machines[r->failed].retry.most;
	r->sure = t->machines[r->failed].retry.sure;
	truth_share_of_first(t, machine, r->failed, true);
}

/* It may try any of these. */
static void
widen(struct truth *t, int machine)
{
	struct machine_truth *x = &t->machines[machine];

	for (int i = 0; i < t->w->machines_n; i++) {
		const struct machine_truth *y = &t->machines[i];
		int64_t age = x->created - y->created + y->retry.most;

		if (!is_candidate(t, machine, i) ||
		    !truth_may_try(t, machine, i))
			continue;
		if (age > x->retry.most)
			x->retry.most = age;
		truth_share_of_first(t, machine, i, false);
	}
}

void
truth_retry(struct truth *t, int machine)
{
	struct machine_truth *x = &t->machines[machine];
	const struct thing *claim = claim_of(t, machine);

	if (t->rules.scope == SCOPE_NODE ||
	    t->rules.replacements != REPLACEMENTS_IGNORE || claim->deleting)
		return;
	/* It may come to count when its NodePool is no longer left alone. */
	if (!x->retry.asked &&
	    truth_uncounted(t->w, &t->rules, &t->w->machines[machine]))
		return;
	if (!x->retry.asked && !x->retry.coming)
		x->retry.at = t->w->now;
	x->retry.coming = x->counts.hi;
	if (!x->retry.asked)
		settle(t, machine);
	if (x->counts.hi && (!x->retry.asked ||
			     x->retry.tries == TRIES_UNKNOWN ||
			     x->retry.tries == TRIES_OWN))
		widen(t, machine);
}

/* --- its age -------------------------------------------------------------- */

/* The shortest time between two spans. */
static int64_t
apart(int64_t a, int64_t a_end, int64_t b, int64_t b_end)
{
	return a > b_end ? a - b_end : b > a_end ? b - a_end : 0;
}

bool
truth_near(const struct truth *t, int machine, int other, int64_t within,
	   bool hi)
{
	const struct machine_truth *x = &t->machines[machine];
	const struct machine_truth *y = &t->machines[other];
	int64_t a = x->created, b = y->created;
	int64_t a_from = a - x->retry.most, a_to = a - x->retry.least;
	int64_t b_from = b - y->retry.most, b_to = b - y->retry.least;
	int64_t by = truth_jumped_by(t, claim_of(t, machine)) +
		     truth_jumped_by(t, claim_of(t, other));

	if (machine == other)
		return true;
	within += hi ? by : -by;
	if (!hi && !x->retry.sure)
		a_from = a_to = a;
	if (!hi && !y->retry.sure)
		b_from = b_to = b;
	return apart(a, a, b, b) <= within ||
	       apart(a_from, a_to, b_from, b_to) <= within ||
	       apart(a_from, a_to, b, b) <= within ||
	       apart(a, a, b_from, b_to) <= within;
}
