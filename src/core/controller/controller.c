/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/limits.h"
#include "core/base/pace.h"
#include "controller_parts.h"

/*
 * Each change that may affect what has to be done for a machine puts the
 * machine's head (core/table/machines.h) into the queue.  controller_next takes
 * heads out of the queue and returns one action at a time.  Sometimes nothing
 * can be done for a machine now, because something is not seen, or because a
 * write is in flight or backing off.  Such a machine leaves the queue until the
 * event that it waits for puts it back.
 */

struct controller *
controller_new(const struct rules *rules, uint32_t machines_max, uint64_t seed,
	       struct counters *counters)
{
	struct controller *s = calloc(1, sizeof(*s));
	uint32_t ids = 2 * machines_max;

	if (s == NULL)
		return NULL;
	s->rules = *rules;
	s->counters = counters;
	views_lead(&s->views, true);
	controller_steady_forget(s);
	controller_turns_init(s);
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
	    release_init(&s->release, ids, rules_tickets(rules)) ||
	    machines_init(&s->machines, machines_max) ||
	    timers_init(&s->timers, rules, ids) ||
	    nodepools_init(&s->nodepools, &s->rules, SCOPES_MAX) ||
	    tickets_init(&s->tickets, rules_tickets(rules) ? TICKETS_MAX : 0) ||
	    replacements_init(&s->replacements, seed)) {
		controller_free(s);
		return NULL;
	}
	return s;
}

void
controller_hold(struct controller *s, const struct hold_key *hold)
{
	s->rules.hold = *hold;
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
	tickets_done(&s->tickets);
	replacements_done(&s->replacements);
	free(s);
}

/* Returns whether the state is consistent.  timers.seen is true in LEAD_SEEN
 * only.  In LEAD_NONE there are no Nodes, NodeClaims, deadlines or scopes. */
static bool
controller_check(const struct controller *s)
{
	const struct machines *m = &s->machines;

	if (s->timers.seen != (s->views.lead == LEAD_SEEN))
		return false;
	return views_leads(&s->views) ||
	       (m->count[KIND_NODE] == 0 && m->count[KIND_NODECLAIM] == 0 &&
		s->timers.due.n == 0 && s->timers.scopes_top == 0);
}

/* Returns whether everything that was due by now has been done. */
static bool
is_caught_up(const struct controller *s)
{
	const struct timers *t = &s->timers;

	return !s->refresh_all && t->dirty_n == 0 && t->untaught_n == 0 &&
	       t->moved_n == 0;
}

/* With MODE_OBSERVE, reports how many objects still carry our hold and mark,
 * because nobody removes them. */
static void
tell_left(struct controller *s)
{
	uint32_t n = 0;

	for (int k = 0; k < KIND_COUNT; k++)
		n += s->machines.carrying[k];
	if (s->rules.mode == MODE_OBSERVE && n > 0)
		notes_put(&s->notes, NOTE_LEFT, "")->as.objects = n;
}

/* Does everything that has become due in the table. */
static void
catch_up(struct controller *s, struct now now)
{
	bool whole = views_all_synced(&s->views);
	bool first = whole && views_whole(&s->views);

	controller_advance(s, now);
	if (first) {
		timers_seen(&s->timers);
		controller_advance(s, now);
		tell_left(s);
	}
	if (whole)
		controller_turns_settle(s, now);
	assert(is_caught_up(s));
}

/* Finds the next action that may be done now.  Returns false if there is
 * none. */
static bool
take_action(struct controller *s, struct now now, struct action *out)
{
	uint32_t id;

	while ((id = queue_take(&s->queue)) != NO_ID) {
		if (!machines_at(&s->machines, id)->used)
			continue;
		id = machines_head(&s->machines, id);
		if (!controller_act_on(s, id, now, out))
			continue;
		queue_acted(&s->queue);
		/* The other half of the machine may need an action too. */
		controller_queue(s, id);
		return true;
	}
	return controller_start_fresh(s, now, out);
}

/* Returns for how many milliseconds a replica that does not lead has nothing to
 * do.  Its only task is to request a new list of the NodePools if one is
 * needed. */
static int64_t
idle_ms(const struct controller *s, struct now now)
{
	int64_t next = views_next_boot_ms(&s->views);

	return next == STAMP_NONE ? INT64_MAX : next - now.boot_ms;
}

struct controller_todo
controller_next(struct controller *s, struct now now)
{
	struct controller_todo t = {.step = CONTROLLER_WAIT,
				    .wait_ms = INT64_MAX};

	assert(controller_check(s));
	views_ask_for_rest(&s->views, now.boot_ms);
	if (!views_leads(&s->views)) {
		t.wait_ms = idle_ms(s, now);
		return t;
	}
	now = controller_steady(s, now);
	if (controller_begins(s, now, &t.wait_ms))
		return t;
	catch_up(s, now);
	if (!writes_paused(&s->writes, now.boot_ms)) {
		if (take_action(s, now, &t.action)) {
			t.step = CONTROLLER_ACT;
			return t;
		}
		controller_latency(s, now);
	}
	t.wait_ms = controller_wait(s, now);
	return t;
}

static void
count(struct controller *s, const struct action *a, enum controller_code code)
{
	static const enum counter holds[] = {
		[CONTROLLER_OK] = COUNTER_HOLDS_OK,
		[CONTROLLER_CONFLICT] = COUNTER_HOLDS_CONFLICT,
		[CONTROLLER_INVALID] = COUNTER_HOLDS_CONFLICT,
		[CONTROLLER_REFUSED] = COUNTER_HOLDS_ERROR,
		[CONTROLLER_GONE] = COUNTER_HOLDS_GONE,
		[CONTROLLER_BUSY] = COUNTER_HOLDS_ERROR,
		[CONTROLLER_FAILED] = COUNTER_HOLDS_ERROR,
	};
	static const enum counter releases[] = {
		[CONTROLLER_OK] = COUNTER_RELEASES_OK,
		[CONTROLLER_CONFLICT] = COUNTER_RELEASES_CONFLICT,
		[CONTROLLER_INVALID] = COUNTER_RELEASES_CONFLICT,
		[CONTROLLER_REFUSED] = COUNTER_RELEASES_ERROR,
		[CONTROLLER_GONE] = COUNTER_RELEASES_GONE,
		[CONTROLLER_BUSY] = COUNTER_RELEASES_ERROR,
		[CONTROLLER_FAILED] = COUNTER_RELEASES_ERROR,
	};

	if (a->act == ACT_HOLD)
		counter_add(s->counters, holds[code]);
	else if (a->act == ACT_CLEAR || a->act == ACT_UNMARK)
		counter_add(s->counters, releases[code]);
	else if (a->act == ACT_CLASSIFY && code == CONTROLLER_OK)
		counter_add(s->counters, COUNTER_REPLACEMENTS);
}

/* Adds the result of a write to the journal. */
static void
keep_write(struct controller *s, const struct action *a,
	   enum controller_code code, int64_t now_ms)
{
	static const enum written_how how[] = {
		[CONTROLLER_OK] = WRITTEN_OK,
		[CONTROLLER_CONFLICT] = WRITTEN_CONFLICT,
		[CONTROLLER_INVALID] = WRITTEN_CONFLICT,
		[CONTROLLER_REFUSED] = WRITTEN_REFUSED,
		[CONTROLLER_GONE] = WRITTEN_GONE,
		[CONTROLLER_BUSY] = WRITTEN_FAILED,
		[CONTROLLER_FAILED] = WRITTEN_FAILED,
	};
	enum written_how came = how[code];

	if (code == CONTROLLER_INVALID && a->act == ACT_HOLD)
		came = WRITTEN_REFUSED;
	if (code == CONTROLLER_OK && a->observed)
		came = WRITTEN_OBSERVED;
	if (act_writes(a->act))
		journal_write(&s->journal, now_ms, a->uid, a->act, came);
}

/* Treats a write that MODE_OBSERVE has only reported as if it had been made.
 * Returns the outcome of the write. */
static enum controller_code
assume(struct controller *s, const struct action *a)
{
	if (a->act == ACT_CLASSIFY)
		s->machines.at[a->id].classed = true;
	else if (!machines_assume(&s->machines, a->id, a->act, a->mark_ms))
		/* The object has changed since the decision. */
		return CONTROLLER_CONFLICT;
	return CONTROLLER_OK;
}

void
controller_done(struct controller *s, const struct controller_outcome *o,
		struct now now)
{
	const struct action *a = o->action;
	struct controller_outcome told;
	const struct entry *e;
	char rv[RV_BYTES];

	assert(controller_check(s));
	now = controller_steady(s, now);
	writes_answered(&s->writes, o, now.boot_ms);
	if (a->observed && o->code == CONTROLLER_OK &&
	    writes_awaits(&s->writes, a)) {
		told = *o;
		told.code = assume(s, a);
		o = &told;
	}
	count(s, a, o->code);
	keep_write(s, a, o->code, now.server_ms);
	if (act_lists(a->act)) {
		controller_fresh_done(s, a->kind, o, now);
		return;
	}
	e = machines_at(&s->machines, a->id);
	if (!writes_awaits(&s->writes, a) || !e->used)
		return; /* The object has gone since the action began. */
	controller_queue(s, a->id);
	machines_rv(&s->machines, e, rv);
	if (a->act == ACT_READ_CLAIM)
		writes_owner_done(&s->writes, a, o,
				  s->views.at[KIND_NODECLAIM].full,
				  e->peer != NO_ID, now.boot_ms);
	else if (writes_done(&s->writes, a, o, rv, now.boot_ms))
		/* The object is gone.  It is harmless if a late watch line
		 * still shows it. */
		controller_drop(s, a->id, now);
}
