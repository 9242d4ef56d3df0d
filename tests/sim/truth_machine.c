/* SPDX-License-Identifier: Apache-2.0 */
#include "truth_parts.h"

#include <string.h>

/*
 * Each machine: its own deadline
 * (docs/rules.md#each-machine-has-its-own-quiet-time), whether it counts for
 * its scope, and what it replaces (docs/rules.md#replacements).
 */

#define SIGN_MS 60000		/* from a disruption to a claim after it */
#define SUBSTITUTE_MS 60000	/* from a deletion to its substitute */
#define DRAINING_MS 900000	/* the same while the machine drains */
#define FAILED_MS 60000		/* a failed boot counts for so long */

bool
truth_out(const struct world *w, const struct rules *r, const struct machine *m)
{
	for (size_t i = 0; i < r->exclude.n; i++)
		if (strcmp(r->exclude.at[i], m->nodepool) == 0)
			return true;
	return w->nodepools[m->pool_id].disabled;
}

bool
truth_inert(const struct world *w, const struct machine *m)
{
	return w->nodepools[m->pool_id].fixed || w->nodepools[m->pool_id].never;
}

bool
truth_uncounted(const struct world *w, const struct rules *r,
		const struct machine *m)
{
	return truth_out(w, r, m) || truth_inert(w, m);
}

/* Returns -1 in scope `node`, where nothing spreads. */
int
truth_scope_of(const struct truth *t, const struct machine *m)
{
	return t->rules.scope == SCOPE_NODE	  ? -1
	       : t->rules.scope == SCOPE_CLUSTER ? 0
						 : m->pool_id;
}

/* --- time ----------------------------------------------------------------- */

/* Returns a stamp as the leader remembers it.  If the stamp was ahead of the
 * leader's clock, it counts as that moment.  When the clock jumps, what the
 * leader remembers jumps as well. */
static int64_t
remembered(const struct truth *t, int64_t stamp, bool seen, int64_t clock,
	   int64_t shifted)
{
	if (t->leader == NULL || !seen)
		return stamp < t->clock ? stamp : t->clock;
	return (stamp < clock ? stamp : clock) + t->leader->shifted - shifted;
}

static int64_t
created_ms(const struct truth *t, const struct thing *o)
{
	const struct sight *s =
		t->leader == NULL ? NULL : &t->leader->sights[o->index];

	return remembered(t, o->created_ms, s != NULL && s->at >= 0,
			  s == NULL ? 0 : s->clock,
			  s == NULL ? 0 : s->shifted);
}

static int64_t
ready_ms(const struct truth *t, const struct thing *o)
{
	const struct sight *s =
		t->leader == NULL ? NULL : &t->leader->sights[o->index];

	return remembered(t, o->ready_ms, s != NULL && s->ready_at >= 0,
			  s == NULL ? 0 : s->ready_clock,
			  s == NULL ? 0 : s->ready_shifted);
}

/* Does the leader, which knows the claim, hear nothing of NodeClaims since before
 * this one became ready? */
static bool
ready_unheard(const struct truth *t, const struct thing *claim)
{
	return t->leader != NULL && t->leader->sights[claim->index].at >= 0 &&
	       (!claim->used ||
		holder_behind_since(t->leader, KIND_NODECLAIM) <=
			claim->ready_at);
}

/* Has a leader of today seen when the claim became ready?  A claim that is too
 * large counts as not ready, as soon as the leader hears of that. */
static struct maybe
ready_known(const struct truth *t, const struct thing *claim)
{
	bool seen = t->leader != NULL &&
		    t->leader->sights[claim->index].ready_at >= 0;

	if (claim->ready_ms == STAMP_NONE)
		return (struct maybe){false, false};
	if (claim->large)
		return (struct maybe){
			false, t->leader != NULL &&
				       holder_behind_since(t->leader,
							   KIND_NODECLAIM) <=
					       claim->large_at};
	/* It may have been seen as ready only after the deletion was. */
	if (claim->was_large)
		return (struct maybe){false, true};
	return (struct maybe){seen || !ready_unheard(t, claim), true};
}

struct limits_of {
	int64_t hold, max;
};

static struct limits_of
limits_of(const struct world *w, const struct rules *r, const struct machine *m)
{
	const struct pool_state *p = &w->nodepools[m->pool_id];

	return (struct limits_of){
		.hold = p->hold >= 0 ? p->hold : r->hold_ms,
		.max = r->cap.max_ms,
	};
}

static bool
released(const struct pool_state *p, const struct thing *head, int64_t clock)
{
	return p->released != STAMP_NONE && p->released <= clock &&
	       head->created_ms < p->released;
}

bool
truth_release_unheard(const struct truth *t, int nodepool)
{
	return !t->calm &&
	       t->w->nodepools[nodepool].changed + LAG_MS >= t->trouble_began;
}

bool
truth_released(const struct truth *t, int machine)
{
	const struct machine *m = &t->w->machines[machine];

	return released(&t->w->nodepools[m->pool_id], &t->w->things[m->claim],
			t->clock);
}

static int64_t
earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Returns how far what the leader remembers of the object may be off.  If a clock
 * jittered before it was set, nobody knows how much of the jump was the shift.  A
 * jump of about 5 s may count as either, too.  A full table may have seen the
 * object later than others did, when the clock was another one. */
int64_t
truth_jumped_by(const struct truth *t, const struct thing *o)
{
	const struct holder *h = t->leader;
	int64_t seen = h == NULL ? -1 : h->sights[o->index].at, by = 0;

	if (seen < 0)
		return 0;
	if (seen <= h->jumped_at)
		by = LAG_MS + h->jitter + (h->odd_jump ? 8000 : 0);
	if (t->w->crowded > 0 && seen <= t->w->crowded + 60000)
		by += truth_clocks_apart(t, seen);
	return by;
}

static void
widen(const struct truth *t, const struct thing *head, struct machine_truth *x)
{
	int64_t by = truth_jumped_by(t, head);

	x->deadline -= by;
	x->deadline_hi += by;
	x->busy_deadline -= by;
	x->busy_deadline_hi += by;
}

/* The machine was ready, and then it was rebooted.  For its scope that changes
 * nothing, as far as the leader has seen the first readiness.  Otherwise nobody
 * knows what the machine does for its scope until unwatched_until.  It has its
 * own quiet time from the last readiness. */
static void
set_rebooted(struct truth *t, const struct thing *claim, struct limits_of l,
	     struct machine_truth *x)
{
	const struct sight *s =
		t->leader == NULL ? NULL : &t->leader->sights[claim->index];
	bool saw = s != NULL && s->old_at >= 0;
	bool any = s != NULL && s->ready_stamp != 0;
	int64_t first = remembered(t, claim->first_ready_ms, saw,
				   saw ? s->old_clock : 0,
				   saw ? s->old_shifted : 0) + l.hold;
	int64_t shortest = l.max > 0 ? earlier(l.hold, l.max) : l.hold;
	int64_t known = x->created, own;
	struct machine_truth before = *x;

	if (l.max > 0)
		first = earlier(first, x->created + l.max);
	/* What follows from the last readiness that the leader has seen. */
	if (any)
		known = s->ready_stamp == claim->first_ready_ms && saw
				? first
				: remembered(t, s->ready_stamp, true,
					     s->ready_clock,
					     s->ready_shifted) + shortest;
	own = claim->ready_ms != STAMP_NONE ? ready_ms(t, claim) + shortest
					    : known;
	x->busy_deadline = saw ? first : x->created;
	x->busy_deadline_hi = first;
	x->deadline = own;
	x->deadline_hi = later_of(own, known);
	if (s != NULL && s->at >= 0 && !saw)
		x->unwatched_until =
			any ? known
			    : s->clock + t->leader->shifted - s->shifted +
				      t->rules.startup_ms + l.hold;
	if (!claim->was_large)
		return;
	/* Nobody may know of the reboot. */
	x->deadline = earlier(x->deadline, before.deadline);
	x->deadline_hi = later_of(x->deadline_hi, before.deadline_hi);
	x->busy_deadline = earlier(x->busy_deadline, before.busy_deadline);
	x->busy_deadline_hi =
		later_of(x->busy_deadline_hi, before.busy_deadline_hi);
}

static void
set_deadline(struct truth *t, const struct machine *m, struct machine_truth *x)
{
	struct world *w = t->w;
	const struct pool_state *p = &w->nodepools[m->pool_id];
	const struct thing *claim = m->claim >= 0 ? &w->things[m->claim] : NULL;
	const struct thing *node = thing_alive(w, m->node);
	const struct thing *head =
		claim != NULL && (claim->used || node == NULL)
			? claim
			: &w->things[m->node];
	struct limits_of l = limits_of(w, &t->rules, m);
	struct maybe ready = head == claim ? ready_known(t, claim)
					   : (struct maybe){false, false};
	int64_t activity, other;

	x->created = created_ms(t, head);
	activity = x->created;
	if (head == claim)
		activity = ready.lo ? ready_ms(t, claim)
				    : x->created + t->rules.startup_ms;
	other = ready.hi && !ready.lo ? ready_ms(t, claim) : activity;
	x->deadline = x->deadline_hi = activity + l.hold;
	if (l.max > 0)
		x->deadline = earlier(x->deadline, x->created + l.max);
	/* For a Node alone the rules say nothing about the cap. */
	if (head == claim)
		x->deadline_hi = x->deadline;
	other = l.max > 0 ? earlier(other + l.hold, x->created + l.max)
			  : other + l.hold;
	if (head == claim && other != x->deadline) {
		x->deadline = earlier(x->deadline, other);
		x->deadline_hi = later_of(x->deadline_hi, other);
	}
	x->busy_deadline = x->deadline;
	x->busy_deadline_hi = x->deadline_hi;
	x->unwatched_until = STAMP_NONE;
	if (head == claim && claim->rebooted && !claim->large)
		set_rebooted(t, claim, l, x);
	widen(t, head, x);
	if (p->released != STAMP_NONE)
		(void)has_passed(t, p->released);
	if (released(p, head, t->clock))
		x->deadline = x->deadline_hi = x->busy_deadline =
			x->busy_deadline_hi = x->created;
}

/* --- what replaces what --------------------------------------------------- */

/* The claims that were disrupted so far, and those that were deleted without
 * that. */
struct past {
	int disrupted[MACHINES], deleted[MACHINES];
	int disrupted_n, deleted_n;
};

/* Is the claim repaired although it was never ready?  Then its boot failed. */
static bool
is_repaired_boot(const struct thing *claim)
{
	return claim->repaired && claim->ready_ms == STAMP_NONE &&
	       !claim->rebooted;
}

/* Did Karpenter choose to remove it, and itself name what takes its place? */
static bool
is_disrupted(const struct thing *claim)
{
	return claim->disrupted && !claim->terminated_first &&
	       !is_repaired_boot(claim);
}

/* Does a claim that comes afterwards replace this one?  It does not if it tries
 * the boot of a scale-up again.  Of a boot that is repaired, a new leader reads
 * the class before it sees the disruption, but not the Event.  If the machine
 * became ready after all, the leader may not know that. */
static struct maybe
is_replaceable(const struct truth *t, const struct thing *claim)
{
	bool disrupted = claim->disrupted_ms != STAMP_NONE;
	bool missed = claim->repaired && claim->ready_ms != STAMP_NONE &&
		      !ready_known(t, claim).lo;
	bool surely = !is_repaired_boot(claim) || truth_classed(claim);
	bool perhaps = t->machines[claim->machine].replaced.hi;

	return (struct maybe){disrupted && surely && !missed,
			      disrupted && (surely || perhaps)};
}

/* The same.  lo: every leader has seen that; of a claim that is too large nobody
 * can. */
static struct maybe
was_chosen(const struct thing *claim)
{
	return (struct maybe){is_disrupted(claim) && !claim->large,
			      is_disrupted(claim)};
}

/* Had the claim been Initialized before it was deleted? */
static bool
was_ready(const struct thing *claim)
{
	return claim->ready_at >= 0 && (claim->deleted_at < 0 ||
					claim->ready_at <= claim->deleted_at);
}

/* Returns when the leader saw that the claim is being deleted or is gone, or
 * now if it has not seen that. */
static int64_t
seen_at(const struct truth *t, const struct thing *claim)
{
	const struct sight *s;

	if (t->leader == NULL)
		return claim->deleted_at;
	s = &t->leader->sights[claim->index];
	if (s->at < 0)		/* the leader never saw the claim */
		return claim->deleted_at;
	return s->deleted_at >= 0 ? s->deleted_at
	       : s->gone_at >= 0  ? s->gone_at
				  : t->w->now;
}

/* Returns when the claim is launched and old enough to count. */
static int64_t
old_at(const struct thing *claim)
{
	return later_of(claim->launched ? claim->launched_at : 0,
			claim->born + GRACE_MS);
}

/* Did the claim come for a machine that was deleted? */
static struct maybe
was_substitute(const struct truth *t, const struct thing *claim)
{
	const struct machine_truth *x = &t->machines[claim->machine];
	bool classed = truth_classed(claim) &&
		       strncmp(claim->class, "substitute/", 11) == 0;

	/* It may have been judged by its age before the leader saw the
	 * deletion. */
	bool late = claim->launched || !claim->launch_known || claim->large;

	late = late && claim->deleted_at <= old_at(claim) + LAG_MS &&
	       seen_at(t, claim) + LAG_MS >= old_at(claim);

	return (struct maybe){classed || x->judged == JUDGED_SUBSTITUTE,
			      classed || x->judged >= JUDGED_SUBSTITUTE ||
				      x->seemed ||
				      (claim->deleted_at >= 0 && late)};
}

static void
collect(const struct truth *t, struct past *p)
{
	const struct world *w = t->w;

	p->disrupted_n = p->deleted_n = 0;
	for (int i = 0; i < w->machines_n; i++) {
		const struct thing *c = w->machines[i].claim < 0
						? NULL
						: &w->things[w->machines[i].claim];

		if (c != NULL && is_replaceable(t, c).hi)
			p->disrupted[p->disrupted_n++] = c->index;
		if (c != NULL && c->deleting && !was_chosen(c).lo &&
		    (was_ready(c) || was_substitute(t, c).hi))
			p->deleted[p->deleted_n++] = c->index;
	}
}

/* Was `c` disrupted so shortly before the claim, as far as a leader can see?
 * Nobody can see that of a claim that is too large. */
static bool
came_before(const struct truth *t, const struct thing *claim,
	    const struct thing *c, int64_t within_ms, bool *seen)
{
	int64_t age = claim->created_ms - c->disrupted_ms;

	*seen = t->leader != NULL &&
		t->leader->sights[c->index].disrupted_at >= 0;
	return c != claim && age >= -1000 && age <= within_ms &&
	       (!c->large || *seen);
}

/* Was another claim disrupted shortly before?  lo: the leader has seen that. */
static struct maybe
follows(const struct truth *t, const struct past *p, const struct thing *claim,
	int64_t within_ms)
{
	struct maybe is = {false, false};
	bool seen;

	for (int i = 0; i < p->disrupted_n; i++) {
		const struct thing *c = &t->w->things[p->disrupted[i]];

		if (!came_before(t, claim, c, within_ms, &seen))
			continue;
		is.hi = true;
		is.lo |= seen && is_replaceable(t, c).lo;
	}
	return is;
}

bool
truth_disrupted_before(const struct truth *t, const struct thing *claim,
		       int64_t within_ms)
{
	struct past p;

	collect(t, &p);
	return follows(t, &p, claim, within_ms).hi;
}

/* Is there Karpenter's Event on the claim?  lo: every leader has seen it. */
static struct maybe
said(const struct truth *t, const struct machine *m)
{
	return (struct maybe){
		.lo = m->said_at >= 0 && t->leader != NULL &&
		      t->leader->sights[m->said].at >= 0,
		.hi = m->said_at >= 0,
	};
}

int64_t
truth_clocks_apart(const struct truth *t, int64_t since)
{
	const struct world *w = t->w;
	int64_t by = 0;

	if (w->turns_until > 0 && w->turns_until >= since - 60000)
		by += w->turns_most;
	for (int i = 0; i < t->holders_n; i++)
		if (t->holders[i].skew_until > 0 &&
		    t->holders[i].skew_until >= since - 60000)
			by += t->holders[i].skew_most;
	return by;
}

/* Returns when the leader saw that the claim was gone: until then it takes it for
 * one that drains. */
static int64_t
seen_gone(const struct truth *t, const struct thing *claim)
{
	int64_t at = t->leader == NULL
			     ? -1
			     : t->leader->sights[claim->index].gone_at;

	return at >= 0 ? at : INT64_MAX;
}

bool
truth_may_match(const struct truth *t, const struct thing *claim,
		const struct thing *deleted)
{
	int64_t age = claim->created_ms - deleted->deleted_ms;
	bool draining = deleted->gone_at < 0 ||
			seen_gone(t, deleted) >=
				claim->born - 2000 -
					truth_clocks_apart(t, deleted->gone_at);

	if (claim == deleted || was_chosen(deleted).lo || !deleted->deleting ||
	    !(was_ready(deleted) || was_substitute(t, deleted).hi) ||
	    (t->rules.scope == SCOPE_NODEPOOL &&
	     strcmp(claim->nodepool, deleted->nodepool) != 0))
		return false;
	return age >= -1000 &&
	       (age <= (draining ? DRAINING_MS : SUBSTITUTE_MS) ||
		claim->created_ms <= t->machines[deleted->machine].until_hi);
}

/* Has the spec of the machine's NodePool changed since that moment?  A deletion
 * is known to those who counted its machine then, and a claim takes its place
 * for those who counted the claim when it was launched. */
static bool
respecified_since(const struct world *w, const struct machine *m, int64_t at)
{
	int64_t last = w->nodepools[m->pool_id].respecified;

	return last >= 0 && last + LAG_MS >= at;
}

/* Does the deletion surely still wait for a substitute, because others that came
 * for it were not launched? */
static bool
waits_still(const struct truth *t, const struct thing *claim,
	    const struct thing *deleted)
{
	const struct machine_truth *y = &t->machines[deleted->machine];

	return !y->unsure && claim->created_ms <= y->until &&
	       t->leader != NULL &&
	       t->leader->sights[y->extender].deleted_at >= 0;
}

/* May the leader take the claim before it knows of the deletion, or for one that
 * was made while the machine drained, although it was gone? */
static bool
was_unseen(const struct truth *t, const struct thing *claim,
	   const struct thing *deleted)
{
	const struct sight *s = &t->leader->sights[deleted->index];

	return s->deleted_at < 0 ||
	       s->deleted_at > old_at(claim) - LAG_MS -
				       truth_clocks_apart(t, claim->born) ||
	       (deleted->gone_at >= 0 && deleted->gone_at < claim->born &&
		seen_gone(t, deleted) >= claim->born);
}

/* Is the answer unclear, because it is not the same for every leader? */
static bool
unclear(const struct truth *t, const struct thing *claim,
	const struct thing *deleted)
{
	const struct world *w = t->w;
	int64_t age = claim->created_ms - deleted->deleted_ms;
	int64_t since_gone = claim->born - deleted->gone_at;
	int64_t apart = 2000 + truth_clocks_apart(t, deleted->gone_at);
	bool near_gone = deleted->gone_at >= 0 && since_gone >= -apart &&
			 since_gone <= apart;

	/* Nobody sees all of a claim that is too large, or was when its deletion
	 * began. */
	return claim->large || deleted->large || deleted->was_large ||
	       was_chosen(deleted).hi || age < 0 ||
	       (age == 0 && deleted->deleted_at > claim->born) ||
	       (age > SUBSTITUTE_MS && near_gone) ||
	       (age > SUBSTITUTE_MS && since_gone > apart &&
		deleted->gone_at >= 0 && !waits_still(t, claim, deleted)) ||
	       (!was_ready(deleted) && !was_substitute(t, deleted).lo) ||
	       truth_uncounted(w, &t->rules, &w->machines[claim->machine]) ||
	       truth_uncounted(w, &t->rules, &w->machines[deleted->machine]) ||
	       respecified_since(w, &w->machines[claim->machine],
				 claim->born) ||
	       respecified_since(w, &w->machines[deleted->machine],
				 deleted->deleted_at) ||
	       w->nodepools[w->machines[deleted->machine].pool_id].changed +
			       LAG_MS >=
		       deleted->deleted_at ||
	       !t->calm || t->leader == NULL ||
	       t->leader->led_since > deleted->deleted_at ||
	       was_unseen(t, claim, deleted);
}

/* Does the leader know the machine's claim?  One that was gone before it led it
 * does not. */
static bool
knows_of(const struct truth *t, int machine)
{
	int claim = t->w->machines[machine].claim;

	return t->leader == NULL || claim < 0 || t->w->things[claim].used ||
	       t->leader->sights[claim].at >= 0;
}

static bool
is_spent(const struct truth *t, const struct thing *deleted)
{
	const struct world *w = t->w;
	char class[CLASS_BYTES];

	snprintf(class, sizeof(class), "substitute/%s", deleted->uid);
	for (int i = 0; i < w->machines_n; i++) {
		const struct thing *c = w->machines[i].claim < 0
						? NULL
						: &w->things[w->machines[i].claim];

		if (!knows_of(t, i))
			continue;
		if (t->machines[i].judged == JUDGED_SUBSTITUTE &&
		    t->machines[i].substitute == deleted->index)
			return true;
		if (c != NULL && truth_classed(c) &&
		    strcmp(c->class, class) == 0)
			return true;
	}
	return false;
}

/* Did Karpenter choose the machine, and may a substitute come for it all the
 * same? */
static bool
is_exception(const struct thing *deleted)
{
	return deleted->deleting && deleted->disrupted_ms != STAMP_NONE &&
	       !is_disrupted(deleted);
}

/* Has a claim that Karpenter named closed its place?  One such claim closes one
 * place, and nobody can tell whose if there are more places than claims. */
static struct maybe
is_closed(struct truth *t, const struct thing *deleted)
{
	int lo = 0, hi = 0, places = 0;

	for (int i = 0; is_exception(deleted) && i < t->w->machines_n; i++) {
		const struct machine *m = &t->w->machines[i];
		const struct thing *c =
			m->claim < 0 ? NULL : &t->w->things[m->claim];
		bool sure;

		if (c == NULL || truth_scope_of(t, m) !=
					 truth_scope_of(t, &t->w->machines[deleted->machine]))
			continue;
		places += is_exception(c);
		if (c == deleted || c->created_ms > deleted->deleted_ms + 1000 ||
		    c->created_ms < deleted->disrupted_ms - 2000)
			continue;
		sure = c->used && truth_classed(c) && !c->large &&
		       c->created_ms >= deleted->disrupted_ms &&
		       c->created_ms <= deleted->deleted_ms &&
		       strncmp(c->class, "substitute/", 11) != 0;
		lo += sure;
		hi += sure || m->said_at >= 0 || truth_classed(c);
	}
	return (struct maybe){lo >= places && lo > 0, hi > 0};
}

/* Of two deletions, does the claim take a before b? */
static bool
comes_first(const struct thing *claim, const struct thing *a,
	    const struct thing *b)
{
	bool a_own = strcmp(a->nodepool, claim->nodepool) == 0;
	bool b_own = strcmp(b->nodepool, claim->nodepool) == 0;

	if (a_own != b_own)
		return a_own;
	if (a->deleted_ms != b->deleted_ms)
		return a->deleted_ms < b->deleted_ms;
	return strcmp(a->uid, b->uid) < 0;
}

static bool
near_each_other(int64_t a, int64_t b)
{
	return a >= 0 && b >= 0 && a - b <= LAG_MS && b - a <= LAG_MS;
}

/* Does the leader decide on the two at about the same moment? */
static bool
decided_together(const struct thing *a, const struct thing *b)
{
	return near_each_other(old_at(a), old_at(b));
}

static void
judge(struct truth *t, const struct past *p, int machine)
{
	struct machine_truth *x = &t->machines[machine];
	const struct thing *claim = &t->w->things[t->w->machines[machine].claim];
	const struct thing *best = NULL;
	/* The leader may have seen the Event already. */
	bool odd = x->replaced.hi;

	x->judged = JUDGED_SCALE_UP;
	x->judged_at = t->w->now;
	for (int i = 0; i < p->deleted_n; i++) {
		const struct thing *d = &t->w->things[p->deleted[i]];

		struct maybe closed = is_closed(t, d);

		if (!truth_may_match(t, claim, d) ||
		    (closed.lo && !unclear(t, claim, d)))
			continue;
		odd |= closed.hi || unclear(t, claim, d);
		if (is_spent(t, d))
			continue;
		if (best == NULL || comes_first(claim, d, best))
			best = d;
	}
	/* Another claim that came just now may have been judged before this
	 * one. */
	for (int i = 0; best != NULL && i < t->w->machines_n; i++) {
		const struct thing *c = t->w->machines[i].claim < 0
						? NULL
						: &t->w->things[t->w->machines[i]
									.claim];

		odd |= t->machines[i].judged == JUDGED_EITHER &&
		       t->machines[i].judged_at > best->deleted_at;
		odd |= c != NULL && c != claim && truth_may_match(t, c, best) &&
		       decided_together(c, claim);
	}
	if (best != NULL) {
		x->judged = JUDGED_SUBSTITUTE;
		x->substitute = best->index;
	}
	if (odd)
		x->judged = JUDGED_EITHER;
	if (best != NULL || odd)
		tell(t->w, "truth      %s is %s", claim->name,
		     odd ? "a substitute or a scale-up, who knows"
			 : "a substitute");
}

/* The Event came in the moment in which the claim was judged, so the leader may
 * have seen it first.  Then another claim took what this one seemed to stand in
 * for. */
static void
unjudge(struct truth *t, int machine)
{
	struct machine_truth *x = &t->machines[machine];

	for (int i = 0; x->judged == JUDGED_SUBSTITUTE && i < t->w->machines_n;
	     i++) {
		struct machine_truth *y = &t->machines[i];
		int claim = t->w->machines[i].claim;

		if (claim >= 0 && y->judged == JUDGED_SCALE_UP &&
		    y->judged_at >= x->judged_at &&
		    truth_may_match(t, &t->w->things[claim],
				    &t->w->things[x->substitute]))
			y->judged = JUDGED_EITHER;
	}
	x->judged = JUDGED_EITHER;
}

/* A claim went without a launch.  What it came for may still come. */
static void
extend(struct truth *t, const struct past *p, int machine)
{
	struct machine_truth *x = &t->machines[machine], *best = NULL;
	const struct thing *claim = &t->w->things[t->w->machines[machine].claim];
	const struct thing *first = NULL;
	bool odd = x->replaced.hi || !claim->launch_known || claim->large;

	if (x->extended || claim->launched || is_disrupted(claim) ||
	    truth_classed(claim) || t->rules.scope == SCOPE_NODE ||
	    t->rules.replacements != REPLACEMENTS_IGNORE)
		return;
	x->extended = true;
	/* Nobody can tell which of two went first, or was launched first. */
	for (int i = 0; i < t->w->machines_n; i++) {
		const struct thing *c = t->w->machines[i].claim < 0
						? NULL
						: &t->w->things[t->w->machines[i]
									.claim];

		odd |= t->machines[i].judged == JUDGED_EITHER ||
		       (c != NULL && c != claim && c->deleting && !c->launched &&
			c->deleted_at + 2000 >= claim->deleted_at) ||
		       (c != NULL && c != claim &&
			c->launched_at + 2 * LAG_MS >= claim->deleted_at);
	}
	for (int i = 0; i < p->deleted_n; i++) {
		const struct thing *d = &t->w->things[p->deleted[i]];
		struct machine_truth *y = &t->machines[d->machine];

		if (!truth_may_match(t, claim, d) || is_spent(t, d))
			continue;
		odd |= unclear(t, claim, d);
		y->until_hi = later_of(y->until_hi,
				       earlier(claim->deleted_ms + SUBSTITUTE_MS,
					       d->deleted_ms + DRAINING_MS) +
					       2 * LAG_MS);
		if (y->failed_ms > claim->created_ms ||
		    (first != NULL && !comes_first(claim, d, first)))
			continue;
		first = d;
		best = y;
	}
	for (int i = 0; odd && i < p->deleted_n; i++)
		if (truth_may_match(t, claim, &t->w->things[p->deleted[i]]))
			t->machines[t->w->things[p->deleted[i]].machine]
				.unsure = true;
	if (best == NULL)
		return;
	best->extender = claim->index;
	best->failed_ms = claim->deleted_ms;
	best->until = earlier(claim->deleted_ms + SUBSTITUTE_MS,
			      first->deleted_ms + DRAINING_MS);
}

/* --- who counts ----------------------------------------------------------- */

/* Does the claim count, whatever it replaces?  It does once it is launched and
 * some seconds old. */
static struct maybe
is_old(struct truth *t, const struct thing *claim)
{
	int64_t by = truth_jumped_by(t, claim);
	int64_t first = created_ms(t, claim) + GRACE_MS - by;
	int64_t last = first + 2 * by + LAG_MS;

	/* Nobody can see the launch of a claim that is too large. */
	if (claim->launch_known && !claim->launched && !claim->large)
		return (struct maybe){false, false};
	return (struct maybe){has_passed(t, last), has_passed(t, first)};
}

/* Does the leader not know the claim yet, but its Node?  Then the Node is a
 * machine by itself. */
static bool
knows_node_alone(const struct truth *t, int machine)
{
	const struct machine *m = &t->w->machines[machine];
	const struct thing *node = thing_alive(t->w, m->node);

	return t->leader != NULL && t->leader->sights[m->claim].at < 0 &&
	       node != NULL && node->registered &&
	       t->leader->sights[node->index].at >= 0;
}

static void
set_counts(struct truth *t, const struct past *p, int machine)
{
	const struct machine *m = &t->w->machines[machine];
	struct machine_truth *x = &t->machines[machine];
	const struct thing *claim = &t->w->things[m->claim];
	bool ignores = t->rules.replacements == REPLACEMENTS_IGNORE;
	struct maybe event, follow;

	x->replaced = (struct maybe){false, false};
	x->counts = is_old(t, claim);
	x->coming = !x->counts.lo && (claim->launched ||
				      !claim->launch_known || claim->large);
	if (claim->rebooted && !has_passed(t, x->unwatched_until)) {
		x->coming = true;
		x->counts.lo = false;
	}
	if (t->rules.scope == SCOPE_NODE || !ignores)
		return;
	if (truth_classed(claim)) {
		x->replaced = (struct maybe){true, true};
		x->counts = (struct maybe){false, false};
		x->coming = false;
		return;
	}
	event = said(t, m);
	follow = event.hi ? follows(t, p, claim, SIGN_MS) : event;
	x->replaced = (struct maybe){event.lo && follow.lo,
				     event.hi && follow.hi};
	if (x->counts.lo && x->judged == JUDGED_NOT && !x->replaced.lo &&
	    t->leader != NULL)
		judge(t, p, machine);
	if (x->judged != JUDGED_NOT && event.hi &&
	    near_each_other(m->said_at, x->judged_at))
		unjudge(t, machine);
	x->replaced.lo |= x->judged == JUDGED_SUBSTITUTE;
	x->replaced.hi |= x->judged >= JUDGED_SUBSTITUTE;
	x->counts.lo &= !x->replaced.hi;
	x->counts.hi &= !x->replaced.lo;
	x->counts.hi |= knows_node_alone(t, machine);
}

/* Was the claim ready, and did the leader, which knew it before, not hear of
 * that? */
static bool
ready_missed(const struct truth *t, const struct thing *claim)
{
	return was_ready(claim) && t->leader != NULL &&
	       t->leader->sights[claim->index].at >= 0 &&
	       t->leader->sights[claim->index].ready_at < 0;
}

/* May the claim have come to count before the leader saw its deletion? */
static bool
came_late(const struct truth *t, const struct thing *claim)
{
	return (claim->launched || !claim->launch_known || claim->large) &&
	       !truth_classed(claim) &&
	       seen_at(t, claim) + LAG_MS + truth_jumped_by(t, claim) >=
		       old_at(claim);
}

/* Has anybody changed a NodePool of the machine's scope since then? */
static bool
changed_since(const struct truth *t, const struct machine *m, int64_t at)
{
	for (int i = 0; i < t->w->pools_n; i++)
		if ((t->rules.scope == SCOPE_CLUSTER || i == m->pool_id) &&
		    (t->w->nodepools[i].changed + LAG_MS >= at ||
		     t->w->nodepools[i].respecified + LAG_MS >= at))
			return true;
	return false;
}

/* The machine is being deleted or is gone.  If it kept its scope busy and was
 * never ready, its boot has failed, and keeps the scope busy for a minute, from
 * when the leader sees the deletion. */
static void
set_failed(struct truth *t, int machine)
{
	const struct machine *m = &t->w->machines[machine];
	struct machine_truth *x = &t->machines[machine];
	const struct thing *claim = &t->w->things[m->claim];
	const struct thing *node = m->node < 0 ? NULL : &t->w->things[m->node];
	const struct sight *s =
		t->leader == NULL ? NULL : &t->leader->sights[claim->index];
	bool odd = claim->large || claim->was_large || ready_missed(t, claim) ||
		   /* it saw that the Node went before it saw the readiness */
		   (s != NULL && node != NULL &&
		    t->leader->sights[node->index].deleted_at >= 0 &&
		    t->leader->sights[node->index].deleted_at <= s->ready_at);
	int64_t seen = seen_at(t, claim);

	x->failed.hi = (x->kept.hi || odd || came_late(t, claim)) &&
		       (!was_ready(claim) || odd) &&
		       (!is_disrupted(claim) || claim->large) &&
		       (s == NULL || (s->at >= 0 && s->at <= seen));
	x->failed.lo = x->kept.lo && x->failed.hi && !odd && t->calm &&
		       !is_disrupted(claim) && s != NULL &&
		       x->busy_since >= 0 &&
		       x->busy_since + LAG_MS <= claim->deleted_at &&
		       t->leader->led_since + LAG_MS <= claim->deleted_at &&
		       t->leader->jumped_at < claim->deleted_at &&
		       !(node != NULL && node->deleted_at >= 0 &&
			 node->deleted_at < claim->deleted_at) &&
		       !changed_since(t, m, claim->deleted_at);
	turns_at(t, claim->deleted_at + FAILED_MS - LAG_MS);
	turns_at(t, seen + FAILED_MS + 2 * LAG_MS + 1);
	x->fails.lo = x->failed.lo &&
		      t->w->now < claim->deleted_at + FAILED_MS - LAG_MS;
	x->fails.hi = x->failed.hi &&
		      t->w->now <= seen + FAILED_MS + 2 * LAG_MS +
				      truth_clocks_apart(t, claim->deleted_at);
}

/* Was the machine made in the minute of a boot that failed in its scope? */
static void
set_again(struct truth *t, int machine)
{
	const struct machine *m = &t->w->machines[machine];
	struct machine_truth *x = &t->machines[machine];
	const struct thing *claim = &t->w->things[m->claim];
	struct maybe now = {false, false};

	if (x->counted.lo || t->leader == NULL)	/* it stands */
		return;
	for (int i = 0; i < t->w->machines_n; i++) {
		const struct machine_truth *y = &t->machines[i];
		const struct thing *f = t->w->machines[i].claim < 0
						? NULL
						: &t->w->things[t->w->machines[i]
									.claim];
		int64_t apart;

		if (f == NULL || !y->failed.hi ||
		    truth_scope_of(t, &t->w->machines[i]) !=
			    truth_scope_of(t, m))
			continue;
		apart = truth_clocks_apart(t, f->deleted_at) + 2 * LAG_MS;
		now.hi |= claim->born <= seen_at(t, f) + FAILED_MS + apart &&
			  (claim->born + apart >= f->deleted_at || !t->calm ||
			   t->leader->sights[claim->index].at + apart >=
				   seen_at(t, f));
		now.lo |= y->failed.lo && apart == 2 * LAG_MS &&
			  claim->born >= f->deleted_at + LAG_MS &&
			  claim->born <= f->deleted_at + FAILED_MS - apart &&
			  t->w->now <= claim->born + FAILED_MS - apart;
	}
	x->again.lo = now.lo;
	x->again.hi |= now.hi;
}

static bool
counts_at_all(struct truth *t, int i, bool hi)
{
	const struct machine_truth *x = &t->machines[i];
	const struct machine *m = &t->w->machines[i];
	const struct thing *claim =
		m->claim < 0 ? NULL : &t->w->things[m->claim];

	if (claim == NULL || truth_uncounted(t->w, &t->rules, m))
		return false;
	if (released(&t->w->nodepools[m->pool_id], claim, t->clock) &&
	    !(hi && truth_release_unheard(t, m->pool_id)))
		return false;
	/* Until the leader hears of the deletion, it counts. */
	if (claim->deleting || !claim->used)
		return hi && x->counted.hi &&
		       t->w->now <= seen_at(t, claim) + LAG_MS;
	return hi ? x->counts.hi : x->counts.lo;
}

/* Does the leader surely know that the machine was launched?  In trouble it may
 * not hear of that. */
static bool
launch_heard(const struct truth *t, const struct machine *m)
{
	return t->calm || t->leader == NULL || m->claim < 0 ||
	       t->leader->sights[m->claim].launched_at >= 0;
}

/* Were the two made within that time of each other?  hi: possibly. */
static bool
is_near(const struct truth *t, int machine, int other, int64_t within, bool hi)
{
	int64_t apart = t->machines[machine].created -
			t->machines[other].created;
	int64_t by = 0;
	int pair[] = {machine, other};

	for (int i = 0; i < 2; i++)
		by += truth_jumped_by(
			t, &t->w->things[t->w->machines[pair[i]].claim]);
	within += hi ? by : -by;
	return machine == other || (apart <= within && -apart <= within);
}

/* Were enough machines, by minScaleUp, made within holdDuration of this one? */
static bool
is_enough(struct truth *t, int machine, bool hi)
{
	const struct machine *m = &t->w->machines[machine];
	int64_t hold = limits_of(t->w, &t->rules, m).hold;
	uint32_t n = 0;

	if (!truth_takes_several(t) ||
	    (hi ? t->machines[machine].again.hi
		: t->machines[machine].again.lo))
		return true;
	for (int i = 0; i < t->w->machines_n; i++) {
		if (truth_scope_of(t, &t->w->machines[i]) ==
			    truth_scope_of(t, m) &&
		    counts_at_all(t, i, hi) &&
		    (hi || launch_heard(t, &t->w->machines[i])))
			n += is_near(t, machine, i, hold, hi);
	}
	return n >= truth_takes(t, machine, hi);
}

/* Claims that launch at the same moment are judged in the order of the API
 * server, which is that of their births. */
void
truth_machines(struct truth *t)
{
	struct world *w = t->w;
	struct past past;

	collect(t, &past);
	for (int i = 0; i < w->machines_n; i++) {
		struct machine_truth *x = &t->machines[i];

		if (!w->machines[i].used)
			continue;
		if (w->machines[i].claim >= 0 || w->machines[i].node >= 0)
			set_deadline(t, &w->machines[i], x);
		x->counts = x->failed = x->fails = (struct maybe){false, false};
		x->coming = false;
		if (w->machines[i].claim < 0)
			continue;
		if (w->things[w->machines[i].claim].deleting) {
			extend(t, &past, i);
			set_failed(t, i);
			turns_at(t, seen_at(t, &w->things[w->machines[i].claim]) +
					    LAG_MS + 1);
			continue;
		}
		set_counts(t, &past, i);
		x->seemed |= x->judged >= JUDGED_SUBSTITUTE;
	}
	for (int i = 0; i < w->machines_n; i++) {
		struct machine_truth *x = &t->machines[i];

		if (w->machines[i].claim < 0 ||
		    w->things[w->machines[i].claim].deleting)
			continue;
		set_again(t, i);
		x->counted = x->counts;
	}
	for (int i = 0; i < w->machines_n; i++)
		truth_share(t, i, (struct maybe){counts_at_all(t, i, false),
						 counts_at_all(t, i, true)});
	for (int i = 0; i < w->machines_n; i++) {
		struct machine_truth *x = &t->machines[i];

		x->enough.lo = counts_at_all(t, i, false) &&
			       is_enough(t, i, false);
		x->enough.hi = counts_at_all(t, i, true) &&
			       is_enough(t, i, true);
		if (w->machines[i].claim < 0 ||
		    w->things[w->machines[i].claim].deleting)
			continue;
		x->kept.lo = x->enough.lo && !has_passed(t, x->busy_deadline);
		x->kept.hi = x->enough.hi &&
			     !has_passed(t, x->busy_deadline_hi);
	}
}
