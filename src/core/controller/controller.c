/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/heap.h"
#include "core/base/limits.h"
#include "core/base/pace.h"
#include "core/table/machines.h"
#include "core/table/timers.h"
#include "controller_parts.h"

/*
 * Everything that may change what is to be done puts the machine's head into
 * the queue; controller_next takes heads out, asks core/rules/decide and hands
 * over one action at a time.  Whatever cannot be done now (a closed view, a
 * backoff, a reply under way) is left out of the queue and put back by what it
 * waits for.
 */

struct controller *
controller_new(const struct rules *rules, uint32_t machines_max, uint64_t seed,
	       struct counters *counters)
{
	struct controller *s = calloc(1, sizeof(*s));
	uint32_t ids = 2 * machines_max;

	if (s == NULL)
		return NULL;
	s->leads = s->guess = true;
	s->rules = *rules;
	s->counters = counters;
	s->last_ms = s->pools_ms = STAMP_NONE;
	pace_init(&s->pace, seed);
	s->replacements.rules = &s->rules;
	s->replacements.views = &s->views;
	s->replacements.nodepools = &s->nodepools;
	s->replacements.machines = &s->machines;
	s->replacements.timers = &s->timers;
	s->replacements.counters = counters;
	s->writes.pace = &s->pace;
	s->writes.notes = &s->notes;
	if (writes_init(&s->writes, ids) || queue_init(&s->queue, ids) ||
	    release_init(&s->release, ids) ||
	    machines_init(&s->machines, machines_max) ||
	    timers_init(&s->timers, rules, ids + RETRIES_MAX, RETRIES_MAX) ||
	    nodepools_init(&s->nodepools, &s->rules, SCOPES_MAX) ||
	    replacements_init(&s->replacements)) {
		controller_free(s);
		return NULL;
	}
	return s;
}

void
controller_free(struct controller *s)
{
	if (s == NULL)
		return;
	writes_free(&s->writes);
	queue_done(&s->queue);
	release_free(&s->release);
	machines_done(&s->machines);
	timers_done(&s->timers);
	nodepools_done(&s->nodepools);
	replacements_done(&s->replacements);
	free(s);
}

/* The server's clock was set, or another API server answers: nothing begins
 * anew because of it.  Before all was seen nothing has begun, and the first
 * answers may come from a clock that is wrong. */
static void
shift(struct controller *s, int64_t by_ms, int64_t now_ms)
{
	machines_shift(&s->machines, by_ms);
	if (!s->views.was_whole)
		machines_restamp(&s->machines, now_ms);
	retries_shift(&s->replacements.retries, by_ms);
	timers_shift(&s->timers, by_ms);
	/* What people write in NodePools stays: its moments come once more. */
	if (s->pools_ms > now_ms)
		s->pools_ms = now_ms;
	s->recount = true;
}

/* Two good clocks drift apart, by less than a thousandth: that is no shift,
 * even when it has come to seconds. */
static void
slew(struct controller *s, int64_t by_ms, int64_t boot_ms)
{
	int64_t most_ms = (boot_ms - s->slewed_boot_ms) / 1000;

	if (most_ms < SLEW_STEP_MS)
		return;
	s->slewed_boot_ms = boot_ms;
	if (by_ms > most_ms)
		by_ms = most_ms;
	if (by_ms < -most_ms)
		by_ms = -most_ms;
	s->ahead_ms += by_ms;
}

/* Server time as the controller sees it: the median of the Date headers jitters
 * by parts of a second, and a deadline that has passed must not come back. */
struct now
controller_steady(struct controller *s, struct now now)
{
	int64_t ahead_ms = now.server_ms - now.boot_ms, by_ms;

	if (s->last_ms == STAMP_NONE) {
		s->ahead_ms = ahead_ms;
		s->slewed_boot_ms = now.boot_ms;
	}
	/* Against the clock of the last shift: what is too little for one must
	 * not add up while two API servers answer by turns. */
	by_ms = ahead_ms - s->ahead_ms;
	if (by_ms >= CLOCK_SHIFT_MS || by_ms <= -CLOCK_SHIFT_MS) {
		s->ahead_ms = ahead_ms;
		shift(s, by_ms, now.server_ms);
	} else {
		slew(s, by_ms, now.boot_ms);
		if (s->last_ms != STAMP_NONE && now.server_ms < s->last_ms &&
		    s->last_ms - now.server_ms < CLOCK_SHIFT_MS)
			now.server_ms = s->last_ms;
	}
	s->last_ms = now.server_ms;
	return now;
}

/* --- the queue -------------------------------------------------------------- */

void
controller_queue(struct controller *s, uint32_t id)
{
	uint32_t head = machines_head(&s->machines, id);

	if (s->machines.at[head].used)
		queue_put(&s->queue, head);
}

void
controller_queue_all(struct controller *s)
{
	for (uint32_t id = 0; id < s->machines.top; id++)
		if (s->machines.at[id].used)
			controller_queue(s, id);
}

static void
queue_scope(struct controller *s, uint32_t scope)
{
	for (uint32_t id = 0; id < s->machines.top; id++)
		if (s->machines.at[id].used && s->timers.at[id].used &&
		    s->timers.at[id].scope == scope)
			controller_queue(s, id);
}

/* --- time passes ----------------------------------------------------------------- */

static const char *
machine_name(const struct controller *s, uint32_t id)
{
	if (id == NO_ID)
		return "";
	if (retries_has(&s->replacements.retries, id))
		return retries_at(&s->replacements.retries, id)->name;
	return s->machines.at[id].name;
}

/* When the scope will be quiet, and because of which machine; or when its cap
 * ends the hold, if that comes first. */
static void
tell_quiet(struct controller *s, uint32_t scope, const struct quiet *q,
	   enum note_type type, struct now now)
{
	struct scope *sc = &s->timers.scopes[scope];
	int64_t cap_ms = timers_cap_in_ms(&s->timers, scope, now.boot_ms);
	struct note *n = notes_put(&s->notes, type, sc->name, q->at_ms);

	if (cap_ms < q->at_ms - now.server_ms)
		n->a = n->b = now.server_ms + cap_ms;
	n->earliest = q->earliest && n->b == 0;
	(void)str_copy(n->machine, sizeof(n->machine), machine_name(s, q->id));
	sc->told = *q;
	sc->told_boot_ms = now.boot_ms;
	sc->moved = sc->untold = false;
}

/* Held for the sake of one that is undecided, nobody knows until when: that is
 * told when something is known. */
static void
tell_held(struct controller *s, uint32_t scope, struct now now)
{
	struct quiet q = timers_expects(&s->timers, scope, now.server_ms);

	s->timers.scopes[scope].untold = q.at_ms == STAMP_NONE;
	if (q.at_ms != STAMP_NONE)
		tell_quiet(s, scope, &q, NOTE_SCOPE_HELD, now);
}

/* Of a machine that boots the time moves by itself: that is no news. */
static bool
is_news(const struct quiet *told, const struct quiet *q)
{
	return q->id != told->id || q->created_ms != told->created_ms ||
	       q->earliest != told->earliest ||
	       (!q->earliest && q->at_ms != told->at_ms);
}

static void
tell_moved(struct controller *s, uint32_t scope, struct now now)
{
	struct scope *sc = &s->timers.scopes[scope];
	struct quiet q;

	if (sc->held && sc->untold && sc->live > 0)
		tell_held(s, scope, now);
	if (!sc->held || !sc->moved || sc->untold ||
	    now.boot_ms < sc->told_boot_ms + MOVED_EVERY_MS)
		return;
	q = timers_expects(&s->timers, scope, now.server_ms);
	sc->moved = false;
	if (q.at_ms != STAMP_NONE && is_news(&sc->told, &q))
		tell_quiet(s, scope, &q, NOTE_SCOPE_MOVED, now);
}

static void
turn(struct controller *s, uint32_t scope, struct now now)
{
	const struct scope *sc = &s->timers.scopes[scope];
	struct note *n;

	queue_scope(s, scope);
	if (sc->held) {
		tell_held(s, scope, now);
		return;
	}
	if (sc->busy) {
		n = notes_put(&s->notes, NOTE_SCOPE_CAPPED, sc->name,
			      now.server_ms +
				      cap_window_ms(&sc->cap, now.boot_ms));
		n->b = sc->max_ms;
	} else {
		n = notes_put(&s->notes, NOTE_SCOPE_QUIET, sc->name,
			      now.boot_ms - sc->since_boot_ms);
	}
	if (!views_whole(&s->views))
		str_cut(n->value, sizeof(n->value), views_unseen(&s->views));
}

/* Time has passed: deadlines, then the scopes they turn, then backoffs. */
void
controller_advance(struct controller *s, struct now now)
{
	uint32_t id, scope;

	if (s->recount) {
		s->recount = false;
		for (id = 0; id < s->machines.top; id++)
			controller_refresh(s, id, now.server_ms);
		retries_refresh(&s->replacements.retries, now.server_ms);
	}
	while (timers_due(&s->timers, now.server_ms, &id)) {
		if (retries_has(&s->replacements.retries, id))
			retries_due(&s->replacements.retries, id,
				    now.server_ms);
		else
			controller_refresh(s, id, now.server_ms);
	}
	timers_usable(&s->timers, views_whole(&s->views));
	if (!views_whole(&s->views))
		release_unseen(&s->release);
	controller_pools_turn(s, now);
	while ((scope = timers_turned(&s->timers, now)) != NO_ID)
		turn(s, scope, now);
	for (scope = 0; scope < s->timers.scopes_top; scope++)
		tell_moved(s, scope, now);
	views_ask_for_rest(&s->views, now.boot_ms);
	while (writes_due(&s->writes, now.boot_ms, &id))
		controller_queue(s, id);
}

/* --- what the watchers see ------------------------------------------------------ */

void
controller_drop(struct controller *s, uint32_t id, struct now now)
{
	struct touched t = {0};

	if (s->leads)
		replacements_deleted(&s->replacements, id, now.server_ms, true,
				     now.server_ms);
	timers_drop(&s->timers, id);
	writes_drop(&s->writes, id);
	machines_drop(&s->machines, id, &t);
	/* A dropped head stays in the queue and is passed over. */
	release_not_due(&s->release, id);
	for (uint32_t i = 0; i < t.n; i++)
		controller_refresh(s, t.id[i], now.server_ms);
}

/* A person took the hold away from a claim whose Node is yet to be registered:
 * what is said of the claim then is meant for the Node. */
static void
opt_out(struct controller *s, uint32_t id)
{
	struct entry *claim = machines_claim(&s->machines,
					     machines_head(&s->machines, id));
	const struct entry *node;

	if (claim == NULL)
		return;
	node = claim->peer == NO_ID ? NULL : &s->machines.at[claim->peer];
	if (entry_tenure(claim) == TENURE_OURS)
		claim->opted_out = false;
	else if (entry_tenure(claim) == TENURE_YIELDED && !claim->registered &&
		 (node == NULL || !node->registered))
		claim->opted_out = true;
}

/* A claim was disrupted then: who replaces it may have come before. */
static void
look_back(struct controller *s, int64_t disrupted_ms, int64_t now_ms)
{
	for (uint32_t id = 0; id < s->machines.top; id++)
		if (replacements_look_back(&s->replacements,
					   &s->machines.at[id], disrupted_ms))
			controller_refresh(s, id, now_ms);
}

void
controller_sign(struct controller *s, const char *claim_uid, const char *reason,
		struct now now)
{
	uint32_t id;

	if (!s->leads)
		return;
	now = controller_steady(s, now);
	id = replacements_said(&s->replacements, claim_uid, reason);
	if (id != NO_ID)
		controller_refresh(s, id, now.server_ms);
}

void
controller_track(struct controller *s, const struct object *o, struct now now)
{
	struct view *v = &s->views.at[o->kind];
	struct touched t = {0};
	uint32_t id, old;

	if (!s->leads)
		return;
	now = controller_steady(s, now);
	old = machines_find(&s->machines, o);
	if (old != NO_ID &&
	    (!o->karpenter || strcmp(s->machines.at[old].uid, o->uid) != 0))
		controller_drop(s, old, now);
	if (!o->karpenter)
		return;
	if (old != NO_ID && s->machines.at[old].used &&
	    strcmp(s->machines.at[old].owner_uid, o->owner_uid) != 0)
		writes_owner_changed(&s->writes, old);
	id = machines_put(&s->machines, o, now.server_ms, &t);
	if (id == NO_ID) {
		v->full = true;
		counter_add(s->counters, COUNTER_TABLE_FULL);
		(void)notes_put(&s->notes, NOTE_TABLE_FULL, o->name, 0);
		return;
	}
	s->machines.at[id].generation = v->generation;
	if (replacements_track(&s->replacements, id, o))
		look_back(s, o->disrupted_ms, now.server_ms);
	if (o->deleting)
		replacements_deleted(&s->replacements, id, o->deleted_ms, false,
				     now.server_ms);
	writes_observe(&s->writes, id, &s->machines.at[id]);
	opt_out(s, id);
	for (uint32_t i = 0; i < t.n; i++)
		controller_refresh(s, t.id[i], now.server_ms);
}

void
controller_forget(struct controller *s, const struct object *o, struct now now)
{
	uint32_t id = machines_find(&s->machines, o);

	now = controller_steady(s, now);
	views_gone(&s->views, o->kind);
	/* A late word about a Node that has a successor of the same name. */
	if (id == NO_ID || strcmp(s->machines.at[id].uid, o->uid) != 0)
		return;
	controller_drop(s, id, now);
	views_room(&s->views, o->kind);
}
