/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include <string.h>

#include "controller_parts.h"
#include "figures.h"

/* This file hands out the notes, and what the metrics and the Events report. */

bool
controller_note(struct controller *s, struct note *out)
{
	return notes_take(&s->notes, out);
}

void
controller_report(const struct controller *s, struct controller_report *out)
{
	*out = (struct controller_report){
		.objects_max = s->machines.max,
		.timers = s->timers.due.n,
		.observes = s->rules.mode == MODE_OBSERVE,
	};
	for (int k = 0; k < KIND_COUNT; k++) {
		out->objects[k] = s->machines.count[k];
		out->held[k] = out->observes ? s->machines.carrying[k]
					     : s->machines.marked[k];
		out->would[k] = out->observes ? s->machines.marked[k] : 0;
	}
	for (int k = 0; k < VIEW_COUNT; k++)
		out->up[k] = s->views.at[k].up;
	out->blocked = s->views.blocked;
	out->has_tickets = rules_tickets(&s->rules);
	for (uint32_t i = 0; i < s->tickets.top; i++)
		out->tickets += s->tickets.at[i].until_ms > s->last_ms;
}

bool
controller_scope(const struct controller *s, const struct figures *f,
		 uint32_t *i, struct scope_report *out)
{
	struct hand_holds hand;

	for (; *i < s->timers.scopes_top; (*i)++) {
		const struct scope *sc = timers_scope(&s->timers, *i);

		if (sc->timers == 0 && !sc->held)
			continue;
		memcpy(out->name, sc->name, sizeof(out->name));
		out->held = sc->held;
		out->by_hand = figures_scope_hand(s, f, *i, s->last_ms, &hand);
		out->quiet_ms = figures_deadline_ms(f, *i);
		(*i)++;
		return true;
	}
	return false;
}

const char *
controller_held_scope(const struct controller *s, uint32_t *i)
{
	for (; *i < s->timers.scopes_top; (*i)++) {
		const struct scope *sc = timers_scope(&s->timers, *i);

		if (sc->timers == 0 || !sc->held)
			continue;
		(*i)++;
		return sc->name;
	}
	return NULL;
}
