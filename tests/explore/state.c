/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sweep_state.h"
#include "truth.h"

/*
 * Left out, and why:
 *
 *   indexes, free places' contents   a function of the entries in use
 *   generators of random numbers     in an even world they never move on
 *   counters, latency, notes told    nothing is decided by them
 *   the log of a watch, up to where  whoever watches has read it; an older
 *   everybody has read it            version of a claim is never copied here
 *   how long ago a thing was, beyond no rule looks back so far
 *   LONG_AGO_MS
 *
 * Whether this is all is not taken on trust: explore.c looks for two
 * histories of one state that go on differently.
 */
#define LONG_AGO_MS 1200000	/* DRAINING_MS, BACKOFF_RESET_MS and others */
#define LABELS 256

struct mix {
	uint64_t a, b;
	int64_t now, server, boot;	/* … of the replica at hand */
	const struct holder *holders;
	int holders_n;
	/* Names that say nothing but which is which, in the order in which
	 * they come. */
	char labels[LABELS][32];
	unsigned labels_n;
};

static uint64_t
rotate(uint64_t v, unsigned by)
{
	return v << by | v >> (64 - by);
}

static void
mix(struct mix *m, uint64_t v)
{
	m->a = rotate((m->a ^ v) * 0x9fb21c651e98df25u, 29) + m->b;
	m->b = rotate((m->b + v) * 0xd6e8feb86659fd93u, 32) ^ m->a;
}

static void
text(struct mix *m, const char *s)
{
	uint64_t v = 0;
	unsigned n = 0;

	for (; *s != '\0'; s++) {
		v = v << 8 | (unsigned char)*s;
		if (++n % 8 == 0)
			mix(m, v);
	}
	mix(m, v << 8 | n);
}

/* --- moments ---------------------------------------------------------------------- */

/* v lies so far before or ahead of now; what is no moment stands as it is. */
static void
moment(struct mix *m, int64_t v, int64_t now)
{
	if (v <= STAMP_NONE + 1 || v == INT64_MAX || v == LEASE_NEVER ||
	    v == INT64_MIN / 2)
		mix(m, (uint64_t)v);
	else if (v < now - LONG_AGO_MS)
		mix(m, (uint64_t)-LONG_AGO_MS);
	else
		mix(m, (uint64_t)(v - now) ^ 0x5555);
}

static void
server(struct mix *m, int64_t v)
{
	moment(m, v, m->server);
}

/* 0: never; no replica is as young as that. */
static void
boot(struct mix *m, int64_t v)
{
	moment(m, v == 0 ? STAMP_NONE : v, m->boot);
}

/* Virtual time; -1: never. */
static void
when(struct mix *m, int64_t v)
{
	if (v == -1)
		mix(m, (uint64_t)v);
	else
		moment(m, v, m->now);
}

/* Only what lies ahead counts. */
static void
until(struct mix *m, int64_t v, int64_t now)
{
	moment(m, v <= now ? now : v, now);
}

/* Only as long as it is not so long ago. */
static void
within(struct mix *m, int64_t v, int64_t now, int64_t ms)
{
	moment(m, v < now - ms ? now - ms : v, now);
}

/* A text with stamps in it: soft state, an annotation. */
static void
stamped(struct mix *m, const char *s)
{
	int64_t at;
	char one[21];

	for (; *s != '\0'; s++) {
		if (s[0] == '2' && s[1] == '0' && strlen(s) >= 20) {
			memcpy(one, s, 20);
			one[20] = '\0';
			if (stamp_read(one, &at)) {
				server(m, at);
				s += 19;
				continue;
			}
		}
		mix(m, (unsigned char)*s);
	}
	mix(m, 0x0b0e);
}

/* --- labels ----------------------------------------------------------------------- */

static void
label(struct mix *m, const char *s)
{
	unsigned i = 0;

	if (s[0] == '\0') {
		mix(m, UINT64_MAX);
		return;
	}
	while (i < m->labels_n && strcmp(m->labels[i], s) != 0)
		i++;
	if (i == m->labels_n) {
		assert(m->labels_n < LABELS);
		assert(strlen(s) < sizeof(m->labels[0]));
		strcpy(m->labels[m->labels_n++], s);
	}
	mix(m, i);
}

static void
version(struct mix *m, uint64_t rv)
{
	char s[32];

	snprintf(s, sizeof(s), "%llu", (unsigned long long)rv);
	label(m, s);
}

/* Which replica; one that died under that name is nobody in particular. */
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
	label(m, name);
}

/* --- the world -------------------------------------------------------------------- */

static void
thing(struct mix *m, const struct thing *t)
{
	mix(m, t->used | t->kind << 1 | t->deleting << 4 | t->launched << 5 |
		       t->launch_known << 6 | t->registered << 7 |
		       t->disrupted << 8);
	text(m, t->name);
	text(m, t->uid);
	text(m, t->pool);
	text(m, t->other);
	version(m, t->rv);
	server(m, t->created_ms);
	server(m, t->ready_ms);
	server(m, t->deleted_ms);
	server(m, t->disrupted_ms);
	for (int a = 0; a < ANN_COUNT; a++)
		stamped(m, t->notes.at[a]);
	mix(m, t->notes.by[0] | t->notes.by[1] << 2);
	for (int k = 0; k < POOL_KEY_COUNT; k++)
		stamped(m, t->says[k]);
	text(m, t->class);
	text(m, t->class_uid);
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
		when(m, next->at);
		mix(m, next->type | (uint64_t)next->machine << 8);
		last = next;
	}
	mix(m, (uint64_t)w->dues_n);
}

static void
record(struct mix *m, const struct lease_record *r)
{
	mix(m, r->present | r->holder_cut << 1 | r->state_bad << 2);
	if (!r->present)
		return;
	identity(m, r->holder);
	mix(m, (uint64_t)r->duration_s);
	version(m, (uint64_t)r->transitions);
	server(m, r->acquire_us == STAMP_NONE ? STAMP_NONE
					      : r->acquire_us / 1000);
	server(m, r->renew_us == STAMP_NONE ? STAMP_NONE : r->renew_us / 1000);
	label(m, r->rv);
	stamped(m, r->state);
}

static void
faults(struct mix *m, const struct world *w)
{
	until(m, w->down_until, m->now);
	until(m, w->busy_until, m->now);
	until(m, w->lossy_until, m->now);
	until(m, w->late_until, m->now);
	until(m, w->error_until, m->now);
	until(m, w->slow_until, m->now);
	mix(m, w->odds);
	mix(m, w->now < w->busy_until ? (uint64_t)w->retry_after_ms : 0);
	for (int k = 0; k < KIND_COUNT; k++) {
		until(m, w->denied[k].until, m->now);
		if (w->now < w->denied[k].until)
			mix(m, (uint64_t)w->denied[k].code);
	}
	for (int k = 0; k < VIEW_COUNT; k++)
		until(m, w->unserved_until[k], m->now);
	if (w->now < w->turns_until) {
		when(m, w->turns_from);
		when(m, w->turns_until);
		mix(m, (uint64_t)w->turns_by);
	}
	mix(m, w->uninstaller.on);
	if (w->uninstaller.on) {
		when(m, w->uninstaller.at);
		when(m, w->uninstaller.until);
		when(m, w->uninstaller.renews);
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
		mix(m, (uint64_t)(a->claim + 1) | (uint64_t)(a->node + 1) << 32);
	}
	for (int i = 0; i < w->pools_n; i++) {
		const struct pool_state *p = &w->pools[i];

		text(m, p->name);
		text(m, p->template);
		mix(m, (uint64_t)p->thing << 1 | p->disabled);
		server(m, p->until);
		server(m, p->released);
		mix(m, (uint64_t)p->hold);
		mix(m, (uint64_t)p->max);
	}
	dues(m, w);
	record(m, &w->lease);
	faults(m, w);
}

/* --- a replica's shell ------------------------------------------------------------ */

/* What the watch has yet to show. */
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

		when(m, l->at);
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
		when(m, s->at);
	if (s->state == STREAM_OPEN || s->state == STREAM_OPENING)
		when(m, s->ends);
	until(m, s->lag_until, m->now);
	mix(m, w->now < s->lag_until ? (uint64_t)s->lag_ms : 0);
	until(m, s->hung_until, m->now);
	if (s->state == STREAM_OPEN && w->now < s->hung_until)
		when(m, s->hung_since);
	until(m, s->refused_until, m->now);
	if (!s->fresh_list) {
		mix(m, s->page_rv < w->compacted);
		for (int i = s->page_at; i < s->page_n; i++)
			thing(m, &s->page[i]);
	}
	lines(m, w, s, kind);
	if (s->state == STREAM_OPEN) {
		until(m, s->last_line, m->now);
		when(m, s->next_line == 0 ? -1 : s->next_line);
	}
	mix(m, fails ? r->failures : 0);
	mix(m, r->cont[0] != '\0');
	until(m, r->not_before_ms, m->boot);
	within(m, r->failed_ms, m->boot, BACKOFF_RESET_MS + 1);
	within(m, r->watch_ms, m->boot, 1001);
	within(m, r->expired_ms, m->boot, BACKOFF_RESET_MS + 1);
}

static void
object(struct mix *m, const struct object *o)
{
	mix(m, o->kind | o->deleting << 3 | o->karpenter << 4 | o->hold << 5 |
		       o->mark << 7 | o->has_former << 9 | o->launched << 10 |
		       o->launch_known << 11 | o->disrupted << 12 |
		       o->registered << 13 | o->has_class << 14);
	text(m, o->uid);
	label(m, o->rv);
	server(m, o->mark_ms);
	server(m, o->ready_ms);
	server(m, o->deleted_ms);
	text(m, o->replaces);
	text(m, o->node_name);
	text(m, o->owner_uid);
}

static void
pool(struct mix *m, const struct pool *p)
{
	text(m, p->name);
	text(m, p->uid);
	mix(m, p->disabled);
	server(m, p->hold_until_ms);
	server(m, p->released_at_ms);
	mix(m, (uint64_t)p->hold_ms);
	mix(m, (uint64_t)p->max_hold_ms);
}

static void
flight(struct mix *m, const struct holder *h, const struct flight *f)
{
	const struct action *a = &f->a;
	const struct sweep *s = h->sweep;

	mix(m, f->applied | f->answered << 1 | f->has_read << 2 |
		       f->fault << 3 | a->act << 5 | a->kind << 9 |
		       a->mark_exact << 12 | a->has_held_key << 13 |
		       f->out.code << 14);
	mix(m, a->id);
	mix(m, a->id != NO_ID && s->work[a->id].seq == a->seq);
	mix(m, s->view[a->kind].forgotten == a->forgotten);
	text(m, a->name);
	text(m, a->uid);
	label(m, a->rv);
	label(m, f->out.rv);
	text(m, a->replaces);
	text(m, a->reason);
	server(m, a->mark_ms);
	boot(m, a->fence_ms);
	mix(m, (uint64_t)f->out.retry_after_ms);
	when(m, f->applied ? -1 : f->apply_at);
	when(m, f->answered ? -1 : f->answer_at);
	if (f->has_read)
		object(m, &f->read);
	for (int i = 0; f->fresh != NULL && i < f->fresh_n; i++)
		object(m, &f->fresh[i]);
	for (int i = 0; f->fresh_pools != NULL && i < f->fresh_n; i++)
		pool(m, &f->fresh_pools[i]);
}

static void
lease(struct mix *m, const struct lease *l)
{
	mix(m, l->leading | l->stopping << 1 | l->releasing << 2 |
		       l->fresh << 3 | l->read << 4 | l->busy << 5 |
		       l->plan << 8);
	mix(m, l->steps | (uint64_t)l->failures << 32);
	until(m, l->not_before_ms, m->boot);
	if (l->busy != LEASE_WAIT) {
		boot(m, l->attempt_ms);
		boot(m, l->call_ms);
	}
	boot(m, l->sent_ms);
	boot(m, l->seen_ms);
	server(m, l->state_us == STAMP_NONE ? STAMP_NONE : l->state_us / 1000);
	record(m, &l->seen);
	stamped(m, l->want.state);
	identity(m, l->reported);
}

static void
lease_call(struct mix *m, const struct lease_call *c)
{
	mix(m, c->applied | c->answered << 1 | c->with_spec << 2 |
		       c->with_state << 3 | c->step << 4 | c->code << 7 |
		       c->fault << 10);
	when(m, c->applied ? -1 : c->apply_at);
	when(m, c->answered ? -1 : c->answer_at);
	record(m, &c->record);
}

/* --- the core --------------------------------------------------------------------- */

static void
entry(struct mix *m, const struct sweep *s, const struct entry *e)
{
	mix(m, e->used);
	mix(m, e->peer);
	if (!e->used)
		return;
	mix(m, e->kind | e->deleting << 3 | e->launched << 4 |
		       e->launch_known << 5 | e->registered << 6 |
		       e->disrupted << 7 | e->hold << 8 |
		       e->default_hold << 10 | e->mark << 12 |
		       e->has_held_key << 14 | e->has_former << 15 |
		       e->former_hold << 16 | e->classed << 18 |
		       e->judged << 19 | e->deletion_seen << 20 |
		       e->opted_out << 21 |
		       (e->generation == s->view[e->kind].generation) << 22);
	server(m, e->mark_ms);
	server(m, e->created_ms);
	server(m, e->ready_ms);
	server(m, e->created_stamp_ms);
	server(m, e->ready_stamp_ms);
	server(m, e->seen_ms);
	server(m, e->launch_seen_ms);
	text(m, e->replaces);
	text(m, e->said);
	text(m, e->name);
	text(m, e->uid);
	label(m, e->rv);
	text(m, e->pool);
	text(m, e->other_name);
	text(m, e->owner_uid);
}

static void
work(struct mix *m, const struct work *w)
{
	mix(m, w->queued | w->in_flight << 1 | w->act << 2 | w->shown << 6 |
		       w->waiting << 7 | w->expecting << 8 | w->stale << 9 |
		       w->reread << 10 | w->owner_gone << 11 |
		       w->owner_hold << 12 | w->owner_default << 14 |
		       w->wants_hold << 16 | w->was_ours << 17 |
		       w->again << 18 | w->reholds << 20);
	mix(m, w->failures | (uint64_t)w->class_failures << 20 |
		       (uint64_t)w->refusals << 40);
	until(m, w->class_boot_ms, m->boot);
	boot(m, w->due_boot_ms);
	label(m, w->expecting ? w->expect_rv : "");
	label(m, w->stale ? w->stale_rv : "");
	label(m, w->tried_rv);
}

static void
view(struct mix *m, const struct view *v)
{
	mix(m, v->listing | v->listed << 1 | v->up << 2 | v->served << 3 |
		       v->full << 4 | v->wants_list << 5 | v->room << 6);
	until(m, v->ask_boot_ms, m->boot);
}

static void
heap(struct mix *m, const struct heap *h, int64_t now)
{
	for (uint32_t i = 0; i < h->n; i++) {
		mix(m, h->ids[i]);
		moment(m, h->keys[h->ids[i]], now);
	}
	mix(m, h->n);
}

static void
timer(struct mix *m, const struct timer *t)
{
	mix(m, t->used | t->counted << 1 | t->enough << 2 | t->live << 3 |
		       t->undecided << 4 | t->booting << 5 |
		       (uint64_t)t->scope << 8);
	if (!t->used)
		return;
	server(m, t->deadline_ms);
	server(m, t->counts_ms);
	server(m, t->created_ms);
	mix(m, (uint64_t)t->hold_ms);
}

static void
scope(struct mix *m, const struct holds *h, const struct scope *s)
{
	struct cap_rules r = {s->max_ms, h->cap.window_ms};

	text(m, s->name);
	mix(m, s->busy | s->was_busy << 1 | s->held << 2 | s->dirty << 3 |
		       s->recount << 4 | s->moved << 5 | s->told_window << 6 |
		       s->cap.held << 7 | s->cap.grows << 8 |
		       s->cap.usable << 9 | (s->cap.debt_ms > 0) << 10 |
		       (s->cap.window_ms > 0) << 11);
	mix(m, s->timers | (uint64_t)s->live << 20 | (uint64_t)s->undecided << 40);
	mix(m, (uint64_t)cap_debt_ms(&s->cap, &r, m->boot));
	mix(m, (uint64_t)cap_window_ms(&s->cap, m->boot));
	mix(m, (uint64_t)s->max_ms);
	server(m, s->released_ms);
	within(m, s->told_boot_ms, m->boot, MOVED_EVERY_MS);
	server(m, s->told.at_ms);
	mix(m, s->told.earliest | (uint64_t)s->told.id << 1);
}

static void
holds(struct mix *m, const struct holds *h)
{
	mix(m, h->changed | h->made << 1 | h->usable << 2 | h->seen << 3);
	mix(m, h->top | (uint64_t)h->scopes_top << 32);
	for (uint32_t i = 0; i < h->top; i++)
		timer(m, &h->timers[i]);
	heap(m, &h->due, m->server);
	for (uint32_t i = 0; i < h->scopes_top; i++)
		scope(m, h, &h->scopes[i]);
	for (uint32_t i = 0; i < h->dirty_n; i++)
		mix(m, h->dirty[i]);
}

static void
past(struct mix *m, const struct sweep *s)
{
	for (const struct retry *r = s->retries; r < s->retries + RETRIES_MAX;
	     r++) {
		if (!r->used)
			continue;
		mix(m, (uint64_t)(r - s->retries));
		text(m, r->pool);
		text(m, r->name);
		server(m, r->created_ms);
		server(m, r->deadline_ms);
		mix(m, (uint64_t)r->hold_ms);
		server(m, r->created_stamp_ms);
		server(m, r->deleted_stamp_ms);
		timer(m, &s->holds.timers[s->machines.cap +
					  (uint32_t)(r - s->retries)]);
	}
	for (uint32_t i = 0; i < s->disruptions_n; i++) {
		server(m, s->disruptions[i].ms);
		text(m, s->disruptions[i].uid);
		mix(m, s->disruptions[i].several);
	}
	for (uint32_t i = 0; i < s->deletions.top; i++) {
		const struct deletion *d = &s->deletions.at[i];

		mix(m, d->used | d->spent << 1);
		if (!d->used)
			continue;
		text(m, d->uid);
		text(m, d->pool);
		server(m, d->began_ms);
		server(m, d->gone_ms);
	}
	mix(m, s->signs.next);
	for (uint32_t i = 0; s->signs.by_uid.n > 0 && i < s->signs.next; i++) {
		text(m, s->signs.at[i].uid);
		text(m, s->signs.at[i].reason);
	}
}

static void
pools(struct mix *m, const struct sweep *s)
{
	bool timed = false;

	for (uint32_t i = 0; i < s->pools.top; i++) {
		const struct pool *p = &s->pools.at[i];

		pool(m, p);
		mix(m, s->pools.generation[i] ==
			       s->view[KIND_NODEPOOL].generation);
		mix(m, s->pools.generation[i] > s->pools_before);
		timed = timed || p->hold_until_ms != STAMP_NONE ||
			p->released_at_ms != STAMP_NONE;
	}
	if (timed)
		server(m, s->pools_ms);
}

/* What the last look said of the clocks: how far they have moved apart. */
static void
clocks(struct mix *m, const struct sweep *s)
{
	mix(m, s->last_ms == STAMP_NONE);
	if (s->last_ms == STAMP_NONE)
		return;
	mix(m, (uint64_t)((m->server - s->last_ms) -
			  (m->boot - s->last_boot_ms)));
	until(m, s->last_ms, m->server);
}

static void
sweep(struct mix *m, const struct sweep *s)
{
	const struct fresh *f = &s->fresh;

	mix(m, s->leads | s->was_whole << 1 | s->begun << 2 | s->guess << 3 |
		       s->uncapped << 4 | s->repool << 5 | s->blocked << 6 |
		       s->recount << 7 | f->wanted << 8 | f->in_flight << 9 |
		       f->claims_good << 10 | f->failed << 11);
	mix(m, s->machines.top | (uint64_t)s->machines.free << 32);
	for (uint32_t i = 0; i < s->machines.top; i++) {
		entry(m, s, &s->machines.at[i]);
		work(m, &s->work[i]);
	}
	holds(m, &s->holds);
	heap(m, &s->later, m->boot);
	past(m, s);
	pools(m, s);
	clocks(m, s);
	for (int k = 0; k < VIEW_COUNT; k++)
		view(m, &s->view[k]);
	for (uint32_t id = s->first; id != NO_ID; id = s->work[id].next)
		mix(m, id);
	mix(m, s->in_flight | (uint64_t)s->wanting_hold << 32);
	boot(m, s->blocked_boot_ms);
	mix(m, s->begin_boot_ms == 0);
	until(m, s->begin_boot_ms, m->boot);
	mix(m, f->unknown | (uint64_t)f->tries << 32);
	boot(m, f->begun_boot_ms);
	boot(m, f->done_boot_ms);
	until(m, f->not_before_boot_ms, m->boot);
	until(m, s->paused_boot_ms, m->boot);
	within(m, s->hint_waited_ms, m->boot, HINT_EVERY_MS);
	until(m, s->hint_until_ms, m->boot);
}

static void
holder(struct mix *m, const struct world *w, const struct holder *h)
{
	mix(m, h->up | h->leads << 1);
	until(m, h->skew_until, m->now);
	mix(m, w->now < h->skew_until ? (uint64_t)h->skew_ms : 0);
	if (!h->up)
		return;
	m->server = holder_now(h).server_ms;
	m->boot = holder_now(h).boot_ms;
	until(m, h->paused_until, m->now);
	mix(m, (uint64_t)h->offset);
	mix(m, h->hint_ms == STAMP_NONE);
	within(m, h->hint_ms, m->server, HINT_EVERY_MS);
	when(m, h->poked ? -1 : h->wake_at);
	mix(m, h->poked | h->restored << 1 | h->guesses << 2);
	for (int p = 0; p < w->pools_n; p++)
		mix(m, h->closed[p]);
	lease(m, &h->lease);
	for (int i = 0; i < LEASE_CALLS; i++)
		if (h->lease_calls[i].used)
			lease_call(m, &h->lease_calls[i]);
	for (int k = 0; k < VIEW_COUNT; k++)
		stream(m, w, &h->streams[k], (enum kind)k);
	for (int i = 0; i < FLIGHTS; i++) {
		mix(m, h->flights[i].used);
		if (h->flights[i].used)
			flight(m, h, &h->flights[i]);
	}
	sweep(m, h->sweep);
}

/* --- what the invariants remember ------------------------------------------------- */

static void
oracle(struct mix *m, const struct run *r, const struct world *w)
{
	(void)m;
	(void)r;
	(void)w;
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
	oracle(&m, r, w);
	return (struct state){m.a, m.b};
}
