/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sweep.h"

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
	while (holds_turned(&s->holds, now) != NO_ID)
		;	/* no scope got quiet: we do not know */
	holds_forget(&s->holds);
	s->guess = true;
	s->was_whole = false;
	s->pools.top = 0;
	s->disruptions_n = 0;
	signs_forget(&s->signs);
	s->events_boot_ms = s->blocked_boot_ms = 0;
	for (int k = 0; k < VIEW_COUNT; k++) {
		struct view *v = &s->view[k];

		/* A GET of before is to count for nothing. */
		*v = (struct view){.generation = v->generation,
				   .forgotten = v->forgotten + 1};
	}
	s->fresh.wanted = false;
	s->fresh.done_boot_ms = 0;
	s->leads = leads;
}

void
sweep_listing(struct sweep *s, enum kind kind)
{
	struct view *v = &s->view[kind];

	v->listing = s->leads;
	v->generation++;
	v->forgotten++;		/* what it does not show */
	v->full = false;
	/* A resource that is not served stays an empty list while we ask
	 * again; the fresh list guards what happens meanwhile. */
	if (v->served || !v->listed)
		v->up = false;
}

void
sweep_listed(struct sweep *s, enum kind kind, bool served, struct now now)
{
	struct view *v = &s->view[kind];
	bool before = v->served;	/* a Node without a claim hangs on it */

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
	s->recount = s->recount || (!before && kind == KIND_NODECLAIM);
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
