/* SPDX-License-Identifier: Apache-2.0 */
#include "history.h"

#include <stdlib.h>
#include <string.h>

#include "cleaner.h"
#include "older.h"
#include "picture.h"
#include "recorder.h"
#include "renewer.h"
#include "truth.h"
#include "truth_parts.h"

#define QUARREL_MS 30000	/* as long as two may lead, and a write of theirs */
#define QUARREL_WRITES 1000	/* writes of two configurations that clear each
				   other's holds */

struct run {
	const struct history *h;
	struct world w;
	struct holder holders[HOLDERS];
	struct truth truth;
	struct cleaner *cleaner;	/* NULL: there was no `cleanup` */
	struct meter meter;		/* before it settles */
	uint64_t ops[OP_COUNT];
};

static struct rules
rules_of(const struct history *h, bool other_hold, const char *exclude)
{
	struct rules r = {
		.mode = h->observe ? MODE_OBSERVE : MODE_ENFORCE,
		.scope = h->scope,
		.hold_ms = h->hold_ms,
		.startup_ms = h->startup_ms,
		.cap = {h->max_ms, h->window_ms},
		.hold = other_hold ? hold_other : hold_default,
		.replacements = h->count ? REPLACEMENTS_COUNT
					 : REPLACEMENTS_IGNORE,
		.drift = h->allow_drift ? DRIFT_ALLOW : DRIFT_HOLD,
		.min_scale_up = h->min_scale_up > 0 ? (uint32_t)h->min_scale_up
						    : 1,
		.min_scale_up_percent = (uint32_t)h->min_scale_up_percent,
		.include = {1, {"*"}},
	};

	if (h->tickets)
		snprintf(r.tickets, sizeof(r.tickets), "tickets");
	if (exclude[0] != '\0') {
		r.exclude.n = 1;
		snprintf(r.exclude.at[0], sizeof(r.exclude.at[0]), "%s",
			 exclude);
	}
	return r;
}

/* Sends the review to one of the replicas that are up, as a Service does.  If
 * there is none, the creation goes through unchanged. */
static void
admit(void *ctx, struct thing *t)
{
	struct run *r = ctx;
	int first = (int)roll(&r->w.dice, (uint32_t)r->truth.holders_n);

	/* The last replica to go goes on for so long. */
	if (r->cleaner != NULL && cleaner_admits(r->cleaner))
		holder_admit(&r->holders[first], t);
	for (int i = 0; i < r->truth.holders_n; i++) {
		struct holder *h =
			&r->holders[(first + i) % r->truth.holders_n];

		if (!holder_is_ready(h) || r->w.now < h->paused_until ||
		    r->w.uninstaller.on)
			continue;
		holder_admit(h, t);
		h->poked = true;
		return;
	}
}

/* --- what happens --------------------------------------------------------- */

static int
machine_of(const struct run *r, const struct op *o)
{
	return r->w.machines_n == 0 ? -1 : o->machine % r->w.machines_n;
}

static struct thing *
thing_of(struct run *r, const struct op *o)
{
	int m = machine_of(r, o), t;

	if (m < 0)
		return NULL;
	t = o->kind == KIND_NODE ? r->w.machines[m].node
				 : r->w.machines[m].claim;
	return t >= 0 && r->w.things[t].used ? &r->w.things[t] : NULL;
}

static const char *
stands(const struct thing *t)
{
	bool mark = t->notes.at[ANN_MARK][0] != '\0';
	bool hold = t->notes.at[ANN_HOLD][0] != '\0' ||
		    t->notes.at[ANN_OTHER_HOLD][0] != '\0';

	if (!t->used)
		return "gone";
	return mark && hold ? "held" : mark ? "marked"
			    : hold ? "kept" : "clear";
}

/* Is this the class that holders take from the claim?  One that was copied says
 * nothing. */
static bool
is_of_class(const struct thing *t, const char *value)
{
	bool classed = t->class[0] != '\0' &&
		       strcmp(t->class_uid, t->uid) == 0;

	if (strcmp(value, "classed") == 0)
		return classed;
	if (strcmp(value, "unclassed") == 0)
		return !classed;
	return classed && strncmp(value, t->class, strlen(value)) == 0;
}

static bool
is_as_expected(const struct thing *t, const char *value)
{
	static const char *const classes[] = {"classed", "unclassed", "drifted",
					      "substitute"};

	for (int i = 0; i < 4; i++)
		if (strcmp(value, classes[i]) == 0)
			return is_of_class(t, value);
	return strcmp(value, stands(t)) == 0;
}

static void
expect(struct run *r, const struct op *o)
{
	struct world *w = &r->w;
	int end = o->machine + (o->n > 0 ? o->n : 1);

	for (int i = o->machine; i < end; i++) {
		int at = i >= w->machines_n	  ? -1
			 : o->kind == KIND_NODE ? w->machines[i].node
						  : w->machines[i].claim;
		const struct thing *t = at < 0 ? NULL : &w->things[at];

		if (t == NULL)
			broken(w, "E: machine %d has no %s", i,
			       object_kind_name(o->kind));
		else if (!is_as_expected(t, o->value))
			broken(w, "E: %s is %s %s, and is to be %s", t->name,
			       stands(t), t->class, o->value);
	}
}

static void
on_pools(struct run *r, const struct op *o)
{
	struct world *w = &r->w;
	bool is_time =
		o->key == NODEPOOL_HOLD_UNTIL || o->key == NODEPOOL_RELEASED_AT;

	if (o->type == OP_TEMPLATE)
		snprintf(pool_state(w, o->nodepool)->template, TEXT, "%s",
			 o->value);
	else if (o->type == OP_UNPOOL)
		pool_gone(w, o->nodepool);
	else if (o->type == OP_REPOOL)
		pool_remade(w, o->nodepool);
	else if (o->type == OP_TICKET)
		ticket_renewed(w, o->value, o->nodepool, o->for_ms, o->ms);
	else if (o->type == OP_SPOIL)
		ticket_spoilt(w, o->value);
	else if (o->type == OP_LINGER)
		ticket_lingers(w, o->value);
	else if (o->type == OP_UNTICKET)
		ticket_gone(w, o->value);
	else if ((int)o->key >= NODEPOOL_KEY_COUNT)
		person_specifies(w, o->nodepool, (enum spec_field)o->key,
				 o->value);
	else
		person_says(w, o->nodepool, o->key, o->value,
			    o->ms + (is_time ? SERVER_START : 0));
}

static void
on_machines(struct run *r, const struct op *o)
{
	struct world *w = &r->w;
	struct thing *t = thing_of(r, o);
	int m = machine_of(r, o);

	if (o->type == OP_CREATE)
		for (int i = 0; i < o->n; i++)
			machine_new(w, o->nodepool, &o->story);
	else if (o->type == OP_EXPECT)
		expect(r, o);
	else if (o->type == OP_LOOK || m < 0)
		return;
	else if (o->type == OP_LIFE)
		(void)machine_moves(w, m);
	else if (o->type == OP_DELETE)
		machine_delete(w, m, o->for_ms);
	else if (o->type == OP_DRIFT)
		machine_drifts(w, m, strcmp(o->value, "-") != 0);
	else if (o->type == OP_REBOOT)
		machine_reboot(w, m, o->for_ms);
	else if (o->type == OP_UNNODE)
		node_lost(w, m, o->for_ms);
	else if (o->type == OP_DISRUPT)
		machine_disrupt(w, m,
				o->value[0] != '\0' ? o->value : "Drifted");
	else if (o->type == OP_FORGE)
		event_on(w, m, "forged");
	else if (o->type == OP_PERSON && t != NULL)
		person_does(w, t, o->what, o->value);
	else if (o->type == OP_AGAIN || o->type == OP_RECREATE)
		node_again(w, m, o->type == OP_RECREATE);
}

/* There are two configurations at once: what one holds the other clears. */
static void
quarrel(struct run *r, int64_t for_ms)
{
	bool is_one = r->w.now < r->w.turns_until;

	/* Nor do they agree if their rules or their clocks differ. */
	for (int i = 1; i < r->truth.holders_n; i++)
		is_one |= memcmp(&r->holders[i].rules, &r->holders[0].rules,
				 sizeof(r->holders[0].rules)) != 0 ||
			  r->holders[i].offset != r->holders[0].offset;
	if (is_one)
		r->w.quarrel = r->w.now + for_ms + QUARREL_MS;
	r->w.strange += is_one ? QUARREL_WRITES : 2;
}

static void
deny(struct run *r, const struct op *o)
{
	struct denial *d = &r->w.denied[o->kind < KIND_COUNT ? o->kind
							      : KIND_NODECLAIM];

	*d = (struct denial){.until = r->w.now + o->for_ms,
			     .code = atoi(o->value)};
	memcpy(d->nodepool, o->nodepool, sizeof(d->nodepool));
	if (d->code == 503)
		world_trouble(&r->w, d->until);
}

static void
unserve(struct run *r, const struct op *o)
{
	r->w.unserved_until[o->kind] = r->w.now + o->for_ms;
	for (int i = 0; i < r->truth.holders_n; i++)
		holder_cut(&r->holders[i], o->kind);
	world_trouble(&r->w, r->w.unserved_until[o->kind] + 5000);
}

/* Returns how far a clock may be off now, or lately: what it was off before still
 * shows in moments that were written then. */
static int64_t
off_by(const struct run *r, int64_t by, int64_t most, int64_t until)
{
	by = by < 0 ? -by : by;
	return r->w.now < until + 60000 && most > by ? most : by;
}

static void
take_turns(struct run *r, const struct op *o)
{
	struct world *w = &r->w;

	w->turns_most = off_by(r, o->ms, w->turns_most, w->turns_until);
	w->turns_from = w->now;
	w->turns_until = w->now + o->for_ms;
	w->turns_every = o->every_ms > 1000 ? o->every_ms : 1000;
	w->turns_by = o->ms;
}

static void
until(struct run *r, int64_t *what, const struct op *o)
{
	*what = r->w.now + o->for_ms;
	r->w.odds = o->odds > 0 ? (uint32_t)o->odds : 100;
	world_trouble(&r->w, *what);
}

static void
on_server(struct run *r, const struct op *o)
{
	struct world *w = &r->w;

	switch (o->type) {
	case OP_DOWN:
		until(r, &w->down_until, o);
		break;
	case OP_BUSY:
		until(r, &w->busy_until, o);
		w->retry_after_ms = o->ms;
		world_trouble(w, w->busy_until + o->ms);
		break;
	case OP_ERRORS:
		until(r, &w->error_until, o);
		break;
	case OP_LOSSY:
		until(r, &w->lossy_until, o);
		break;
	case OP_LATE:
		until(r, &w->late_until, o);
		break;
	case OP_SLOW:
		until(r, &w->slow_until, o);
		/* Calls under way at its end are still slow. */
		world_trouble(w, w->slow_until + 2000);
		break;
	case OP_DENY:
		deny(r, o);
		break;
	case OP_UNSERVE:
		unserve(r, o);
		break;
	case OP_TURNS:
		take_turns(r, o);
		break;
	case OP_LEASE:
		lease_record_copy(&w->lease, NULL);
		w->lease_deleted = w->now;
		quarrel(r, 0);
		world_trouble(w, w->now);
		break;
	case OP_UNINSTALL:
		if (!r->holders[0].elects)
			break;	/* a replica without a Lease cannot be stopped
				   by it */
		/* Only the command looks at the Lease that it takes. */
		w->lease_deleted = w->now;
		quarrel(r, o->for_ms);
		uninstall_begin(w, o->for_ms);
		world_trouble(w, w->now + o->for_ms);
		break;
	default:
		w->compacted = w->rv;
	}
}

/* The truth looks at the streams of whoever leads, as long as they are not
 * whole. */
static void
on_stream(struct run *r, struct holder *h, const struct op *o)
{
	struct stream *s = &h->streams[o->kind];

	if (o->type == OP_CUT) {
		holder_cut(h, o->kind);
	} else if (o->type == OP_HANG && s->state == STREAM_OPEN) {
		s->hung_since = r->w.now;
		s->hung_until = r->w.now + o->for_ms;
	} else if (o->type == OP_LAG) {
		s->lag_ms = o->ms;
		s->lag_until = r->w.now + o->for_ms;
	} else if (o->type == OP_REFUSE) {
		s->refused_until = r->w.now + o->for_ms;
	}
}

/* Does it matter what happens to the replica?  Not while another one leads. */
static bool
concerns(const struct run *r, const struct holder *h)
{
	for (int i = 0; i < r->truth.holders_n; i++)
		if (r->holders[i].up && r->holders[i].leads &&
		    &r->holders[i] != h)
			return h->up && h->leads;
	return true;
}

static void
on_holder(struct run *r, const struct op *o)
{
	struct holder *h = &r->holders[o->holder % r->truth.holders_n];
	bool matters = concerns(r, h);

	switch (o->type) {
	case OP_KILL:
		holder_crash(h);
		break;
	case OP_RULES:
		holder_crash(h);
		h->rules = rules_of(r->h, o->other_hold, o->exclude);
		h->configured = h->rules.hold;
		for (int i = 0; i < 3; i++)
			if (strcmp(scope_names[i], o->scope) == 0)
				h->rules.scope = (enum scope_kind)i;
		r->w.strange += 2;
		if (r->w.now - r->w.lease_deleted <= 20000) {
			r->w.quarrel = r->w.now + QUARREL_MS;
			r->w.strange += QUARREL_WRITES;
		}
		r->w.reruled = true;
		holder_start(h);
		break;
	case OP_START:
		holder_start(h);
		break;
	case OP_PAUSE:
		h->paused_until = r->w.now + o->for_ms;
		if (!matters)
			break;
		world_trouble(&r->w, h->paused_until);
		break;
	case OP_SKEW:
		h->skew_most = off_by(r, o->ms, h->skew_most,
				      h->skew_until);
		h->skew_ms = o->ms;
		h->skew_until = r->w.now + o->for_ms;
		r->w.strange += 2;
		break;
	default:
		on_stream(r, h, o);
	}
	if (matters)
		world_trouble(&r->w, r->w.now);
	h->poked = true;
}

/* The holders are gone, for good. */
static void
clean_up(struct run *r, const struct op *o)
{
	bool clocks_differ = false;

	for (int i = 0; i < r->truth.holders_n; i++) {
		holder_crash(&r->holders[i]);
		clocks_differ |= r->holders[i].skew_until > 0;
	}
	r->cleaner = cleaner_new(&r->w, &r->holders[0].rules.hold,
				 r->holders[0].elects,
				 o->n > 0 ? (unsigned)o->n : 0, clocks_differ);
}

/* Leaders of two versions: the older ends, and this program's begins. */
static void
take_over(struct run *r, const struct op *o)
{
	for (int i = 0; i < r->truth.holders_n; i++)
		holder_crash(&r->holders[i]);
	older_take(&r->w, o->value);
	world_trouble(&r->w, r->w.now);
	for (int i = 0; i < r->truth.holders_n; i++)
		holder_start(&r->holders[i]);
}

/* What happens to holders, when there are none any more. */
static bool
is_over(const struct run *r, enum op_type type)
{
	return r->cleaner != NULL &&
	       ((type >= OP_CUT && type <= OP_REFUSE) ||
		type == OP_UNINSTALL || type == OP_CLEANUP ||
		(type >= OP_KILL && type <= OP_OLDER));
}

void
run_apply(struct run *r, const struct op *o)
{
	if (o->type > OP_PERSON)
		tell(&r->w, "fault      %s holder=%d kind=%s for=%lld ms=%lld",
		     op_names[o->type], o->holder, object_kind_name(o->kind),
		     (long long)o->for_ms, (long long)o->ms);
	r->ops[o->type]++;
	if (is_over(r, o->type))
		return;
	if (o->type == OP_CLEANUP)
		clean_up(r, o);
	else if (o->type == OP_OLDER)
		take_over(r, o);
	else if (o->type == OP_TEMPLATE || o->type == OP_POOL ||
	    o->type == OP_UNPOOL || o->type == OP_REPOOL ||
	    (o->type >= OP_TICKET && o->type <= OP_UNTICKET))
		on_pools(r, o);
	else if (o->type <= OP_PERSON)
		on_machines(r, o);
	else if (o->type >= OP_EXPIRE && o->type <= OP_UNINSTALL)
		on_server(r, o);
	else
		on_holder(r, o);
}

/* --- time ----------------------------------------------------------------- */

static int64_t
sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

const char *
run_broken(const struct run *r)
{
	return r->w.broken[0] != '\0' ? r->w.broken : NULL;
}

/* Does everything that is due now, and returns the next moment at which
 * something is. */
static int64_t
step(struct run *r)
{
	int64_t next = world_turn_next(&r->w);

	karpenter_step(&r->w);
	uninstall_step(&r->w);
	for (int i = 0; i < r->truth.holders_n; i++)
		next = sooner(next, holder_step(&r->holders[i]));
	next = sooner(next, karpenter_next(&r->w));
	next = sooner(next, uninstall_next(&r->w));
	if (r->cleaner != NULL) {	/* nothing ought to be held any more */
		next = sooner(next, cleaner_step(r->cleaner));
	} else {
		truth_check(&r->truth);
		next = sooner(next, truth_next(&r->truth));
	}
	picture_look(r->h->picture, &r->w, r->holders);
	r->w.seen.events++;
	return next;
}

void
run_pass(struct run *r, int64_t until_ms)
{
	unsigned here = 0;

	while (run_broken(r) == NULL) {
		int64_t next = sooner(until_ms, step(r));

		if (next <= r->w.now && ++here > 100000) {
			broken(&r->w, "I9: time stands still");
			break;
		}
		if (next <= r->w.now && r->w.now < until_ms)
			continue;
		if (next > r->w.now)
			here = 0;
		if (next >= until_ms) {
			r->w.now = until_ms;
			break;
		}
		r->w.now = next;
	}
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

#define LAST_ROUNDS_MS 600000	/* the Lease, and a few rounds */

/* When faults are over, `uninstall` is run to its end. */
static void
settle_cleaner(struct run *r, int64_t end)
{
	for (int k = 0; k < VIEW_COUNT; k++)
		end = later(end, r->w.unserved_until[k]);
	for (int k = 0; k < KIND_COUNT; k++)
		end = later(end, r->w.denied[k].until);
	run_pass(r, end + 120000);
	cleaner_calm(r->cleaner);
	run_pass(r, r->w.now + LAST_ROUNDS_MS);
	if (run_broken(r) == NULL && !cleaner_ended(r->cleaner))
		broken(&r->w, "I11: uninstall does not end");
}

void
run_settle(struct run *r)
{
	struct world *w = &r->w;
	int64_t end = later(later(w->now, w->trouble_until), w->turns_until);

	r->meter = r->truth.meter;
	if (r->cleaner != NULL) {
		settle_cleaner(r, end);
		return;
	}
	/* A write that was refused is tried again ten minutes later, at the
	 * latest. */
	for (int k = 0; k < KIND_COUNT; k++)
		if (w->denied[k].until > 0)
			end = later(end, w->denied[k].until + 600000);
	for (int i = 0; i < r->truth.holders_n; i++)
		holder_start(&r->holders[i]);
	run_pass(r, end + r->h->startup_ms + r->h->hold_ms +
			    r->h->window_ms + 600000);
	if (run_broken(r) == NULL)
		truth_last(&r->truth);
	for (int i = 0; i < r->truth.holders_n; i++) {
		recorder_last(&r->holders[i]);
		renewer_last(&r->holders[i]);
	}
}

/* --- a whole run ---------------------------------------------------------- */

struct run *
run_new(const struct history *h, FILE *story)
{
	struct run *r = calloc(1, sizeof(*r));
	struct rules rules = rules_of(h, h->other_hold, h->exclude);

	if (r == NULL)
		abort();
	r->h = h;
	world_init(&r->w, h->seed);
	r->w.dice.even = h->even;
	if (!h->even)
		r->w.certs = certs_new(h->seed);
	r->w.story = story;
	r->w.admit = admit;
	r->w.admit_ctx = r;
	for (int i = 0; i < h->holders; i++) {
		struct holder *holder = &r->holders[i];

		holder_init(holder, &r->w, i, &rules);
		holder->machines_max = (uint32_t)h->machines_max;
		holder->page = h->page;
		holder->elects = h->elects || h->holders > 1;
		holder->all = r->holders;
		holder->all_n = h->holders;
	}
	truth_init(&r->truth, &r->w, r->holders, h->holders);
	for (int i = 0; i < h->holders; i++)
		holder_start(&r->holders[i]);
	return r;
}

const struct world *
run_world(const struct run *r)
{
	return &r->w;
}

const struct holder *
run_holders(const struct run *r, int *n)
{
	*n = r->truth.holders_n;
	return r->holders;
}

const struct truth *
run_truth(const struct run *r)
{
	return &r->truth;
}

void
run_free(struct run *r, struct outcome_of_run *out)
{
	if (out != NULL) {
		*out = (struct outcome_of_run){
			.digest = r->w.digest,
			.events = r->w.seen.events,
			.writes = r->w.seen.writes,
			.days_ms = (uint64_t)r->w.now,
			.meter = r->meter,
		};
		memcpy(out->broken, r->w.broken, sizeof(out->broken));
		memcpy(out->ops, r->ops, sizeof(out->ops));
		memcpy(out->faults, r->w.seen.faults, sizeof(out->faults));
	}
	r->w.story = NULL;
	for (int i = 0; i < r->truth.holders_n; i++)
		if (r->holders[i].up)
			holder_crash(&r->holders[i]);
	cleaner_free(r->cleaner);
	certs_free(r->w.certs);
	world_done(&r->w);
	free(r);
}

int
history_run(const struct history *h, FILE *story, struct outcome_of_run *out)
{
	struct run *r = run_new(h, story);

	for (int i = 0; i < h->ops_n && run_broken(r) == NULL; i++) {
		run_pass(r, later(r->w.now, h->ops[i].at));
		if (run_broken(r) == NULL)
			run_apply(r, &h->ops[i]);
	}
	if (run_broken(r) == NULL)
		run_pass(r, later(r->w.now, h->end));
	if (run_broken(r) == NULL)
		run_settle(r);
	run_free(r, out);
	return out->broken[0] != '\0';
}
