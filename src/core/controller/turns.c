/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "controller_parts.h"

/*
 * This file keeps the history for /status, and hands the history from one
 * leader to the next.  It remembers nothing outside the journal: its last
 * report on a scope or a NodePool is the last turn of that scope or NodePool in
 * the journal, even if an earlier leader added that turn.  If a leader that
 * wrote no text of the journal led in between (`carried` is false), only the
 * turns of this lead count.
 */

static uint64_t
last_of(const struct controller *s, const char *name, bool nodepool,
	struct turn *out)
{
	return journal_last(&s->journal, s->carried ? 0 : s->turns_before, name,
			    nodepool, out);
}

/* --- scopes --------------------------------------------------------------- */

const char *
controller_machine_name(const struct controller *s, uint32_t id)
{
	if (id == NO_ID)
		return "";
	return machines_name(&s->machines, machines_at(&s->machines, id));
}

/* Returns the name of the machine that the last report named, or "" if that
 * machine is gone or nothing was reported. */
static const char *
told_name(const struct controller *s, const struct scope_news *w)
{
	const struct timer *t;

	if (w->untold || w->told_boot_ms == 0 || w->told.id == NO_ID)
		return "";
	t = timers_at(&s->timers, w->told.id);
	return t->used && t->created_ms == w->told.created_ms
		       ? controller_machine_name(s, w->told.id)
		       : "";
}

/* Returns whether a person has released the scope: a released-at came into
 * effect while the scope was held, and the scope has become quiet before the
 * time that the last report named. */
static bool
was_released(const struct scope *sc, const struct scope_news *w,
	     int64_t held_ms, struct now now)
{
	return !w->untold && sc->released_ms != STAMP_NONE &&
	       sc->released_ms >= now.server_ms - held_ms &&
	       (w->told.earliest || now.server_ms < w->told.at_ms - STAMPS_MS);
}

static enum turn_cause
cause_of(const struct scope *sc, const struct scope_news *w, int64_t led_ms,
	 struct now now)
{
	if (sc->held)
		return TURN_BY_SCALE_UP;
	if (sc->busy)
		return TURN_BY_CAP;
	return was_released(sc, w, led_ms, now) ? TURN_BY_RELEASE
						: TURN_BY_QUIET;
}

int64_t
controller_scope_turned(struct controller *s, uint32_t scope, struct now now)
{
	const struct scope *sc = timers_scope(&s->timers, scope);
	struct scope_news *w = news_of(&s->news, &s->timers, scope);
	int64_t led_ms = now.boot_ms - w->since_boot_ms, held_ms = -1;
	enum turn_what what = sc->held	 ? TURN_HELD
			      : sc->busy ? TURN_CAPPED
					 : TURN_RELEASED;
	struct turn last, *t;
	uint64_t n = last_of(s, sc->name, false, &last);

	if (n > 0 && n <= s->turns_before && last.what == what) {
		w->turned_ms = last.at_ms; /* The last turn still applies. */
		return last.held_ms;
	}
	if (n > 0 && last.what == TURN_HELD)
		held_ms = now.server_ms - last.at_ms;
	else if (w->since_boot_ms != 0)
		held_ms = led_ms;
	t = journal_turn(&s->journal, now.server_ms, what,
			 cause_of(sc, w, led_ms, now), sc->name);
	str_cut(t->machine, sizeof(t->machine), told_name(s, w));
	if (!sc->held)
		t->held_ms = held_ms;
	return held_ms;
}

static bool
is_held(const struct controller *s, const char *name)
{
	for (uint32_t i = 0; i < s->timers.scopes_top; i++)
		if (timers_scope(&s->timers, i)->held &&
		    strcmp(timers_scope(&s->timers, i)->name, name) == 0)
			return true;
	return false;
}

void
controller_turns_settle(struct controller *s, struct now now)
{
	uint64_t from = s->journal.turns_first, before = s->turns_before;
	struct turn t, last;

	if (!s->unsettled)
		return;
	s->unsettled = false;
	if (before > from + JOURNAL_KEPT)
		from = before - JOURNAL_KEPT;
	while (before > from && journal_turn_at(&s->journal, &before, &t)) {
		if (t.nodepool || t.what != TURN_HELD ||
		    last_of(s, t.scope, false, &last) != before + 1 ||
		    is_held(s, t.scope))
			continue;
		journal_turn(&s->journal, now.server_ms, TURN_RELEASED,
			     TURN_BY_QUIET, t.scope)
			->held_ms = now.server_ms - t.at_ms;
	}
}

int64_t
controller_turned_ms(const struct controller *s, uint32_t scope)
{
	int64_t ms = news_read(&s->news, &s->timers, scope)->turned_ms;
	struct turn last;

	if (ms != STAMP_NONE || !s->carried ||
	    last_of(s, timers_scope(&s->timers, scope)->name, false, &last) ==
		    0)
		return ms;
	return last.at_ms;
}

/* --- holds and releases by hand ------------------------------------------- */

struct manual
controller_manual(const struct controller *s, uint32_t place, int64_t now_ms)
{
	struct nodepool_terms t =
		nodepools_terms_at(&s->nodepools, place, now_ms);
	struct manual m = {.until_ms = t.until_ms, .ticket = NO_ID};
	struct ticket_hold h;

	if (t.until_ms == STAMP_NONE)
		return m;
	m.by = t.by_ticket ? MANUAL_TICKET : MANUAL_PERSON;
	if (m.by == MANUAL_PERSON) {
		(void)str_copy(m.reason, sizeof(m.reason),
			       s->nodepools.at[place].reason);
		return m;
	}
	h = tickets_hold(&s->tickets, place, now_ms);
	if (h.last == NULL) {
		(void)str_copy(m.reason, sizeof(m.reason), TICKET_ENDED_WORDS);
		return m;
	}
	m.ticket = (uint32_t)(h.last - s->tickets.at);
	tickets_words(h.last, m.reason, sizeof(m.reason));
	return m;
}

int64_t
controller_by_hand_ms(const struct controller *s, const char *scope,
		      int64_t now_ms)
{
	uint64_t before = UINT64_MAX, from = s->carried ? 0 : s->turns_before;
	struct turn t;

	while (journal_turn_at(&s->journal, &before, &t) && before >= from)
		if (t.nodepool && t.what == TURN_HELD &&
		    (s->rules.scope == SCOPE_CLUSTER ||
		     strcmp(t.scope, scope) == 0) &&
		    nodepools_terms(&s->nodepools, t.scope, now_ms).until_ms !=
			    STAMP_NONE)
			return t.at_ms;
	return STAMP_NONE;
}

/* Returns whether the history needs no other turn for the NodePool's
 * released-at: *t is the turn of that released-at, or *t ended the hold of
 * tickets, which had held the NodePool in spite of the released-at. */
static bool
is_release_of(const struct turn *t, const struct nodepool *p)
{
	if (!t->nodepool || strcmp(t->scope, p->name) != 0)
		return false;
	if (t->cause == TURN_BY_RELEASE)
		return t->until_ms == p->released_at_ms;
	return t->cause == TURN_BY_TICKET_END && t->at_ms >= p->released_at_ms;
}

/* Returns whether the released-at has come into effect since the beginning of
 * the history, and the history has no turn for it yet.  A stamp has whole
 * seconds, so it may be up to a second before the beginning of the history. */
static bool
is_released(const struct controller *s, const struct nodepool *p,
	    int64_t now_ms)
{
	uint64_t before = UINT64_MAX, from = s->carried ? 0 : s->turns_before;
	struct turn t;

	if (p->released_at_ms == STAMP_NONE ||
	    p->released_at_ms > now_ms + CLOCK_SHIFT_MS ||
	    p->released_at_ms < s->journal.since_ms - 1000 ||
	    nodepools_terms(&s->nodepools, p->name, now_ms).uncounted)
		return false;
	while (journal_turn_at(&s->journal, &before, &t) && before >= from)
		if (is_release_of(&t, p))
			return false;
	return true;
}

static void
add_by_hand(struct controller *s, const char *name, const struct turn *what,
	    int64_t now_ms)
{
	struct turn *t = journal_turn(&s->journal, now_ms, what->what,
				      what->cause, name);

	t->nodepool = true;
	t->held_ms = what->held_ms;
	t->until_ms = what->until_ms;
	str_cut(t->reason, sizeof(t->reason), what->reason);
}

/* Returns the server time since which the NodePool has been held by hand
 * without a break.  Several hold-untils may have followed one another; `last`
 * is the turn of the last one. */
static int64_t
held_since_ms(const struct controller *s, const char *name,
	      const struct turn *last)
{
	uint64_t before = UINT64_MAX, from = s->carried ? 0 : s->turns_before;
	int64_t since_ms = last->at_ms;
	struct turn t;

	while (journal_turn_at(&s->journal, &before, &t) && before >= from) {
		if (!t.nodepool || strcmp(t.scope, name) != 0)
			continue;
		if (t.what != TURN_HELD)
			break;
		since_ms = t.at_ms;
	}
	return since_ms;
}

/* Adds the turn that ends a hold or a release by hand.  `how` says how the hold
 * or release ended, and `was` is the turn with which it began. */
static void
end_by_hand(struct controller *s, const struct nodepool *p,
	    const struct turn *was, enum turn_cause how, int64_t now_ms)
{
	struct turn t = {.what = how == TURN_BY_RESUME ? TURN_RESUMED
						       : TURN_RELEASED,
			 .cause = how,
			 .held_ms = -1,
			 .until_ms = STAMP_NONE};
	int64_t to_ms = now_ms;

	if (how == TURN_BY_TIME && was->cause == TURN_BY_HAND)
		to_ms = was->until_ms;
	if (was->what == TURN_HELD && to_ms > was->at_ms)
		t.held_ms = to_ms - held_since_ms(s, p->name, was);
	if (how == TURN_BY_RELEASE)
		t.until_ms = p->released_at_ms;
	/* The ticket that held last is not always the one that held first. */
	if (how != TURN_BY_TICKET_END && was->cause != TURN_BY_TICKET)
		str_cut(t.reason, sizeof(t.reason),
			how == TURN_BY_RELEASE ? p->reason : was->reason);
	add_by_hand(s, p->name, &t, now_ms);
}

/* Returns whether the turn *was, with which the hold began, still describes it.
 * It does while tickets hold the NodePool or have begun its hold. */
static bool
is_same_hold(const struct turn *was, const struct nodepool *p,
	     const struct manual *m)
{
	char reason[JOURNAL_NAME_BYTES];

	str_cut(reason, sizeof(reason), m->reason);
	return m->by == MANUAL_TICKET || was->cause == TURN_BY_TICKET ||
	       (was->until_ms == p->hold_until_ms &&
		strcmp(was->reason, reason) == 0);
}

/* Returns how the hold ended that began with the turn *was, and that `before`
 * has held last. */
static enum turn_cause
end_of(const struct controller *s, const struct turn *was,
       const struct nodepool *p, enum manual_by before, int64_t now_ms)
{
	enum nodepool_out out =
		nodepools_terms(&s->nodepools, p->name, now_ms).uncounted;
	int64_t until_ms =
		was->cause == TURN_BY_TICKET ? p->hold_until_ms : was->until_ms;

	/* Then a person has ended it, and not the tickets. */
	if (before == MANUAL_TICKET)
		return out == NODEPOOL_DISABLED || out == NODEPOOL_EXCLUDED
			       ? TURN_BY_RESUME
			       : TURN_BY_TICKET_END;
	return until_ms != STAMP_NONE && until_ms <= now_ms ? TURN_BY_TIME
							    : TURN_BY_RESUME;
}

bool
controller_was_shown(const struct controller *s, const struct nodepool *known)
{
	return s->nodepools.generation[known - s->nodepools.at] >
	       s->nodepools_before;
}

static void
begin_by_hand(struct controller *s, const struct nodepool *p,
	      const struct manual *m, int64_t now_ms)
{
	struct turn t = {.what = TURN_HELD,
			 .cause = m->by == MANUAL_TICKET ? TURN_BY_TICKET
							 : TURN_BY_HAND,
			 .held_ms = -1,
			 .until_ms = m->until_ms};

	str_cut(t.reason, sizeof(t.reason), m->reason);
	add_by_hand(s, p->name, &t, now_ms);
}

void
controller_turn_by_hand(struct controller *s, uint32_t place, bool first,
			struct now now)
{
	const struct nodepool *p = &s->nodepools.at[place];
	struct manual m = controller_manual(s, place, now.server_ms);
	enum manual_by *by = &s->news.manual[place].by, before = *by;
	struct turn was = {.what = TURN_RESUMED};
	bool held =
		last_of(s, p->name, true, &was) > 0 && was.what == TURN_HELD;
	bool releases;
	enum turn_cause end;

	/* Before the tickets are listed, they may still hold the NodePool. */
	if (held && m.by == MANUAL_NONE && rules_tickets(&s->rules) &&
	    !s->views.at[KIND_TICKET].listed)
		return;
	if (held && (first || before == MANUAL_NONE))
		before = was.cause == TURN_BY_TICKET ? MANUAL_TICKET
						     : MANUAL_PERSON;
	*by = m.by;
	end = end_of(s, &was, p, before, now.server_ms);
	/* A released-at releases nothing while a ticket holds. */
	releases = before != MANUAL_TICKET && m.by != MANUAL_TICKET &&
		   is_released(s, p, now.server_ms);
	if (held && (m.by == MANUAL_NONE
			     ? end != TURN_BY_RESUME
			     : m.by == MANUAL_PERSON && end == TURN_BY_TIME)) {
		end_by_hand(s, p, &was, end, now.server_ms);
		was.what = TURN_RELEASED;
		held = false;
	}
	if (releases)
		end_by_hand(s, p, &was, TURN_BY_RELEASE, now.server_ms);
	else if (m.by == MANUAL_NONE &&
		 (held || (was.cause == TURN_BY_RELEASE &&
			   p->released_at_ms == STAMP_NONE)))
		end_by_hand(s, p, &was, TURN_BY_RESUME, now.server_ms);
	if (m.by != MANUAL_NONE &&
	    !(held && !releases && is_same_hold(&was, p, &m)) &&
	    !(first && !held && s->history_cut))
		begin_by_hand(s, p, &m, now.server_ms);
}

void
controller_turns_by_hand(struct controller *s, bool first, struct now now)
{
	for (uint32_t i = 0; i < s->nodepools.top; i++)
		if (s->nodepools.at[i].name[0] != '\0' &&
		    controller_was_shown(s, &s->nodepools.at[i]))
			controller_turn_by_hand(s, i, first, now);
}

/* --- from one leader to the next ------------------------------------------ */

void
controller_turns_init(struct controller *s)
{
	s->turns_written = UINT64_MAX;
	s->journal.since_ms = STAMP_NONE;
}

void
controller_turns_lead(struct controller *s, struct now now)
{
	s->turns_before = s->journal.turns_n;
	s->turns_written = UINT64_MAX;
	s->journal.since_ms = now.server_ms;
	s->carried = s->unsettled = s->history_cut = false;
}

bool
controller_history(struct controller *s, struct buf *b, int32_t term,
		   struct now now)
{
	struct journal_lead l = {.rules = &s->rules,
				 .term = term,
				 .since_ms = s->journal.since_ms,
				 .cut = s->history_cut};

	if (!views_leads(&s->views) || s->turns_written == s->journal.turns_n ||
	    s->journal.since_ms == STAMP_NONE)
		return false;
	now = controller_steady(s, now);
	s->turns_written = s->journal.turns_n;
	journal_text_write(&s->journal, &l, now.server_ms, b);
	return true;
}

/* Adds again the turns that this lead had added before the text was read,
 * because the text has replaced them. */
static void
tell_again(struct controller *s, struct now now)
{
	for (uint32_t i = 0; i < s->timers.scopes_top; i++)
		if (timers_scope(&s->timers, i)->held)
			(void)controller_scope_turned(s, i, now);
	controller_turns_by_hand(s, true, now);
}

void
controller_recall(struct controller *s, const char *text, int32_t term,
		  struct now now)
{
	struct journal_lead l = {.rules = &s->rules, .term = term};
	bool told = s->journal.turns_n > s->turns_before;

	now = controller_steady(s, now);
	if (journal_text_read(&s->journal, s->turns_before, text, &l,
			      now.server_ms))
		return;
	s->turns_before = s->journal.turns_n;
	s->turns_written = UINT64_MAX;
	s->carried = s->unsettled = l.whole;
	if (l.whole) {
		s->journal.since_ms = l.since_ms;
		s->history_cut = l.cut;
	}
	if (told)
		tell_again(s, now);
}
