/* SPDX-License-Identifier: Apache-2.0 */
#include "holder.h"

#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "core/policy.h"
#include "elect.h"
#include "stream.h"

/* --- birth and death --------------------------------------------------------- */

void
holder_init(struct holder *h, struct world *w, int number,
	    const struct rules *rules)
{
	*h = (struct holder){.w = w, .number = number, .rules = *rules,
			     .machines_max = 128, .page = LIST_PAGE};
}

struct now
holder_now(const struct holder *h)
{
	int64_t skew = h->w->now < h->skew_until ? h->skew_ms : 0;

	return (struct now){world_server_ms(h->w) + skew,
			    1000000 * (h->number + 1) + h->w->now};
}

void
holder_start(struct holder *h)
{
	uint64_t seed = h->w->dice.state ^ ++h->births;

	if (h->up)
		return;
	tell(h->w, "holder %d   starts", h->number);
	h->up = true;
	h->w->sighted = h->w->now;
	h->hint_ms = STAMP_NONE;
	h->fresh_begun = h->fresh_listed = -1;
	h->poked = true;
	h->paused_until = h->asked_to_wait = 0;
	memset(h->known, 0, sizeof(h->known));
	memset(h->closed, 0, sizeof(h->closed));
	h->sweep = sweep_new(&h->rules, h->machines_max, seed, &h->counters);
	if (h->sweep == NULL)
		abort();
	for (int k = 0; k < VIEW_COUNT; k++)
		stream_init(&h->streams[k], seed + (uint64_t)k);
	h->leads = h->guesses = true;
	if (!h->elects)
		truth_lost(h->w);
	if (h->elects)
		elect_init(h, seed);
}

static void
flight_end(struct flight *f)
{
	free(f->fresh);
	*f = (struct flight){0};
}

/* What was sent may still be done. */
static void
flight_orphan(struct holder *h, struct flight *f)
{
	char rv[RV_BYTES];

	if (!f->applied && f->a.act != ACT_LIST_CLAIMS &&
	    f->a.act != ACT_READ && f->a.act != ACT_READ_CLAIM &&
	    h->w->now >= h->w->down_until && roll(&h->w->dice, 2) == 0)
		(void)thing_patch(h->w, &f->a, &h->rules.hold, rv);
	flight_end(f);
}

void
holder_crash(struct holder *h)
{
	if (!h->up)
		return;
	tell(h->w, "holder %d   is killed", h->number);
	h->w->strange++;
	for (struct flight *f = h->flights; f < h->flights + FLIGHTS; f++)
		if (f->used)
			flight_orphan(h, f);
	for (int k = 0; k < VIEW_COUNT; k++)
		stream_done(&h->streams[k]);
	sweep_free(h->sweep);
	h->sweep = NULL;
	h->up = h->leads = false;
}

/* --- calls ------------------------------------------------------------------- */

/* An answer went astray: its machine may be written to once more. */
static void
excuse(struct world *w, const struct thing *t)
{
	const struct machine *m = t == NULL ? NULL : &w->machines[t->machine];

	if (m != NULL && m->claim >= 0)
		w->things[m->claim].reasons++;
	if (m != NULL && m->node >= 0)
		w->things[m->node].reasons++;
}

static void
fly(struct holder *h, struct flight *f, const struct action *a)
{
	struct world *w = h->w;
	int64_t answer = w->now + between(&w->dice, 1, 30);
	bool patch = act_writes(a->act);

	if (w->now < w->slow_until)
		answer += between(&w->dice, 100, 3000);
	*f = (struct flight){.used = true, .a = *a, .answer_at = answer};
	f->apply_at = between(&w->dice, w->now, answer);
	f->out = (struct outcome){.code = OUTCOME_FAILED,
				  .retry_after_ms = -1};
	if (roll(&w->dice, 100) >= w->odds)
		return;
	if (w->now < w->error_until)
		f->fault = REPLY_ERROR;
	if (w->now < w->lossy_until && patch)
		f->fault = REPLY_LOST;
	if (w->now < w->late_until && patch) {
		f->fault = REPLY_LATE;
		f->apply_at = w->now + between(&w->dice, 100, CALL_MS + 3000);
	}
	if (f->fault == REPLY_LATE ||
	    (f->fault == REPLY_LOST && roll(&w->dice, 2) == 0))
		f->answer_at = w->now + CALL_MS;
	if (f->answer_at - w->now > a->fence_ms - holder_now(h).boot_ms)
		f->answer_at = w->now + a->fence_ms - holder_now(h).boot_ms;
	w->seen.faults[f->fault]++;
	if (f->fault != REPLY_WHOLE)
		excuse(w, thing_named(w, a->kind, a->name));
}

static void
list_now(struct holder *h, struct flight *f)
{
	struct world *w = h->w;

	f->fresh = calloc((size_t)w->things_n + 1, sizeof(*f->fresh));
	if (f->fresh == NULL)
		abort();
	for (int i = 0; i < w->things_n; i++)
		if (w->things[i].used && w->things[i].kind == KIND_NODECLAIM)
			thing_object(&w->things[i], &h->rules.hold,
				     &f->fresh[f->fresh_n++]);
	f->out.code = OUTCOME_OK;
}

static void
read_now(struct holder *h, struct flight *f)
{
	struct thing *t = thing_named(h->w, f->a.kind, f->a.name);

	f->out.code = OUTCOME_GONE;
	if (t == NULL)
		return;
	if (f->a.act == ACT_READ_CLAIM && strcmp(t->uid, f->a.uid) != 0)
		return;
	thing_object(t, &h->rules.hold, &f->read);
	f->has_read = true;
	f->out.code = OUTCOME_OK;
}

static void
served(struct holder *h, struct flight *f)
{
	struct thing *t;

	if (f->a.act == ACT_LIST_CLAIMS) {
		list_now(h, f);
	} else if (f->a.act == ACT_READ || f->a.act == ACT_READ_CLAIM) {
		read_now(h, f);
	} else {
		truth_write(h, f);
		f->out.code = thing_patch(h->w, &f->a, &h->rules.hold,
					  f->out.rv);
		if (f->out.code != OUTCOME_OK)
			tell(h->w, "holder %d   %s: outcome %d", h->number,
			     f->a.name, f->out.code);
		t = thing_named(h->w, f->a.kind, f->a.name);
		if (f->out.code == OUTCOME_OK && t != NULL)
			tell(h->w, "holder %d   %s %s %s: %s%s", h->number,
			     f->a.act == ACT_HOLD    ? "holds"
			     : f->a.act == ACT_CLEAR ? "releases"
			     : f->a.act == ACT_UNMARK ? "unmarks"
						      : "classifies",
			     kind_name(t->kind), t->name, f->a.reason,
			     f->fault == REPLY_WHOLE ? "" : " (no answer)");
	}
}

static void
apply(struct holder *h, struct flight *f)
{
	struct world *w = h->w;

	f->applied = true;
	if (w->now < w->down_until || f->fault == REPLY_ERROR)
		return;
	if (w->now < w->busy_until) {
		f->out.code = OUTCOME_BUSY;
		f->out.retry_after_ms = w->retry_after_ms;
		return;
	}
	served(h, f);
	if (f->fault != REPLY_WHOLE)
		f->out = (struct outcome){.code = OUTCOME_FAILED,
					  .retry_after_ms = -1};
}

static void
answer(struct holder *h, struct flight *f)
{
	struct now now = holder_now(h);

	f->answered = true;
	if (f->out.code == OUTCOME_OK && f->has_read) {
		holder_knows(h, f->read.uid);
		sweep_found(h->sweep, &f->a, &f->read, now);
	}
	for (int i = 0; f->out.code == OUTCOME_OK && i < f->fresh_n; i++)
		sweep_fresh(h->sweep, &f->fresh[i]);
	if (f->a.act == ACT_LIST_CLAIMS)
		tell(h->w, "holder %d   fresh list: %d claims, outcome %d",
		     h->number, f->fresh_n, f->out.code);
	if (f->a.act == ACT_LIST_CLAIMS && f->out.code == OUTCOME_OK) {
		h->fresh_begun = f->answer_at;
		h->fresh_listed = f->apply_at;
	}
	if (f->out.code == OUTCOME_BUSY &&
	    h->w->now + f->out.retry_after_ms > h->asked_to_wait)
		h->asked_to_wait = h->w->now + f->out.retry_after_ms;
	sweep_done(h->sweep, &f->a, &f->out, now);
	h->poked = true;
}

static int64_t
sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void
calls_serve(struct holder *h)
{
	for (struct flight *f = h->flights; f < h->flights + FLIGHTS; f++)
		if (f->used && !f->applied && f->apply_at <= h->w->now)
			apply(h, f);
}

static void
calls_step(struct holder *h)
{
	calls_serve(h);
	for (struct flight *f = h->flights; f < h->flights + FLIGHTS; f++) {
		if (f->used && !f->answered && f->answer_at <= h->w->now)
			answer(h, f);
		if (f->applied && f->answered)
			flight_end(f);
	}
}

static int64_t
calls_next(const struct holder *h)
{
	int64_t next = INT64_MAX;

	for (const struct flight *f = h->flights; f < h->flights + FLIGHTS;
	     f++) {
		if (f->used && !f->applied)
			next = sooner(next, f->apply_at);
		if (f->used && !f->answered)
			next = sooner(next, f->answer_at);
	}
	return next;
}

/* --- the sweep ----------------------------------------------------------------- */

/* No busy loop: a sweep that says "wait" is asked again only so often. */
static void
count_asking(struct holder *h)
{
	if (h->w->now - h->asked_since >= 1000) {
		h->asked_since = h->w->now;
		h->asked = 0;
	}
	if (++h->asked > 3000)
		broken(h->w, "I9: holder %d is asked %u times in a second",
		       h->number, h->asked);
}

static void
take_notes(struct holder *h)
{
	struct note n;

	while (sweep_note(h->sweep, &n)) {
		if (n.type == NOTE_TABLE_FULL &&
		    h->counters.at[COUNTER_TABLE_FULL] == 0)
			broken(h->w, "I7: %s is left out, and not counted",
			       n.name);
		if (n.type == NOTE_TABLE_FULL && !h->w->full) {
			tell(h->w, "holder %d   its table is full: %s is left "
			     "out", h->number, n.name);
			h->w->full = true;
		}
		if (n.type == NOTE_SCOPE_CAPPED)
			truth_capped(h, n.name, n.a);
		if (n.type == NOTE_SCOPE_HELD || n.type == NOTE_SCOPE_QUIET)
			tell(h->w, "holder %d   scope %s%s", h->number,
			     n.name[0] != '\0' ? n.name : "cluster",
			     n.type == NOTE_SCOPE_HELD ? " is held"
						       : " is quiet");
	}
}

static void
keep_soft(struct holder *h)
{
	char text[4096];
	struct buf b;

	buf_init(&b, text, sizeof(text));
	if (h->leads && sweep_soft(h->sweep, &b, false, holder_now(h)))
		(void)lease_state_set(&h->lease, text);
}

static void
sweep_step(struct holder *h)
{
	int64_t now = h->w->now, wait = INT64_MAX;

	if (!h->poked && now < h->wake_at)
		return;
	h->poked = false;
	h->wake_at = INT64_MAX;
	for (struct flight *f = h->flights; f < h->flights + FLIGHTS; f++) {
		struct action a;

		if (f->used)
			continue;
		if (!sweep_next(h->sweep, holder_now(h), h->hint_ms, &a,
				&wait)) {
			count_asking(h);
			if (wait <= 0)
				broken(h->w, "I9: holder %d says wait %lld",
				       h->number, (long long)wait);
			h->wake_at = wait == INT64_MAX ? wait : now + wait;
			break;
		}
		if (h->elects)
			a.fence_ms = lease_fence_ms(&h->lease);
		take_notes(h);
		truth_action(h, &a);
		fly(h, f, &a);
		h->still_since = now;
	}
	if (h->elects)
		keep_soft(h);
	take_notes(h);
}

bool
holder_watches(const struct holder *h, enum kind kind)
{
	return kind != KIND_EVENT || rules_tell_replacements(&h->rules);
}

int64_t
holder_step(struct holder *h)
{
	int64_t next = INT64_MAX;

	if (!h->up)
		return INT64_MAX;
	/* What it sent before it was stopped arrives all the same. */
	if (h->w->now < h->paused_until) {
		calls_serve(h);
		elect_serve(h);
		return h->paused_until;
	}
	/* The sweeper asks every second, and would see its clock shift. */
	if (h->w->now < h->skew_until)
		next = h->skew_until;
	else if (h->skew_ms != 0) {
		h->skew_ms = 0;
		h->poked = true;
	}
	calls_step(h);
	if (h->elects)
		next = sooner(next, elect_step(h));
	for (int k = 0; k < VIEW_COUNT; k++)
		if (holder_watches(h, (enum kind)k) &&
		    (h->leads || k == KIND_NODEPOOL))
			next = sooner(next, stream_step(h, (enum kind)k));
	sweep_step(h);
	if (h->poked)
		return h->w->now;
	return sooner(next, sooner(calls_next(h), h->wake_at));
}

/* --- its webhook ------------------------------------------------------------------ */

void
holder_admit(struct holder *h, struct thing *t, bool dry_run)
{
	struct object o;
	struct review v = {.create = true, .kind_known = true,
			   .kind = t->kind, .dry_run = dry_run,
			   .karpenter = true, .has_annotations = true};
	struct verdict d;

	thing_object(t, &h->rules.hold, &o);
	memcpy(v.pool, o.pool, sizeof(v.pool));
	v.disabled = h->closed[h->w->machines[t->machine].pool_id];
	v.hold = o.hold;
	v.has_mark = o.mark != MARK_ABSENT;
	v.has_held_key = o.has_held_key;
	if (o.has_former)
		v.hold = o.former_hold;
	d = policy_admit(&h->rules, &v);
	if (!dry_run)
		h->hint_ms = holder_now(h).server_ms;
	if (!d.patch)
		return;
	if (t->notes.by[ann_of(&h->rules.hold)] == BY_PERSON)
		broken(h->w, "I1: admission changes a person's hold on %s",
		       t->name);
	thing_hold(t, &h->rules.hold, holder_now(h).server_ms);
}
