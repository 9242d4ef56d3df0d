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
	causes_add(&s->causes, CAUSE_NODEPOOL);
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

/* Returns whether the hold of *p has been reported already, when the NodePool
 * was as in *old.  A ticket is reported once, and not each time that it is
 * renewed. */
static bool
is_told(const struct nodepool *old, const struct nodepool *p)
{
	const char *reason = nodepool_reason(p);

	if (nodepool_by_ticket(p))
		return nodepool_by_ticket(old) &&
		       strcmp(reason, nodepool_reason(old)) == 0;
	return p->hold_until_ms == old->hold_until_ms &&
	       !nodepool_by_ticket(old) &&
	       (reason[0] == '\0' || strcmp(reason, old->reason) == 0);
}

/* Reports what has changed in the NodePool.  Each change is reported once. */
static void
tell_nodepool(struct controller *s, const struct nodepool *old,
	      const struct nodepool *p, struct now now)
{
	char stamp[STAMP_BYTES];
	struct note *n;

	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++)
		if (p->bad[k][0] != '\0' && strcmp(old->bad[k], p->bad[k]) != 0)
			tell_bad(s, p, (enum nodepool_key)k, p->bad[k]);
	if (p->released_at_ms != old->released_at_ms && ahead(p, now)) {
		stamp_format(p->released_at_ms, stamp);
		tell_bad(s, p, NODEPOOL_RELEASED_AT, stamp);
	}
	if ((!old->disabled && is_told(old, p)) ||
	    nodepool_until_ms(p) <= now.server_ms ||
	    nodepools_terms(&s->nodepools, p->name, now.server_ms).out)
		return;
	n = notes_put(&s->notes, NOTE_NODEPOOL_MANUAL, p->name);
	memcpy(n->as.manual.uid, p->uid, sizeof(n->as.manual.uid));
	n->as.manual.until_ms = nodepool_until_ms(p);
	n->as.manual.ticket = nodepool_by_ticket(p);
	(void)str_copy(n->as.manual.reason, sizeof(n->as.manual.reason),
		       nodepool_reason(p));
}

/* Returns whether a person or a ticket has asked for a hold or a release. */
static bool
by_hand(const struct nodepool *p)
{
	return nodepool_until_ms(p) != STAMP_NONE ||
	       p->released_at_ms != STAMP_NONE;
}

/* --- tickets -------------------------------------------------------------- */

/* Sets the members of *p that depend on tickets; *p is the NodePool in this
 * place of the table.  p->ticket describes the same ticket until that ticket
 * ends.  Otherwise two tickets that are renewed alternately would be reported
 * again and again. */
static void
apply_tickets(const struct controller *s, uint32_t place, int64_t now_ms,
	      struct nodepool *p)
{
	struct ticket_hold h = tickets_hold(&s->tickets, place, now_ms);
	const struct ticket_entry *e = h.last;

	if (h.n > 1 && p->ticket_ms != STAMP_NONE &&
	    s->tickets.at[p->ticket_place].until_ms > now_ms &&
	    tickets_holds(&s->tickets.at[p->ticket_place], place))
		e = &s->tickets.at[p->ticket_place];
	p->ticket_ms = h.until_ms;
	p->ticket_next_ms = h.next_ms;
	p->ticket[0] = '\0';
	if (e == NULL)
		return;
	p->ticket_place = (uint32_t)(e - s->tickets.at);
	tickets_words(e, p->ticket, sizeof(p->ticket));
}

void
controller_nodepool_tickets(struct controller *s, uint32_t place,
			    struct now now)
{
	struct nodepool old = s->nodepools.at[place], p = old;

	apply_tickets(s, place, now.server_ms, &p);
	(void)nodepools_put(&s->nodepools, &p, s->nodepools.generation[place]);
	/* The machines were last decided for the time s->nodepools.ms.  If the
	 * NodePool's hold has begun or ended since that time, decide them
	 * again. */
	if ((nodepool_until_ms(&old) > s->nodepools.ms) !=
	    (nodepool_until_ms(&p) > now.server_ms))
		controller_queue_all(s);
	/* A NodePool that has not been shown in this lead is reported when it
	 * is shown. */
	if (!views_leads(&s->views) ||
	    !controller_was_shown(s, &s->nodepools.at[place]) ||
	    (strcmp(old.ticket, p.ticket) == 0 &&
	     nodepool_by_ticket(&old) == nodepool_by_ticket(&p)))
		return;
	tell_nodepool(s, &old, &p, now);
	controller_turn_by_hand(s, &p, false, now);
}

/* Sets the members of *p that depend on tickets.  They are copied from *known,
 * or computed if `known` is NULL, because the NodePool is new in the table. */
static void
keep_tickets(struct controller *s, const struct nodepool *known,
	     struct nodepool *p, struct now now)
{
	const struct nodepool *mine;
	uint32_t place;

	if (known != NULL) {
		p->ticket_ms = known->ticket_ms;
		p->ticket_next_ms = known->ticket_next_ms;
		p->ticket_place = known->ticket_place;
		memcpy(p->ticket, known->ticket, sizeof(p->ticket));
		return;
	}
	mine = nodepools_find(&s->nodepools, p->name);
	if (mine == NULL || s->tickets.top == 0)
		return;
	place = (uint32_t)(mine - s->nodepools.at);
	for (uint32_t i = 0; i < s->tickets.top; i++)
		tickets_place(&s->tickets.at[i], place, p->name);
	apply_tickets(s, place, now.server_ms, p);
	(void)nodepools_put(&s->nodepools, p, s->nodepools.generation[place]);
}

/* --- the list and the watch ----------------------------------------------- */

void
controller_nodepool(struct controller *s, const struct nodepool *shown,
		    struct now now)
{
	const struct nodepool *known =
		nodepools_find(&s->nodepools, shown->name);
	struct nodepool old, p = *shown;
	bool changed, said, first;

	now = controller_steady(s, now);
	s->nodepool_lines++;
	nodepool_keep_spec(&p, known);
	if (known != NULL)
		keep_tickets(s, known, &p, now);
	changed = known == NULL || !same(known, &p);
	said = changed || strcmp(known->reason, p.reason) != 0;
	nodepool_init(&old);
	/* A NodePool that was deleted and created again under the same name is
	 * reported in full.  A new leader reports every NodePool in full. */
	first = known == NULL || strcmp(known->uid, p.uid) != 0 ||
		!controller_was_shown(s, known);
	if (!first)
		old = *known;
	if (!nodepools_put(&s->nodepools, &p,
			   s->views.at[KIND_NODEPOOL].generation)) {
		counter_add(s->counters, COUNTER_TABLE_FULL);
		(void)notes_put(&s->notes, NOTE_TABLE_FULL, p.name);
		return;
	}
	if (known == NULL)
		keep_tickets(s, NULL, &p, now);
	if (views_leads(&s->views))
		tell_nodepool(s, &old, &p, now);
	/* controller_turn_by_hand scans all turns of the history, so it is
	 * called only if the NodePool's turns may change. */
	if (views_leads(&s->views) &&
	    (first || (said && (by_hand(&old) || by_hand(&p)))))
		controller_turn_by_hand(s, &p, first, now);
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
	nodepools_drop(&s->nodepools, gone);
	refresh(s, gone, now.server_ms);
}

void
controller_nodepool_gone(struct controller *s, const char *name, struct now now)
{
	s->nodepool_lines++;
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
		if (p->ticket_ms != STAMP_NONE)
			controller_nodepool_tickets(
				s, (uint32_t)(p - s->nodepools.at), now);
		refresh(s, p->name, now.server_ms);
		if (controller_was_shown(s, p))
			controller_turn_by_hand(s, p, false, now);
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

/* Returns whether the last list, or the watch after it, has shown the NodePool.
 */
static bool
was_shown(const struct controller *s, const struct nodepool *known)
{
	return s->nodepools.generation[known - s->nodepools.at] ==
	       s->views.at[KIND_NODEPOOL].generation;
}

void
controller_fresh_nodepools(struct controller *s)
{
	s->nodepool_lines_then = s->nodepool_lines;
}

void
controller_fresh_nodepool(struct controller *s, const struct nodepool *metadata,
			  struct now now)
{
	const struct nodepool *known =
		nodepools_find(&s->nodepools, metadata->name);
	struct nodepool none, p = *metadata;
	bool respecified = known != NULL && spec_changed(known, &p);

	nodepool_init(&none);
	nodepool_keep_spec(&p, known);
	if (!respecified && same(known != NULL ? known : &none, &p))
		return;
	release_unknown(&s->release);
	/* Take the metadata only if the list or the watch has left something
	 * out.  Otherwise the watch will show the change.  If the watch has
	 * shown a NodePool since the list began, the watch may be newer than
	 * the list, so the next fresh list decides. */
	if (!s->views.at[KIND_NODEPOOL].skipped ||
	    s->nodepool_lines != s->nodepool_lines_then)
		return;
	/* The table still has the old spec.  So releases wait until the watch
	 * shows the new spec, or until the next list leaves out the
	 * NodePool. */
	if (respecified && was_shown(s, known))
		p.generation = NODEPOOL_BEHIND;
	controller_nodepool(s, &p, now);
	/* Do not count this NodePool as shown by the watch. */
	controller_fresh_nodepools(s);
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
