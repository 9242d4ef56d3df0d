/* SPDX-License-Identifier: Apache-2.0 */
#include "truth.h"

#include <string.h>

#include "core/policy.h"

/* A Lease that is deleted under a leader may be made by one who never saw it:
 * for as long as it lasts. */
#define DELETED_MS 20000

/* --- the rules, naively ---------------------------------------------------------- */

static struct thing *
alive(struct world *w, int thing)
{
	return thing >= 0 && w->things[thing].used ? &w->things[thing] : NULL;
}

static bool
deleting(const struct thing *t)
{
	return t != NULL && t->deleting;
}

/* The machine's own deadline (design §4), with what its NodePool says. */
static int64_t
deadline(const struct world *w, const struct rules *r, const struct machine *m,
	 int64_t now)
{
	const struct pool_state *p = &w->pools[m->pool_id];
	const struct thing *claim = m->claim >= 0 ? &w->things[m->claim] : NULL;
	const struct thing *node = m->node >= 0 ? &w->things[m->node] : NULL;
	const struct thing *head = claim != NULL && claim->used ? claim : node;
	int64_t hold = p->hold >= 0 ? p->hold : r->hold_ms;
	int64_t max = p->max >= 0 && r->scope != SCOPE_CLUSTER ? p->max
								: r->cap.max_ms;

	if (p->released <= now && head->created_ms < p->released)
		return head->created_ms;
	if (max > 0 && max < hold)
		hold = max;
	if (head == node)
		return node->created_ms + hold;
	if (claim->ready_ms != STAMP_NONE)
		return claim->ready_ms + hold;
	return claim->created_ms + r->startup_ms + hold;
}

static bool
out(const struct world *w, const struct rules *r, const struct machine *m)
{
	return !rules_pool_included(r, m->pool) ||
	       w->pools[m->pool_id].disabled;
}

int64_t
truth_own_ms(const struct world *w, const struct rules *r,
	     const struct machine *m)
{
	return out(w, r, m) ? STAMP_NONE
			    : deadline(w, r, m, world_server_ms(w));
}

/* Karpenter has said that it replaces another. */
static bool
replaces(const struct rules *r, const struct machine *m)
{
	return r->replacements == REPLACEMENTS_IGNORE && m->said_at >= 0;
}

/* It may yet say so: another was marked shortly before, and whoever leads has
 * not seen the claim for long.  Generous, as clocks differ. */
#define SUSPECT_MS 45000

static bool
suspect(const struct world *w, const struct rules *r, const struct machine *m)
{
	const struct thing *claim = &w->things[m->claim];
	int64_t since = m->born > w->sighted ? m->born : w->sighted;

	if (since < w->trouble_until)
		since = w->trouble_until;
	if (r->replacements == REPLACEMENTS_COUNT || m->said_at >= 0 ||
	    w->now - since > SUSPECT_MS)
		return false;
	for (int i = 0; i < w->things_n; i++) {
		const struct thing *t = &w->things[i];

		if (t != claim && t->kind == KIND_NODECLAIM &&
		    t->disrupted_ms <= claim->created_ms + 1000 &&
		    t->disrupted_ms >= claim->created_ms - 10000)
			return true;
	}
	return false;
}

/* suspects: whether those that are undecided count, whatever else is. */
static bool
counts(const struct world *w, const struct rules *r, const struct machine *m,
       int64_t now_ms, bool suspects)
{
	const struct thing *claim = m->claim >= 0 ? &w->things[m->claim] : NULL;

	if (claim == NULL || !claim->used || replaces(r, m))
		return false;
	if (suspect(w, r, m))
		return suspects;
	return claim->launched || (!claim->launch_known &&
				   now_ms >= claim->created_ms + 5000);
}

/* The cap of that pool's scope. */
static int64_t
max_of(const struct world *w, const struct rules *r, int p)
{
	return r->scope != SCOPE_CLUSTER && p < w->pools_n &&
			       w->pools[p].max >= 0
		       ? w->pools[p].max
		       : r->cap.max_ms;
}

/* Which pools' scopes are held; in scope `node` there are none. */
struct scopes {
	bool busy[POOLS], held[POOLS];
	bool replaced[POOLS];	/* it would be busy, were replacements to count */
};

static struct scopes
scopes_at(struct world *w, const struct rules *r, int64_t now, bool suspects)
{
	struct scopes s = {0};

	for (int i = 0; i < w->machines_n; i++) {
		const struct machine *m = &w->machines[i];
		const struct thing *claim = alive(w, m->claim);
		const struct thing *node = alive(w, m->node);
		bool is_one;

		if (claim == NULL || deleting(claim) || deleting(node) ||
		    out(w, r, m) || deadline(w, r, m, now) <= now)
			continue;
		is_one = counts(w, r, m, now, suspects);
		for (int p = 0; p < POOLS; p++) {
			if (r->scope == SCOPE_NODE ||
			    (r->scope == SCOPE_NODEPOOL && p != m->pool_id))
				continue;
			s.busy[p] |= is_one;
			s.replaced[p] |= replaces(r, m);
		}
	}
	for (int p = 0; p < POOLS; p++)
		s.held[p] = s.busy[p] && (max_of(w, r, p) == 0 ||
					  now >= w->caps[p].open_until);
	return s;
}

static enum wish
wish_of(struct world *w, const struct rules *r, const struct machine *m,
	int64_t now, const struct scopes *s)
{
	const struct thing *claim = alive(w, m->claim);
	const struct thing *node = alive(w, m->node);

	if ((claim == NULL && node == NULL) || deleting(claim) ||
	    deleting(node))
		return WISH_LEAVE;
	if (out(w, r, m))
		return WISH_CLEAR;
	if (deadline(w, r, m, now) > now)
		return WISH_HOLD;
	if (!s->held[m->pool_id] && w->pools[m->pool_id].until <= now)
		return WISH_CLEAR;
	return claim != NULL ? WISH_HOLD : WISH_LEAVE;
}

/* --- what stands on the objects -------------------------------------------------- */

static bool
marked(const struct thing *t)
{
	return t != NULL && t->notes.at[ANN_MARK][0] != '\0';
}

static bool
held(const struct thing *t, const struct rules *r)
{
	struct object o;

	if (!marked(t))
		return false;
	thing_object(t, &r->hold, &o);
	return o.hold == HOLD_SAME && !o.has_former;
}

/* Has a person a say?  One object has a hold without our mark, or our mark
 * without the hold; or the claim's own hold was copied beside our mark. */
static bool
person(const struct thing *t, const struct rules *r)
{
	struct object o;

	if (t == NULL)
		return false;
	thing_object(t, &r->hold, &o);
	if (o.mark == MARK_ABSENT)
		return o.hold != HOLD_ABSENT;
	if (t->notes.by[ann_of(&r->hold)] == BY_PERSON)
		return true;
	return (o.has_former ? o.former_hold : o.hold) != HOLD_SAME;
}

/* --- while time passes ------------------------------------------------------------ */

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t
touched(struct world *w, const struct machine *m)
{
	int64_t at = later(m->wish_since, w->pools[m->pool_id].changed);

	/* A machine that goes, or is said to replace another, just when it
	 * counts may hold its scope for a moment. */
	at = later(at, w->stirred);
	if (m->claim >= 0)
		at = later(at, w->things[m->claim].touched);
	if (m->node >= 0)
		at = later(at, w->things[m->node].touched);
	return at;
}

static const char *
name_of(const struct thing *claim, const struct thing *node)
{
	return claim != NULL ? claim->name : node->name;
}

static void
check_held(struct world *w, const struct rules *r, struct thing *claim,
	   struct thing *node)
{
	bool registered = node != NULL && node->registered;
	struct thing *t = registered ? node : claim;

	if (person(claim, r) || person(node, r) || t == NULL)
		return;
	if (!registered && claim->other[0] != '\0')
		t = node;	/* a Node that came again under its old name */
	if (t == NULL || t->strips > 3 || w->quarrel || held(t, r))
		return;
	broken(w, "I3: %s is not held, though it should be", t->name);
}

static void
check_clear(struct world *w, const struct thing *t, bool replaced)
{
	if (marked(t) && replaced)
		broken(w, "I5: %s is held for the sake of replacements alone",
		       t->name);
	else if (marked(t))
		broken(w, "I2: %s still has our mark, though it is quiet",
		       t->name);
}

static void
check_writes(struct world *w, const struct thing *t, unsigned faults)
{
	if (t != NULL && t->writes > WRITES_MAX + t->reasons + faults)
		broken(w, "I9: %u writes to %s, and %u reasons", t->writes,
		       t->name, t->reasons);
}

#define LOOK_MS 1000

/* Around now: clocks differ by seconds, and near a turn neither is wrong; nor
 * is it clear of what is undecided. */
static const struct {
	int64_t ms;
	bool suspects;
} around[] = {
	{0, true}, {0, false}, {-CLOCKS_MS, true}, {CLOCKS_MS, true},
	{-CLOCKS_MS, false}, {CLOCKS_MS, false},
};
#define AROUND 6

/* While a window is open only its own deadline holds a machine, and about that
 * clocks may differ just as the window ends. */
static bool
at_its_end(struct world *w, const struct rules *r, const struct machine *m)
{
	const struct thing *claim = alive(w, m->claim);
	const struct thing *node = alive(w, m->node);
	int64_t now = world_server_ms(w);

	return (claim != NULL || node != NULL) &&
	       w->caps[m->pool_id].open_until + CLOCKS_MS > now &&
	       deadline(w, r, m, now) - now <= CLOCKS_MS &&
	       deadline(w, r, m, now) <= w->caps[m->pool_id].open_until +
						 CLOCKS_MS;
}

static void
check_machine(struct world *w, const struct rules *r, struct machine *m,
	      const struct scopes scopes[AROUND])
{
	struct thing *claim = alive(w, m->claim), *node = alive(w, m->node);
	enum wish wish;

	if (claim == NULL && node == NULL)
		return;
	wish = wish_of(w, r, m, world_server_ms(w), &scopes[0]);
	if (wish != m->wish) {
		m->wish = wish;
		m->wish_since = w->now;
		if (claim != NULL)
			claim->reasons += 2;
		if (node != NULL)
			node->reasons += 2;
		tell(w, "truth      %s is to be %s", name_of(claim, node),
		     wish == WISH_HOLD ? "held"
				       : wish == WISH_CLEAR ? "clear" : "left");
	}
	if (at_its_end(w, r, m))
		m->wish_since = w->now;
	for (int i = 1; i < AROUND; i++)
		if (wish_of(w, r, m, world_server_ms(w) + around[i].ms,
			    &scopes[i]) != wish)
			m->wish_since = w->now;
	/* What a full table left out is unknown to it, and does not count. */
	if (w->full)
		return;
	check_writes(w, claim, w->strange);
	check_writes(w, node, w->strange);
	if (w->now - touched(w, m) <= SLACK_MS ||
	    w->now - w->trouble_until <= TROUBLE_SLACK_MS ||
	    w->now - w->vague_until <= SLACK_MS)
		return;
	if (wish == WISH_HOLD) {
		check_held(w, r, claim, node);
	} else if (wish == WISH_CLEAR) {
		check_clear(w, claim, scopes[0].replaced[m->pool_id]);
		check_clear(w, node, scopes[0].replaced[m->pool_id]);
	}
}

static const struct holder *
leader(const struct truth *t)
{
	for (int i = 0; i < t->holders_n; i++)
		if (t->holders[i].up && t->holders[i].leads)
			return &t->holders[i];
	return NULL;
}

static bool
leads_now(const struct holder *h)
{
	return h->up && h->elects &&
	       lease_leads(&h->lease, holder_now(h).boot_ms);
}

static void
check_table(struct holder *h)
{
	struct sweep_report report;

	if (!h->up)
		return;
	sweep_report(h->sweep, &report);
	for (int k = 0; k < KIND_COUNT; k++)
		if (report.objects[k] > h->machines_max)
			broken(h->w, "I7: %u %ss in a table of %u",
			       report.objects[k], kind_name((enum kind)k),
			       h->machines_max);
}

static void
check_leaders(struct truth *t)
{
	int n = 0;

	for (int i = 0; i < t->holders_n; i++) {
		n += leads_now(&t->holders[i]);
		check_table(&t->holders[i]);
	}
	if (n > 1 && t->w->now - t->w->lease_deleted > DELETED_MS)
		broken(t->w, "I6: %d replicas lead", n);
}

void
truth_init(struct truth *t, struct world *w, struct holder *holders,
	   int holders_n)
{
	*t = (struct truth){.w = w, .holders = holders, .holders_n = holders_n};
	w->led = holders[0].rules.scope;
}

void
truth_written(struct holder *h, const struct flight *f)
{
	(void)h;
	(void)f;
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

/* --- caps ---------------------------------------------------------------------- */

static void
follow_caps(struct world *w, const struct rules *r, const struct scopes *s)
{
	for (int p = 0; p < POOLS; p++) {
		int64_t now = world_server_ms(w);

		if (max_of(w, r, p) == 0 ||
		    (w->caps[p].open_until >= 0 &&
		     now >= w->caps[p].open_until))
			w->caps[p].open_until = w->caps[p].run =
				w->caps[p].idle = -1;
		if (w->caps[p].idle >= 0 &&
		    now - w->caps[p].idle >= r->cap.window_ms)
			w->caps[p].run = w->caps[p].idle = -1;
		if (s->busy[p]) {
			if (w->caps[p].run < 0)
				w->caps[p].run = now;
			w->caps[p].idle = -1;
		} else if (w->caps[p].run >= 0 && w->caps[p].idle < 0) {
			w->caps[p].idle = now;
		}
	}
}

static void
lost(struct world *w)
{
	for (int p = 0; p < POOLS; p++)
		w->caps[p].open_until = w->caps[p].run = w->caps[p].idle = -1;
}

void
truth_leads(struct holder *h)
{
	struct world *w = h->w;

	/* What was kept of another kind of scope says nothing of this one. */
	h->guesses = w->lease.state[0] == '\0' || w->led != h->rules.scope;
	w->led = h->rules.scope;
	w->sighted = w->now;
	if (h->guesses)
		lost(w);
}

/* Not before its time, as far as anybody can know. */
static void
capped(struct holder *h, const char *scope, int64_t until_ms)
{
	struct world *w = h->w;
	int64_t now = world_server_ms(w), max;

	tell(w, "holder %d   scope %s is capped", h->number,
	     scope[0] != '\0' ? scope : "cluster");
	for (int p = 0; p < POOLS; p++) {
		if (scope[0] != '\0' && strcmp(w->pools[p].name, scope) != 0)
			continue;
		max = max_of(w, &h->rules, p);
		if (!h->guesses && w->now - w->pools[p].changed > max && w->now > h->skew_until + 1000 &&
		    w->caps[p].run >= 0 && w->now - w->trouble_until >
			    max + h->rules.cap.window_ms &&
		    w->now - w->vague_until > max + SLACK_MS &&
		    now - w->caps[p].run < max - 2 * CLOCKS_MS)
			broken(w, "I3: %s is capped after %lld s", scope,
			       (long long)(now - w->caps[p].run) / 1000);
		if (w->now > h->skew_until + 1000 &&
		    (until_ms - now > h->rules.cap.window_ms + CLOCKS_MS ||
		     (w->caps[p].open_until < 0 && !h->guesses &&
		      until_ms - now < h->rules.cap.window_ms - CLOCKS_MS)))
			broken(w, "I4: the window of %s is %lld s", scope,
			       (long long)(until_ms - now) / 1000);
		if (w->caps[p].open_until >= 0)
			w->vague_until = later(w->vague_until,
					       until_ms - SERVER_START);
		w->caps[p].open_until = until_ms;
	}
}

void
truth_note(struct holder *h, const struct note *n)
{
	if (n->type == NOTE_SCOPE_CAPPED)
		capped(h, n->name, n->a);
	if (n->type == NOTE_SCOPE_HELD || n->type == NOTE_SCOPE_QUIET)
		tell(h->w, "holder %d   scope %s%s", h->number,
		     n->name[0] != '\0' ? n->name : "cluster",
		     n->type == NOTE_SCOPE_HELD ? " is held" : " is quiet");
}

/* I4: not beyond the cap. */
static void
check_cap(struct world *w, const struct rules *r, struct machine *m)
{
	struct thing *node = alive(w, m->node), *claim = alive(w, m->claim);
	bool is_held = node != NULL && claim != NULL && held(node, r) &&
		       !deleting(claim) && !deleting(node);
	const struct pool_state *p = &w->pools[m->pool_id];
	int64_t from, troubled, limit, max = max_of(w, r, m->pool_id);

	/* No cap ends what a person holds, and a new cap begins anew. */
	if (!is_held || !m->was_held || p->changed >= m->held_since) {
		m->held_since = w->now;
		m->held_troubled = w->troubled_ms;
	}
	m->was_held = is_held;
	if (!is_held || w->full)
		return;
	troubled = w->troubled_ms - m->held_troubled;
	/* A fault may have cost the whole of a window. */
	limit = max * (troubled > 0 ? 2 : 1) + SLACK_MS + troubled;
	from = later(m->held_since,
		     deadline(w, r, m, world_server_ms(w)) - SERVER_START);
	if (p->until != STAMP_NONE)
		from = later(from, p->until - SERVER_START);
	if (max > 0 && w->now - from > limit)
		broken(w, "I4: %s is held for %lld s, beyond the cap",
		       node->name, (long long)(w->now - from) / 1000);
}

/* Where everything fits again, what was left out is asked for within a minute;
 * from then on a table that was full is like any other. */
static void
check_room(struct truth *t)
{
	struct world *w = t->w;
	uint32_t n[VIEW_COUNT] = {0};

	for (int i = 0; i < w->things_n; i++)
		n[w->things[i].kind] += w->things[i].used;
	for (int i = 0; i < t->holders_n; i++)
		if (n[KIND_NODE] > t->holders[i].machines_max ||
		    n[KIND_NODECLAIM] > t->holders[i].machines_max)
			w->crowded = w->now;
	if (!w->full || w->now - w->crowded <= 60000 + TROUBLE_SLACK_MS)
		return;
	tell(w, "truth      everything fits again");
	w->full = false;
	for (int i = 0; i < w->machines_n; i++) {
		w->machines[i].was_held = false;
		w->machines[i].wish_since = w->now;
	}
}

void
truth_check(struct truth *t)
{
	const struct holder *h = leader(t);
	const struct rules *r = h != NULL ? &h->rules : &t->holders[0].rules;
	struct scopes scopes[AROUND];

	check_leaders(t);
	if (h == NULL)
		world_trouble(t->w, t->w->now);
	if (t->w->now - t->w->trouble_until <= TROUBLE_SLACK_MS)
		t->w->troubled_ms += t->w->now - t->looked_at;
	t->looked_at = t->w->now;
	/* Nothing but time: looked at now and then. */
	if (t->seen_rv == t->w->changes && t->seen_leader == h &&
	    t->w->now - t->seen_at < LOOK_MS)
		return;
	t->seen_rv = t->w->changes;
	t->seen_leader = h;
	t->seen_at = t->w->now;
	for (int i = 0; i < AROUND; i++)
		scopes[i] = scopes_at(t->w, r,
				      world_server_ms(t->w) + around[i].ms,
				      around[i].suspects);
	check_room(t);
	follow_caps(t->w, r, &scopes[0]);
	for (int i = 0; i < t->w->machines_n; i++) {
		check_machine(t->w, r, &t->w->machines[i], scopes);
		check_cap(t->w, r, &t->w->machines[i]);
	}
}

void
truth_last(struct truth *t)
{
	struct world *w = t->w;

	for (int i = 0; i < w->things_n; i++) {
		const struct thing *o = &w->things[i];

		if (o->used && !o->deleting && marked(o) && !w->full)
			broken(w, "I8: in the end %s still has our mark",
			       o->name);
	}
	for (int i = 0; i < t->holders_n; i++)
		if (t->holders[i].up &&
		    w->now - t->holders[i].still_since < 60000)
			broken(w, "I9: holder %d still makes calls", i);
}

/* --- when the sweep says what to do ------------------------------------------------ */

static void
check_views(struct holder *h, const struct action *a, bool release)
{
	struct world *w = h->w;

	for (int k = 0; k < VIEW_COUNT; k++)
		if (holder_watches(h, (enum kind)k) &&
		    (!h->streams[k].complete ||
		     h->streams[k].state != STREAM_OPEN))
			broken(w, "I9: %s is cleared while %ss are not watched",
			       a->name, kind_name((enum kind)k));
	for (int i = 0; release && !w->full && i < w->things_n; i++) {
		const struct thing *t = &w->things[i];

		if (t->used && t->kind == KIND_NODECLAIM && !t->deleting &&
		    h->sights[i].at < 0 && h->listed_at[KIND_NODECLAIM] >= 0 &&
		    t->created_ms + 1000 - SERVER_START <=
			    h->listed_at[KIND_NODECLAIM])
			broken(w, "I9: %s is cleared though %s was not seen "
			       "yet", a->name, t->name);
	}
}

/* An unregistered Node cannot be told whose it is. */
static bool
says_no(struct world *w, const struct machine *m, const struct rules *r)
{
	const struct thing *claim = alive(w, m->claim);
	const struct thing *node = alive(w, m->node);

	if (person(node, r))
		return true;
	return person(claim, r) &&
	       (node == NULL || node->registered || claim->other[0] != '\0');
}

/* Has Karpenter just said something that may not have come through? */
static bool
just_said(const struct world *w, int64_t late)
{
	for (int i = 0; i < w->machines_n; i++)
		if (w->machines[i].said_at >= 0 &&
		    w->now - w->machines[i].said_at <= late)
			return true;
	return false;
}

/* However it fails, it is not asked for in a loop; but by two who lead with
 * different configurations. */
static void
check_tries(struct world *w, struct thing *t)
{
	if (w->quarrel)
		return;
	if (w->now - t->tries_since >= 60000) {
		t->tries_since = w->now;
		t->tries = 0;
	}
	if (++t->tries > TRIES_MAX)
		broken(w, "I9: %u calls for %s in a minute", t->tries, t->name);
}

void
truth_action(struct holder *h, const struct action *a)
{
	struct world *w = h->w;
	const struct thing *t = thing_named(w, a->kind, a->name);
	const struct machine *m = t == NULL ? NULL : &w->machines[t->machine];
	int64_t late = holder_lag_ms(h) + 2500;
	bool release = a->act == ACT_CLEAR && strcmp(a->reason, "quiet") == 0;
	struct scopes scopes;

	if (a->act == ACT_CLEAR || a->act == ACT_UNMARK)
		check_views(h, a, release);
	if (w->now < h->asked_to_wait)
		broken(w, "I9: holder %d asks for %s, though it was told to "
		       "wait", h->number,
		       a->act == ACT_LIST_CLAIMS ? "a list" : a->name);
	if (t != NULL)
		check_tries(w, &w->things[t - w->things]);
	if (m != NULL && act_writes(a->act) && w->now - touched(w, m) > late &&
	    (deleting(alive(w, m->claim)) || deleting(alive(w, m->node))))
		broken(w, "I9: %s is written to, though its machine is being "
		       "deleted", a->name);
	if (m == NULL || w->full || w->now < h->skew_until ||
	    w->now <= w->vague_until ||
	    w->now - w->lease_deleted <= DELETED_MS ||
	    w->now - h->skew_until < TROUBLE_SLACK_MS ||
	    w->now - m->wish_since <= late ||
	    w->now - w->pools[m->pool_id].changed <= late ||
	    just_said(w, late) ||
	    (release && at_its_end(w, &h->rules, m)))
		return;
	for (int i = 0; i < AROUND; i++) {
		int64_t at = world_server_ms(w) + around[i].ms;

		scopes = scopes_at(w, &h->rules, at, around[i].suspects);
		if (wish_of(w, &h->rules, m, at, &scopes) != m->wish)
			return;
	}
	if (release && m->wish == WISH_HOLD)
		broken(w, "I3: %s is released, though it is to be held",
		       a->name);
	/* A Node whose claim is yet to be listed stands for itself; so does
	 * one that does not name its claim yet. */
	if (a->act == ACT_HOLD && m->wish == WISH_CLEAR && late < 6000 &&
	    w->now - w->stirred > late &&
	    h->streams[KIND_NODECLAIM].complete &&
	    (t->kind == KIND_NODECLAIM || t->other[0] != '\0'))
		broken(w, "I2: %s is held, though it is to be clear", a->name);
	if (a->act == ACT_HOLD && w->now - touched(w, m) > late &&
	    says_no(w, m, &h->rules))
		broken(w, "I1: %s is held, though a person has a say", a->name);
}
