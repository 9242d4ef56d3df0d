/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include "core/base/limits.h"
#include "core/base/sort.h"
#include "core/base/str.h"
#include "controller_parts.h"

/* This file reports the scopes that become held or quiet, or whose quiet time
 * moves.  No decision depends on it. */

/* Reports when the scope will be quiet and because of which machine, or when
 * its cap ends the hold if that comes first. */
static void
tell_quiet(struct controller *s, uint32_t scope, const struct quiet *q,
	   enum note_type type, struct now now)
{
	struct scope_news *w = news_of(&s->news, &s->timers, scope);
	int64_t cap_ms = timers_cap_in_ms(&s->timers, scope, now.boot_ms);
	struct note *n = notes_put(&s->notes, type,
				   timers_scope(&s->timers, scope)->name);

	n->as.held.until_ms = q->at_ms;
	n->as.held.capped = cap_ms < q->at_ms - now.server_ms;
	if (n->as.held.capped)
		n->as.held.until_ms = now.server_ms + cap_ms;
	n->as.held.earliest = q->earliest && !n->as.held.capped;
	(void)str_copy(n->as.held.machine, sizeof(n->as.held.machine),
		       controller_machine_name(s, q->id));
	w->told = *q;
	w->told_boot_ms = now.boot_ms;
	w->moved = w->untold = false;
}

/* Reports that the scope is held.  If it is held only because of a coming
 * machine, the end of the hold is unknown, and the report waits until it is
 * known. */
static void
tell_held(struct controller *s, uint32_t scope, struct now now)
{
	struct quiet q = timers_expects(&s->timers, scope, now.server_ms);

	news_of(&s->news, &s->timers, scope)->untold = q.at_ms == STAMP_NONE;
	if (q.at_ms != STAMP_NONE)
		tell_quiet(s, scope, &q, NOTE_SCOPE_HELD, now);
	else
		news_list(&s->news, &s->timers, scope);
}

/* Returns whether *q is worth a report after *told.  While a machine boots, the
 * time moves on its own, which is not reported. */
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
	const struct scope *sc = timers_scope(&s->timers, scope);
	struct scope_news *w = news_of(&s->news, &s->timers, scope);
	struct quiet q;

	if (sc->held && w->untold && sc->live > 0)
		tell_held(s, scope, now);
	if (!sc->held || !w->moved || w->untold ||
	    now.boot_ms < w->told_boot_ms + MOVED_EVERY_MS)
		return;
	q = timers_expects(&s->timers, scope, now.server_ms);
	w->moved = false;
	if (q.at_ms != STAMP_NONE && is_news(&w->told, &q))
		tell_quiet(s, scope, &q, NOTE_SCOPE_MOVED, now);
}

/* Asks the table which scopes have a new quiet time. */
static void
hear(struct controller *s)
{
	uint32_t scope;

	while ((scope = timers_moved(&s->timers)) != NO_ID) {
		news_of(&s->news, &s->timers, scope)->moved = true;
		news_list(&s->news, &s->timers, scope);
	}
}

/* Makes the reports that are due, and keeps in the list the scopes whose
 * reports are due later. */
void
controller_tell_news(struct controller *s, struct now now)
{
	struct news *n = &s->news;
	uint32_t kept = 0;

	hear(s);
	sort_ids(n->scopes, n->n, timers_id_before, NULL);
	for (uint32_t i = 0; i < n->n; i++) {
		uint32_t scope = n->scopes[i];
		struct scope_news *w = news_of(n, &s->timers, scope);

		tell_moved(s, scope, now);
		w->listed = timers_scope(&s->timers, scope)->held &&
			    (w->moved || w->untold);
		if (w->listed)
			n->scopes[kept++] = scope;
	}
	n->n = kept;
}

int64_t
controller_news_next_boot_ms(const struct controller *s)
{
	int64_t next = STAMP_NONE;

	for (uint32_t i = 0; i < s->news.n; i++) {
		const struct scope_news *w =
			news_read(&s->news, &s->timers, s->news.scopes[i]);
		int64_t at = w->told_boot_ms + MOVED_EVERY_MS;

		if (timers_scope(&s->timers, s->news.scopes[i])->held &&
		    w->moved && !w->untold && (next == STAMP_NONE || at < next))
			next = at;
	}
	return next;
}

static void
note_turn(struct controller *s, uint32_t scope, struct now now)
{
	struct scope_news *w = news_of(&s->news, &s->timers, scope);

	hear(s);
	w->turned_ms = now.server_ms;
	w->latency_open = timers_scope(&s->timers, scope)->held;
	s->news.latency_open |= w->latency_open;
	if (w->latency_open)
		w->since_boot_ms = now.boot_ms;
}

void
controller_tell_turn(struct controller *s, uint32_t scope, struct now now)
{
	const struct scope *sc = timers_scope(&s->timers, scope);
	struct note *n;
	int64_t held_ms;

	note_turn(s, scope, now);
	if (sc->held)
		tell_held(s, scope, now);
	held_ms = controller_scope_turned(s, scope, now);
	if (sc->held)
		return;
	if (sc->busy) {
		n = notes_put(&s->notes, NOTE_SCOPE_CAPPED, sc->name);
		n->as.capped.until_ms =
			now.server_ms + cap_window_ms(&sc->cap, now.boot_ms);
		n->as.capped.max_ms = s->rules.cap.max_ms;
		n->as.capped.unseen = views_unseen(&s->views);
	} else {
		n = notes_put(&s->notes, NOTE_SCOPE_QUIET, sc->name);
		n->as.quiet.held_ms = held_ms;
		n->as.quiet.unseen = views_unseen(&s->views);
	}
}

void
controller_latency(struct controller *s, struct now now)
{
	if (s->writes.wanting_hold > 0 || s->writes.in_flight > 0 ||
	    !s->news.latency_open)
		return;
	s->news.latency_open = false;
	for (uint32_t i = 0; i < s->timers.scopes_top; i++) {
		struct scope_news *w = news_of(&s->news, &s->timers, i);

		if (!timers_scope(&s->timers, i)->held || !w->latency_open)
			continue;
		w->latency_open = false;
		if (s->rules.mode == MODE_OBSERVE)
			continue;
		counters_hold_latency(
			s->counters,
			(uint64_t)(now.boot_ms - w->since_boot_ms));
	}
}
