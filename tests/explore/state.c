/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "mix.h"

/*
 * Left out, and why:
 *
 *   indexes, free places' contents   a function of the entries in use
 *   generators of random numbers     in an even world they never move on
 *   counters, latency, notes told,   nothing is decided by them
 *   the history
 *   the log of a watch, up to where  whoever watches has read it; an older
 *   everybody has read it            version of a claim is never copied here
 *   how long ago a thing was, beyond no rule looks back so far
 *   LONG_AGO_MS
 *
 * Whether this is all is not taken on trust: explore.c looks for two
 * histories of one state that go on differently.
 */

/* Mixes which replica it is.  One that died under that name is nobody in
 * particular. */
static void
identity(struct mix *m, const char *s)
{
	char name[32];

	for (int i = 0; i < m->holders_n; i++) {
		if (m->holders[i].up &&
		    strcmp(s, m->holders[i].lease.config.identity) == 0) {
			mix(m, 1000 + (uint64_t)i);
			return;
		}
	}
	snprintf(name, sizeof(name), "%.31s", s);
	mix_label(m, name);
}

/* --- the world ------------------------------------------------------------ */

static void
thing(struct mix *m, const struct thing *t)
{
	mix(m, t->used | t->kind << 1 | t->deleting << 4 | t->launched << 5 |
		       t->launch_known << 6 | t->registered << 7 |
		       t->disrupted << 8);
	mix_text(m, t->name);
	mix_text(m, t->uid);
	mix_text(m, t->nodepool);
	mix_text(m, t->other);
	mix_version(m, t->rv);
	mix_server(m, t->created_ms);
	mix_server(m, t->ready_ms);
	mix(m, t->rebooted);
	if (t->rebooted)
		mix_server(m, t->first_ready_ms);
	mix_server(m, t->deleted_ms);
	mix_server(m, t->disrupted_ms);
	for (int a = 0; a < ANN_COUNT; a++)
		mix_stamped(m, t->notes.at[a]);
	mix(m, t->notes.by[0] | t->notes.by[1] << 2);
	for (int k = 0; k < POOL_KEYS; k++)
		mix_stamped(m, t->says[k]);
	mix(m, (uint64_t)t->respecified);
	mix_text(m, t->class);
	mix_text(m, t->class_uid);
	if (t->kind != KIND_TICKET)
		return;
	mix_server(m, t->renewed_ms);
	mix(m, (uint64_t)t->lasts_ms);
}

static bool
before(const struct due *a, const struct due *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void
dues(struct mix *m, const struct world *w)
{
	const struct due *last = NULL;

	for (int n = 0; n < w->dues_n; n++) {
		const struct due *next = NULL;

		for (int i = 0; i < w->dues_n; i++) {
			const struct due *d = &w->dues[i];

			if ((last == NULL || before(last, d)) &&
			    (next == NULL || before(d, next)))
				next = d;
		}
		mix_when(m, next->at);
		mix(m, next->type | (uint64_t)next->machine << 8);
		last = next;
	}
	mix(m, (uint64_t)w->dues_n);
}

static void
record(struct mix *m, const struct lease_record *r)
{
	mix(m, r->present | r->holder_cut << 1 | r->state_bad << 2 |
		       r->state_other << 3);
	if (!r->present)
		return;
	identity(m, r->holder);
	mix(m, (uint64_t)r->duration_s);
	mix_version(m, (uint64_t)r->transitions);
	mix_server(m, r->acquire_us == STAMP_NONE ? STAMP_NONE
					      : r->acquire_us / 1000);
	mix_server(m,
		   r->renew_us == STAMP_NONE ? STAMP_NONE : r->renew_us / 1000);
	mix_label(m, r->rv);
	mix_text(m, r->hold.key);
	mix_stamped(m, r->state);
}

static void
faults(struct mix *m, const struct world *w)
{
	mix_until(m, w->down_until, m->now);
	mix_until(m, w->busy_until, m->now);
	mix_until(m, w->lossy_until, m->now);
	mix_until(m, w->late_until, m->now);
	mix_until(m, w->error_until, m->now);
	mix_until(m, w->slow_until, m->now);
	mix(m, w->odds);
	mix(m, w->now < w->busy_until ? (uint64_t)w->retry_after_ms : 0);
	for (int k = 0; k < KIND_COUNT; k++) {
		mix_until(m, w->denied[k].until, m->now);
		if (w->now < w->denied[k].until)
			mix(m, (uint64_t)w->denied[k].code);
	}
	for (int k = 0; k < VIEW_COUNT; k++)
		mix_until(m, w->unserved_until[k], m->now);
	if (w->now < w->turns_until) {
		mix_when(m, w->turns_from);
		mix_when(m, w->turns_until);
		mix(m, (uint64_t)w->turns_by);
	}
	mix(m, w->uninstaller.on);
	if (w->uninstaller.on) {
		mix_when(m, w->uninstaller.at);
		mix_when(m, w->uninstaller.until);
		mix_when(m, w->uninstaller.renews);
	}
}

static void
world(struct mix *m, const struct world *w)
{
	mix(m, (uint64_t)(w->now % 1000));
	for (int i = 0; i < w->things_n; i++)
		thing(m, &w->things[i]);
	for (int i = 0; i < w->machines_n; i++) {
		const struct machine *a = &w->machines[i];

		mix(m, a->used | a->story.missed << 1 | a->story.cloned << 2 |
			       a->story.no_condition << 3 |
			       a->story.node_first << 4 |
			       a->story.claimless << 5);
		mix(m, (uint64_t)(a->claim + 1) | (uint64_t)(a->node + 1)
							  << 32);
	}
	for (int i = 0; i < w->pools_n; i++) {
		const struct pool_state *p = &w->nodepools[i];

		mix_text(m, p->name);
		mix_text(m, p->template);
		mix(m, (uint64_t)p->thing << 3 | p->disabled << 2 |
			       p->fixed << 1 | p->never);
		mix_server(m, p->until);
		mix_server(m, p->released);
		mix(m, (uint64_t)p->hold);
	}
	dues(m, w);
	record(m, &w->lease);
	faults(m, w);
}

/* --- a replica's shell ---------------------------------------------------- */

/* Mixes from when on the webhook leaves a NodePool alone. */
static void
mix_alone(struct mix *m, int64_t alone_ms)
{
	bool never = alone_ms == INT64_MAX;

	mix(m, never);
	mix_server(m, never ? STAMP_NONE : alone_ms);
}

/* Mixes what the watch has yet to show. */
static void
lines(struct mix *m, const struct world *w, const struct stream *s,
      enum kind kind)
{
	uint64_t rv = strtoull(s->reflect.rv, NULL, 10);
	size_t from = w->lines_n[kind];

	mix(m, rv == 0 ? 0 : rv < w->compacted ? 1 : 2);
	if (rv == 0)
		return;
	if (s->state == STREAM_OPEN)
		from = s->pos;
	else
		while (from > 0 && w->lines[kind][from - 1].t.rv > rv)
			from--;
	for (; from < w->lines_n[kind]; from++) {
		const struct line *l = &w->lines[kind][from];

		mix_when(m, l->at);
		mix(m, l->deleted);
		thing(m, &l->t);
	}
}

static void
stream(struct mix *m, const struct world *w, const struct stream *s,
       enum kind kind)
{
	const struct reflect *r = &s->reflect;
	bool fails = m->boot - r->failed_ms <= BACKOFF_RESET_MS;

	mix(m, s->state | s->fresh_list << 2 | s->complete << 3 |
		       s->unserved << 4);
	if (s->state == STREAM_LISTING || s->state == STREAM_OPENING)
		mix_when(m, s->at);
	if (s->state == STREAM_OPEN || s->state == STREAM_OPENING)
		mix_when(m, s->ends);
	mix_until(m, s->lag_until, m->now);
	mix(m, w->now < s->lag_until ? (uint64_t)s->lag_ms : 0);
	mix_until(m, s->hung_until, m->now);
	if (s->state == STREAM_OPEN && w->now < s->hung_until)
		mix_when(m, s->hung_since);
	mix_until(m, s->refused_until, m->now);
	if (!s->fresh_list) {
		mix(m, s->page_rv < w->compacted);
		for (int i = s->page_at; i < s->page_n; i++)
			thing(m, &s->page[i]);
	}
	lines(m, w, s, kind);
	if (s->state == STREAM_OPEN) {
		mix_until(m, s->last_line, m->now);
		mix_when(m, s->next_line == 0 ? -1 : s->next_line);
		/* The truth grants a second to a watch that was just opened. */
		mix(m, m->now - s->opened < 1100
			       ? (uint64_t)(m->now - s->opened)
			       : 1100);
	}
	mix(m, fails ? r->failures : 0);
	mix(m, r->cont[0] != '\0');
	mix_until(m, r->not_before_ms, m->boot);
	mix_within(m, r->failed_ms, m->boot, BACKOFF_RESET_MS + 1);
	mix_within(m, r->watch_ms, m->boot, 1001);
	mix_within(m, r->expired_ms, m->boot, BACKOFF_RESET_MS + 1);
}

static void
lease(struct mix *m, const struct lease *l)
{
	mix(m, l->role | l->releasing << 2 |
		       l->fresh << 3 | l->read << 4 | l->busy << 5 |
		       l->plan << 8 | l->gone << 11 | l->renewed << 12 |
		       l->heard << 13);
	mix_text(m, l->hold.key);
	mix(m, l->steps | (uint64_t)l->failures << 32);
	mix_until(m, l->not_before_ms, m->boot);
	if (l->busy != LEASE_WAIT) {
		mix_boot(m, l->attempt_ms);
		mix_boot(m, l->call_ms);
	}
	mix_boot(m, l->sent_ms);
	mix_boot(m, l->seen_ms);
	mix_server(m,
		   l->state_us == STAMP_NONE ? STAMP_NONE : l->state_us / 1000);
	record(m, &l->seen);
	mix_stamped(m, l->want.state);
	/* Whether it is to be written decides what the next call is, and
	 * nothing else. */
	mix(m, strcmp(l->want.history, l->seen.history) == 0);
	identity(m, l->reported);
}

static void
lease_call(struct mix *m, const struct lease_call *c)
{
	mix(m, c->applied | c->answered << 1 | c->with_spec << 2 |
		       c->with_state << 3 | c->step << 4 | c->code << 7 |
		       c->fault << 10);
	mix_when(m, c->applied ? -1 : c->apply_at);
	mix_when(m, c->answered ? -1 : c->answer_at);
	/* A GET has no record before it is answered. */
	if (c->applied || c->step != LEASE_GET)
		record(m, &c->record);
}

static void
holder(struct mix *m, const struct world *w, const struct holder *h)
{
	mix(m, h->up | h->leads << 1);
	mix_until(m, h->skew_until, m->now);
	mix(m, w->now < h->skew_until ? (uint64_t)h->skew_ms : 0);
	if (!h->up)
		return;
	m->server = holder_now(h).server_ms;
	m->boot = holder_now(h).boot_ms;
	mix_until(m, h->paused_until, m->now);
	mix(m, (uint64_t)h->offset);
	mix_when(m, h->poked ? -1 : h->wake_at);
	mix(m, h->poked | h->restored << 1);
	mix_text(m, h->rules.hold.key);
	for (int p = 0; p < w->pools_n; p++)
		mix_alone(m, h->alone_ms[p]);
	lease(m, &h->lease);
	for (int i = 0; i < LEASE_CALLS; i++)
		if (h->lease_calls[i].used)
			lease_call(m, &h->lease_calls[i]);
	for (int k = 0; k < VIEW_COUNT; k++)
		stream(m, w, &h->streams[k], (enum kind)k);
	for (int i = 0; i < FLIGHTS; i++) {
		mix(m, h->flights[i].used);
		if (h->flights[i].used)
			mix_flight(m, h->controller, &h->flights[i]);
	}
	mix_controller(m, h->controller);
}

struct state
state_of(const struct run *r)
{
	static struct mix m;
	const struct world *w = run_world(r);

	m.a = 0x243f6a8885a308d3u;
	m.b = 0x13198a2e03707344u;
	m.labels_n = 0;
	m.now = w->now;
	m.server = world_server_ms(w);
	m.holders = run_holders(r, &m.holders_n);
	world(&m, w);
	for (int i = 0; i < m.holders_n; i++)
		holder(&m, w, &m.holders[i]);
	m.server = world_server_ms(w);
	mix_truth(&m, r);
	return (struct state){m.a, m.b};
}
