/* SPDX-License-Identifier: Apache-2.0 */
#include "mix.h"

#include <stddef.h>
#include <string.h>

#include "truth.h"

/*
 * Mixes what the invariants remember.  Two histories that come to one state of
 * the holder are in two states if the truth remembers them differently: one of
 * them may have been wrong to come there.  The calls counted within a minute
 * are left out, because no history of this depth makes as many as are allowed.
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
	mix_when(m, s->disrupted_at);
	mix_when(m, s->deleted_at);
	mix_when(m, s->gone_at);
	if (s->at >= 0)
		mix(m, (uint64_t)(s->clock - s->at - s->shifted +
				  h->shifted));
	if (s->ready_at >= 0)
		mix(m, (uint64_t)(s->ready_clock - s->ready_at -
				  s->ready_shifted + h->shifted));
	if (s->ready_clock != 0) {
		mix_server(m, s->ready_stamp);
		mix_server(m, s->ready_clock - s->ready_shifted + h->shifted);
	}
	mix(m, s->old_at >= 0);
	if (s->old_at >= 0)
		mix_server(m, s->old_clock - s->old_shifted + h->shifted);
	if (s->renewed_ms == 0)
		return;
	mix_server(m, s->renewed_ms);
	mix_server(m, s->renewed_clock - s->renewed_shifted + h->shifted);
	mix(m, (uint64_t)s->lasts_ms);
	mix_server(m, s->was_until);
}

static void
replica(struct mix *m, const struct world *w, const struct holder *h)
{
	since(m, h->jumped_at);	/* this counts for one that is down, too */
	if (!h->up)
		return;
	since(m, h->led_since);
	for (int k = 0; k < VIEW_COUNT; k++)
		mix_when(m, h->listed_at[k]);
	for (int i = 0; i < w->things_n; i++)
		sight(m, h, &h->sights[i]);
}

/* Mixes the bytes as they lie there.  Their moments are those of the history,
 * so that only what comes to pass at the same moment can be the same. */
static void
bytes(struct mix *m, const void *from, size_t n)
{
	const char *at = from;
	uint64_t word;

	for (; n >= sizeof(word); n -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		mix(m, word);
	}
}

static void
own(struct mix *m, const struct truth *t, int machines_n)
{
	const char *from = (const char *)t;
	size_t rules = offsetof(struct truth, rules);
	size_t after = rules + sizeof(t->rules);
	size_t machines = offsetof(struct truth, machines);
	size_t end = machines + sizeof(t->machines);

	bytes(m, from, rules);
	bytes(m, from + after, machines - after);
	bytes(m, t->machines, (size_t)machines_n * sizeof(t->machines[0]));
	bytes(m, from + end, offsetof(struct truth, meter) - end);
}

void
mix_truth(struct mix *m, const struct run *r)
{
	const struct world *w = run_world(r);
	const struct truth *t = run_truth(r);

	for (int i = 0; i < w->things_n; i++)
		thing(m, &w->things[i]);
	for (int i = 0; i < w->machines_n; i++)
		mix_when(m, w->machines[i].said_at);
	for (int i = 0; i < w->pools_n; i++)
		since(m, w->nodepools[i].changed);
	for (int i = 0; i < m->holders_n; i++)
		replica(m, w, &m->holders[i]);
	since(m, w->trouble_until);
	since(m, w->trouble_began);
	since(m, w->caused);
	since(m, w->lease_deleted);
	mix_server(m, w->lease_left_us / 1000);
	since(m, w->quarrel);
	since(m, w->failed);
	since(m, w->lease_failed);
	since(m, w->large_line);
	mix(m, w->full | (uint64_t)w->strange << 1);
	own(m, t, w->machines_n);
}
