/* SPDX-License-Identifier: Apache-2.0 */
#include "truth_parts.h"

#include <string.h>

/* Checks what a replica does, at the moment when it does it. */

#define DELETED_MS 20000

/* --- views ---------------------------------------------------------------- */

static void
check_views(struct holder *h, const struct action *a, bool release)
{
	struct world *w = h->w;
	int64_t listed = h->listed_at[KIND_NODECLAIM];

	for (int k = 0; k < KIND_EVENT; k++) {
		const struct stream *s = &h->streams[k];

		if (!(s->unserved && !s->complete) &&
		    (!s->complete || s->state != STREAM_OPEN))
			broken(w, "I9: %s is cleared while %ss are not watched",
			       a->name, object_kind_name((enum kind)k));
	}
	if (!release)
		return;
	if (listed < 0 || h->listed_at[KIND_NODEPOOL] < 0)
		broken(w, "I9: %s is released without fresh lists", a->name);
	/* A resource that is not served counts as an empty list. */
	for (int i = 0; !w->full && !h->streams[KIND_NODECLAIM].unserved &&
			i < w->things_n;
	     i++) {
		const struct thing *o = &w->things[i];

		if (o->used && o->kind == KIND_NODECLAIM && !o->deleting &&
		    h->sights[i].at < 0 && o->born <= listed)
			broken(w,
			       "I9: %s is cleared though %s was not seen "
			       "yet",
			       a->name, o->name);
	}
}

/* --- how often ------------------------------------------------------------ */

static void
check_lists(struct holder *h, const struct action *a)
{
	struct world *w = h->w;

	if (w->now - h->lists_since >= 60000) {
		h->lists_since = w->now;
		h->lists = 0;
	}
	if (++h->lists > 2 * LISTS_MAX)
		broken(w, "I9: holder %d asks for %u fresh lists in a minute",
		       h->number, h->lists);
	if (a->act != ACT_LIST_CLAIMS)
		return;
	/* The bound holds however many machines fall due, and whatever stops a
	 * list. */
	if (w->now - h->asked_lists[2] < 900 &&
	    h->asked_lists[2] > h->led_since)
		broken(w,
		       "I9: holder %d asks for a fresh list four times in "
		       "%lld ms",
		       h->number, (long long)(w->now - h->asked_lists[2]));
	memmove(&h->asked_lists[1], &h->asked_lists[0],
		2 * sizeof(h->asked_lists[0]));
	h->asked_lists[0] = w->now;
}

/* A call that fails, in whatever way, is not repeated in a loop.  Two leaders
 * with different configurations may do so. */
static void
check_tries(struct world *w, struct thing *o)
{
	if (w->now - w->quarrel < 60000)
		return;
	if (w->now - o->tries_since >= 60000) {
		o->tries_since = w->now;
		o->tries = 0;
	}
	if (++o->tries > TRIES_MAX)
		broken(w, "I9: %u calls for %s in a minute", o->tries, o->name);
}

/* A write that is refused is tried again more and more rarely. */
static void
check_denied(const struct holder *h, struct thing *o, enum act act,
	     enum controller_code code)
{
	struct world *w = h->w;
	int64_t most = DENIED_MAX;

	if (code != CONTROLLER_REFUSED && code != CONTROLLER_INVALID) {
		if (o->denied > 0)
			o->relieved = w->now;
		o->denied = 0;
		return;
	}
	if (w->now >= w->denied[o->kind].until)
		return; /* the test of a JSON Patch failed */
	if (o->denied++ == 0 || o->denied_act != (int)act ||
	    o->touched > o->denied_since ||
	    w->trouble_began > o->denied_since) {
		o->denied = 1;
		o->denied_act = (int)act;
		o->denied_since = w->now;
	}
	most += (w->now - o->denied_since) / 600000 * 2;
	/* If a clock jumps, the goal may turn without anybody seeing it. */
	if (o->denied > most && w->now - h->jumped_at > 600000)
		broken(w, "I9: %u writes to %s are refused in %lld s",
		       o->denied, o->name,
		       (long long)(w->now - o->denied_since) / 1000);
}

/* --- what is written ------------------------------------------------------ */

static void
check_mark(struct holder *h, const struct action *a)
{
	int64_t clock = holder_now(h).server_ms;

	if (h->w->now - h->jumped_at < 20000)
		return;
	if (a->mark_ms > clock || a->mark_ms < clock - 1000)
		broken(h->w, "I10: %s is marked as held since %lld s ago",
		       a->name, (long long)(clock - a->mark_ms) / 1000);
}

static void
check_class(const struct truth *t, const struct thing *claim)
{
	const struct world *w = t->w;
	bool seen = w->machines[claim->machine].said_at >= 0 &&
		    truth_disrupted_before(t, claim, 60000);

	if (strncmp(claim->class, "substitute/", 11) != 0) {
		if (!seen)
			broken(t->w,
			       "I5: %s is classed as \"%s\", and nobody "
			       "who can know said so",
			       claim->name, claim->class);
		return;
	}
	for (int i = 0; i < w->machines_n; i++) {
		const struct thing *d =
			w->machines[i].claim < 0
				? NULL
				: &w->things[w->machines[i].claim];

		if (d == NULL || strcmp(d->uid, claim->class + 11) != 0)
			continue;
		if (!truth_may_match(t, claim, d))
			break;
		for (int k = 0; k < w->machines_n; k++) {
			const struct thing *c =
				thing_alive(w, w->machines[k].claim);

			if (c != NULL && c != claim && truth_classed(c) &&
			    !w->full &&
			    strcmp(c->class, claim->class) == 0 &&
			    w->now - w->lease_deleted > DELETED_MS)
				broken(t->w,
				       "I5: %s and %s both stand in for "
				       "%s",
				       claim->name, c->name, d->name);
		}
		return;
	}
	/* A full table has forgotten who came in whose place. */
	if (!w->full)
		broken(t->w, "I5: %s is no %s", claim->name, claim->class);
}

/* A claim that the leader classed must be one that the truth takes for it,
 * where that can be known. */
static void
check_judged(const struct truth *t, const struct thing *claim)
{
	const struct machine_truth *x = &t->machines[claim->machine];
	bool substitute = strncmp(claim->class, "substitute/", 11) == 0;

	/* What a full table left out did not take its turn. */
	if (!t->calm || !substitute || t->w->full)
		return;
	if (x->judged == JUDGED_SCALE_UP)
		broken(t->w, "I5: %s is a scale-up, and classed as \"%s\"",
		       claim->name, claim->class);
	if (x->judged == JUDGED_SUBSTITUTE &&
	    strcmp(t->w->things[x->substitute].uid, claim->class + 11) != 0)
		broken(t->w,
		       "I5: %s stands in for %s, and is classed as "
		       "\"%s\"",
		       claim->name, t->w->things[x->substitute].name,
		       claim->class);
}

/* Without a cause in the world, an object is not held, cleared and held again
 * more than twice in the shorter of the two periods. */
static void
check_flapping(struct truth *t, struct thing *o, enum act act)
{
	int64_t span = t->rules.hold_ms;

	if (act == ACT_CLEAR)
		o->was_cleared = true;
	if (act != ACT_HOLD || !o->was_cleared)
		return;
	o->was_cleared = false;
	if (t->rules.cap.max_ms > 0 && t->rules.cap.window_ms < span)
		span = t->rules.cap.window_ms;
	memmove(&o->turned[1], &o->turned[0], 2 * sizeof(o->turned[0]));
	o->turned[0] = t->w->now;
	if (o->turned[2] >= 0 && t->w->now - o->turned[2] < span &&
	    o->turned[2] > t->w->caused && o->turned[2] > t->w->quarrel &&
	    t->leader != NULL &&
	    /* What the last leader wrote of a window may be lost. */
	    o->turned[2] > t->leader->led_since &&
	    o->turned[2] - t->leader->jumped_at > SLACK_MS &&
	    o->turned[2] - t->w->lease_deleted > DELETED_MS)
		broken(t->w,
		       "I10: %s is held, cleared and held again three "
		       "times in %lld s",
		       o->name, (long long)(t->w->now - o->turned[2]) / 1000);
}

void
truth_written(struct holder *h, const struct flight *f)
{
	struct world *w = h->w;
	struct truth *t = w->truth;
	struct thing *o = thing_named(w, f->a.kind, f->a.name);

	if (o == NULL)
		return;
	if (f->fault == REPLY_WHOLE)
		check_denied(h, o, f->a.act, f->out.code);
	if (f->out.code != CONTROLLER_OK)
		return;
	if (f->a.act == ACT_CLASSIFY) {
		check_class(t, o);
		check_judged(t, o);
	}
	/* The goal may have turned without anybody seeing it. */
	o->reasons += t->machines[o->machine].goal == DUE_UNSURE;
	check_flapping(t, o, f->a.act);
	/* In one period it is held again only so often, whoever strips it. */
	if (f->a.act == ACT_HOLD &&
	    ++o->holds > 1 + REHOLDS + o->hold_reasons + w->strange &&
	    truth_period_of(t, o) > w->quarrel && t->calm)
		broken(w, "I10: %s is held %u times in %u periods", o->name,
		       o->holds, o->hold_reasons);
}

/* --- just then ------------------------------------------------------------ */

/* Nobody can tell to which machine an unregistered Node belongs. */
static bool
says_no(const struct truth *t, const struct machine *m, const struct thing *o)
{
	const struct thing *claim = thing_alive(t->w, m->claim);
	const struct thing *node = thing_alive(t->w, m->node);
	bool linked =
		node != NULL &&
		(node->other[0] != '\0' ||
		 (claim != NULL && !claim->large && claim->other[0] != '\0'));

	if ((o == node || linked) && truth_person(node, &t->rules))
		return true;
	return truth_person(claim, &t->rules) &&
	       (node == NULL || node->registered || claim->other[0] != '\0');
}

static bool
is_deleting(const struct thing *o)
{
	return o != NULL && o->deleting;
}

/* A Node that does not name its claim yet stands for itself.  Its stamp counts,
 * whatever the replica's clock says. */
static bool
is_as_stamped(const struct holder *h, const struct thing *o)
{
	int64_t ahead = holder_now(h).server_ms - world_server_ms(h->w);

	return o->kind == KIND_NODE && !o->registered &&
	       (ahead > 5000 || ahead < -5000);
}

static int64_t
touched(const struct world *w, const struct machine *m)
{
	int64_t at = w->nodepools[m->pool_id].changed;

	if (m->claim >= 0)
		at = later_of(at, w->things[m->claim].touched);
	if (m->node >= 0)
		at = later_of(at, w->things[m->node].touched);
	return at;
}

/* Can the leader know all of the machine, and has it had the time to? */
static bool
is_known(const struct truth *t, const struct holder *h, const struct machine *m,
	 int64_t late)
{
	const struct world *w = t->w;

	return !w->full && h == t->leader && w->now - h->jumped_at >= 10000 &&
	       w->now - w->lease_deleted > DELETED_MS &&
	       w->now - touched(w, m) > late;
}

bool
truth_sees_act(const struct truth *t, const struct thing *o, enum act act)
{
	const struct world *w = t->w;
	const struct holder *h = t->leader;
	const struct machine_truth *x = &t->machines[o->machine];
	int64_t late = h == NULL ? 0 : holder_lag_ms(h) + LAG_MS;
	int claim = w->machines[o->machine].claim;
	int scope = truth_scope_of(t, &w->machines[o->machine]);

	if (h == NULL || !is_known(t, h, &w->machines[o->machine], late) ||
	    w->now - x->goal_since <= late)
		return false;
	/* A Node that does not name its claim yet stands for itself. */
	if (o->kind == KIND_NODE && o->other[0] == '\0')
		return false;
	if (act == ACT_CLEAR)
		return x->goal == DUE_HELD && !is_as_stamped(h, o);
	/* The leader may hear of new machines before it hears that their
	 * NodePool is left alone. */
	if (scope >= 0 && truth_missed_a_nodepool(t, scope))
		return false;
	/* So does a Node whose claim is yet to be listed. */
	return x->goal == DUE_CLEAR && claim >= 0 && h->sights[claim].at >= 0 &&
	       w->now - h->sights[claim].at > LAG_MS;
}

/* Has the machine become ready just now?  Its own time ended with that if
 * another clock wrote its stamp, however long ago the stamp says. */
static bool
is_ready_now(const struct world *w, const struct machine *m)
{
	return m->claim >= 0 && w->things[m->claim].ready_at >= 0 &&
	       w->now - w->things[m->claim].ready_at <= SLACK_MS;
}

/* The machine was cleared although its scope is busy and its own time is not
 * over.  So a window has to be open, and it must be possible that one is. */
static void
look_for_window(struct truth *t, const struct action *a, const struct thing *o)
{
	const struct machine *m = &t->w->machines[o->machine];
	const struct pool_state *p = &t->w->nodepools[m->pool_id];
	int64_t over = later_of(t->machines[o->machine].deadline_hi,
				truth_hand_until(t, m->pool_id));
	int scope = truth_scope_of(t, m);
	const struct scope_truth *s;
	/* A Node whose claim is too large, and that does not name it, has a
	 * time of its own. */
	bool alone = m->claim >= 0 && t->w->things[m->claim].large &&
		     o->kind == KIND_NODE && o->other[0] == '\0';

	if (scope < 0 || truth_uncounted(t->w, &t->rules, m) || !t->calm ||
	    over > t->clock || alone)
		return;
	/* If it was released by hand, its own time has been over since then. */
	if (p->released <= t->clock)
		over = later_of(over, p->released);
	s = &t->scopes[scope];
	if (!s->seems.lo || s->late.open || s->unknown ||
	    t->w->now - p->changed < LAG_MS)
		return;
	if (!truth_may_be_open(t, scope))
		broken(t->w,
		       "I4: %s is released in a window, and the debt is "
		       "%.0f s at most",
		       a->name, s->high / 1000);
	else
		truth_seen_open(t, scope,
				t->clock - over > SLACK_MS && o->denied == 0 &&
					!is_ready_now(t->w, m));
}

/* Is one of its objects being deleted, so that a leader can see it?  Whose Node
 * that is it cannot see if the claim is too large, unless the Node names it. */
static bool
is_seen_deleting(const struct world *w, const struct machine *m)
{
	const struct thing *claim = thing_alive(w, m->claim);
	const struct thing *node = thing_alive(w, m->node);
	bool large = claim != NULL && claim->large;

	return is_deleting(claim) ||
	       (is_deleting(node) && (!large || node->other[0] != '\0'));
}

void
truth_action(struct holder *h, const struct action *a)
{
	struct world *w = h->w;
	struct truth *t = w->truth;
	struct thing *o = thing_named(w, a->kind, a->name);
	bool list = act_lists(a->act);
	bool release = a->act == ACT_CLEAR && strcmp(a->reason, "quiet") == 0;
	bool drifted = a->act == ACT_CLEAR && strcmp(a->reason, "drifted") == 0;
	int64_t late = holder_lag_ms(h) + LAG_MS;
	const struct machine *m;
	const struct machine_truth *x;

	truth_look(t);
	if (!h->leads)
		broken(w, "I6: holder %d asks for %s, and does not lead",
		       h->number, list ? "a list" : a->name);
	if (w->now < h->asked_to_wait)
		broken(w,
		       "I9: holder %d asks for %s, though it was told to "
		       "wait",
		       h->number, list ? "a list" : a->name);
	if (list) {
		check_lists(h, a);
		return;
	}
	if (a->act == ACT_CLEAR || a->act == ACT_UNMARK)
		check_views(h, a, release || drifted);
	if (a->act == ACT_HOLD)
		check_mark(h, a);
	if (o == NULL)
		return;
	check_tries(w, o);
	m = &w->machines[o->machine];
	x = &t->machines[o->machine];
	if (act_writes(a->act) && w->now - touched(w, m) > late &&
	    is_seen_deleting(w, m))
		broken(w,
		       "I9: %s is written to, though its machine is being "
		       "deleted",
		       a->name);
	if (!is_known(t, h, m, late))
		return;
	if (release)
		look_for_window(t, a, o);
	if ((release || drifted) && truth_sees_act(t, o, ACT_CLEAR))
		broken(w, "I3: %s is released, though it is to be held",
		       a->name);
	if (a->act == ACT_HOLD && truth_sees_act(t, o, ACT_HOLD))
		broken(w, "I2: %s is held, though it is to be clear", a->name);
	if (w->now - x->goal_since <= late)
		return;
	/* Nobody knows that a Node is the claim's which is too large, if the Node
	 * does not name it. */
	if (a->act == ACT_HOLD && says_no(t, m, o) &&
	    (m->claim < 0 || !w->things[m->claim].large ||
	     o->index == m->claim || o->other[0] != '\0'))
		broken(w, "I1: %s is held, though a person has a say", a->name);
}

/* --- what it says --------------------------------------------------------- */

/* "" is the cluster, or the scope of claims without the label. */
static int
scope_told(const struct truth *t, const char *name)
{
	for (int i = 0; t->rules.scope == SCOPE_NODEPOOL && i < t->w->pools_n;
	     i++)
		if (strcmp(t->w->nodepools[i].name, name) == 0)
			return i;
	return t->rules.scope == SCOPE_CLUSTER ? 0 : -1;
}

/* Was one of its NodePools changed a moment ago?  The leader goes by what it was
 * until then. */
static bool
pools_turned(const struct truth *t, int scope)
{
	for (int i = 0; i < t->w->pools_n; i++)
		if ((t->rules.scope == SCOPE_CLUSTER || i == scope) &&
		    t->w->now - t->w->nodepools[i].changed <= LAG_MS)
			return true;
	return false;
}

void
truth_note(struct holder *h, const struct note *n)
{
	struct world *w = h->w;
	struct truth *t = w->truth;
	const struct scope_truth *s;
	int scope = scope_told(t, n->name);

	if (n->type != NOTE_SCOPE_CAPPED && n->type != NOTE_SCOPE_HELD &&
	    n->type != NOTE_SCOPE_QUIET)
		return;
	tell(w, "holder %d   scope %s is %s", h->number,
	     n->name[0] != '\0' ? n->name : "cluster",
	     n->type == NOTE_SCOPE_CAPPED ? "capped"
	     : n->type == NOTE_SCOPE_HELD ? "held"
					  : "quiet");
	truth_look(t);
	if (scope < 0)
		return;
	if (h != t->leader || !t->calm || w->full ||
	    w->now - h->jumped_at < 10000)
		return;
	s = &t->scopes[scope];
	if (n->type == NOTE_SCOPE_CAPPED && !truth_may_be_open(t, scope))
		broken(w,
		       "I4: %s is said to be capped, and its debt is %.0f s "
		       "at most",
		       n->name, s->high / 1000);
	if (n->type == NOTE_SCOPE_HELD && !s->held.hi &&
	    !pools_turned(t, scope))
		broken(w, "I2: %s is said to be held, and is not", n->name);
	if (n->type == NOTE_SCOPE_QUIET && s->seems.lo)
		broken(w, "I3: %s is said to be quiet, and is not", n->name);
}
