/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/sweep.h"

#include "sweep_parts.h"

/* What is known of a resource as a whole, and since when. */

void
sweep_lead(struct sweep *s, bool leads, struct now now)
{
	if (s->leads == leads)
		return;
	for (uint32_t id = 0; id < s->machines.top; id++)
		if (s->machines.at[id].used)
			sweep_drop(s, id, now);
	sweep_retries_forget(s);
	while (timers_turned(&s->timers, now) != NO_ID)
		;	/* no scope got quiet: we do not know */
	timers_forget(&s->timers);
	s->guess = s->uncapped = true;
	s->was_whole = s->begun = s->blocked = false;
	/* What is known of NodePools stays: it may have to do for a while. */
	s->pools_before = s->view[KIND_NODEPOOL].generation;
	s->disruptions_n = 0;
	disruption_events_forget(&s->disruption_events);
	deletions_forget(&s->deletions);
	s->begin_boot_ms = s->blocked_boot_ms = 0;
	for (int k = 0; k < VIEW_COUNT; k++) {
		struct view *v = &s->view[k];

		/* A GET of before is to count for nothing. */
		*v = (struct view){.generation = v->generation,
				   .forgotten = v->forgotten + 1};
	}
	s->fresh.wanted = s->fresh.claims_good = false;
	s->fresh.failed = NULL;
	s->fresh.done_boot_ms = 0;
	s->leads = leads;
	/* Nothing is in memory that a shift since the last look would move. */
	s->last_ms = STAMP_NONE;
	(void)sweep_steady(s, now);
	if (s->pools_ms > now.server_ms)
		s->pools_ms = now.server_ms;
}

void
sweep_listing(struct sweep *s, enum kind kind)
{
	struct view *v = &s->view[kind];

	v->listing = s->leads || kind == KIND_NODEPOOL;
	v->generation++;
	v->forgotten++;		/* what it does not show */
	v->full = false;
	/* A resource that is not served stays an empty list while we ask
	 * again; the fresh list guards what happens meanwhile. */
	if (v->served || !v->listed)
		v->up = false;
}

/* Who was undecided is no longer, and a Node without a claim may be no machine
 * any more. */
static void
claims_known(struct sweep *s, enum kind kind, struct now now)
{
	if (kind != KIND_NODECLAIM)
		return;
	sweep_judge_all(s, now.server_ms);
	s->recount = true;
}

void
sweep_listed(struct sweep *s, enum kind kind, bool served, struct now now)
{
	struct view *v = &s->view[kind];

	if (!v->listing)
		return;		/* it began under another lead */
	now = sweep_steady(s, now);
	if (!v->listed)
		sweep_queue_all(s);	/* Nodes wait for the claims */
	v->listing = false;
	if (!served) {
		s->recount = s->recount || !v->listed;
		v->up = !v->served;
		v->listed = true;
		claims_known(s, kind, now);
		return;
	}
	for (uint32_t id = 0; id < s->machines.top; id++) {
		const struct entry *e = &s->machines.at[id];

		if (e->used && e->kind == kind &&
		    e->generation != v->generation)
			sweep_drop(s, id, now);
	}
	v->forgotten++;
	if (kind == KIND_NODEPOOL)
		sweep_pools_listed(s, now);
	else if (kind < KIND_COUNT)
		v->room = v->full &&
			  s->machines.count[kind] < s->machines.max;
	v->served = v->listed = true;
	v->up = false;
	claims_known(s, kind, now);
}

void
sweep_watch(struct sweep *s, enum kind kind, bool up)
{
	bool before = s->view[kind].up;

	up = up && s->view[kind].listed;
	s->view[kind].up = up;
	if (up && !before)
		sweep_queue_all(s);
}

bool
sweep_wants_list(struct sweep *s, enum kind kind)
{
	bool wants = s->view[kind].wants_list;

	s->view[kind].wants_list = false;
	return wants;
}
