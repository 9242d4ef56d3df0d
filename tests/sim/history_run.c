/* SPDX-License-Identifier: Apache-2.0 */
#include "history.h"

#include <stdlib.h>
#include <string.h>

#include "picture.h"
#include "truth.h"

#define QUARREL_WRITES 1000	/* what one holds the other clears */

struct run {
	const struct history *h;
	struct world w;
	struct holder holders[HOLDERS];
	struct truth truth;
};

static struct rules
rules_of(const struct history *h, bool other_hold, const char *exclude)
{
	struct rules r = {
		.scope = h->scope,
		.hold_ms = h->hold_ms,
		.startup_ms = h->startup_ms,
		.cap = {h->max_ms, h->window_ms},
		.hold = other_hold ? hold_other : hold_default,
		.replacements = h->count ? REPLACEMENTS_COUNT
					 : REPLACEMENTS_IGNORE,
		.include = {1, {"*"}},
	};

	if (exclude[0] != '\0') {
		r.exclude.n = 1;
		snprintf(r.exclude.at[0], sizeof(r.exclude.at[0]), "%s",
			 exclude);
	}
	return r;
}

/* A Service: one of the replicas that are up answers; none, and the creation
 * goes through unchanged. */
static void
admit(void *ctx, struct thing *t, bool dry_run)
{
	struct run *r = ctx;
	int first = (int)roll(&r->w.dice, (uint32_t)r->truth.holders_n);

	for (int i = 0; i < r->truth.holders_n; i++) {
		struct holder *h =
			&r->holders[(first + i) % r->truth.holders_n];

		if (!h->up || r->w.now < h->paused_until)
			continue;
		holder_admit(h, t, dry_run);
		h->poked = true;
		return;
	}
}

/* --- what happens ---------------------------------------------------------------- */

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
			       kind_name(o->kind));
		else if (strcmp(o->value, "classed") == 0
				 ? t->class[0] == '\0'
				 : strcmp(o->value, stands(t)) != 0)
			broken(w, "E: %s is %s, and is to be %s", t->name,
			       stands(t), o->value);
	}
}

static void
on_machines(struct run *r, const struct op *o)
{
	struct world *w = &r->w;
	struct thing *t = thing_of(r, o);
	int m = machine_of(r, o);

	if (o->type == OP_CREATE)
		for (int i = 0; i < o->n; i++)
			machine_new(w, o->pool, &o->story);
	else if (o->type == OP_TEMPLATE)
		snprintf(pool_state(w, o->pool)->template, TEXT, "%s",
			 o->value);
	else if (o->type == OP_POOL)
		person_says(w, o->pool, o->key, o->value,
			    o->ms + (o->key == POOL_HOLD_UNTIL ||
						     o->key == POOL_RELEASED_AT
					     ? SERVER_START
					     : 0));
	else if (o->type == OP_EXPECT)
		expect(r, o);
	else if (m < 0)
		return;
	else if (o->type == OP_DELETE)
		machine_delete(w, m);
	else if (o->type == OP_DISRUPT)
		machine_disrupt(w, m);
	else if (o->type == OP_PERSON && t != NULL)
		person_does(w, t, o->what, o->value);
	else if (o->type == OP_AGAIN || o->type == OP_RECREATE)
		node_again(w, m, o->type == OP_RECREATE);
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
		break;
	case OP_LEASE:
		lease_record_copy(&w->lease, NULL);
		w->lease_deleted = w->now;
		for (int i = 1; i < r->truth.holders_n; i++)
			w->quarrel |= memcmp(&r->holders[i].rules,
					     &r->holders[0].rules,
					     sizeof(r->holders[0].rules)) != 0;
		w->strange += w->quarrel ? QUARREL_WRITES : 2;
		world_trouble(w, w->now);
		break;
	default:
		w->compacted = w->rv;
	}
}

static void
on_stream(struct run *r, struct holder *h, const struct op *o)
{
	struct stream *s = &h->streams[o->kind];

	if (o->type == OP_CUT) {
		holder_cut(h, o->kind);
		world_trouble(&r->w, r->w.now);
	} else if (o->type == OP_HANG && s->state == STREAM_OPEN) {
		s->hung_since = r->w.now;
		s->hung_until = r->w.now + o->for_ms;
		world_trouble(&r->w, s->hung_until);
	} else if (o->type == OP_LAG) {
		s->lag_ms = o->ms;
		s->lag_until = r->w.now + o->for_ms;
		world_trouble(&r->w, s->lag_until + o->ms);
	} else if (o->type == OP_REFUSE) {
		s->refused_until = r->w.now + o->for_ms;
		world_trouble(&r->w, s->refused_until);
	}
}

static void
on_holder(struct run *r, const struct op *o)
{
	struct holder *h = &r->holders[o->holder % r->truth.holders_n];

	switch (o->type) {
	case OP_KILL:
		holder_crash(h);
		break;
	case OP_RULES:
		holder_crash(h);
		h->rules = rules_of(r->h, o->other_hold, o->exclude);
		for (int i = 0; i < 3; i++)
			if (strcmp(scope_names[i], o->scope) == 0)
				h->rules.scope = (enum scope_kind)i;
		r->w.quarrel |= r->w.now - r->w.lease_deleted <= 20000;
		r->w.strange += r->w.quarrel ? QUARREL_WRITES : 2;
		holder_start(h);
		break;
	case OP_START:
		holder_start(h);
		break;
	case OP_PAUSE:
		h->paused_until = r->w.now + o->for_ms;
		world_trouble(&r->w, h->paused_until);
		break;
	case OP_SKEW:
		h->skew_ms = o->ms;
		h->skew_until = r->w.now + o->for_ms;
		r->w.strange += 2;
		world_trouble(&r->w, h->skew_until);
		break;
	default:
		on_stream(r, h, o);
	}
	world_trouble(&r->w, r->w.now);
	h->poked = true;
}

static void
happen(struct run *r, const struct op *o, struct outcome_of_run *out)
{
	if (o->type > OP_PERSON)
		tell(&r->w, "fault      %s holder=%d kind=%s for=%lld ms=%lld",
		     op_names[o->type], o->holder, kind_name(o->kind),
		     (long long)o->for_ms, (long long)o->ms);
	out->ops[o->type]++;
	if (o->type <= OP_PERSON)
		on_machines(r, o);
	else if (o->type >= OP_EXPIRE && o->type <= OP_LEASE)
		on_server(r, o);
	else
		on_holder(r, o);
}

/* --- time ------------------------------------------------------------------------ */

static int64_t
sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static bool
sound(const struct run *r)
{
	return r->w.broken[0] == '\0';
}

/* Up to that moment, event by event. */
static void
pass(struct run *r, int64_t until)
{
	unsigned here = 0;

	while (sound(r)) {
		int64_t next = until;

		karpenter_step(&r->w);
		for (int i = 0; i < r->truth.holders_n; i++)
			next = sooner(next, holder_step(&r->holders[i]));
		next = sooner(next, karpenter_next(&r->w));
		truth_check(&r->truth);
		picture_look(r->h->picture, &r->w, r->holders);
		r->w.seen.events++;
		if (next <= r->w.now && ++here > 100000) {
			broken(&r->w, "I9: time stands still");
			break;
		}
		if (next <= r->w.now && r->w.now < until)
			continue;
		if (next > r->w.now)
			here = 0;
		if (next >= until) {
			r->w.now = until;
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

/* Faults end, whoever is down comes back, and all gets quiet. */
static void
settle(struct run *r)
{
	struct world *w = &r->w;
	int64_t end = later(w->now, w->trouble_until);

	for (int i = 0; i < r->truth.holders_n; i++)
		holder_start(&r->holders[i]);
	pass(r, end + r->h->startup_ms + r->h->hold_ms +
		    r->h->window_ms + 600000);
	if (sound(r))
		truth_last(&r->truth);
}

int
history_run(const struct history *h, FILE *story, struct outcome_of_run *out)
{
	struct run *r = calloc(1, sizeof(*r));
	struct rules rules;

	if (r == NULL)
		abort();
	r->h = h;
	rules = rules_of(h, h->other_hold, h->exclude);
	world_init(&r->w, h->seed);
	r->w.story = story;
	r->w.led = h->scope;
	r->w.admit = admit;
	r->w.admit_ctx = r;
	r->truth = (struct truth){.w = &r->w,
				  .holders = r->holders,
				  .holders_n = h->holders};
	for (int i = 0; i < h->holders; i++) {
		holder_init(&r->holders[i], &r->w, i, &rules);
		r->holders[i].machines_max = (uint32_t)h->machines_max;
		r->holders[i].page = h->page;
		r->holders[i].elects = h->elects || h->holders > 1;
		r->holders[i].all = r->holders;
		r->holders[i].all_n = h->holders;
		holder_start(&r->holders[i]);
	}
	*out = (struct outcome_of_run){0};
	for (int i = 0; i < h->ops_n && sound(r); i++) {
		pass(r, later(r->w.now, h->ops[i].at));
		if (sound(r))
			happen(r, &h->ops[i], out);
	}
	if (sound(r))
		pass(r, later(r->w.now, h->end));
	if (sound(r))
		settle(r);
	memcpy(out->broken, r->w.broken, sizeof(out->broken));
	out->digest = r->w.digest;
	out->events = r->w.seen.events;
	out->writes = r->w.seen.writes;
	out->days_ms = (uint64_t)r->w.now;
	memcpy(out->faults, r->w.seen.faults, sizeof(out->faults));
	for (int i = 0; i < h->holders; i++)
		if (r->holders[i].up)
			holder_crash(&r->holders[i]);
	world_done(&r->w);
	free(r);
	return out->broken[0] != '\0';
}
