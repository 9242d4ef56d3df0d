/* SPDX-License-Identifier: Apache-2.0 */
#include "truth_parts.h"

#include <string.h>

/* If a Lease is deleted under a leader, a replica that never saw it may make a
 * new one.  Both lead for as long as the old one would have lasted. */
#define DELETED_MS 20000
#define LEFT_OUT_MS 60000	/* from one list to the next, for the sake of
				   what watches leave out */

void
truth_init(struct truth *t, struct world *w, struct holder *holders,
	   int holders_n)
{
	*t = (struct truth){.w = w,
			    .holders = holders,
			    .holders_n = holders_n,
			    .rules = holders[0].rules,
			    .clock = world_server_ms(w),
			    .due_at = -1000000,
			    .next = INT64_MAX};
	for (int i = 0; i < POOLS; i++)
		t->scopes[i] = (struct scope_truth){.hi_last = -LAG_MS - 1,
						    .released = STAMP_NONE,
						    .gap = true};
	for (int i = 0; i < MACHINES; i++)
		t->machines[i].busy_since = t->machines[i].due_since = -1;
	w->truth = t;
}

int64_t
truth_next(const struct truth *t)
{
	return t->next;
}

/* --- moments -------------------------------------------------------------- */

int64_t
later_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void
turns_at(struct truth *t, int64_t at)
{
	if (at > t->w->now && at < t->next)
		t->next = at;
}

bool
has_passed(struct truth *t, int64_t clock_ms)
{
	if (clock_ms <= t->clock)
		return true;
	turns_at(t, t->w->now + clock_ms - t->clock);
	return false;
}

struct thing *
thing_alive(const struct world *w, int thing)
{
	return thing >= 0 && w->things[thing].used
		       ? (struct thing *)&w->things[thing]
		       : NULL;
}

/* --- who leads, and what it sees ------------------------------------------ */

/* A replica that sleeps may still believe that it leads. */
static const struct holder *
leader(const struct truth *t)
{
	const struct holder *last = NULL;

	for (int i = 0; i < t->holders_n; i++)
		if (t->holders[i].up && t->holders[i].leads &&
		    (last == NULL || t->holders[i].led_since > last->led_since))
			last = &t->holders[i];
	return last;
}

/* With `hung`, a stream that says nothing counts as open until the replica
 * finds that out. */
static bool
sees(const struct holder *h, enum kind kind, bool hung)
{
	const struct stream *s = &h->streams[kind];

	if (s->unserved && !s->complete)
		return true;
	return s->complete && s->state == STREAM_OPEN &&
	       (hung || h->w->now >= s->hung_until);
}

static bool
sees_objects(const struct holder *h, bool hung)
{
	return sees(h, KIND_NODE, hung) && sees(h, KIND_NODECLAIM, hung) &&
	       sees(h, KIND_NODEPOOL, hung) &&
	       (hung || h->w->now >= h->paused_until);
}

static bool
sees_all(const struct holder *h, bool hung)
{
	return h != NULL && h->restored && sees_objects(h, hung);
}

static bool
is_usable(const struct holder *h)
{
	return sees_all(h, false) && !holder_begins(h) &&
	       h->w->now > holder_rest_ends(h);
}

/* May the leader take this time for usable?  While it is stopped it does not
 * notice that a stream ends. */
static bool
maybe_usable(const struct truth *t, const struct holder *h)
{
	return sees_all(h, true) ||
	       (h != NULL && h == t->leader && h->w->now < h->paused_until &&
		t->maybe_usable);
}

/* A hold that goes on in another scope begins there without a debt. */
void
truth_take_rules(struct truth *t, const struct holder *h)
{
	for (int i = 0; i < MACHINES && t->rules.scope != h->rules.scope; i++)
		t->machines[i].was_held = false;
	t->rules = h->rules;
}

static void
look_at_leader(struct truth *t)
{
	const struct holder *h = leader(t);

	if (h != NULL && (t->leader != h || t->leads_n != h->leads_n)) {
		for (int i = 0; i < MACHINES; i++) {
			t->machines[i].judged = JUDGED_NOT;
			t->machines[i].share = (struct share){.lost = true};
			t->machines[i].again = (struct maybe){false, false};
			t->machines[i].goal_since = t->w->now;
			t->machines[i].period_since = t->w->now;
		}
		/* What the leader before told of, this one has to tell
		 * again. */
		for (int i = 0; i < t->w->things_n; i++)
			t->w->things[i].told = 0;
		for (int i = 0; i < POOLS; i++)
			t->hands[i] = (struct hand_truth){.out = true};
		t->leads_n = h->leads_n;
		truth_take_rules(t, h);
		if (!h->restored)
			truth_lost_count(t);
	}
	t->maybe_usable = maybe_usable(t, h);
	t->leader = h;
	t->begins = h != NULL &&
		    (holder_begins(h) ||
		     (!h->streams[KIND_NODEPOOL].complete &&
		      !h->streams[KIND_NODEPOOL].unserved &&
		      t->w->now - h->led_since <= 10000));
	t->usable = is_usable(h);
	if (h != NULL)
		turns_at(t, holder_rest_ends(h) + 1);
	t->clock = h != NULL ? holder_now(h).server_ms : world_server_ms(t->w);
}

static bool
is_large_claim(const struct thing *o)
{
	return o->kind == KIND_NODECLAIM && o->large && o->used;
}

/* Has a list left claims out, while the fresh list that shows them is yet to
 * come? */
static bool
waits_for_claims(const struct holder *h)
{
	const struct stream *s = &h->streams[KIND_NODECLAIM];
	const struct world *w = h->w;

	if (!w->larges || w->now > s->opened + LEFT_OUT_MS ||
	    h->listed_at[KIND_NODECLAIM] > s->opened)
		return false;
	for (int i = 0; i < w->things_n; i++)
		if (is_large_claim(&w->things[i]))
			return true;
	return false;
}

/* Does every release wait, because a fresh list shows a claim that is not ready
 * and that the leader does not know? */
static bool
releases_wait(struct truth *t)
{
	const struct world *w = t->w;

	for (int i = 0; w->larges && i < w->things_n; i++) {
		const struct thing *o = &w->things[i];

		if (!is_large_claim(o) || o->deleting)
			continue;
		turns_at(t, o->born + GRACE_MS + LAG_MS + 1);
		if ((w->now <= o->born + GRACE_MS + LAG_MS ||
		     (t->leader != NULL && truth_is_unread(t, o) &&
		      t->leader->sights[i].ready_at < 0)))
			return true;
	}
	return false;
}

/* Is the leader's view out of date, whatever the reason? */
static bool
is_behind(const struct holder *h)
{
	const struct world *w = h->w;
	int64_t large = w->large_line;

	for (int k = 0; k < VIEW_COUNT; k++) {
		const struct stream *s = &h->streams[k];

		if (holder_watches(h, (enum kind)k) &&
		    (!sees(h, (enum kind)k, false) ||
		     (s->unserved && w->now >= w->unserved_until[k]) ||
		     w->now < s->refused_until ||
		     w->now < s->lag_until + s->lag_ms))
			return true;
	}
	/* What watches leave out a fresh list shows, after the next list, which
	 * may be a minute later. */
	return w->now <= large + GRACE_MS + LAG_MS ||
	       (w->now <= large + LEFT_OUT_MS &&
		(h->streams[KIND_NODECLAIM].opened <= large ||
		 h->listed_at[KIND_NODECLAIM] <=
			 h->streams[KIND_NODECLAIM].opened)) ||
	       waits_for_claims(h);
}

/* When all that a fault has left behind is done: at once, unless a call has
 * failed that is made again after a backoff. */
static int64_t
trouble_ends(const struct world *w)
{
	return later_of(w->trouble_until + SLACK_MS,
			w->failed + TROUBLE_SLACK_MS);
}

static void
look_at_trouble(struct truth *t)
{
	struct world *w = t->w;
	bool was_calm = t->calm, was_blind = t->blind;

	t->blind = t->leader == NULL || !t->leader->restored ||
		   w->now < t->leader->paused_until || is_behind(t->leader);
	/* It may have ended at any moment since the last look. */
	if (t->blind || was_blind)
		world_trouble(w, w->now);
	t->calm = w->now > trouble_ends(w);
	if (was_calm && !t->calm)
		t->trouble_began = w->now;
	if (!t->calm)
		turns_at(t, trouble_ends(w) + 1);
}

/* --- the goals ---- ------------------------------------------------------- */

static bool
is_deleting(const struct thing *o)
{
	return o != NULL && o->deleting;
}

/* What is an inert NodePool's machine to be?  It has no time of its own, and no
 * scope. */
static enum due_goal
inert_goal(struct truth *t, struct maybe by_hand, const struct thing *claim)
{
	if (!by_hand.hi)
		return DUE_CLEAR;
	if (!by_hand.lo)
		return DUE_UNSURE;
	if (t->leader != NULL && t->leader->streams[KIND_NODECLAIM].unserved)
		return DUE_UNSURE;
	return claim != NULL ? DUE_HELD : DUE_LEFT;
}

static enum due_goal
goal_of(struct truth *t, int machine)
{
	const struct machine *m = &t->w->machines[machine];
	const struct machine_truth *x = &t->machines[machine];
	const struct thing *claim = thing_alive(t->w, m->claim);
	const struct thing *node = thing_alive(t->w, m->node);
	struct maybe by_hand = truth_by_hand(t, m->pool_id);
	int scope = truth_scope_of(t, m);

	if ((claim == NULL && node == NULL) || is_deleting(claim) ||
	    is_deleting(node))
		return DUE_LEFT;
	if (truth_out(t->w, &t->rules, m))
		return DUE_CLEAR;
	if (truth_inert(t->w, m))
		return inert_goal(t, by_hand, claim);
	if (t->leader != NULL && t->leader->streams[KIND_NODECLAIM].unserved)
		return DUE_UNSURE;
	if (!has_passed(t, x->deadline))
		return DUE_HELD;
	if (!has_passed(t, x->deadline_hi))
		return DUE_UNSURE;
	if (by_hand.hi && !by_hand.lo)
		return scope >= 0 && t->scopes[scope].held.lo &&
				       !(t->rules.drift == DRIFT_ALLOW &&
					 claim != NULL && claim->drifted)
			       ? claim != NULL ? DUE_HELD : DUE_LEFT
			       : DUE_UNSURE;
	/* Nobody can see whether a claim that is too large has drifted. */
	if (!by_hand.lo && t->rules.drift == DRIFT_ALLOW && claim != NULL &&
	    claim->drifted)
		return claim->large ? DUE_UNSURE : DUE_CLEAR;
	if (!by_hand.lo && (scope < 0 || !t->scopes[scope].held.hi))
		return DUE_CLEAR;
	if (!by_hand.lo && !t->scopes[scope].held.lo)
		return DUE_UNSURE;
	return claim != NULL ? DUE_HELD : DUE_LEFT;
}

/* --- what stands ---------------------------------------------------------- */

static int64_t
touched(const struct truth *t, const struct machine *m)
{
	int64_t at = t->w->nodepools[m->pool_id].changed;

	if (m->claim >= 0)
		at = later_of(at, t->w->things[m->claim].touched);
	if (m->node >= 0)
		at = later_of(at, t->w->things[m->node].touched);
	return at;
}

/* Were writes to the object refused?  Then the next try may be ten minutes
 * later. */
static bool
is_denied(const struct world *w, const struct thing *o)
{
	return w->now < w->denied[o->kind].until ||
	       (o->relieved > 0 && w->now < o->relieved + SLACK_MS) ||
	       (o->denied > 0 &&
		w->now < w->denied[o->kind].until + 600000 + SLACK_MS);
}

int64_t
truth_period_of(const struct truth *t, const struct thing *o)
{
	return later_of(t->machines[o->machine].period_since,
			t->w->machines[o->machine].born);
}

/* Returns the object on which the machine's hold must stand.  NULL: nobody can
 * tell, or a person decides. */
static const struct thing *
holds_on(const struct truth *t, const struct thing *claim,
	 const struct thing *node)
{
	bool registered = node != NULL && node->registered;
	const struct thing *o = registered ? node : claim;

	if (o != NULL && o->told < 0)
		return NULL;
	if (truth_person(claim, &t->rules) || truth_person(node, &t->rules) ||
	    o == NULL)
		return NULL;
	if (!registered && claim->other[0] != '\0')
		o = node;	/* a Node has come again under its old name */
	/* Nobody can see whose Node that is: it does not name its claim, and the
	 * claim's status cannot be had. */
	if (o != NULL && o->kind == KIND_NODE && o->other[0] == '\0' &&
	    claim != NULL && claim->large)
		return NULL;
	/* Nobody can see that such a Node is Karpenter's. */
	if (o != NULL && o->kind == KIND_NODE && o->nodepool[0] == '\0' &&
	    o->other[0] == '\0')
		return NULL;
	return o;
}

/* Can the leader hold it, if it is not held?  Writes may be refused, and two
 * leaders may have used up the holds of this period. */
static bool
can_be_held(const struct truth *t, const struct thing *o)
{
	return o->strips <= REHOLDS &&
	       truth_period_of(t, o) > t->w->quarrel && !is_denied(t->w, o);
}

/* Is there a machine whose own time is not over although it is replaced? */
static bool
for_replacements(const struct truth *t)
{
	for (int i = 0; i < t->w->machines_n; i++)
		if (t->machines[i].replaced.lo &&
		    t->machines[i].deadline > t->clock)
			return true;
	return false;
}

/* Must our mark be gone from the object? */
static bool
to_be_clear(const struct truth *t, const struct thing *o,
	    const struct thing *claim)
{
	if (o == NULL || is_denied(t->w, o))
		return false;
	if (o->kind != KIND_NODE)
		return true;
	/* The hold on its claim comes first, as long as annotations may be
	 * copied. */
	if (!o->registered && claim != NULL && is_denied(t->w, claim))
		return false;
	/* The Node stands for itself, because it does not name its claim
	 * yet, and nobody can see the status of a claim that is too large. */
	if (o->other[0] == '\0' && claim != NULL && claim->large)
		return false;
	if (o->other[0] == '\0' &&
	    t->clock <= o->created_ms + t->rules.hold_ms + SLACK_MS)
		return false;
	/* The Node is alone in the watch and belongs to no NodePool. */
	return o->registered || o->nodepool[0] != '\0';
}

static void
not_clear(struct truth *t, const struct thing *o)
{
	if (for_replacements(t))
		broken(t->w, "I5: %s still has our mark, and only replacements "
		       "are new", o->name);
	else
		broken(t->w, "I2: %s still has our mark, though it is quiet",
		       o->name);
}

static void
check_writes(struct world *w, const struct thing *o, unsigned faults)
{
	if (o != NULL && o->writes > WRITES_MAX + o->reasons + faults)
		broken(w, "I9: %u writes to %s, and %u reasons", o->writes,
		       o->name, o->reasons);
}

static void
has_turned(struct truth *t, struct machine_truth *x, struct thing *claim,
	   struct thing *node, enum due_goal goal)
{
	struct thing *both[] = {claim, node};
	static const char *const words[] = {"either way", "left", "held",
					    "clear"};

	for (int i = 0; i < 2; i++) {
		if (both[i] == NULL)
			continue;
		both[i]->reasons += 2;
		both[i]->hold_reasons++;
		/* Another write is refused on its own account. */
		both[i]->denied = both[i]->denied > 0;
		both[i]->denied_since = t->w->now;
	}
	tell(t->w, "truth      %s is to be %s",
	     claim != NULL ? claim->name : node->name, words[goal]);
	if (x->goal == DUE_CLEAR)
		x->period_since = t->w->now;
	x->goal = goal;
	x->goal_since = t->w->now;
}

/* A person has taken the hold off the claim.  Then ours goes from its Node.
 * Returns whether that has to be so. */
static bool
check_opted_out(struct truth *t, const struct thing *claim,
		const struct thing *node)
{
	if (claim == NULL || node == NULL || claim->large || !node->registered ||
	    !truth_opted_out(claim, &t->rules) || truth_person(node, &t->rules) ||
	    is_denied(t->w, node) ||
	    truth_period_of(t, node) <= t->w->quarrel)
		return false;
	if (truth_marked(node, &t->rules))
		broken(t->w, "I1: %s is still held, though a person has taken "
		       "the hold off its claim", node->name);
	return true;
}

/* Checks what stands on the machine's objects.  Returns whether a wrong hold or
 * a wrong clear would have been found. */
static bool
check_stands(struct truth *t, enum due_goal goal, const struct thing *claim,
	     const struct thing *node)
{
	const struct thing *both[] = {claim, node};
	const struct thing *held;
	bool judged = false;

	if (goal == DUE_HELD) {
		held = holds_on(t, claim, node);
		if (held != NULL && !can_be_held(t, held))
			held = NULL;
		if (held != NULL && !truth_held(held, &t->rules))
			broken(t->w, "I3: %s is not held, though it should be",
			       held->name);
		/* What else a person decides is looked at when it is
		 * written. */
		return check_opted_out(t, claim, node) || held != NULL ||
		       truth_person(claim, &t->rules) ||
		       truth_person(node, &t->rules);
	}
	for (int i = 0; goal == DUE_CLEAR && i < 2; i++) {
		if (!to_be_clear(t, both[i], claim))
			continue;
		judged = true;
		if (truth_marked(both[i], &t->rules))
			not_clear(t, both[i]);
	}
	return judged;
}

/* Does the machine stand as it is to, so that only a write could change that,
 * and would that be reported? */
static bool
is_guarded(const struct truth *t, enum due_goal goal, const struct thing *claim,
	   const struct thing *node)
{
	const struct thing *o;
	/* While nobody leads, every act would be. */
	bool idle = t->leader == NULL;

	if (goal == DUE_HELD) {
		o = holds_on(t, claim, node);
		return o != NULL && truth_held(o, &t->rules) &&
		       (idle || truth_sees_act(t, o, ACT_CLEAR));
	}
	return goal == DUE_CLEAR && !truth_marked(claim, &t->rules) &&
	       !truth_marked(node, &t->rules) &&
	       (idle || truth_sees_act(t, node != NULL ? node : claim,
				       ACT_HOLD));
}

/* Since when does the leader know what is to be, and may it do it?  A release
 * waits once for the claims of its scope that are about to count, unless the
 * scope is busy already.  No stream of them stops it. */
static int64_t
known_since(const struct truth *t, const struct machine *m,
	    const struct machine_truth *x)
{
	int64_t at = later_of(later_of(x->goal_since, touched(t, m)),
			      x->unread_at);
	int scope = truth_scope_of(t, m);

	if (x->goal != DUE_CLEAR)
		return at;
	at = later_of(at, t->waited_at);
	if (scope < 0 || truth_uncounted(t->w, &t->rules, m) ||
	    t->scopes[scope].busy.lo)
		return at;
	return t->scopes[scope].came_at < at ? at : at + GRACE_MS + LAG_MS;
}

static void
meter_machine(struct truth *t, enum due_goal goal, bool judged, bool turned)
{
	if (goal == DUE_LEFT)
		return;
	t->rates.ms[METER_MACHINES]++;
	t->rates.ms[judged		 ? METER_MACHINES_JUDGED
		    : goal == DUE_UNSURE ? METER_UNSURE
		    : !t->calm		 ? METER_TROUBLE
		    : turned		 ? METER_TURNED
					 : METER_UNSEEN]++;
}

static void
check_machine(struct truth *t, int machine)
{
	const struct machine *m = &t->w->machines[machine];
	struct machine_truth *x = &t->machines[machine];
	struct thing *claim = thing_alive(t->w, m->claim);
	struct thing *node = thing_alive(t->w, m->node);
	const struct thing *both[] = {claim, node};
	int64_t due;
	enum due_goal goal;
	bool judged = false;

	if (claim == NULL && node == NULL)
		return;
	if (!t->w->rekeyed)
		for (int i = 0; i < 2; i++)
			if (both[i] != NULL && truth_unmarked(both[i]))
				broken(t->w, "I2: %s has our hold without its "
				       "mark", both[i]->name);
	goal = goal_of(t, machine);
	if (goal != x->goal)
		has_turned(t, x, claim, node, goal);
	/* A leader does not know what its full table left out. */
	if (t->w->full) {
		meter_machine(t, goal, false, false);
		return;
	}
	check_writes(t->w, claim, t->w->strange);
	check_writes(t->w, node, t->w->strange);
	if (goal == DUE_HELD || x->due_since < 0)
		x->due_since = goal == DUE_HELD ? -1 : t->w->now;
	if (x->due_since >= 0 && t->w->now - x->due_since > 300 &&
	    (truth_marked(claim, &t->rules) || truth_marked(node, &t->rules)))
		t->due_at = t->w->now;
	if (truth_is_unread(t, claim))
		x->unread_at = t->w->now;
	due = known_since(t, m, x) +
	      (t->w->larges ? LARGE_SLACK_MS : SLACK_MS);
	if (goal == DUE_CLEAR || goal == DUE_HELD) {
		turns_at(t, due + 1);
		turns_at(t, trouble_ends(t->w) + 1);
	}
	if (t->w->now > due && t->calm)
		judged = check_stands(t, goal, claim, node);
	judged = judged || is_guarded(t, goal, claim, node);
	meter_machine(t, goal, judged, t->w->now <= due);
}

/* I4: nothing is held beyond the cap, whatever else is believed here. */
static void
check_cap(struct truth *t, int machine)
{
	const struct machine *m = &t->w->machines[machine];
	struct machine_truth *x = &t->machines[machine];
	const struct thing *node = thing_alive(t->w, m->node);
	const struct thing *claim = thing_alive(t->w, m->claim);
	const struct pool_state *p = &t->w->nodepools[m->pool_id];
	int64_t now = t->w->now, max = t->rules.cap.max_ms, from, troubled;
	int64_t hand = truth_hand_until(t, m->pool_id);
	int scope = truth_scope_of(t, m);
	bool is_held = node != NULL && claim != NULL &&
		       truth_held(node, &t->rules) && !claim->deleting &&
		       !node->deleting;
	/* A window passes even if nothing can be released in it. */
	bool in_vain = scope >= 0 && !t->calm && truth_may_be_open(t, scope);
	/* The bucket leaks even while a release waits. */
	bool leaks = scope >= 0 && !t->scopes[scope].busy.hi;

	/* A cap does not end a person's hold. */
	if (!is_held || !x->was_held || in_vain || leaks ||
	    is_denied(t->w, node) ||
	    is_denied(t->w, claim) ||
	    p->changed >= x->held_since || hand > t->clock ||
	    x->deadline_hi > t->clock) {
		x->held_since = now;
		x->held_troubled = t->troubled_ms;
	}
	x->was_held = is_held;
	troubled = t->troubled_ms - x->held_troubled;
	from = later_of(x->held_since, now - (t->clock - x->deadline_hi));
	if (hand != STAMP_NONE)
		from = later_of(from, now - (t->clock - hand));
	/* A released-at of all NodePools of the scope leaves no debt. */
	if (scope >= 0)
		from = later_of(from, t->scopes[scope].ends_at);
	if (is_held && !t->w->full && max > 0 &&
	    now - from > max + troubled + SLACK_MS)
		broken(t->w, "I4: %s is held for %lld s, beyond the cap",
		       node->name, (long long)(now - from) / 1000);
}

/* --- replicas ------------------------------------------------------------- */

/* By its record the replica has the Lease, and nobody has told it otherwise. */
static bool
leads_now(const struct holder *h)
{
	return h->up && h->elects && h->leads && h->w->now > h->paused_until;
}

static void
check_leaders(struct truth *t)
{
	int n = 0;

	for (int i = 0; i < t->holders_n; i++)
		n += leads_now(&t->holders[i]);
	if (n > 1)
		t->w->quarrel = later_of(t->w->quarrel, t->w->now);
	if (n > 1 && t->w->now - t->w->lease_deleted > DELETED_MS)
		broken(t->w, "I6: %d replicas lead", n);
}

void
truth_write(struct holder *h, const struct flight *f)
{
	if (f->fault == REPLY_LATE ||
	    h->w->now - h->w->lease_deleted <= DELETED_MS)
		return;
	for (int i = 0; i < h->all_n; i++)
		if (h->all[i].number != h->number && leads_now(&h->all[i]))
			broken(h->w, "I6: holder %d writes to %s, and holder "
			       "%d leads", h->number, f->a.name, i);
}

/* Once everything fits again, the leader asks within a minute for what was left
 * out.  From then on a table that was full is like any other. */
static void
check_room(struct truth *t)
{
	struct world *w = t->w;
	uint32_t n[VIEW_COUNT] = {0};
	bool until_now = w->is_crowded;

	for (int i = 0; i < w->things_n; i++)
		n[w->things[i].kind] += w->things[i].used;
	w->is_crowded = false;
	for (int i = 0; i < t->holders_n; i++)
		w->is_crowded |=
			n[KIND_NODE] > t->holders[i].machines_max ||
			n[KIND_NODECLAIM] > t->holders[i].machines_max;
	if (until_now || w->is_crowded)
		w->crowded = w->now;
	if (!w->full || w->now - w->crowded <= 60000 + TROUBLE_SLACK_MS)
		return;
	tell(w, "truth      everything fits again");
	w->full = false;
	world_trouble(w, w->now);
	truth_lost_count(t);
	for (int i = 0; i < w->machines_n; i++)
		t->machines[i].was_held = false;
}

/* --- all of it ------------------------------------------------------------ */

void
truth_check(struct truth *t)
{
	const struct world *w = t->w;
	bool due = w->now >= t->next ||
		   t->seen_changes != w->changes + w->sighted ||
		   leader(t) != t->leader ||
		   is_usable(t->leader) != t->usable ||
		   maybe_usable(t, t->leader) != t->maybe_usable ||
		   trouble_ends(w) >= w->now;

	check_leaders(t);
	if (due)	/* more than time has passed, or something turns now */
		truth_look(t);
}

/* Time has passed as it was judged at the last look. */
static void
meter_run(struct truth *t)
{
	double ms = (double)(t->w->now - t->looked_at);

	for (int i = 0; i < METERED; i++)
		t->meter.ms[i] += ms * t->rates.ms[i];
	t->rates = (struct meter){0};
}

void
truth_look(struct truth *t)
{
	struct world *w = t->w;

	meter_run(t);
	truth_pass_time(t);
	if (!t->calm || t->waits)
		t->troubled_ms += w->now - t->looked_at;
	if (t->waits)
		t->waited_at = w->now;
	t->looked_at = w->now;
	t->seen_changes = w->changes + w->sighted;
	t->next = INT64_MAX;
	look_at_leader(t);
	look_at_trouble(t);
	check_room(t);
	t->waits = releases_wait(t);
	truth_tickets(t);
	truth_machines(t);
	truth_scopes(t);
	for (int i = 0; i < w->machines_n; i++) {
		check_machine(t, i);
		check_cap(t, i);
	}
	truth_meter(t);
	truth_soft(t);
}

/* Does a hold-until hold it, that lies ahead? */
static bool
held_by_hand(const struct truth *t, const struct thing *o)
{
	const struct machine *m = &t->w->machines[o->machine];

	return truth_hand_until(t, m->pool_id) > t->clock &&
	       !truth_out(t->w, &t->rules, m);
}

void
truth_last(struct truth *t)
{
	struct world *w = t->w;

	for (int i = 0; i < w->things_n; i++) {
		const struct thing *o = &w->things[i];

		if (o->used && !o->deleting && truth_marked(o, &t->rules) &&
		    !w->full && !held_by_hand(t, o))
			broken(w, "I8: in the end %s still has our mark",
			       o->name);
	}
	for (int i = 0; i < t->holders_n; i++)
		if (t->holders[i].up &&
		    w->now - t->holders[i].still_since < 60000)
			broken(w, "I9: holder %d still makes calls", i);
}
