/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include <string.h>

#include "controller_parts.h"

/*
 * This file handles the tickets (docs/rules.md#tickets).  controller_ticket
 * takes those that the list and the watch show, and controller_fresh_ticket
 * those that the fresh list before a release shows.
 * controller_nodepool_tickets then applies the change to each NodePool that the
 * ticket names.
 */

/* Computes again until when tickets hold each NodePool that this ticket holds,
 * or has held until now (`before`). */
static void
update_all(struct controller *s, const struct ticket_entry *e,
	   const uint64_t before[SCOPES_MAX / 64], struct now now)
{
	for (uint32_t i = 0; i < s->nodepools.top; i++)
		if (s->nodepools.at[i].name[0] != '\0' &&
		    (tickets_holds(e, i) || (before[i / 64] >> i % 64 & 1)))
			controller_nodepool_tickets(s, i, now);
}

static void
tell_flaw(struct controller *s, const struct ticket *t, enum ticket_flaw flaw)
{
	struct note *n;

	counter_add(s->counters, COUNTER_TICKETS_FLAWED);
	n = notes_put(&s->notes, NOTE_TICKET, t->name);
	n->as.ticket.flaw = flaw;
	memcpy(n->as.ticket.holder, t->holder, sizeof(t->holder));
	memcpy(n->as.ticket.fault, t->fault, sizeof(t->fault));
}

void
controller_ticket(struct controller *s, const struct ticket *shown,
		  struct now now)
{
	const struct ticket_entry *known =
		tickets_find(&s->tickets, shown->name);
	uint64_t before[SCOPES_MAX / 64] = {0};
	enum ticket_flaw told = known == NULL ? TICKET_GOOD : known->flaw;
	bool fresh = known == NULL || !tickets_same(&known->ticket, shown);
	struct ticket_entry *e;

	if (!views_leads(&s->views))
		return;
	now = controller_steady(s, now);
	s->ticket_lines++;
	if (known != NULL)
		memcpy(before, known->nodepools, sizeof(before));
	e = tickets_put(&s->tickets, shown, s->views.at[KIND_TICKET].generation,
			now.server_ms);
	if (e == NULL) {
		views_full(&s->views, KIND_TICKET);
		if (tickets_turn_away(&s->tickets, shown->name))
			tell_flaw(s, shown, TICKET_FULL);
		return;
	}
	for (uint32_t i = 0; fresh && i < s->nodepools.top; i++)
		tickets_place(e, i, s->nodepools.at[i].name);
	/* Deletion is the usual end of a ticket. */
	if (fresh && e->flaw != TICKET_GOOD && e->flaw != told &&
	    e->flaw != TICKET_DELETING)
		tell_flaw(s, shown, e->flaw);
	update_all(s, e, before, now);
}

static void
drop_ticket(struct controller *s, struct ticket_entry *e, struct now now)
{
	uint64_t none[SCOPES_MAX / 64] = {0};

	tickets_drop(&s->tickets, e);
	update_all(s, e, none, now);
	views_room(&s->views, KIND_TICKET);
}

void
controller_ticket_gone(struct controller *s, const char *name, struct now now)
{
	struct ticket_entry *e = tickets_find(&s->tickets, name);

	s->ticket_lines++;
	if (e != NULL)
		drop_ticket(s, e, controller_steady(s, now));
}

void
controller_tickets_listed(struct controller *s, struct now now)
{
	uint32_t generation = s->views.at[KIND_TICKET].generation, i = 0;
	struct ticket_entry *e;

	while ((e = tickets_stale(&s->tickets, generation, &i)) != NULL)
		drop_ticket(s, e, now);
}

void
controller_tickets_forget(struct controller *s)
{
	struct nodepool p;

	tickets_forget(&s->tickets);
	for (uint32_t i = 0; i < s->nodepools.top; i++) {
		if (s->nodepools.at[i].name[0] == '\0')
			continue;
		p = s->nodepools.at[i];
		p.ticket_ms = p.ticket_least_ms = p.ticket_next_ms = STAMP_NONE;
		(void)nodepools_put(&s->nodepools, &p,
				    s->nodepools.generation[i]);
		s->news.manual[i] = (struct manual_news){0};
	}
}

void
controller_fresh_tickets(struct controller *s)
{
	s->ticket_lines_then = s->ticket_lines;
}

/* Returns whether the table has the ticket in force, with the same NodePools,
 * so that the fresh list adds nothing for the moment.  If the end in the table
 * comes before a watch line shows the renewal, the next fresh list decides. */
static bool
is_in_force(const struct ticket_entry *known, const struct ticket *t,
	    int64_t now_ms)
{
	return known != NULL && known->until_ms > now_ms &&
	       tickets_same_nodepools(&known->ticket, t);
}

void
controller_fresh_ticket(struct controller *s, const struct ticket *t,
			struct now now)
{
	const struct ticket_entry *known = tickets_find(&s->tickets, t->name);
	int64_t now_ms = controller_steady(s, now).server_ms;

	if ((known != NULL && tickets_same(&known->ticket, t)) ||
	    ticket_until_ms(t, now_ms) <= now_ms ||
	    (known == NULL && s->views.at[KIND_TICKET].full))
		return;
	/* A mere renewal does not stop a release.  Otherwise frequent renewals
	 * would always stop the release of machines that the ticket does not
	 * hold. */
	if (!is_in_force(known, t, now_ms))
		release_unknown(&s->release);
	/* If the watch has shown a ticket since the list began, the watch may
	 * be newer than the list, so the next fresh list decides. */
	if (s->ticket_lines != s->ticket_lines_then)
		return;
	controller_ticket(s, t, now);
	/* Do not count this ticket as shown by the watch. */
	controller_fresh_tickets(s);
}
