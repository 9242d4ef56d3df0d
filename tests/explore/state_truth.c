/* SPDX-License-Identifier: Apache-2.0 */
#include "mix.h"

#include "truth.h"

/*
 * What the invariants remember.  Of two histories that come to one state of the
 * holder one may have been wrong to come there: so they are two states where
 * the truth has it otherwise.  Not in it: calls counted in a minute, of which
 * no history of this depth makes as many as are allowed.
 */

#define JUST_MS 120000	/* no slack is longer */

static void
since(struct mix *m, int64_t v)
{
	mix_within(m, v, m->now, JUST_MS);
}

static void
thing(struct mix *m, const struct thing *t)
{
	mix_when(m, t->born);
	mix_when(m, t->launched_at);
	mix_when(m, t->ready_at);
	mix_when(m, t->deleted_at);
	mix_when(m, t->gone_at);
	since(m, t->touched);
	mix(m, t->reasons - t->writes);
	mix(m, t->hold_reasons - t->holds);
	mix(m, t->denied);
	if (t->denied > 0)
		mix_when(m, t->denied_since);
	for (int i = 0; i < 3; i++)
		since(m, t->turned[i]);
	mix(m, (uint64_t)t->strips << 1 | t->was_cleared);
}

static void
sight(struct mix *m, const struct holder *h, const struct sight *s)
{
	mix_when(m, s->at);
	mix_when(m, s->launched_at);
	mix_when(m, s->ready_at);
	if (s->at >= 0)
		mix(m, (uint64_t)(s->clock - s->at - s->shifted +
				  h->shifted));
	if (s->ready_at >= 0)
		mix(m, (uint64_t)(s->ready_clock - s->ready_at -
				  s->ready_shifted + h->shifted));
}

static void
replica(struct mix *m, const struct world *w, const struct holder *h)
{
	since(m, h->led_since);
	since(m, h->jumped_at);
	since(m, h->hint_at);
	since(m, h->asked_list_at);
	for (int k = 0; k < VIEW_COUNT; k++)
		mix_when(m, h->listed_at[k]);
	for (int i = 0; i < w->things_n; i++)
		sight(m, h, &h->sights[i]);
}

static void
maybe(struct mix *m, struct maybe v)
{
	mix(m, v.lo << 1 | v.hi);
}

static void
bucket(struct mix *m, const struct bucket *b)
{
	mix(m, (uint64_t)b->debt);
	mix(m, (uint64_t)b->left << 1 | b->open);
}

static void
scope(struct mix *m, const struct scope_truth *s)
{
	mix(m, (uint64_t)(s->early.windows - s->late.windows));
	bucket(m, &s->early);
	bucket(m, &s->late);
	mix(m, (uint64_t)s->high);
	mix(m, (uint64_t)(s->open_left > 0 ? s->open_left : 0));
	maybe(m, s->busy);
	maybe(m, s->seems);
	maybe(m, s->held);
	since(m, s->lo_since);
	since(m, s->hi_last);
	mix_server(m, s->released);
	mix(m, s->gap | s->gap_held << 1 | s->guess << 2);
}

static void
machine(struct mix *m, const struct truth *t, const struct machine_truth *x)
{
	mix(m, x->wish | x->judged << 2 | x->undecided << 4 |
		       x->opted_out << 5 | x->failed_boot << 6 |
		       x->was_held << 7 | (uint64_t)(x->substitute + 1) << 8);
	since(m, x->wish_since);
	since(m, x->judged_at);
	maybe(m, x->counts);
	maybe(m, x->enough);
	maybe(m, x->replaced);
	maybe(m, x->counted);
	maybe(m, x->ongoing);
	mix_moment(m, x->deadline, t->clock);
	mix_moment(m, x->deadline_hi, t->clock);
	mix_moment(m, x->created, t->clock);
	if (!x->was_held)
		return;
	mix_when(m, x->held_since);
	mix(m, (uint64_t)(t->troubled_ms - x->held_troubled));
}

void
mix_truth(struct mix *m, const struct run *r)
{
	const struct world *w = run_world(r);
	const struct truth *t = run_truth(r);

	for (int i = 0; i < w->things_n; i++)
		thing(m, &w->things[i]);
	for (int i = 0; i < w->machines_n; i++) {
		mix_when(m, w->machines[i].said_at);
		machine(m, t, &t->machines[i]);
	}
	for (int i = 0; i < w->pools_n; i++)
		since(m, w->pools[i].changed);
	for (int i = 0; i < m->holders_n; i++)
		if (m->holders[i].up)
			replica(m, w, &m->holders[i]);
	since(m, w->trouble_until);
	since(m, w->trouble_began);
	since(m, w->caused);
	since(m, w->lease_deleted);
	mix_server(m, w->lease_left_us / 1000);
	mix(m, w->quarrel | w->full << 1 | (uint64_t)w->strange << 2);
	mix(m, t->usable | t->maybe_usable << 1 | t->calm << 2 |
		       t->soft_odd << 3);
	since(m, t->looked_at);
	since(m, t->trouble_began);
	mix_when(m, t->next == INT64_MAX ? -1 : t->next);
	mix(m, t->seen_changes == w->changes + w->sighted);
	mix(m, t->leader == NULL ? 0 : (uint64_t)t->leader->number + 1);
	mix_server(m, t->clock);
	if (t->soft_odd)
		since(m, t->soft_since);
	scope(m, &t->scopes[0]);
}
