/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/controller/controller_state.h"
#include "mix.h"

/* Mixes what the core knows (src/core/controller/controller_state.h) and what
 * it has sent. */

static void
object(struct mix *m, const struct object *o)
{
	mix(m, o->kind | o->deleting << 3 | o->karpenter << 4 | o->hold << 5 |
		       o->mark << 7 | o->is_other << 9 | o->launched << 10 |
		       o->launch_known << 11 | o->disrupted << 12 |
		       o->registered << 13 | o->has_class << 14 |
		       o->exposed << 15 | o->drifted << 16 | o->unread << 17);
	mix_text(m, o->uid);
	mix_label(m, o->rv);
	mix_server(m, o->mark_ms);
	mix_server(m, o->ready_ms);
	mix_server(m, o->deleted_ms);
	mix_text(m, o->replaces);
	mix_text(m, o->node_name);
	mix_text(m, o->owner_uid);
}

static void
nodepool(struct mix *m, const struct nodepool *p)
{
	mix_text(m, p->name);
	mix_text(m, p->uid);
	mix(m, p->disabled | p->inert << 1 | p->spec_known << 2);
	mix(m, (uint64_t)p->generation);
	mix_server(m, p->hold_until_ms);
	mix_server(m, p->released_at_ms);
	mix(m, (uint64_t)p->hold_ms);
	mix_server(m, p->ticket_ms);
	mix_server(m, p->ticket_next_ms);
	mix_server(m, p->ticket_least_ms);
}

static void
ticket(struct mix *m, const struct controller *s, const struct ticket_entry *e)
{
	mix_text(m, e->ticket.name);
	if (e->ticket.name[0] == '\0')
		return;
	mix_text(m, e->ticket.uid);
	mix_text(m, e->ticket.holder);
	mix_text(m, e->ticket.reason);
	mix_server(m, e->ticket.renewed_ms);
	mix(m, (uint64_t)e->ticket.lasts_ms);
	mix_text(m, e->ticket.fault);
	mix(m, e->ticket.all | e->ticket.deleting << 7 | e->flaw << 1 |
		       (uint64_t)e->ticket.left_out << 8);
	for (const char *p = e->ticket.patterns; *p != '\0'; p += strlen(p) + 1)
		mix_text(m, p);
	mix_server(m, e->seen_ms);
	mix_server(m, e->until_ms);
	mix(m, e->generation == s->views.at[KIND_TICKET].generation);
	for (uint32_t i = 0; i < s->nodepools.top; i++)
		mix(m, tickets_holds(e, i));
}

static void
tickets(struct mix *m, const struct controller *s)
{
	for (uint32_t i = 0; i < s->tickets.top; i++)
		ticket(m, s, &s->tickets.at[i]);
	for (uint32_t i = 0; i < s->tickets.max; i++)
		if (s->tickets.turned_away[i] != 0)
			mix(m, s->tickets.turned_away[i]);
	for (uint32_t i = 0; i < s->nodepools.top; i++) {
		const struct manual_news *w = &s->news.manual[i];

		mix(m, w->by);
		mix_boot(m, w->told_boot_ms);
		mix(m, w->told[0] | (uint64_t)w->told[1] << 32);
		mix(m, w->ticket);
	}
	mix(m, s->ticket_lines == s->ticket_lines_then);
	mix(m, s->tickets_restamped);
	mix(m, s->release.without);
	mix_boot(m, s->release.failing_boot_ms);
}

void
mix_flight(struct mix *m, const struct controller *s, const struct flight *f)
{
	const struct action *a = &f->a;

	mix(m, f->applied | f->answered << 1 | f->has_read << 2 |
		       f->fault << 3 | a->act << 5 | a->kind << 9 |
		       a->mark_exact << 12 | a->has_held_key << 13 |
		       f->out.code << 14);
	mix(m, a->id);
	mix(m, a->id != NO_ID && writes_awaits(&s->writes, a));
	mix(m, s->views.at[a->kind].forgotten == a->forgotten);
	mix_text(m, a->name);
	mix_text(m, a->uid);
	mix_label(m, a->rv);
	mix_label(m, f->out.rv);
	mix_text(m, a->replaces);
	mix_text(m, a->reason);
	mix_server(m, a->mark_ms);
	mix_boot(m, a->fence_ms);
	mix(m, (uint64_t)f->out.retry_after_ms);
	mix_when(m, f->applied ? -1 : f->apply_at);
	mix_when(m, f->answered ? -1 : f->answer_at);
	if (f->has_read)
		object(m, &f->read);
	for (int i = 0; f->fresh != NULL && i < f->fresh_n; i++)
		object(m, &f->fresh[i]);
	for (int i = 0; f->fresh_nodepools != NULL && i < f->fresh_n; i++)
		nodepool(m, &f->fresh_nodepools[i]);
	for (int i = 0; f->fresh_tickets != NULL && i < f->fresh_n; i++) {
		mix_text(m, f->fresh_tickets[i].uid);
		mix_text(m, f->fresh_tickets[i].nodepool);
		mix_server(m, f->fresh_tickets[i].renewed_ms);
		mix(m, (uint64_t)f->fresh_tickets[i].lasts_ms);
	}
}

/* --- the core ------------------------------------------------------------- */

static void
entry(struct mix *m, const struct controller *s, const struct entry *e)
{
	const struct machines *t = &s->machines;
	char text[UID_BYTES];

	mix(m, e->used);
	mix(m, e->peer);
	if (!e->used)
		return;
	mix(m,
	    e->kind | e->deleting << 3 | e->launched << 4 |
		    e->launch_known << 5 | e->registered << 6 |
		    e->disrupted << 7 | e->hold << 8 |
		    e->mark << 12 | e->has_held_key << 14 |
		    e->classed << 18 | e->judged << 19 |
		    e->deletion_seen << 20 | e->rebooted << 21 |
		    (e->generation == s->views.at[e->kind].generation) << 22 |
		    e->exposed << 23 | e->drifted << 24 | e->unread << 25);
	mix_server(m, e->mark_ms);
	mix_server(m, e->created_ms);
	mix_server(m, e->created_stamp_ms);
	if (e->kind == KIND_NODECLAIM) {
		mix(m, e->again | e->closed << 1);
		mix_server(m, e->ready_ms);
		mix_server(m, e->ready_stamp_ms);
		mix_server(m, e->seen_ms);
		mix_server(m, e->first_ready_ms);
	}
	mix_text(m, machines_replaces(t, e));
	mix_text(m, machines_said(t, e));
	mix_text(m, machines_name(t, e));
	machines_uid(t, e, text);
	mix_text(m, text);
	machines_rv(t, e, text);
	mix_label(m, text);
	mix_text(m, machines_nodepool(t, e));
	mix_text(m, machines_other_name(t, e));
	machines_owner_uid(t, e, text);
	mix_text(m, text);
}

static void
version(struct mix *m, uint64_t key)
{
	if (key == 0)
		mix_label(m, "");
	else
		mix_version(m, key - 1);
}

static void
write(struct mix *m, const struct writes *ws, uint32_t id)
{
	const struct write *w = &ws->at[id];
	const struct pending *p = &ws->pending[w->pending - 1];

	mix(m, w->owner_gone | w->owner_kept << 1 |
		       w->wants_hold << 5 | w->was_ours << 6 |
		       w->reholds << 7 | (w->pending != 0) << 9);
	if (w->pending == 0)
		return;
	mix(m, p->state | p->act << 3 | p->reread << 7 | p->again << 8);
	mix(m, p->failures | (uint64_t)p->class_failures << 20 |
		       (uint64_t)p->refusals << 40);
	mix_until(m, p->class_boot_ms, m->boot);
	version(m, p->state == WRITE_EXPECTED || p->state == WRITE_STALE
			   ? p->rv
			   : 0);
	version(m, p->tried_rv);
}

static void
view(struct mix *m, const struct view *v)
{
	mix(m, v->listing | v->listed << 1 | v->up << 2 | v->served << 3 |
		       v->full << 4 | v->wants_list << 5 | v->room << 6);
	mix_until(m, v->ask_boot_ms, m->boot);
}

static void
due(struct mix *m, const struct timers *h)
{
	for (uint32_t i = 0; i < h->due.n; i++) {
		uint32_t place = h->due.ids[i];

		mix(m, h->at[place].id);
		mix_moment(m, h->due.keys[i], m->server);
	}
	mix(m, h->due.n);
}

static void
later(struct mix *m, const struct writes *ws)
{
	for (uint32_t i = 0; i < ws->later.n; i++) {
		uint32_t place = ws->later.ids[i];

		mix(m, ws->pending[place].id);
		mix_moment(m, ws->later.keys[i], m->boot);
	}
	mix(m, ws->later.n);
}

static void
timer(struct mix *m, const struct timer *t)
{
	mix(m, t->used | t->counted << 1 | t->enough << 2 | t->live << 3 |
		       t->coming << 4 | t->booting << 5 | t->machine << 6 |
		       t->apart << 7 | t->own << 8 | (uint64_t)t->scope << 16);
	if (!t->used)
		return;
	mix_server(m, t->deadline_ms);
	mix_server(m, t->created_ms);
	mix(m, t->least);
	mix(m, (uint64_t)t->hold_ms);
}

static void
scope(struct mix *m, const struct timers *h, const struct scope *s,
      const struct scope_news *w)
{

	mix_text(m, s->name);
	mix(m, s->busy | s->was_busy << 1 | s->held << 2 | s->dirty << 3 |
		       s->recount << 4 | (s->moved || w->moved) << 5 | s->told_window << 6 |
		       w->untold << 12 |
		       s->cap.held << 7 | s->cap.grows << 8 |
		       s->cap.usable << 9 | (s->cap.debt_ms > 0) << 10 |
		       (s->cap.window_ms > 0) << 11);
	mix(m,
	    s->timers | (uint64_t)s->live << 20 | (uint64_t)s->coming << 40);
	mix(m, s->machines);
	mix(m, (uint64_t)cap_debt_ms(&s->cap, &h->cap, m->boot));
	mix(m, (uint64_t)cap_window_ms(&s->cap, m->boot));
	mix_server(m, s->released_ms);
	mix_server(m, s->again_from_ms);
	mix_server(m, s->again_until_ms);
	mix_within(m, w->told_boot_ms, m->boot, MOVED_EVERY_MS);
	mix_server(m, w->told.at_ms);
	mix(m, w->told.earliest | (uint64_t)w->told.id << 1);
}

static void
holds(struct mix *m, const struct timers *h, const struct news *n)
{
	mix(m, h->changed | h->turning << 1 | h->usable << 2 | h->seen << 3);
	mix_server(m, h->unknown_ms);
	mix_server(m, h->unknown_until_ms);
	mix(m, h->top | (uint64_t)h->scopes_top << 32);
	for (uint32_t i = 0; i < h->top; i++)
		timer(m, timers_at(h, i));
	due(m, h);
	for (uint32_t i = 0; i < h->scopes_top; i++)
		scope(m, h, &h->scopes[i], news_read(n, h, i));
	for (uint32_t i = 0; i < h->dirty_n; i++)
		mix(m, h->dirty[i]);
	for (uint32_t i = 0; i < h->untaught_n; i++)
		mix(m, h->untaught[i]);
}

static void
past(struct mix *m, const struct replacements *s)
{
	for (uint32_t i = 0; i < s->disruptions_n; i++) {
		mix_server(m, s->disruptions[i].ms);
		mix_text(m, s->disruptions[i].uid);
		mix(m, s->disruptions[i].several);
	}
	for (uint32_t i = 0; i < s->deletions.top; i++) {
		const struct deletion *d = &s->deletions.at[i];

		mix(m, d->used | d->spent << 1);
		if (!d->used)
			continue;
		mix_text(m, d->uid);
		mix_text(m, d->nodepool);
		mix_server(m, d->began_ms);
		mix_server(m, d->disrupted_ms);
		mix_server(m, d->gone_ms);
	}
	mix(m, s->disruption_events.next);
	for (uint32_t i = 0;
	     s->disruption_events.by_uid.n > 0 && i < s->disruption_events.next;
	     i++) {
		mix_text(m, s->disruption_events.at[i].uid);
		mix_text(m, s->disruption_events.at[i].reason);
	}
}

static void
nodepools(struct mix *m, const struct controller *s)
{
	for (uint32_t i = 0; i < s->nodepools.top; i++) {
		nodepool(m, &s->nodepools.at[i]);
		mix(m, s->nodepools.generation[i] ==
			       s->views.at[KIND_NODEPOOL].generation);
		mix(m, s->nodepools.generation[i] > s->nodepools_before);
	}
	mix_server(m, s->nodepools.ms);
}

/* Mixes what the last look said of the clocks, that is, how far they have moved
 * apart. */
static void
clocks(struct mix *m, const struct controller *s)
{
	mix(m, s->last_ms == STAMP_NONE);
	if (s->last_ms == STAMP_NONE)
		return;
	mix(m, (uint64_t)(m->server - m->boot - s->ahead_ms));
	mix_boot(m, s->slewed_boot_ms);
	mix_until(m, s->last_ms, m->server);
}

static void
queue_line(struct mix *m, const struct queue *q, uint32_t id)
{
	for (; id != NO_ID;
	     id = q->next[id] == QUEUE_LAST ? NO_ID : q->next[id] - 1)
		mix(m, id);
	mix(m, NO_ID);
}

void
mix_controller(struct mix *m, const struct controller *s)
{
	const struct release *f = &s->release;

	mix(m, s->views.lead | s->views.blocked << 6 | f->wanted << 8 |
		       f->in_flight << 9 | (uint64_t)f->good << 20 |
		       (uint64_t)s->refresh_all << 11 |
		       (uint64_t)f->failed << 12);
	mix(m, s->machines.top | (uint64_t)s->machines.free << 32);
	for (uint32_t i = 0; i < s->machines.top; i++) {
		entry(m, s, &s->machines.at[i]);
		mix(m, s->queue.next[i] != 0);
		write(m, &s->writes, i);
		mix_boot(m, f->due_boot_ms[i]);
		mix(m, f->met[i]);
	}
	holds(m, &s->timers, &s->news);
	later(m, &s->writes);
	past(m, &s->replacements);
	nodepools(m, s);
	if (rules_tickets(&s->rules))
		tickets(m, s);
	clocks(m, s);
	for (int k = 0; k < VIEW_COUNT; k++)
		view(m, &s->views.at[k]);
	queue_line(m, &s->queue, s->queue.exposed.first);
	queue_line(m, &s->queue, s->queue.others.first);
	mix(m, s->queue.run);
	mix(m, s->writes.in_flight | (uint64_t)s->writes.wanting_hold << 32);
	mix_boot(m, s->views.blocked_boot_ms);
	mix(m, s->views.begin_boot_ms == 0);
	mix_until(m, s->views.begin_boot_ms, m->boot);
	mix(m, f->unknown | (uint64_t)f->tries << 32);
	mix_boot(m, f->begun_boot_ms);
	mix_boot(m, f->done_boot_ms);
	mix_until(m, f->not_before_boot_ms, m->boot);
	mix_until(m, s->writes.paused_boot_ms, m->boot);
}
