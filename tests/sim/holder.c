/* SPDX-License-Identifier: Apache-2.0 */
#include "holder.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/controller/controller_state.h"
#include "core/controller/status.h"
#include "core/rules/admit.h"
#include "elect.h"
#include "recorder.h"
#include "renewer.h"
#include "stream.h"

#define SLOW_MS 1000	/* for a call */

/* --- birth and death ------------------------------------------------------ */

void
holder_init(struct holder *h, struct world *w, int number,
	    const struct rules *rules)
{
	*h = (struct holder){.w = w, .number = number, .rules = *rules,
			     .configured = rules->hold,
			     .machines_max = 128, .page = LIST_PAGE};
}

struct now
holder_now(const struct holder *h)
{
	int64_t skew = h->w->now < h->skew_until ? h->skew_ms : 0;

	return (struct now){world_server_ms(h->w) + skew,
			    1000000 * (h->number + 1) + h->w->now};
}

struct now
holder_now_at(const struct holder *h, int64_t at)
{
	struct now now = holder_now(h);
	int64_t ms = at - h->w->now;

	return (struct now){now.server_ms + ms, now.boot_ms + ms};
}

static int64_t
offset(const struct holder *h)
{
	return holder_now(h).server_ms - SERVER_START - h->w->now;
}

bool
holder_begins(const struct holder *h)
{
	bool waits = false;

	for (int k = KIND_EVENT; k <= KIND_TICKET; k++)
		waits |= holder_watches(h, (enum kind)k) &&
			 !h->streams[k].complete;
	return waits && h->w->now - h->led_since <= 10000;
}

static bool
has_listed_all(const struct holder *h)
{
	for (int k = 0; k < KIND_EVENT; k++) {
		const struct stream *s = &h->streams[k];

		if (!s->unserved &&
		    !(s->complete && s->state == STREAM_OPEN))
			return false;
	}
	return h->leads && !holder_begins(h);
}

/* Before all was seen nothing has begun: what was seen by a clock that was wrong
 * is seen again. */
static void
restamp(struct holder *h)
{
	for (int i = 0; i < h->w->things_n; i++) {
		struct sight *s = &h->sights[i];

		s->clock = s->ready_clock = holder_now(h).server_ms;
		s->shifted = s->ready_shifted = h->shifted;
	}
}

/* Its sweeper asks every second, and would see its clock jump. */
static void
look_at_clock(struct holder *h)
{
	int64_t by = offset(h) - h->offset;

	if (by == 0)
		return;
	if (by >= 5000 || by <= -5000) {
		h->shifted += by;
		if (!h->saw_all)
			restamp(h);
	} else {
		h->small += by;
		if (h->small > h->small_max)
			h->small_max = h->small;
		if (h->small < h->small_min)
			h->small_min = h->small;
		h->jitter = h->small_max - h->small_min;
	}
	h->odd_jump |= (by > 4000 && by < 8000) || (by < -4000 && by > -8000);
	h->offset += by;
	h->jumped_at = h->w->now;
	if (h->leads && h->w->now >= h->w->turns_until)
		world_trouble(h->w, h->w->now);	/* an end of its skew */
	h->poked = true;
}

void
holder_leads(struct holder *h)
{
	for (int i = 0; i < THINGS; i++)
		h->sights[i] = (struct sight){.at = -1,
					      .ready_at = -1,
					      .old_at = -1,
					      .launched_at = -1,
					      .deleted_at = -1,
					      .disrupted_at = -1,
					      .gone_at = -1};
	for (int k = 0; k < VIEW_COUNT; k++)
		h->listed_at[k] = -1;
	h->led_since = h->w->now;
	h->saw_all = h->odd_jump = false;
	h->leads_n += h->leads;
	h->restored = false;
	h->poked = true;
}

void
holder_start(struct holder *h)
{
	uint64_t seed = h->w->dice.state ^ ++h->births;

	if (h->up)
		return;
	tell(h->w, "holder %d   starts", h->number);
	h->up = true;
	h->rules.hold = h->configured;
	h->jumped_at = -1000000;
	h->offset = offset(h);
	h->shifted = h->jitter = 0;
	h->small = h->small_min = h->small_max = 0;
	h->paused_until = h->asked_to_wait = 0;
	for (int i = 0; i < POOLS; i++)
		h->alone_ms[i] = INT64_MAX;
	h->controller =
		controller_new(&h->rules, h->machines_max, seed, &h->counters);
	if (h->controller == NULL)
		abort();
	for (int k = 0; k < VIEW_COUNT; k++)
		stream_init(&h->streams[k], seed + (uint64_t)k);
	if (!h->w->dice.even) {
		h->recorder = recorder_new(seed, h->w->now);
		h->renewer = renewer_new(seed, h->w->now);
	}
	elect_init(h, seed);
	holder_leads(h);
}

static void
flight_end(struct flight *f)
{
	free(f->fresh);
	free(f->fresh_nodepools);
	free(f->fresh_tickets);
	*f = (struct flight){0};
}

static void patch_now(struct holder *h, struct flight *f);

/* What was sent may still be done. */
static void
flight_orphan(struct holder *h, struct flight *f)
{
	if (!f->applied && act_writes(f->a.act) &&
	    h->w->now >= h->w->down_until && roll(&h->w->dice, 2) == 0)
		patch_now(h, f);
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
	controller_free(h->controller);
	h->controller = NULL;
	recorder_free(h->recorder);
	renewer_free(h->renewer);
	h->recorder = NULL;
	h->renewer = NULL;
	h->up = h->leads = false;
}

/* --- calls ---------------------------------------------------------------- */

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
	f->out = (struct controller_outcome){.code = CONTROLLER_FAILED,
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
	/* What a slow list does not show yet the next one does. */
	if (f->answer_at - w->now > SLOW_MS)
		world_trouble(w, f->answer_at);
	if (f->fault == REPLY_WHOLE)
		return;
	excuse(w, thing_named(w, a->kind, a->name));
	if (f->answer_at > w->failed)
		w->failed = f->answer_at;
}

static void
claims_now(struct holder *h, struct flight *f)
{
	struct world *w = h->w;

	f->fresh = calloc((size_t)w->things_n + 1, sizeof(*f->fresh));
	if (f->fresh == NULL)
		abort();
	for (int i = 0; i < w->things_n; i++) {
		if (!w->things[i].used || w->things[i].kind != KIND_NODECLAIM)
			continue;
		thing_object(&w->things[i], &h->rules.hold,
			     &f->fresh[f->fresh_n]);
		api_metadata_only(&f->fresh[f->fresh_n++]);
	}
}

static void
pools_now(struct holder *h, struct flight *f)
{
	struct world *w = h->w;

	f->fresh_nodepools = calloc(POOLS + 1, sizeof(*f->fresh_nodepools));
	if (f->fresh_nodepools == NULL)
		abort();
	for (int p = 0; p < w->pools_n; p++)
		if (w->nodepools[p].thing >= 0)
			thing_pool(&w->things[w->nodepools[p].thing], false,
				   &f->fresh_nodepools[f->fresh_n++]);
}

static void
tickets_now(struct holder *h, struct flight *f)
{
	struct world *w = h->w;

	f->fresh_tickets = calloc((size_t)w->things_n + 1,
				  sizeof(*f->fresh_tickets));
	if (f->fresh_tickets == NULL)
		abort();
	for (int i = 0; i < w->things_n; i++)
		if (w->things[i].used && w->things[i].kind == KIND_TICKET)
			f->fresh_tickets[f->fresh_n++] = w->things[i];
}

static void
list_now(struct holder *h, struct flight *f, enum kind kind)
{
	if (h->w->now < h->w->unserved_until[kind]) {
		f->out.code = CONTROLLER_GONE;
		return;
	}
	if (h->w->now < h->streams[kind].refused_until) {
		f->out.code = CONTROLLER_REFUSED;
		return;
	}
	if (kind == KIND_NODECLAIM)
		claims_now(h, f);
	else if (kind == KIND_TICKET)
		tickets_now(h, f);
	else
		pools_now(h, f);
	f->out.code = CONTROLLER_OK;
}

static enum controller_code
finds(const struct world *w, const struct action *a, const struct thing *t)
{
	return api_find(a, t == NULL ? NULL : t->uid,
			w->now >= w->unserved_until[a->kind]);
}

static void
read_now(struct holder *h, struct flight *f)
{
	struct thing *t = thing_named(h->w, f->a.kind, f->a.name);

	f->out.code = finds(h->w, &f->a, t);
	if (f->out.code != CONTROLLER_OK)
		return;
	thing_object(t, &h->rules.hold, &f->read);
	f->read_index = t->index;
	f->has_read = true;
}

/* Does the API server turn that patch down, whatever is in it? */
static enum reply_fault
denied(const struct world *w, const struct thing *t)
{
	const struct denial *d = &w->denied[t->kind];

	if (w->now >= d->until ||
	    (d->nodepool[0] != '\0' && strcmp(d->nodepool, t->nodepool) != 0))
		return REPLY_WHOLE;
	return d->code == 422	? REPLY_INVALID
	       : d->code == 503 ? REPLY_BUSY
				: REPLY_REFUSED;
}

static void
patch_now(struct holder *h, struct flight *f)
{
	struct world *w = h->w;
	struct thing *t = thing_named(w, f->a.kind, f->a.name);

	if (h->rules.mode == MODE_OBSERVE)
		broken(w, "I12: holder %d observes, and writes to %s",
		       h->number, f->a.name);
	truth_write(h, f);
	f->out.code = finds(w, &f->a, t);
	if (f->out.code == CONTROLLER_OK &&
	    !reply_refuses(denied(w, t), -1, &f->out))
		f->out.code = thing_patch(w, &f->a, &h->rules.hold, f->out.rv);
	truth_written(h, f);
	if (f->out.code == CONTROLLER_OK && f->fault != REPLY_WHOLE)
		t->unanswered = w->now;
	if (f->out.code != CONTROLLER_OK)
		tell(w, "holder %d   %s: outcome %d", h->number, f->a.name,
		     f->out.code);
	else
		tell(w, "holder %d   %s %s %s: %s%s", h->number,
		     f->a.act == ACT_HOLD     ? "holds"
		     : f->a.act == ACT_CLEAR  ? "releases"
		     : f->a.act == ACT_UNMARK ? "unmarks"
					      : "classifies",
		     object_kind_name(t->kind), t->name, f->a.reason,
		     f->fault == REPLY_WHOLE ? "" : " (no answer)");
}

static void
served(struct holder *h, struct flight *f)
{
	if (f->a.act == ACT_LIST_CLAIMS)
		list_now(h, f, KIND_NODECLAIM);
	else if (f->a.act == ACT_LIST_NODEPOOLS)
		list_now(h, f, KIND_NODEPOOL);
	else if (f->a.act == ACT_LIST_TICKETS)
		list_now(h, f, KIND_TICKET);
	else if (act_writes(f->a.act))
		patch_now(h, f);
	else
		read_now(h, f);
}

static void
apply(struct holder *h, struct flight *f)
{
	struct world *w = h->w;

	f->applied = true;
	if (w->now < w->down_until || reply_refuses(f->fault, -1, &f->out))
		return;
	if (w->now < w->busy_until) {
		(void)reply_refuses(REPLY_BUSY, w->retry_after_ms, &f->out);
		return;
	}
	served(h, f);
	reply_heard(f->fault, &f->out);
}

/* How long a 429 or a 503 asks for; without a word on it some time all the
 * same. */
#define BUSY_MS 400

static void
ticket_listed(struct holder *h, const struct thing *t)
{
	struct ticket ticket;

	thing_ticket(t, &ticket);
	/* What holds nothing is left to the watch. */
	if (ticket_is_whole(t) &&
	    t->renewed_ms <= holder_now(h).server_ms + 600000)
		holder_knows(h, t);
	controller_fresh_ticket(h->controller, &ticket, holder_now(h));
}

static void
listed(struct holder *h, struct flight *f)
{
	bool claims = f->a.act == ACT_LIST_CLAIMS;
	bool tickets = f->a.act == ACT_LIST_TICKETS;

	for (int i = 0; f->out.code == CONTROLLER_OK && i < f->fresh_n; i++) {
		if (claims)
			controller_fresh(h->controller, &f->fresh[i],
					 holder_now(h));
		else if (tickets)
			ticket_listed(h, &f->fresh_tickets[i]);
		else
			controller_fresh_nodepool(h->controller,
						  &f->fresh_nodepools[i]);
	}
	tell(h->w, "holder %d   fresh list: %d %s, outcome %d", h->number,
	     f->fresh_n,
	     claims ? "claims" : tickets ? "tickets" : "pools", f->out.code);
	if (f->out.code == CONTROLLER_OK || f->out.code == CONTROLLER_GONE)
		h->listed_at[f->a.kind] = f->apply_at;
}

static void
answer(struct holder *h, struct flight *f)
{
	struct now now = holder_now(h);
	int64_t wait = f->out.retry_after_ms >= 0 ? f->out.retry_after_ms
						  : BUSY_MS;

	f->answered = true;
	/* What is refused to all is looked at object by object (is_denied). */
	if ((f->out.code == CONTROLLER_FAILED ||
	     f->out.code == CONTROLLER_BUSY ||
	     (!act_writes(f->a.act) && f->out.code != CONTROLLER_OK &&
	      f->out.code != CONTROLLER_GONE)) &&
	    h->w->now > h->w->failed)
		h->w->failed = h->w->now;
	if (f->out.code == CONTROLLER_OK && f->has_read) {
		holder_knows(h, &h->w->things[f->read_index]);
		controller_found(h->controller, &f->a, &f->read, now);
	}
	if (act_lists(f->a.act))
		listed(h, f);
	if (f->out.code == CONTROLLER_BUSY &&
	    h->w->now + wait > h->asked_to_wait)
		h->asked_to_wait = h->w->now + wait;
	f->out.action = &f->a;
	controller_done(h->controller, &f->out, now);
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

/* --- the controller ------------------------------------------------------- */

/* No busy loop: a controller that says "wait" is asked again only so often. */
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

	while (controller_note(h->controller, &n)) {
		if (n.type == NOTE_TABLE_FULL &&
		    h->counters.at[COUNTER_TABLE_FULL] == 0)
			broken(h->w, "I7: %s is left out, and not counted",
			       n.name);
		if (n.type == NOTE_TABLE_FULL && !h->w->full) {
			tell(h->w, "holder %d   its table is full: %s is left "
			     "out", h->number, n.name);
			h->w->full = true;
			/* Claims that it knows from fresh lists stay in it
			 * until the next one, though they are gone. */
			if (h->w->larges)
				h->w->crowded = h->w->now;
		}
		truth_note(h, &n);
		recorder_note(h, &n);
	}
}

#define SOFT_MS 60000	/* without election: the soft state is written anew */

/* The history, of which nothing may depend. */
static void
keep_history(struct holder *h)
{
	int32_t term = lease_term(&h->lease);
	char text[LEASE_HISTORY_BYTES];
	struct buf b;

	if (!h->restored)
		controller_recall(h->controller, lease_history(&h->lease),
				  term, holder_now(h));
	buf_init(&b, text, sizeof(text));
	if (!controller_history(h->controller, &b, term, holder_now(h)))
		return;
	(void)lease_history_set(&h->lease, text);
	h->poked = true;
}

/* Whoever told it, the history ends with what is so. */
static void
check_history(const struct holder *h)
{
	const struct controller *s = h->controller;
	struct turn last;

	if (!h->leads || s->unsettled)
		return;
	for (uint32_t i = 0; i < s->timers.scopes_top; i++) {
		const struct scope *sc = &s->timers.scopes[i];

		if (journal_last(&s->journal, s->carried ? 0 : s->turns_before,
				 sc->name, false, &last) > 0
			    ? sc->held != (last.what == TURN_HELD)
			    : sc->held)
			broken(h->w, "I13: holder %d, scope %s: its last turn "
			       "is \"%s\"", h->number, sc->name,
			       journal_what(last.what));
	}
}

/* What the leader before it knew; then what the one after it is to know. */
static void
keep_soft(struct holder *h)
{
	char text[4096];
	const char *known = lease_state(&h->lease);
	bool always = !h->elects && h->w->now >= h->soft_at;
	struct buf b;

	if (!h->leads || known == NULL)
		return;
	keep_history(h);
	if (!h->restored) {
		tell(h->w, "holder %d   reads the soft state: %.80s",
		     h->number, known);
		controller_restore(h->controller, known,
				   lease_state_ms(&h->lease), holder_now(h));
		truth_leads(h);
	}
	h->restored = true;
	buf_init(&b, text, sizeof(text));
	if (!controller_soft(h->controller, &b, always, holder_now(h)))
		return;
	(void)lease_state_set(&h->lease, text);
	h->poked = true;	/* now the Lease has something to do */
	h->soft_at = h->w->now + SOFT_MS;
}

static void
wake_in(struct holder *h, int64_t ms)
{
	if (ms <= 0)
		broken(h->w, "I9: holder %d says wait %lld", h->number,
		       (long long)ms);
	h->wake_at = ms == INT64_MAX ? ms : h->w->now + ms;
}

/* With mode observe a write is told of, and not made. */
static void
tell_write(struct holder *h, const struct action *a)
{
	struct thing *t = thing_named(h->w, a->kind, a->name);

	truth_action(h, a);
	tell(h->w, "holder %d   would write %d on %s: %s", h->number,
	     (int)a->act, a->name, a->reason);
	/* What the earlier one of two leaders tells the later one does not
	 * know. */
	if (!truth_is_leader(h))
		t = NULL;
	if (t != NULL && strcmp(t->uid, a->uid) == 0 && a->act == ACT_HOLD)
		t->told = (int)ann_of(&h->rules.hold) + 1;
	else if (t != NULL && a->act != ACT_CLASSIFY)
		t->told = 0;
	controller_done(h->controller,
			&(struct controller_outcome){.action = a,
						     .retry_after_ms = -1},
			holder_now(h));
}

static struct controller_todo
next_todo(struct holder *h)
{
	struct controller_todo t;

	t = controller_next(h->controller, holder_now(h));
	while (t.step == CONTROLLER_ACT && t.action.observed) {
		take_notes(h);
		tell_write(h, &t.action);
		h->still_since = h->w->now;
		t = controller_next(h->controller, holder_now(h));
	}
	return t;
}

static void
controller_step(struct holder *h)
{
	int64_t now = h->w->now;

	if (!h->poked && now < h->wake_at)
		return;
	h->poked = false;
	keep_soft(h);
	h->wake_at = INT64_MAX;
	for (struct flight *f = h->flights; f < h->flights + FLIGHTS; f++) {
		struct controller_todo t;

		if (f->used)
			continue;
		t = next_todo(h);
		if (t.step == CONTROLLER_WAIT) {
			count_asking(h);
			wake_in(h, t.wait_ms);
			break;
		}
		t.action.fence_ms = lease_fence_ms(&h->lease);
		take_notes(h);
		truth_action(h, &t.action);
		fly(h, f, &t.action);
		h->still_since = now;
	}
	take_notes(h);
	keep_soft(h);
	check_history(h);
}

bool
holder_watches(const struct holder *h, enum kind kind)
{
	return kind == KIND_EVENT    ? rules_tell_replacements(&h->rules)
	       : kind == KIND_TICKET ? rules_tickets(&h->rules)
				     : true;
}

/* When the soft state is written anew. */
static int64_t
soft_next(struct holder *h)
{
	if (h->w->now >= h->soft_at)
		h->poked = true;
	return h->w->now < h->soft_at ? h->soft_at : INT64_MAX;
}

/* Each jitter is drawn from the same state, so all are the same. */
static void
even_pace(struct holder *h)
{
	const struct pace pace = {0x9e3779b97f4a7c15u};

	if (!h->w->dice.even)
		return;
	h->controller->pace = h->lease.pace = pace;
	for (int k = 0; k < VIEW_COUNT; k++)
		h->streams[k].reflect.pace = pace;
}

int64_t
holder_step(struct holder *h)
{
	int64_t next = INT64_MAX;

	if (!h->up)
		return INT64_MAX;
	even_pace(h);
	/* What it sent before it was stopped arrives all the same. */
	if (h->w->now < h->paused_until) {
		calls_serve(h);
		elect_serve(h);
		return h->paused_until;
	}
	if (h->w->now < h->skew_until)
		next = h->skew_until;
	look_at_clock(h);
	recorder_step(h);
	renewer_step(h);
	calls_step(h);
	next = sooner(next, elect_step(h));
	if (!h->elects && h->leads && h->restored)
		next = sooner(next, soft_next(h));
	for (int k = 0; k < VIEW_COUNT; k++)
		if (holder_watches(h, (enum kind)k) &&
		    (h->leads || k == KIND_NODEPOOL))
			next = sooner(next, stream_step(h, (enum kind)k));
	h->saw_all |= has_listed_all(h);
	controller_step(h);
	for (int k = 0; k < KIND_COUNT; k++)
		h->poked |= stream_asked(h, (enum kind)k);
	if (h->poked)
		return h->w->now;
	return sooner(next, sooner(calls_next(h), h->wake_at));
}

/* --- its webhook ---------------------------------------------------------- */

/* The first answer about the Lease comes before the first probe. */
bool
holder_is_ready(const struct holder *h)
{
	const struct hold_key *k = &h->w->lease.hold;

	return h->up && (!h->w->lease.present || k->key[0] == '\0' ||
			 strcmp(k->key, h->configured.key) == 0);
}

void
holder_admit(struct holder *h, struct thing *t)
{
	struct object o;
	struct review v = {.create = true, .kind_known = true,
			   .kind = t->kind, .has_nodepool = true};
	struct verdict d;

	thing_object(t, &h->rules.hold, &o);
	memcpy(v.nodepool, o.nodepool, sizeof(v.nodepool));
	v.disabled = h->alone_ms[h->w->machines[t->machine].pool_id] <=
		     holder_now(h).server_ms;
	v.hold = o.hold;
	v.has_mark = o.mark != MARK_ABSENT;
	d = admit_decide(&h->rules, &v);
	if (!d.patch)
		return;
	if (t->notes.by[ann_of(&h->rules.hold)] == BY_PERSON)
		broken(h->w, "I1: admission changes a person's hold on %s",
		       t->name);
	if (h->rules.mode == MODE_OBSERVE)
		broken(h->w, "I12: holder %d observes, and changes %s at "
		       "admission", h->number, t->name);
	world_hold(h->w, &h->rules.hold);
	thing_hold(t, &h->rules.hold, holder_now(h).server_ms);
}

struct scope_report
holder_scope(const struct holder *h, const char *name)
{
	struct scope_report r = {.quiet_ms = STAMP_NONE}, at;
	struct figures *f = figures_new();

	while (f != NULL && figures_count(h->controller, f, holder_now(h)))
		;
	for (uint32_t i = 0;
	     f != NULL && controller_scope(h->controller, f, &i, &at);)
		if (strcmp(at.name, name) == 0)
			r = at;
	figures_free(f);
	return r;
}
