/* SPDX-License-Identifier: Apache-2.0 */
#include "truth_parts.h"

#include <stdlib.h>
#include <string.h>

/*
 * Each scope: whether it is busy, its debt and its window.  Two buckets run
 * side by side.  `early` opens its window as soon as any replica could, `late`
 * only when every replica would.  Between the two stands `high`, the most debt
 * of those that have not opened a window.  A window is surely open if both have
 * it open.
 */

static bool
in_scope(const struct truth *t, int scope, int nodepool)
{
	return t->rules.scope == SCOPE_CLUSTER || scope == nodepool;
}

static int
scopes_n(const struct truth *t)
{
	return t->rules.scope == SCOPE_NODE	  ? 0
	       : t->rules.scope == SCOPE_CLUSTER ? 1
						 : t->w->pools_n;
}

/* --- time ----------------------------------------------------------------- */

static void
bucket_open(struct bucket *b, int64_t window)
{
	b->open = true;
	b->left = window > 1 ? (double)window : 1;
}

static void
bucket_close(struct bucket *b)
{
	b->open = false;
	b->debt = b->left = 0;
	b->windows++;
}

/* Lets dt ms pass.  Says whether the scope is held meanwhile, and whether the
 * time is usable. */
static void
bucket_run(struct bucket *b, double dt, bool held, bool usable, int64_t max,
	   int64_t window)
{
	if (b->open) {
		b->left -= usable ? dt : 0;
		if (b->left <= 0)
			bucket_close(b);
	} else if (held) {
		b->debt += dt;
	} else if (usable) {
		b->debt -= window > 0 ? dt * (double)max / (double)window
				      : b->debt;
		b->debt = b->debt > 0 ? b->debt : 0;
	}
}

/* Both buckets are closed.  Whoever opened a window in between has closed it,
 * too.  From here on the number of windows no longer matters. */
static void
collapse(struct scope_truth *s)
{
	if (s->early.open || s->late.open || s->open_left > 0 ||
	    s->early.windows == s->late.windows)
		return;
	/* The last one to open it has just closed it. */
	s->late.debt = 0;
	if (s->early.debt < s->high)
		s->early.debt = s->high;
	s->early.windows = s->late.windows;
}

/* Any window that was open has closed by then, or any debt is paid. */
static void
run_unknown(const struct truth *t, struct scope_truth *s, double dt)
{
	s->idle_for = s->seems.hi ? 0 : s->idle_for + (t->usable ? dt : 0);
	if (s->idle_for <= (double)(t->rules.cap.window_ms + 2 * LAG_MS))
		return;
	s->unknown = false;
	s->early = s->late = (struct bucket){0};
	s->high = s->open_left = 0;
}

static bool
surely_open(const struct scope_truth *s)
{
	return !s->unknown && s->early.open && s->late.open &&
	       s->early.windows == s->late.windows;
}

static bool
has_listed(const struct truth *t)
{
	return t->leader == NULL ||
	       t->leader->streams[KIND_NODECLAIM].complete ||
	       t->leader->streams[KIND_NODECLAIM].unserved;
}

static void
run_scope(struct truth *t, int scope, double dt)
{
	struct scope_truth *s = &t->scopes[scope];
	int64_t max = t->rules.cap.max_ms, window = t->rules.cap.window_ms;
	bool possibly = s->seems.hi || (s->gap && s->gap_held);
	bool open = surely_open(s);
	struct bucket high = {.debt = s->high};

	if (s->unknown)
		run_unknown(t, s, dt);
	if (max == 0 || s->unknown)
		return;
	bucket_run(&s->early, dt, possibly,
		   s->early.open ? t->maybe_usable : t->usable, max, window);
	bucket_run(&high, dt, possibly, t->usable, max, window);
	/* A new leader holds nothing before it has listed the machines. */
	bucket_run(&s->late, dt,
		   (s->seems.lo && !t->begins && has_listed(t)) ||
			   (s->gap && !s->gap_over && s->gap_held),
		   s->late.open ? t->usable : t->maybe_usable, max, window);
	s->high = open			    ? 0
		  : high.debt < (double)max ? high.debt
					    : (double)max;
	if (!s->early.open && s->high < s->early.debt)
		s->high = s->early.debt;
	s->open_left -= t->usable ? dt : 0;
	collapse(s);
}

void
truth_pass_time(struct truth *t)
{
	double dt = (double)(t->w->now - t->looked_at);

	for (int i = 0; i < scopes_n(t); i++)
		run_scope(t, i, dt);
}

int64_t
truth_heard_nodepools(const struct truth *t)
{
	return t->leader == NULL
		       ? t->w->now
		       : holder_behind_since(t->leader, KIND_NODEPOOL);
}

bool
truth_missed_a_nodepool(const struct truth *t, int scope)
{
	int64_t since = truth_heard_nodepools(t);

	for (int i = 0; since + LAG_MS < t->w->now && i < t->w->pools_n; i++)
		if (in_scope(t, scope, i) &&
		    (t->w->nodepools[i].respecified >= since ||
		     t->w->nodepools[i].changed >= since))
			return true;
	return false;
}

/* --- released by hand ----------------------------------------------------- */

/* Returns the earliest released-at of the scope's NodePools that are not left
 * out.  STAMP_NONE: one of them has none, or there are no NodePools. */
static int64_t
released_since(struct truth *t, int scope)
{
	int64_t since = INT64_MAX;

	for (int i = 0; i < t->w->pools_n; i++) {
		const struct pool_state *p = &t->w->nodepools[i];
		struct machine m = {.pool_id = i};

		memcpy(m.nodepool, p->name, sizeof(m.nodepool));
		if (!in_scope(t, scope, i) || p->thing < 0 ||
		    truth_uncounted(t->w, &t->rules, &m))
			continue;
		if (p->released == STAMP_NONE || !has_passed(t, p->released))
			return STAMP_NONE;
		since = p->released < since ? p->released : since;
	}
	return since == INT64_MAX ? STAMP_NONE : since;
}

/* May the leader not have heard of a released-at of the scope? */
static bool
is_unheard(const struct truth *t, int scope)
{
	for (int i = 0; i < t->w->pools_n; i++)
		if (in_scope(t, scope, i) && truth_release_unheard(t, i))
			return true;
	return false;
}

/* A released-at ends debt and window once.  In trouble, the leader may hear of
 * it at any time, so until it surely has, the two buckets differ. */
static void
end_debt(struct truth *t, int scope)
{
	struct scope_truth *s = &t->scopes[scope];
	int64_t since = released_since(t, scope);
	double most;

	/* A leader forgets the released-at of a scope that owes nothing. */
	if (since != STAMP_NONE && since != s->since && since <= s->released)
		s->unknown = true;
	s->since = since;
	if (since > s->released) {
		s->released = since;
		s->ends_at = t->w->now;
		s->ends = true;
	}
	if (!s->ends)
		return;
	if (s->late.open) {
		bucket_close(&s->late);
		s->late.windows = s->early.windows;
	}
	s->late.debt = 0;
	turns_at(t, s->ends_at + LAG_MS);
	if (!t->calm || is_unheard(t, scope) || t->w->now < s->ends_at + LAG_MS)
		return;
	s->ends = false;
	most = (double)(t->w->now - s->ends_at);
	if (s->early.open || s->early.debt > most)
		s->early = (struct bucket){.debt = most};
	s->early.windows = s->late.windows;
	s->high = s->high > most ? most : s->high;
	s->open_left = 0;
	/* A window may have opened since, or another NodePool was heard of
	 * first. */
	s->unknown |= most >= (double)t->rules.cap.max_ms ||
		      since != s->released;
}

/* --- busy ----------------------------------------------------------------- */

/* Returns the moment up to which replicas know everything that has happened.
 * In trouble, that is when it began. */
static int64_t
known_until(const struct truth *t)
{
	return (t->calm ? t->w->now : t->trouble_began) - LAG_MS;
}

static struct maybe
keeps_busy(struct truth *t, int machine)
{
	struct world *w = t->w;
	struct machine_truth *x = &t->machines[machine];
	bool ahead = x->fails.hi || (x->enough.hi &&
				     !has_passed(t, x->busy_deadline_hi));
	/* As far as the leader knows, the resource is not served. */
	bool unknown_to_it = t->leader != NULL &&
			     t->leader->streams[KIND_NODECLAIM].unserved;

	if (!ahead || unknown_to_it ||
	    (!x->fails.lo &&
	     (!x->enough.lo || has_passed(t, x->busy_deadline))))
		x->busy_since = -1;
	else if (x->busy_since < 0)
		x->busy_since = w->now;
	if (t->calm && x->busy_since >= 0)
		turns_at(t, x->busy_since + LAG_MS);
	return (struct maybe){x->busy_since >= 0, ahead};
}

static void
set_busy(struct truth *t, int scope)
{
	struct world *w = t->w;
	struct scope_truth *s = &t->scopes[scope];
	/* The leader may hear of what ended it a moment ago after it hears of
	 * what goes on. */
	bool was_busy = s->busy.hi || s->gap_held || s->hi_last + LAG_MS >= w->now;
	bool coming = false;

	if (s->busy.hi)		/* it was busy until now */
		s->hi_last = w->now;
	if (s->coming)
		s->came_at = w->now;
	s->coming = false;
	s->busy = s->seems = (struct maybe){false, false};
	for (int i = 0; i < w->machines_n; i++) {
		struct machine_truth *x = &t->machines[i];
		struct maybe keeps;
		bool comes;

		if (w->machines[i].claim < 0 ||
		    !in_scope(t, scope, w->machines[i].pool_id))
			continue;
		/* A machine whose own time is over counts for minScaleUp,
		 * too. */
		comes = x->coming && (!has_passed(t, x->deadline) ||
				      !has_passed(t, x->unwatched_until) ||
				      truth_takes_several(t));
		coming |= comes;
		s->coming |= comes &&
			     !truth_uncounted(w, &t->rules, &w->machines[i]);
		keeps = keeps_busy(t, i);
		s->busy.lo |= keeps.lo;
		s->busy.hi |= keeps.hi;
		s->seems.lo |= keeps.lo && x->busy_since <= known_until(t);
	}
	s->busy.hi |= coming && was_busy;
	if (s->busy.hi)
		s->hi_last = w->now;
	else if (t->calm)
		turns_at(t, s->hi_last + LAG_MS + 1);
	s->seems.hi = s->busy.hi || s->hi_last > known_until(t);
}

static void
set_held(struct truth *t, int scope)
{
	struct scope_truth *s = &t->scopes[scope];

	s->held.lo = s->seems.lo &&
		     (t->rules.cap.max_ms == 0 ||
		      (!s->unknown && !s->early.open && !s->late.open &&
		       s->open_left <= 0));
	s->held.hi = s->seems.hi &&
		     (t->rules.cap.max_ms == 0 || !surely_open(s));
}

static void
bucket_turns(struct truth *t, const struct bucket *b, int64_t max)
{
	double in = b->open ? b->left : (double)max - b->debt;

	if (in > 0)
		turns_at(t, t->w->now + (int64_t)in + 1);
}

/* Has the leader not heard yet that the spec of a NodePool was changed?  Then
 * it may take machines for some of the scope that are left alone. */
static bool
missed_a_spec(const struct truth *t, int scope)
{
	int64_t since = truth_heard_nodepools(t);

	for (int i = 0; since + LAG_MS < t->w->now && i < t->w->pools_n; i++)
		if (in_scope(t, scope, i) &&
		    t->w->nodepools[i].respecified >= since)
			return true;
	return false;
}

static void
open_windows(struct truth *t, int scope)
{
	struct scope_truth *s = &t->scopes[scope];
	int64_t max = t->rules.cap.max_ms, window = t->rules.cap.window_ms;

	if (missed_a_spec(t, scope))
		s->unknown = true;
	if (s->unknown || max == 0)
		return;
	/* The debt of a scope that is not held is at most the cap. */
	if (!s->seems.lo && s->late.debt > (double)max)
		s->late.debt = (double)max;
	if (!s->seems.hi && s->early.debt > (double)max)
		s->early.debt = (double)max;
	if (!surely_open(s) && s->seems.hi && s->high >= (double)max)
		s->open_left = (double)(window + LAG_MS);
	if (!s->early.open && s->seems.hi && s->early.debt >= (double)max)
		bucket_open(&s->early, window - LAG_MS);
	if (!s->late.open && s->seems.lo && s->late.debt >= (double)max &&
	    t->leader != NULL && t->w->now >= t->leader->paused_until &&
	    !s->gap) {
		if (!s->early.open && s->early.windows == s->late.windows)
			bucket_open(&s->early, window - LAG_MS);
		bucket_open(&s->late, window + LAG_MS);
		/* All have opened it, and those before may be close to another
		 * window. */
		s->high = s->early.windows == s->late.windows ? 0
			  : s->early.open || s->early.windows >
						     s->late.windows + 1
				  ? (double)max
				  : s->early.debt;
	}
	bucket_turns(t, &s->early, max);
	bucket_turns(t, &s->late, max);
	if (s->high < (double)max)
		turns_at(t, t->w->now + (int64_t)((double)max - s->high) + 1);
	if (s->open_left > 0)
		turns_at(t, t->w->now + (int64_t)s->open_left + 1);
}

/* --- a new lead ----------------------------------------------------------- */

struct kept {
	char name[24];
	double debt, window;
	char course;		/* h(eld), i(dle) or p(aused) */
	int64_t at;
};

/* Reads "1h2m3s", "500ms" or "0s". */
static double
duration_of(const char *text)
{
	double ms = 0, n;
	char *end;

	for (; *text != '\0'; text = end) {
		n = strtod(text, &end);
		if (end == text)
			return -1;
		if (strncmp(end, "ms", 2) == 0) {
			ms += n;
			end += 2;
			continue;
		}
		ms += n * (*end == 'h' ? 3600000 : *end == 'm' ? 60000 : 1000);
		end += *end != '\0';
	}
	return ms;
}

/* Reads one entry of the soft state.  False if that is not possible. */
static bool
kept_read(char *entry, struct kept *k)
{
	char *save, *word = strtok_r(entry, " ", &save);

	*k = (struct kept){.at = STAMP_NONE};
	if (word == NULL)
		return false;
	snprintf(k->name, sizeof(k->name), "%s", word);
	while ((word = strtok_r(NULL, " ", &save)) != NULL) {
		if (strncmp(word, "debt=", 5) == 0)
			k->debt = duration_of(word + 5);
		else if (strncmp(word, "window=", 7) == 0)
			k->window = duration_of(word + 7);
		else if (strncmp(word, "at=", 3) == 0)
			(void)stamp_read(word + 3, &k->at);
		else
			k->course = word[0];
	}
	return k->debt >= 0 && k->window >= 0 && k->at != STAMP_NONE &&
	       strchr("hip", k->course) != NULL && k->course != '\0';
}

/* Returns the scope that the entry names, or -1 if it is none of ours. */
static int
scope_named(const struct truth *t, const char *name)
{
	bool cluster = strcmp(name, "*") == 0;

	if (cluster != (t->rules.scope == SCOPE_CLUSTER))
		return -1;
	for (int i = 0; !cluster && i < t->w->pools_n; i++)
		if (strcmp(t->w->nodepools[i].name,
			   strcmp(name, "-") == 0 ? "" : name) == 0)
			return i;
	return cluster ? 0 : -1;
}

/* Carries the entry on until then, as it says itself. */
static void
kept_run(const struct truth *t, struct kept *k, int64_t until)
{
	double dt = (double)(until > k->at ? until - k->at : 0);
	double max = (double)t->rules.cap.max_ms;
	double window = (double)t->rules.cap.window_ms;

	if (k->window > 0) {
		k->window -= k->course == 'i' ? dt : 0;
		if (k->window <= 0)
			k->debt = k->window = 0;
	} else if (k->course == 'h') {
		k->debt += dt;
	} else if (k->course == 'i') {
		k->debt -= window > 0 ? dt * max / window : k->debt;
		k->debt = k->debt > 0 ? k->debt : 0;
	}
	k->at += (int64_t)dt;
}

static void
restore_scope(struct truth *t, struct kept *k, int scope, int64_t renewed)
{
	struct scope_truth *s = &t->scopes[scope];
	double rate = t->rules.cap.window_ms > 0
			      ? (double)t->rules.cap.max_ms /
					(double)t->rules.cap.window_ms
			      : 1;
	double vague = TURN_MS * (k->course == 'i' && rate > 1 ? rate : 1);
	int64_t apart = truth_clocks_apart(t, t->w->now);
	int64_t unanswered = later_of(t->w->slow_until,
				      later_of(t->w->late_until,
					       t->w->lossy_until));
	bool had_window = k->window > 0, open;
	double left = k->window;

	/* A released-at from before that has had its effect. */
	s->released = k->at;
	/* The moments in it may be of another clock. */
	vague += (double)apart * (rate + 1);
	/* If the Lease was deleted, nobody knows who renewed it until when. */
	if (t->w->now - t->w->lease_deleted < 60000 && renewed > k->at)
		vague += (double)(renewed - k->at) * (rate + 1);
	if (k->course == 'i' && renewed > k->at)
		left -= (double)(renewed - k->at);
	kept_run(t, k, renewed);
	s->gap_held = k->course == 'h' && k->window <= 0;
	if (s->gap_held && t->clock > k->at)
		k->debt += (double)(t->clock - k->at);
	/* Without election the Lease may be read long after the lead began. */
	vague += (double)(t->w->now - t->leader->led_since) * (rate + 1);
	/* Nobody can tell which renewal it was. */
	if (unanswered > 0 && t->w->now - unanswered < 60000)
		vague += 15000 * (rate + 1);
	open = had_window && left + vague > 0;
	s->late.open = open;
	s->late.left = left + vague;
	s->late.debt = open || k->debt < vague ? 0 : k->debt - vague;
	/* By those who believe all of it, the window may be over. */
	s->early.open = open && left > vague;
	s->early.left = left - vague;
	s->early.windows = open && !s->early.open;
	s->early.debt = s->early.open ? 0
			: open	      ? vague - left
				      : k->debt + vague;
	s->high = s->early.debt;
	s->open_left = open ? left + vague : 0;
}

void
truth_lost_count(struct truth *t)
{
	for (int i = 0; i < scopes_n(t); i++) {
		t->scopes[i].unknown = true;
		t->scopes[i].idle_for = 0;
	}
}

bool
truth_is_leader(const struct holder *h)
{
	return h->w->truth->leader == h;
}

/* A new leader reads the Lease, and believes it up to the renewTime. */
void
truth_leads(struct holder *h)
{
	struct truth *t = h->w->truth;
	char text[512], *save, *entry;
	int64_t renewed = h->elects ? h->w->lease_left_us / 1000 : STAMP_NONE;
	/* By another clock, the debt is another one. */
	bool lost = h->w->lease.state[0] == '\0' || !h->w->lease.present ||
		    truth_clocks_apart(t, h->w->now) >= LAG_MS;

	/* Without election the Lease may be read long after a released-at was
	 * heard of. */
	bool led = t->leader == h && t->leads_n == h->leads_n;

	if (t->leader != h)	/* the next look has to see that it is new */
		t->leads_n = h->leads_n - 1;
	t->leader = h;
	truth_take_rules(t, h);
	t->clock = holder_now(h).server_ms;
	for (int i = 0; i < POOLS; i++) {
		struct scope_truth *s = &t->scopes[i];

		*s = (struct scope_truth){
			.hi_last = h->w->now,
			.released = led ? s->released : STAMP_NONE,
			.ends = led && s->ends,
			.ends_at = led ? s->ends_at : 0,
			.gap = true};
		s->high = s->early.debt =
			(double)(h->w->now - h->led_since);
	}
	snprintf(text, sizeof(text), "%.511s", h->w->lease.state);
	for (entry = strtok_r(text, ";", &save);
	     entry != NULL && strcmp(entry, "none") != 0;
	     entry = strtok_r(NULL, ";", &save)) {
		struct kept k;
		int scope;

		if (!kept_read(entry, &k))
			break;
		scope = scope_named(t, k.name);
		if (scope >= 0)
			restore_scope(t, &k, scope, renewed);
	}
	for (int i = 0; lost && i < MACHINES; i++)
		t->machines[i].was_held = false;
	h->w->lease_left_us = h->w->lease.renew_us;
}

static void
end_gaps(struct truth *t)
{
	for (int i = 0; i < POOLS; i++)
		t->scopes[i].gap_over |= t->maybe_usable;
	for (int i = 0; t->usable && i < POOLS; i++) {
		struct scope_truth *s = &t->scopes[i];

		s->gap = false;
		if (i >= scopes_n(t)) {
			s->early = s->late = (struct bucket){0};
			s->high = s->open_left = 0;
		}
	}
}

void
truth_scopes(struct truth *t)
{
	end_gaps(t);
	for (int i = 0; i < scopes_n(t); i++) {
		set_busy(t, i);
		end_debt(t, i);
		open_windows(t, i);
		set_held(t, i);
	}
}

bool
truth_may_be_open(const struct truth *t, int scope)
{
	const struct scope_truth *s = &t->scopes[scope];

	return s->unknown || s->early.open || s->open_left > 0 ||
	       s->high + LAG_MS >= (double)t->rules.cap.max_ms;
}

/* Would a wrong window be found, or that there is none? */
static enum metered
cap_judged(const struct truth *t, int scope)
{
	if (t->scopes[scope].unknown)
		return METER_CAP_UNKNOWN;
	if (!t->calm || t->w->full)
		return METER_CAP_TROUBLE;
	return surely_open(&t->scopes[scope]) || !truth_may_be_open(t, scope)
		       ? METER_CAPS_JUDGED
		       : METER_CAP_OPEN;
}

void
truth_meter(struct truth *t)
{
	for (int i = 0; i < scopes_n(t); i++) {
		bool any = false;

		for (int k = 0; k < t->w->machines_n && !any; k++)
			any = in_scope(t, i, t->w->machines[k].pool_id) &&
			      thing_alive(t->w, t->w->machines[k].claim);
		if (!any || t->rules.cap.max_ms == 0)
			continue;
		t->rates.ms[METER_CAPS]++;
		t->rates.ms[cap_judged(t, i)]++;
	}
}

/* --- what is seen of it --------------------------------------------------- */

void
truth_seen_open(struct truth *t, int scope, bool just_now)
{
	struct scope_truth *s = &t->scopes[scope];
	int64_t window = t->rules.cap.window_ms;

	bucket_open(&s->late, window + LAG_MS);
	s->late.windows = s->early.windows;
	s->high = 0;
	if (!s->early.open || !just_now)	/* a window may end at once */
		bucket_open(&s->early, just_now ? window - SLACK_MS : 1);
	if (just_now && s->early.left < (double)(window - SLACK_MS))
		s->early.left = (double)(window - SLACK_MS);
}

/* Does the soft state in the Lease say what is so, as far as anybody can
 * tell? */
static bool
fits(struct truth *t, int scope, struct kept *k)
{
	const struct scope_truth *s = &t->scopes[scope];
	double max = (double)t->rules.cap.max_ms, slack = 2 * TURN_MS;
	bool same = s->early.windows == s->late.windows;

	/* The debt shrinks fast, and the text has whole seconds. */
	if (max > (double)t->rules.cap.window_ms &&
	    t->rules.cap.window_ms > 0)
		slack *= max / (double)t->rules.cap.window_ms;
	/* The state was written by a clock that has been set since. */
	if (t->leader->jumped_at > t->w->state_sent - 60000)
		return true;
	kept_run(t, k, t->clock);
	t->soft_at_odds = scope;
	if (max == 0 || !same || s->open_left > 0 || s->unknown)
		return true;
	if (s->early.open && s->late.open)
		return k->window > 0 &&
		       k->window >= s->early.left - 2 * TURN_MS &&
		       k->window <= s->late.left + 2 * TURN_MS;
	if (s->early.open || s->late.open)
		return true;
	if (k->window > 0 || (s->held.lo && k->course != 'h') ||
	    (!s->held.hi && k->course == 'h'))
		return false;
	return k->debt >= s->late.debt - slack &&
	       k->debt <= (s->high > s->early.debt ? s->high
						    : s->early.debt) + slack;
}

static bool
soft_fits(struct truth *t)
{
	char text[512], *save, *entry;
	bool seen[POOLS] = {false};

	snprintf(text, sizeof(text), "%.511s", t->w->lease.state);
	for (entry = strtok_r(text, ";", &save);
	     entry != NULL && strcmp(entry, "none") != 0;
	     entry = strtok_r(NULL, ";", &save)) {
		struct kept k;
		int scope;

		if (!kept_read(entry, &k))
			return false;
		scope = scope_named(t, k.name);
		if (scope < 0)
			continue;
		seen[scope] = true;
		if (!fits(t, scope, &k))
			return false;
	}
	for (int i = 0; i < scopes_n(t); i++) {
		struct kept none = {.course = 'i', .at = t->clock};

		if (!seen[i] && !fits(t, i, &none))
			return false;
	}
	return true;
}

static void
say_odd(struct truth *t)
{
	const struct scope_truth *s = &t->scopes[t->soft_at_odds];

	broken(t->w, "I10: the Lease says \"%.120s\"; it is %s %s, the debt "
	       "%.1f to %.1f s, the window %.1f to %.1f s",
	       t->w->lease.state, t->w->nodepools[t->soft_at_odds].name,
	       s->held.lo   ? "held"
	       : s->held.hi ? "held or not"
			    : "not held",
	       s->late.debt / 1000, s->early.debt / 1000, s->early.left / 1000,
	       s->late.left / 1000);
}

void
truth_soft(struct truth *t)
{
	/* Without election it may take a minute until the Lease is there
	 * again. */
	bool rewritten = t->leader != NULL && !t->leader->elects &&
			 t->w->now - t->w->lease_deleted < 70000;

	/* … and it is written again only after a backoff. */
	bool unwritten =
		t->w->now - t->w->lease_failed <=
		(t->leader != NULL && t->leader->elects
			 ? SLACK_MS
			 : TROUBLE_SLACK_MS);

	if (!t->calm || t->leader == NULL || !t->leader->restored ||
	    t->w->full || rewritten || unwritten || t->rules.scope == SCOPE_NODE ||
	    /* A new leader knows such claims, and what they hold, later. */
	    t->w->larges ||
	    soft_fits(t)) {
		t->soft_odd = false;
		return;
	}
	if (!t->soft_odd)
		t->soft_since = t->w->now;
	/* The leader has to hear and write first what people say in a
	 * NodePool. */
	for (int i = 0; i < t->w->pools_n; i++)
		if (t->w->nodepools[i].changed > t->soft_since)
			t->soft_since = t->w->nodepools[i].changed;
	t->soft_odd = true;
	turns_at(t, t->soft_since + SLACK_MS + 1);
	if (t->w->now - t->soft_since > SLACK_MS)
		say_odd(t);
}
