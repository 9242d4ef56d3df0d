/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include <string.h>

#include "controller_parts.h"
#include "core/base/str.h"

/*
 * This file applies the annotations and the spec of each NodePool to its
 * machines.  The list and the watch show a whole NodePool
 * (controller_nodepool).  A fresh list shows only its metadata
 * (controller_fresh_nodepool).  If the NodePool's terms have changed, its
 * machines are refreshed, and the released-at of each affected scope is set
 * again (controller_nodepools_teach).
 */

static void
refresh(struct controller *s, const char *nodepool, int64_t now_ms)
{
	uint32_t name = strings_find(&s->machines.strings, nodepool);

	timers_unteach(&s->timers, nodepool);
	for (uint32_t id = 0; name != NO_ID && id < s->machines.top; id++)
		if (machines_at(&s->machines, id)->used &&
		    machines_at(&s->machines, id)->nodepool == name)
			controller_refresh(s, id, now_ms);
}

static bool
same(const struct nodepool *a, const struct nodepool *b)
{
	return a->disabled == b->disabled && a->inert == b->inert &&
	       a->hold_until_ms == b->hold_until_ms &&
	       a->released_at_ms == b->released_at_ms &&
	       a->hold_ms == b->hold_ms;
}

static void
tell_bad(struct controller *s, const struct nodepool *p, enum nodepool_key k,
	 const char *value)
{
	struct note *n = notes_put(&s->notes, NOTE_NODEPOOL_INVALID, p->name);

	memcpy(n->as.invalid.uid, p->uid, sizeof(n->as.invalid.uid));
	n->as.invalid.key = k;
	(void)str_copy(n->as.invalid.value, sizeof(n->as.invalid.value), value);
}

static bool
ahead(const struct nodepool *p, struct now now)
{
	return p->released_at_ms > now.server_ms + CLOCK_SHIFT_MS;
}

/* Reports the annotations that have become bad. */
static void
tell_annotations(struct controller *s, const struct nodepool *old,
		 const struct nodepool *p, struct now now)
{
	char stamp[STAMP_BYTES];

	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++)
		if (p->bad[k][0] != '\0' && strcmp(old->bad[k], p->bad[k]) != 0)
			tell_bad(s, p, (enum nodepool_key)k, p->bad[k]);
	if (p->released_at_ms != old->released_at_ms && ahead(p, now)) {
		stamp_format(p->released_at_ms, stamp);
		tell_bad(s, p, NODEPOOL_RELEASED_AT, stamp);
	}
}

/* Returns whether a person has asked for a hold or a release. */
static bool
by_person(const struct nodepool *p)
{
	return p->hold_until_ms != STAMP_NONE ||
	       p->released_at_ms != STAMP_NONE;
}

/* --- who holds a NodePool ------------------------------------------------- */

/* Has the NodePool's tickets looked at again at this time at the latest. */
static void
wake(struct controller *s, uint32_t place, int64_t ms)
{
	struct nodepool p = s->nodepools.at[place];

	if (p.ticket_next_ms == STAMP_NONE || ms < p.ticket_next_ms)
		p.ticket_next_ms = ms;
	(void)nodepools_put(&s->nodepools, &p, s->nodepools.generation[place]);
}

static void
put_manual(struct controller *s, const struct nodepool *p,
	   const struct manual *m)
{
	struct note *n = notes_put(&s->notes, NOTE_NODEPOOL_MANUAL, p->name);

	memcpy(n->as.manual.uid, p->uid, sizeof(n->as.manual.uid));
	n->as.manual.until_ms = m->until_ms;
	n->as.manual.ticket = m->by == MANUAL_TICKET;
	(void)str_copy(n->as.manual.reason, sizeof(n->as.manual.reason),
		       m->reason);
}

/* Returns whether there is no news in these words.  If two tickets are renewed
 * by turns, each is reported once, and again when the other no longer holds. */
static bool
is_told(const struct controller *s, uint32_t place, uint32_t words,
	int64_t now_ms)
{
	const struct manual_news *w = &s->news.manual[place];
	const struct ticket_entry *e;

	if (w->told[0] == words || w->told[1] != words)
		return w->told[0] == words;
	if (w->ticket == NO_ID)
		return s->nodepools.at[place].hold_until_ms > now_ms;
	e = &s->tickets.at[w->ticket];
	return e->until_ms > now_ms && tickets_holds(e, place);
}

/* Reports who holds the NodePool.  While it stays held, what a person has
 * changed (`person`) is reported at once, and another ticket, or other words of
 * a ticket, TICKET_TOLD_EVERY_MS after the last report.  The end of a ticket is
 * not reported each time that the ticket is renewed. */
static void
tell_manual(struct controller *s, uint32_t place, const struct manual *m,
	    bool person, struct now now)
{
	const struct nodepool *p = &s->nodepools.at[place];
	struct manual_news *w = &s->news.manual[place], was = *w;
	int64_t due_boot_ms = was.told_boot_ms + TICKET_TOLD_EVERY_MS;
	uint32_t words = index_hash_text(m->reason) | 1;

	if (m->by == MANUAL_NONE) {
		*w = (struct manual_news){.by = was.by};
		return;
	}
	if (m->by == MANUAL_PERSON)
		words += 2 * (uint32_t)(p->hold_until_ms / 1000);
	person = person && m->by == MANUAL_PERSON;
	if (!person && (is_told(s, place, words, now.server_ms) ||
			(m->by == MANUAL_TICKET && m->ticket == NO_ID)))
		return;
	if (!person && was.told_boot_ms != 0 && now.boot_ms < due_boot_ms) {
		wake(s, place, now.server_ms + due_boot_ms - now.boot_ms);
		return;
	}
	*w = (struct manual_news){.by = was.by,
				  .told = {words, was.told[0]},
				  .ticket = m->ticket,
				  .told_boot_ms = now.boot_ms};
	put_manual(s, p, m);
}

/* Sets the members of *p that depend on tickets; *p is the NodePool in this
 * place.  Tickets that begin to hold a NodePool hold it for TICKET_LEAST_MS at
 * least, unless it is disabled, because a writer that made its hold begin and
 * end all the time would make us write to all its machines each time.  Of
 * tickets that a new leader finds, nobody knows when their hold began. */
static void
set_tickets(const struct controller *s, uint32_t place, int64_t now_ms,
	    struct nodepool *p)
{
	struct ticket_hold h = tickets_hold(&s->tickets, place, now_ms);
	bool held = p->ticket_ms > now_ms;

	p->ticket_ms = p->ticket_next_ms = STAMP_NONE;
	if (p->disabled || !rules_nodepool_included(&s->rules, p->name)) {
		p->ticket_least_ms = STAMP_NONE;
		return;
	}
	if (h.last != NULL && !held && s->views.at[KIND_TICKET].listed &&
	    s->views.at[KIND_NODEPOOL].listed)
		p->ticket_least_ms = now_ms + TICKET_LEAST_MS;
	p->ticket_ms = h.until_ms;
	p->ticket_next_ms = h.next_ms;
	/* Of a minute that is over nothing may be left: a clock that is set
	 * back would begin it again. */
	if (p->ticket_least_ms <= now_ms)
		p->ticket_least_ms = STAMP_NONE;
	if (p->ticket_least_ms == STAMP_NONE ||
	    p->ticket_least_ms <= h.until_ms)
		return;
	p->ticket_ms = p->ticket_least_ms;
	if (h.last == NULL)
		p->ticket_next_ms = p->ticket_least_ms;
}

/* Computes again until when tickets hold the NodePool in this place. */
static void
apply_tickets(struct controller *s, uint32_t place, int64_t now_ms)
{
	struct nodepool p = s->nodepools.at[place];
	bool held = nodepool_until_ms(&p) > s->nodepools.ms;

	set_tickets(s, place, now_ms, &p);
	(void)nodepools_put(&s->nodepools, &p, s->nodepools.generation[place]);
	/* The machines were last decided for the time s->nodepools.ms.  If the
	 * NodePool's hold has begun or ended since that time, decide them
	 * again. */
	if (held != (nodepool_until_ms(&p) > now_ms))
		controller_queue_all(s);
}

void
controller_nodepool_tickets(struct controller *s, uint32_t place,
			    struct now now)
{
	struct manual m;

	apply_tickets(s, place, now.server_ms);
	/* A NodePool that has not been shown in this lead is reported when it
	 * is shown. */
	if (!views_leads(&s->views) ||
	    !controller_was_shown(s, &s->nodepools.at[place]))
		return;
	m = controller_manual(s, place, now.server_ms);
	tell_manual(s, place, &m, false, now);
	if (m.by != s->news.manual[place].by)
		controller_turn_by_hand(s, place, false, now);
}

/* --- the list and the watch ----------------------------------------------- */

/* Reports the NodePool, which was as in *old before. */
static void
tell_nodepool(struct controller *s, uint32_t place, const struct nodepool *old,
	      bool first, struct now now)
{
	const struct nodepool *p = &s->nodepools.at[place];
	struct manual m = controller_manual(s, place, now.server_ms);
	bool other = strcmp(old->reason, p->reason) != 0;

	if (first)
		s->news.manual[place] = (struct manual_news){0};
	tell_annotations(s, old, p, now);
	tell_manual(s, place, &m,
		    old->disabled || old->hold_until_ms != p->hold_until_ms ||
			    (other && p->reason[0] != '\0'),
		    now);
	/* controller_turn_by_hand scans all turns of the history, so it is
	 * called only if the NodePool's turns may change. */
	if (first || m.by != s->news.manual[place].by ||
	    ((other || !same(old, p)) && (by_person(old) || by_person(p))))
		controller_turn_by_hand(s, place, first, now);
}

void
controller_nodepool(struct controller *s, const struct nodepool *shown,
		    struct now now)
{
	const struct nodepool *known =
		nodepools_find(&s->nodepools, shown->name);
	struct nodepool old, p = *shown;
	bool changed, first, added = known == NULL;
	uint32_t place;

	now = controller_steady(s, now);
	nodepool_keep_spec(&p, known);
	controller_unread(s, KIND_NODEPOOL, p.name, p.unread);
	if (!added) {
		p.ticket_ms = known->ticket_ms;
		p.ticket_least_ms = known->ticket_least_ms;
		p.ticket_next_ms = known->ticket_next_ms;
	}
	changed = added || !same(known, &p);
	nodepool_init(&old);
	/* A NodePool that was deleted and created again under the same name is
	 * reported in full.  A new leader reports every NodePool in full. */
	first = added || strcmp(known->uid, p.uid) != 0 ||
		!controller_was_shown(s, known);
	if (!first)
		old = *known;
	if (!nodepools_put(&s->nodepools, &p,
			   s->views.at[KIND_NODEPOOL].generation)) {
		counter_add(s->counters, COUNTER_TABLE_FULL);
		(void)notes_put(&s->notes, NOTE_TABLE_FULL, p.name);
		return;
	}
	place = (uint32_t)(nodepools_find(&s->nodepools, p.name) -
			   s->nodepools.at);
	for (uint32_t i = 0; added && i < s->tickets.top; i++)
		tickets_place(&s->tickets.at[i], place, p.name);
	apply_tickets(s, place, now.server_ms);
	if (views_leads(&s->views))
		tell_nodepool(s, place, &old, first, now);
	if (changed)
		refresh(s, p.name, now.server_ms);
}

static void
drop_nodepool(struct controller *s, const char *name, struct now now)
{
	char gone[NODEPOOL_BYTES];

	/* `name` may point into the table's entry, which is cleared below. */
	if (nodepools_find(&s->nodepools, name) == NULL ||
	    str_copy(gone, sizeof(gone), name))
		return;
	controller_unread(s, KIND_NODEPOOL, gone, false);
	nodepools_drop(&s->nodepools, gone);
	refresh(s, gone, now.server_ms);
}

void
controller_nodepool_gone(struct controller *s, const char *name, struct now now)
{
	if (nodepools_find(&s->nodepools, name) != NULL)
		drop_nodepool(s, name, controller_steady(s, now));
}

void
controller_nodepools_listed(struct controller *s, struct now now)
{
	uint32_t generation = s->views.at[KIND_NODEPOOL].generation, i = 0;
	const struct nodepool *p;

	while ((p = nodepools_stale(&s->nodepools, generation, &i)) != NULL)
		drop_nodepool(s, p->name, now);
	timers_unteach_all(&s->timers);
}

/* Returns the earliest released-at of the NodePools whose machines belong to
 * the scope, or STAMP_NONE if one of these NodePools has no released-at whose
 * time has come. */
static int64_t
released_since(const struct controller *s, const struct nodepool_terms *scope)
{
	if (s->rules.scope == SCOPE_CLUSTER)
		return nodepools_released_ms(&s->nodepools);
	return scope->uncounted ? STAMP_NONE : scope->released_ms;
}

/* Applies the tickets to all NodePools, if the tickets' ends were computed
 * again. */
static void
apply_restamped(struct controller *s, struct now now)
{
	if (!s->tickets_restamped)
		return;
	s->tickets_restamped = false;
	for (uint32_t i = 0; i < s->nodepools.top; i++)
		if (s->nodepools.at[i].name[0] != '\0')
			controller_nodepool_tickets(s, i, now);
}

/* Refreshes the machines of each NodePool whose hold-until or ticket has ended,
 * or whose released-at has come, since the last call. */
void
controller_nodepools_turn(struct controller *s, struct now now)
{
	const struct nodepool *p;

	apply_restamped(s, now);
	while ((p = nodepools_turned(&s->nodepools, now.server_ms)) != NULL) {
		uint32_t place = (uint32_t)(p - s->nodepools.at);

		controller_nodepool_tickets(s, place, now);
		refresh(s, p->name, now.server_ms);
		if (controller_was_shown(s, p))
			controller_turn_by_hand(s, place, false, now);
	}
}

void
controller_nodepools_teach(struct controller *s, struct now now)
{
	uint32_t scope;

	while ((scope = timers_untaught(&s->timers)) != NO_ID) {
		const char *name = timers_scope(&s->timers, scope)->name;
		struct nodepool_terms t =
			nodepools_terms(&s->nodepools, name, now.server_ms);

		timers_released(&s->timers, scope, released_since(s, &t), now);
	}
}

/* Returns whether the metadata shows that the spec has changed since the table
 * took the spec. */
static bool
spec_changed(const struct nodepool *known, const struct nodepool *p)
{
	return known->generation != p->generation ||
	       strcmp(known->uid, p->uid) != 0;
}

void
controller_fresh_nodepool(struct controller *s, const struct nodepool *metadata)
{
	const struct nodepool *known =
		nodepools_find(&s->nodepools, metadata->name);
	struct nodepool none, p = *metadata;

	/* The list or the watch may have left out this NodePool.  What was seen
	 * of it last counts, and no release waits for it. */
	if (s->views.at[KIND_NODEPOOL].skipped)
		return;
	nodepool_init(&none);
	nodepool_keep_spec(&p, known);
	if (!same(known != NULL ? known : &none, &p) ||
	    (known != NULL && spec_changed(known, &p)))
		release_unknown(&s->release);
}

bool
controller_nodepool_at(const struct controller *s, uint32_t *i,
		       struct nodepool_report *out)
{
	struct nodepool_terms terms;

	for (; *i < s->nodepools.top; (*i)++) {
		const struct nodepool *p = &s->nodepools.at[*i];

		if (p->name[0] == '\0')
			continue;
		memcpy(out->name, p->name, sizeof(out->name));
		memcpy(out->uid, p->uid, sizeof(out->uid));
		terms = nodepools_terms_at(&s->nodepools, *i, s->last_ms);
		out->out = terms.uncounted;
		out->hand_ms = terms.until_ms;
		(*i)++;
		return true;
	}
	return false;
}
