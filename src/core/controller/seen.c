/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include "controller_parts.h"

/* This file puts what the watchers see into the table, and queues the machines
 * that are affected.  It also begins and ends our lead. */

void
controller_lead(struct controller *s, bool leads, struct now now)
{
	if (views_leads(&s->views) == leads)
		return;
	for (uint32_t id = 0; id < s->machines.top; id++)
		if (machines_at(&s->machines, id)->used)
			controller_drop(s, id, now);
	replacements_forget(&s->replacements);
	/* Discard the turns that these drops caused.  The scopes have not
	 * become quiet; their machines were only forgotten. */
	while (timers_turned(&s->timers, now) != NO_ID)
		;
	news_forget(&s->news);
	timers_forget(&s->timers);
	controller_tickets_forget(s);
	/* NodePools stay known, because their next list may take a while. */
	s->nodepools_before = s->views.at[KIND_NODEPOOL].generation;
	views_lead(&s->views, leads);
	release_forget(&s->release);
	/* The table is empty, so there is no time in it to shift if the clock
	 * of the next lead differs from that of the last one. */
	controller_steady_forget(s);
	(void)controller_steady(s, now);
	nodepools_set_back(&s->nodepools, now.server_ms);
	controller_turns_lead(s, now);
}

void
controller_listing(struct controller *s, enum kind kind)
{
	views_listing(&s->views, kind,
		      views_leads(&s->views) || kind == KIND_NODEPOOL);
}

/* Call this when all NodeClaims are known.  It judges those that could not be
 * judged until now.  It also requests that all timers are computed again,
 * because a Node without a claim may count as a machine now, or no longer
 * count. */
static void
claims_known(struct controller *s, struct now now)
{
	replacements_judge_all(&s->replacements, now.server_ms);
	s->refresh_all = true;
}

/* Drops the objects that the list did not show. */
static void
drop_stale(struct controller *s, enum kind kind, struct now now)
{
	const struct view *v = &s->views.at[kind];

	for (uint32_t id = 0; id < s->machines.top; id++) {
		const struct entry *e = machines_at(&s->machines, id);

		if (e->used && e->kind == kind &&
		    e->generation != v->generation)
			controller_drop(s, id, now);
	}
	if (kind == KIND_NODEPOOL)
		controller_nodepools_listed(s, now);
	if (kind == KIND_TICKET)
		controller_tickets_listed(s, now);
}

/* Returns whether the table has room for more objects of this kind. */
static bool
has_room(const struct controller *s, enum kind kind)
{
	if (kind == KIND_TICKET)
		return s->tickets.n < s->tickets.max;
	return kind < KIND_COUNT && s->machines.count[kind] < s->machines.max;
}

void
controller_listed(struct controller *s, enum kind kind, bool served,
		  struct now now)
{
	const struct view *v = &s->views.at[kind];

	if (!v->listing)
		return; /* the list began before the present lead */
	now = controller_steady(s, now);
	if (!v->listed)
		controller_queue_all(s); /* Nodes wait for the list of claims */
	views_list_end(&s->views, kind);
	/* An object that the list did not show may be one that it has left out,
	 * so it stays.  A ticket that cannot be read holds nothing. */
	if (served && (!v->skipped || kind == KIND_TICKET))
		drop_stale(s, kind, now);
	else if (!v->listed)
		s->refresh_all = true;
	if (kind == KIND_NODECLAIM && !v->skipped)
		timers_no_unknown(&s->timers);
	views_listed(&s->views, kind, served, has_room(s, kind));
	/* The tickets of some holds in the history may be gone. */
	if (kind == KIND_TICKET)
		controller_turns_by_hand(s, false, now);
	if (kind == KIND_NODECLAIM && views_settled(&s->views))
		claims_known(s, now);
	else if (kind == KIND_NODECLAIM ||
		 (kind == KIND_NODE && views_claimless(&s->views)))
		s->refresh_all = true;
}

void
controller_watch(struct controller *s, enum kind kind, bool up)
{
	if (views_watch(&s->views, kind, up))
		controller_queue_all(s);
}

void
controller_skipped(struct controller *s, enum kind kind, struct now now)
{
	int64_t ms = controller_steady(s, now).server_ms;

	controller_count_skipped(s, kind);
	/* A line of a watch may be about no object at all.  The list that it
	 * asks for says which objects there are. */
	if (kind == KIND_NODECLAIM && s->views.at[kind].listing)
		timers_unknown(&s->timers,
			       ms + s->rules.startup_ms + s->rules.hold_ms, ms);
	views_skipped(&s->views, kind);
	views_ask_for_rest(&s->views, now.boot_ms);
}

bool
controller_wants_list(struct controller *s, enum kind kind)
{
	return views_take_request(&s->views, kind);
}

/* Call this when a claim was disrupted.  The claim that replaces it may have
 * been seen before the disruption was, so the Events about all claims that may
 * be such replacements are judged again. */
static void
look_back(struct controller *s, int64_t disrupted_ms, int64_t now_ms)
{
	for (uint32_t id = 0; id < s->machines.top; id++)
		if (replacements_look_back(&s->replacements, id, disrupted_ms))
			controller_refresh(s, id, now_ms);
}

void
controller_disruption_event(struct controller *s, const char *claim_uid,
			    const char *reason, struct now now)
{
	uint32_t id;

	if (!views_leads(&s->views))
		return;
	now = controller_steady(s, now);
	id = replacements_said(&s->replacements, claim_uid, reason);
	if (id != NO_ID)
		controller_refresh(s, id, now.server_ms);
}

void
controller_track(struct controller *s, const struct object *o, struct now now)
{
	const struct view *v = &s->views.at[o->kind];
	struct touched t = {0};
	uint32_t id, old;

	if (!views_leads(&s->views))
		return;
	now = controller_steady(s, now);
	old = machines_find(&s->machines, o);
	if (old != NO_ID &&
	    (!o->karpenter || !machines_is(&s->machines, old, o))) {
		controller_drop(s, old, now);
		old = NO_ID;
	}
	if (!o->karpenter)
		return;
	controller_unread(s, o->kind, o->name, o->unread);
	id = machines_put_at(&s->machines, old, o, now.server_ms, &t);
	if (t.owner_changed)
		writes_owner_changed(&s->writes, old);
	if (id == NO_ID) {
		if (old != NO_ID)
			controller_drop(s, old, now); /* it is out of date */
		views_full(&s->views, o->kind);
		counter_add(s->counters, COUNTER_TABLE_FULL);
		(void)notes_put(&s->notes, NOTE_TABLE_FULL, o->name);
		return;
	}
	s->machines.at[id].generation = v->generation;
	if (replacements_track(&s->replacements, id, o))
		look_back(s, o->disrupted_ms, now.server_ms);
	if (o->deleting)
		replacements_deleted(&s->replacements, id, o->deleted_ms,
				     o->disrupted_ms, false, now.server_ms);
	writes_observe(&s->writes, id, machines_at(&s->machines, id), o->rv);
	for (uint32_t i = 0; i < t.n; i++)
		controller_refresh(s, t.id[i], now.server_ms);
}

void
controller_forget(struct controller *s, const struct object *o, struct now now)
{
	uint32_t id = machines_find(&s->machines, o);

	now = controller_steady(s, now);
	views_gone(&s->views, o->kind);
	/* The watch line may be about an earlier Node of the same name. */
	if (id == NO_ID || !machines_is(&s->machines, id, o))
		return;
	controller_drop(s, id, now);
	views_room(&s->views, o->kind);
}
