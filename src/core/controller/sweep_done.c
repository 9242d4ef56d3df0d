/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/sweep.h"

#include <assert.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "sweep_parts.h"

/* What came of an action, and what is told of it all. */

static void
wait_until(struct sweep *s, uint32_t id, int64_t boot_ms)
{
	heap_set(&s->later, id, boot_ms);
}

static void
back_off(struct sweep *s, uint32_t id, int64_t ms, struct now now)
{
	s->work[id].waiting = true;
	wait_until(s, id, now.boot_ms + ms);
}

static void
back_off_failed(struct sweep *s, uint32_t id, struct now now)
{
	struct work *w = &s->work[id];

	w->failures++;
	back_off(s, id,
		 pace_backoff(&s->pace, w->failures, BACKOFF_MIN_MS,
			      BACKOFF_MAX_MS),
		 now);
}

static int64_t
refusal_ms(struct sweep *s, unsigned n)
{
	return pace_backoff(&s->pace, n, REFUSED_MIN_MS, REFUSED_MAX_MS);
}

/* Everybody waits: the API server said how long, or we choose. */
static void
pause(struct sweep *s, const struct outcome *o, struct now now)
{
	int64_t ms =
		o->retry_after_ms >= 0 ? o->retry_after_ms : BACKOFF_MIN_MS;
	int64_t until = now.boot_ms + ms;

	if (until > s->paused_boot_ms)
		s->paused_boot_ms = until;
}

static void
written(struct sweep *s, const struct action *a, const struct outcome *o,
	struct now now)
{
	const struct entry *e = &s->machines.at[a->id];
	struct work *w = &s->work[a->id];

	w->failures = w->refusals = 0;
	if (a->act == ACT_HOLD) {
		w->reholds = (uint8_t)(w->reholds + w->again);
		w->was_ours = true;
	}
	/* Its line came before the answer, perhaps with others behind it. */
	if (strcmp(e->rv, o->rv) == 0 || w->shown)
		return;
	w->expecting = true;
	memcpy(w->expect_rv, o->rv, sizeof(w->expect_rv));
	wait_until(s, a->id, now.boot_ms + EXPECT_MS);
}

static void
count(struct sweep *s, const struct action *a, enum outcome_code code)
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

static void
tell_refused(struct sweep *s, const struct action *a, const char *why)
{
	struct note *n = notes_put(&s->notes, NOTE_REFUSED, a->name, a->act);

	str_cut(n->value, sizeof(n->value), kind_name(a->kind));
	str_cut(n->why, sizeof(n->why), why != NULL ? why : "");
}

/* Asking again soon is of no use; told once. */
static void
refused(struct sweep *s, const struct action *a, const char *why,
	struct now now)
{
	struct work *w = &s->work[a->id];

	if (w->refusals++ == 0)
		tell_refused(s, a, why);
	back_off(s, a->id, refusal_ms(s, w->refusals), now);
}

/* The object has moved on: its next watch line decides, or a look. */
static void
moved_on(struct sweep *s, const struct action *a, bool look, struct now now)
{
	struct work *w = &s->work[a->id];

	if (strcmp(s->machines.at[a->id].rv, a->rv) != 0)
		return;	/* that line is here already */
	w->reread = look || w->failures > 0;
	w->failures++;
	if (look) {
		memcpy(w->tried_rv, a->rv, sizeof(w->tried_rv));
		return;
	}
	w->stale = true;
	memcpy(w->stale_rv, a->rv, sizeof(w->stale_rv));
	back_off(s, a->id,
		 pace_backoff(&s->pace, w->failures, CONFLICT_MS,
			      BACKOFF_MAX_MS),
		 now);
}

static void
patch_done(struct sweep *s, const struct action *a, const struct outcome *o,
	   struct now now)
{
	switch (o->code) {
	case OUTCOME_OK:
		written(s, a, o, now);
		break;
	case OUTCOME_CONFLICT:
		moved_on(s, a, false, now);
		break;
	case OUTCOME_INVALID:
		/* A hold that is refused as invalid stays so.  A clear may
		 * have failed its test: it is read again and decided anew;
		 * once more at the same version, and it was not the test. */
		if (a->act == ACT_HOLD ||
		    strcmp(s->work[a->id].tried_rv, a->rv) == 0)
			refused(s, a, o->why, now);
		else
			moved_on(s, a, true, now);
		break;
	case OUTCOME_REFUSED:
		refused(s, a, o->why, now);
		break;
	case OUTCOME_GONE:
		sweep_drop(s, a->id, now);	/* a late line is no harm */
		break;
	default:
		back_off_failed(s, a->id, now);
	}
}

/* A class that cannot be written holds nothing else up. */
static void
class_done(struct sweep *s, const struct action *a, const struct outcome *o,
	   struct now now)
{
	struct work *w = &s->work[a->id];

	if (o->code == OUTCOME_OK || o->code == OUTCOME_CONFLICT ||
	    o->code == OUTCOME_GONE) {
		w->class_failures = 0;
		patch_done(s, a, o, now);
		return;
	}
	if (w->class_failures++ == 0 && (o->code == OUTCOME_REFUSED ||
					 o->code == OUTCOME_INVALID))
		tell_refused(s, a, o->why);
	w->class_boot_ms = now.boot_ms + refusal_ms(s, w->class_failures);
}

static void
read_done(struct sweep *s, const struct action *a, const struct outcome *o,
	  struct now now)
{
	struct work *w = &s->work[a->id];

	if (o->code == OUTCOME_OK) {
		w->reread = w->stale = false;
		/* Again and again?  Then slower each time. */
		if (strcmp(w->tried_rv, s->machines.at[a->id].rv) == 0)
			back_off(s, a->id, refusal_ms(s, 1), now);
		else if (w->failures > 1)
			back_off(s, a->id,
				 pace_backoff(&s->pace, w->failures,
					      CONFLICT_MS, BACKOFF_MAX_MS),
				 now);
		return;
	}
	if (o->code == OUTCOME_GONE)
		sweep_drop(s, a->id, now);
	else
		back_off_failed(s, a->id, now);
}

/* What a GET brought.  Where the watch has said more since it was sent, it may
 * be older than what the table knows: then it counts for nothing, and the
 * object is looked at again. */
void
sweep_found(struct sweep *s, const struct action *a, const struct object *o,
	    struct now now)
{
	const struct entry *e = &s->machines.at[a->id];

	if (s->work[a->id].seq != a->seq || !e->used)
		return;
	if (a->act == ACT_READ ? strcmp(e->rv, a->rv) == 0
			       : s->views.at[o->kind].forgotten == a->forgotten)
		sweep_track(s, o, now);
	if (a->act != ACT_READ_CLAIM)
		return;
	s->work[a->id].owner_hold = s->work[a->id].owner_default = HOLD_ABSENT;
	if (o->mark != MARK_ABSENT ||
	    machines_find_claim(&s->machines, o->uid) != NO_ID)
		return;
	s->work[a->id].owner_hold = o->hold;
	s->work[a->id].owner_default = o->default_hold;
}

static void
owner_done(struct sweep *s, const struct action *a, const struct outcome *o,
	   struct now now)
{
	struct work *w = &s->work[a->id];

	switch (o->code) {
	case OUTCOME_GONE:
		w->owner_gone = true;
		break;
	case OUTCOME_OK:
		/* It was tracked, so the Node has a peer now; unless the table
		 * is full, and then the Node stands for itself. */
		w->owner_gone = s->views.at[KIND_NODECLAIM].full;
		if (!w->owner_gone && s->machines.at[a->id].peer == NO_ID)
			back_off_failed(s, a->id, now);
		break;
	default:
		back_off_failed(s, a->id, now);
	}
}

/* Is the table behind?  It does not know the claim, or does not have its
 * latest while it is yet to get ready: then its deadline may have moved. */
static bool
behind(const struct sweep *s, const struct object *claim)
{
	uint32_t id = machines_find_claim(&s->machines, claim->uid);
	const struct entry *e;

	if (id == NO_ID)	/* in a full table that says nothing */
		return !s->views.at[KIND_NODECLAIM].full;
	e = &s->machines.at[id];
	return e->ready_ms == STAMP_NONE && strcmp(e->rv, claim->rv) != 0;
}

void
sweep_fresh(struct sweep *s, const struct object *claim)
{
	if (!claim->deleting && behind(s, claim))
		release_unknown(&s->release);
}

static void
fresh_done(struct sweep *s, enum kind kind, const struct outcome *o,
	   struct now now)
{
	const struct view *v = &s->views.at[kind];
	bool ok = o->code == OUTCOME_OK ||
		  (o->code == OUTCOME_GONE && v->listed && !v->served);

	switch (release_done(&s->release, kind, ok, now.boot_ms, &s->pace,
			     &s->notes)) {
	case RELEASE_GOOD:
		sweep_queue_all(s);
		break;
	case RELEASE_MISTRUSTS:
		views_want_list(&s->views, kind);
		break;
	case RELEASE_WAITS:
		break;
	}
}

void
sweep_done(struct sweep *s, const struct action *a, const struct outcome *o,
	   struct now now)
{
	struct work *w;

	now = sweep_steady(s, now);
	assert(s->in_flight > 0);
	s->in_flight--;
	count(s, a, o->code);
	if (o->code == OUTCOME_BUSY)	/* whatever became of the object */
		pause(s, o, now);
	if (a->act == ACT_LIST_CLAIMS || a->act == ACT_LIST_POOLS) {
		fresh_done(s, a->kind, o, now);
		return;
	}
	w = &s->work[a->id];
	if (w->seq != a->seq || !s->machines.at[a->id].used)
		return;	/* the object went away meanwhile */
	w->in_flight = false;
	sweep_queue(s, a->id);
	if (a->act == ACT_READ)
		read_done(s, a, o, now);
	else if (a->act == ACT_READ_CLAIM)
		owner_done(s, a, o, now);
	else if (a->act == ACT_CLASSIFY)
		class_done(s, a, o, now);
	else
		patch_done(s, a, o, now);
}

/* --- telling ------------------------------------------------------------------------ */

bool
sweep_note(struct sweep *s, struct note *out)
{
	return notes_take(&s->notes, out);
}

void
sweep_report(const struct sweep *s, struct sweep_report *out)
{
	*out = (struct sweep_report){
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
sweep_scope(const struct sweep *s, uint32_t *i, struct scope_report *out)
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
