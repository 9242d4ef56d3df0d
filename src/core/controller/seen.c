/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include "controller_parts.h"

/* What is known of a resource as a whole, and since when. */

void
controller_lead(struct controller *s, bool leads, struct now now)
{
	if (s->leads == leads)
		return;
	for (uint32_t id = 0; id < s->machines.top; id++)
		if (s->machines.at[id].used)
			controller_drop(s, id, now);
	replacements_forget(&s->replacements);
	while (timers_turned(&s->timers, now) != NO_ID)
		;	/* no scope got quiet: we do not know */
	timers_forget(&s->timers);
	s->guess = s->uncapped = true;
	/* What is known of NodePools stays: it may have to do for a while. */
	s->pools_before = s->views.at[KIND_NODEPOOL].generation;
	views_forget(&s->views);
	release_forget(&s->release);
	s->leads = leads;
	/* Nothing is in memory that a shift since the last look would move. */
	s->last_ms = STAMP_NONE;
	(void)controller_steady(s, now);
	if (s->pools_ms > now.server_ms)
		s->pools_ms = now.server_ms;
}

void
controller_listing(struct controller *s, enum kind kind)
{
	views_listing(&s->views, kind, s->leads || kind == KIND_NODEPOOL);
}

/* Who was undecided is no longer, and a Node without a claim may be no machine
 * any more. */
static void
claims_known(struct controller *s, enum kind kind, struct now now)
{
	if (kind != KIND_NODECLAIM)
		return;
	replacements_judge_all(&s->replacements, now.server_ms);
	s->recount = true;
}

/* What the list did not show is gone. */
static void
drop_stale(struct controller *s, enum kind kind, struct now now)
{
	const struct view *v = &s->views.at[kind];

	for (uint32_t id = 0; id < s->machines.top; id++) {
		const struct entry *e = &s->machines.at[id];

		if (e->used && e->kind == kind &&
		    e->generation != v->generation)
			controller_drop(s, id, now);
	}
	if (kind == KIND_NODEPOOL)
		controller_pools_listed(s, now);
}

void
controller_listed(struct controller *s, enum kind kind, bool served,
		  struct now now)
{
	const struct view *v = &s->views.at[kind];

	if (!v->listing)
		return; /* it began under another lead */
	now = controller_steady(s, now);
	if (!v->listed)
		controller_queue_all(s); /* Nodes wait for the claims */
	views_list_end(&s->views, kind);
	if (served)
		drop_stale(s, kind, now);
	else
		s->recount = s->recount || !v->listed;
	views_listed(&s->views, kind, served,
		     kind < KIND_COUNT &&
			     s->machines.count[kind] < s->machines.max);
	claims_known(s, kind, now);
}

void
controller_watch(struct controller *s, enum kind kind, bool up)
{
	if (views_watch(&s->views, kind, up))
		controller_queue_all(s);
}

bool
controller_wants_list(struct controller *s, enum kind kind)
{
	return views_take_wish(&s->views, kind);
}
