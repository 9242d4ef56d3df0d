/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "controller_parts.h"

/* What came of an action, and what is told of it all. */

static void
count(struct controller *s, const struct action *a, enum outcome_code code)
{
	static const enum counter holds[] = {
		[OUTCOME_OK] = COUNTER_HOLDS_OK,
		[OUTCOME_CONFLICT] = COUNTER_HOLDS_CONFLICT,
		[OUTCOME_INVALID] = COUNTER_HOLDS_CONFLICT,
		[OUTCOME_REFUSED] = COUNTER_HOLDS_ERROR,
		[OUTCOME_GONE] = COUNTER_HOLDS_GONE,
		[OUTCOME_BUSY] = COUNTER_HOLDS_ERROR,
		[OUTCOME_FAILED] = COUNTER_HOLDS_ERROR,
	};
	static const enum counter releases[] = {
		[OUTCOME_OK] = COUNTER_RELEASES_OK,
		[OUTCOME_CONFLICT] = COUNTER_RELEASES_CONFLICT,
		[OUTCOME_INVALID] = COUNTER_RELEASES_CONFLICT,
		[OUTCOME_REFUSED] = COUNTER_RELEASES_ERROR,
		[OUTCOME_GONE] = COUNTER_RELEASES_GONE,
		[OUTCOME_BUSY] = COUNTER_RELEASES_ERROR,
		[OUTCOME_FAILED] = COUNTER_RELEASES_ERROR,
	};

	if (a->act == ACT_HOLD)
		counter_add(s->counters, holds[code]);
	else if (a->act == ACT_CLEAR || a->act == ACT_UNMARK)
		counter_add(s->counters, releases[code]);
	else if (a->act == ACT_CLASSIFY && code == OUTCOME_OK)
		counter_add(s->counters, COUNTER_REPLACEMENTS);
}

/* What a GET brought.  Where the watch has said more since it was sent, it may
 * be older than what the table knows: then it counts for nothing, and the
 * object is looked at again. */
void
controller_found(struct controller *s, const struct action *a,
		 const struct object *o, struct now now)
{
	const struct entry *e = &s->machines.at[a->id];

	if (!writes_awaits(&s->writes, a) || !e->used)
		return;
	if (a->act == ACT_READ ? strcmp(e->rv, a->rv) == 0
			       : s->views.at[o->kind].forgotten == a->forgotten)
		controller_track(s, o, now);
	if (a->act != ACT_READ_CLAIM)
		return;
	s->writes.at[a->id].owner_hold = s->writes.at[a->id].owner_default =
		HOLD_ABSENT;
	if (o->mark != MARK_ABSENT ||
	    machines_find_claim(&s->machines, o->uid) != NO_ID)
		return;
	s->writes.at[a->id].owner_hold = o->hold;
	s->writes.at[a->id].owner_default = o->default_hold;
}

/* Is the table behind?  It does not know the claim, or does not have its
 * latest while it is yet to get ready: then its deadline may have moved. */
static bool
behind(const struct controller *s, const struct object *claim)
{
	uint32_t id = machines_find_claim(&s->machines, claim->uid);
	const struct entry *e;

	if (id == NO_ID)	/* in a full table that says nothing */
		return !s->views.at[KIND_NODECLAIM].full;
	e = &s->machines.at[id];
	return e->ready_ms == STAMP_NONE && strcmp(e->rv, claim->rv) != 0;
}

void
controller_fresh(struct controller *s, const struct object *claim)
{
	if (!claim->deleting && behind(s, claim))
		release_unknown(&s->release);
}

static void
fresh_done(struct controller *s, enum kind kind, const struct outcome *o,
	   struct now now)
{
	const struct view *v = &s->views.at[kind];
	bool ok = o->code == OUTCOME_OK ||
		  (o->code == OUTCOME_GONE && v->listed && !v->served);

	switch (release_done(&s->release, kind, ok, now.boot_ms, &s->pace,
			     &s->notes)) {
	case RELEASE_GOOD:
		controller_queue_all(s);
		break;
	case RELEASE_MISTRUSTS:
		views_want_list(&s->views, kind);
		break;
	case RELEASE_WAITS:
		break;
	}
}

void
controller_done(struct controller *s, const struct action *a,
		const struct outcome *o, struct now now)
{
	const struct entry *e;

	now = controller_steady(s, now);
	writes_answered(&s->writes, o, now.boot_ms);
	count(s, a, o->code);
	if (a->act == ACT_LIST_CLAIMS || a->act == ACT_LIST_POOLS) {
		fresh_done(s, a->kind, o, now);
		return;
	}
	e = &s->machines.at[a->id];
	if (!writes_awaits(&s->writes, a) || !e->used)
		return;	/* the object went away meanwhile */
	controller_queue(s, a->id);
	if (a->act == ACT_READ_CLAIM)
		writes_owner_done(&s->writes, a, o,
				  s->views.at[KIND_NODECLAIM].full,
				  e->peer != NO_ID, now.boot_ms);
	else if (writes_done(&s->writes, a, o, e->rv, now.boot_ms))
		controller_drop(s, a->id, now); /* a late line is no harm */
}

/* --- telling ------------------------------------------------------------------------ */

bool
controller_note(struct controller *s, struct note *out)
{
	return notes_take(&s->notes, out);
}

void
controller_report(const struct controller *s, struct controller_report *out)
{
	*out = (struct controller_report){
		.timers = s->timers.due.n,
	};
	for (int k = 0; k < KIND_COUNT; k++) {
		out->objects[k] = s->machines.count[k];
		out->held[k] = s->machines.marked[k];
	}
	for (int k = 0; k < VIEW_COUNT; k++)
		out->up[k] = s->views.at[k].up;
	out->blocked = s->views.blocked;
}

bool
controller_scope(const struct controller *s, uint32_t *i,
		 struct scope_report *out)
{
	for (; *i < s->timers.scopes_top; (*i)++) {
		const struct scope *sc = &s->timers.scopes[*i];

		if (sc->timers == 0)
			continue;
		memcpy(out->name, sc->name, sizeof(out->name));
		out->held = sc->held;
		out->quiet_ms = timers_quiet_ms(&s->timers, *i);
		(*i)++;
		return true;
	}
	return false;
}
