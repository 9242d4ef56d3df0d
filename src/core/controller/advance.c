/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "core/base/sort.h"
#include "controller_parts.h"

/* This file does what time brings: first the machines' deadlines, then the
 * scopes that become held or quiet because of them, then the backoffs that
 * end. */

static void
queue_scope(struct controller *s, uint32_t scope)
{
	uint32_t n;
	const uint32_t *ids = timers_of_scope(&s->timers, scope, &n);

	for (uint32_t i = 0; i < n; i++)
		if (!retries_has(&s->replacements.retries, ids[i]))
			controller_queue(s, ids[i]);
}

/* Reports when the scope will be quiet and because of which machine, or when
 * its cap ends the hold if that comes first. */
static void
tell_quiet(struct controller *s, uint32_t scope, const struct quiet *q,
	   enum note_type type, struct now now)
{
	struct scope *sc = &s->timers.scopes[scope];
	int64_t cap_ms = timers_cap_in_ms(&s->timers, scope, now.boot_ms);
	struct note *n = notes_put(&s->notes, type, sc->name);

	n->as.held.until_ms = q->at_ms;
	n->as.held.capped = cap_ms < q->at_ms - now.server_ms;
	if (n->as.held.capped)
		n->as.held.until_ms = now.server_ms + cap_ms;
	n->as.held.earliest = q->earliest && !n->as.held.capped;
	(void)str_copy(n->as.held.machine, sizeof(n->as.held.machine),
		       controller_machine_name(s, q->id));
	sc->told = *q;
	sc->told_boot_ms = now.boot_ms;
	sc->moved = sc->untold = false;
}

/* Reports that the scope is held.  If it is held only because of an undecided
 * machine, nobody knows until when, and the report waits until something is
 * known. */
static void
tell_held(struct controller *s, uint32_t scope, struct now now)
{
	struct quiet q = timers_expects(&s->timers, scope, now.server_ms);

	s->timers.scopes[scope].untold = q.at_ms == STAMP_NONE;
	if (q.at_ms != STAMP_NONE)
		tell_quiet(s, scope, &q, NOTE_SCOPE_HELD, now);
	else
		timers_news(&s->timers, scope);
}

/* Returns whether *q is worth a report after *told.  While a machine boots, the
 * time moves by itself, which is no news. */
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

/* Keeps the scopes of which something has to be told later. */
static void
tell_news(struct controller *s, struct now now)
{
	struct timers *ts = &s->timers;
	uint32_t kept = 0;

	ids_sort(ts->news, ts->news_n, timers_id_before, NULL);
	for (uint32_t i = 0; i < ts->news_n; i++) {
		struct scope *sc = &ts->scopes[ts->news[i]];

		tell_moved(s, ts->news[i], now);
		sc->news = sc->held && (sc->moved || sc->untold);
		if (sc->news)
			ts->news[kept++] = ts->news[i];
	}
	ts->news_n = kept;
}

static void
turn(struct controller *s, uint32_t scope, struct now now)
{
	const struct scope *sc = &s->timers.scopes[scope];
	struct note *n;
	int64_t held_ms;

	queue_scope(s, scope);
	if (sc->held)
		tell_held(s, scope, now);
	held_ms = controller_scope_turned(s, scope, now);
	if (sc->held)
		return;
	if (sc->busy) {
		n = notes_put(&s->notes, NOTE_SCOPE_CAPPED, sc->name);
		n->as.capped.until_ms =
			now.server_ms + cap_window_ms(&sc->cap, now.boot_ms);
		n->as.capped.max_ms = sc->max_ms;
		n->as.capped.unseen = views_unseen(&s->views);
	} else {
		n = notes_put(&s->notes, NOTE_SCOPE_QUIET, sc->name);
		n->as.quiet.held_ms = held_ms;
		n->as.quiet.unseen = views_unseen(&s->views);
	}
}

void
controller_advance(struct controller *s, struct now now)
{
	uint32_t id, scope;

	if (views_settle_due(&s->views, now.boot_ms))
		controller_claims_known(s, now);
	if (causes_take(&s->causes, CAUSE_CLOCK | CAUSE_LISTED)) {
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
	timers_usable(&s->timers, views_complete(&s->views));
	if (!views_all_synced(&s->views))
		release_unseen(&s->release);
	controller_nodepools_turn(s, now);
	if (causes_take(&s->causes, CAUSE_NODEPOOL))
		retries_refresh(&s->replacements.retries, now.server_ms);
	if (causes_take(&s->causes, CAUSE_LEAD | CAUSE_DEBTS))
		timers_unteach_all(&s->timers);
	controller_nodepools_teach(s, now);
	while ((scope = timers_turned(&s->timers, now)) != NO_ID)
		turn(s, scope, now);
	tell_news(s, now);
	while (writes_due(&s->writes, now.boot_ms, &id))
		controller_queue(s, id);
}
