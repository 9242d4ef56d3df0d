/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include "core/base/limits.h"
#include "controller_parts.h"

/* This file makes the server time by which the controller decides. */

/* Shifts all moments in memory, because the API server's clock was set or
 * another API server answers.  So everything that has begun still takes as long
 * as before.  Until everything was seen once, the times of the machines and the
 * tickets are taken from their objects again instead, because the first answers
 * may come from a wrong clock. */
static void
shift(struct controller *s, int64_t by_ms, int64_t now_ms)
{
	machines_shift(&s->machines, by_ms);
	timers_shift(&s->timers, by_ms);
	news_shift(&s->news, &s->timers, by_ms);
	journal_shift(&s->journal, by_ms);
	tickets_shift(&s->tickets, by_ms);
	if (s->views.lead != LEAD_SEEN) {
		machines_restamp(&s->machines, now_ms);
		tickets_restamp(&s->tickets);
		s->tickets_restamped = true;
	}
	nodepools_shift_tickets(&s->nodepools, by_ms);
	/* The times in NodePools' annotations do not shift, so they may come a
	 * second time. */
	nodepools_set_back(&s->nodepools, now_ms);
	s->refresh_all = true;
}

/* Follows a small difference between the clocks, but by no more than a
 * thousandth of the time that has passed.  Two good clocks drift apart by less
 * than that, and such a drift is no shift even when it amounts to seconds. */
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

void
controller_steady_forget(struct controller *s)
{
	s->last_ms = STAMP_NONE;
}

/* Returns server time as the controller sees it.  The median of the Date
 * headers jitters by parts of a second, and a deadline that has passed must not
 * come back.  So the time goes back only if the API server's clock was set back
 * by CLOCK_SHIFT_MS or more. */
struct now
controller_steady(struct controller *s, struct now now)
{
	int64_t ahead_ms = now.server_ms - now.boot_ms, by_ms;

	if (s->last_ms == STAMP_NONE) {
		s->ahead_ms = ahead_ms;
		s->slewed_boot_ms = now.boot_ms;
	}
	if (s->journal.since_ms == STAMP_NONE)
		s->journal.since_ms = now.server_ms;
	/* Compare with s->ahead_ms, and not with the previous reading.
	 * Otherwise small differences would add up while two API servers answer
	 * by turns. */
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
