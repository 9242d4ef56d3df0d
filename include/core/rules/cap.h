/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RULES_CAP_H
#define CORE_RULES_CAP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/stamp.h"

/*
 * The cap on one scope's hold, a leaky bucket
 * (docs/rules.md#caps-and-release-windows).  The debt grows by a second for
 * each second the scope is held, and shrinks by max/window seconds for each
 * second it is not.  A held scope whose debt reaches max_ms is released for
 * window_ms, however busy it is.  Then the debt is 0.
 *
 *           busy                 debt = max             window is over
 *    IDLE ───────────▶ HELD ───────────────▶ OPEN ─────────────────▶ IDLE, HELD
 *      ◀─────────────
 *           quiet
 *
 * In the state OPEN the release window is open and nothing spreads in the
 * scope.
 *
 * Debt and window are durations on CLOCK_BOOTTIME, so no shift of the API
 * server's clock changes them.  The debt shrinks and the window runs only in
 * usable time, that is, while this replica leads and sees everything.  Only
 * then can anything be released.  The struct keeps what the debt and the window
 * were at at_ms, and both are computed from there.  Asking more often therefore
 * accumulates no rounding errors.
 *
 * A zeroed struct cap is a valid start.  Everything named boot_ms is
 * CLOCK_BOOTTIME.  Not thread-safe: callers hold the lock of the struct's
 * owner.
 */
struct cap_rules {
	int64_t max_ms;	   /* how long a scope may be held, or 0 if there is no
				   cap, no debt and no window */
	int64_t window_ms; /* how long a release lasts; 0: a debt that
				   reaches max_ms becomes 0 at once and nothing
				   is released */
};

/* The state of one scope's cap.  core/table/timers_scopes.c also sets debt and
 * window directly, after cap_settle. */
struct cap {
	int64_t debt_ms;   /* the debt at at_ms */
	int64_t window_ms; /* what was left of the window at at_ms; 0: no
				   window was open */
	int64_t at_ms;	   /* boot time to which the other members refer */
	bool held;	   /* the scope is held since at_ms */
	bool grows;	   /* the debt grows since at_ms: the scope is
				   held, or was held by the leader before us and
				   we do not see everything yet */
	bool usable;	   /* time has been usable since at_ms */
};

/* Return what the debt is now, and what is left of the window (0: none). */
int64_t cap_debt_ms(const struct cap *c, const struct cap_rules *r,
		    int64_t boot_ms);
int64_t cap_window_ms(const struct cap *c, int64_t boot_ms);

/* Sets at_ms to now and computes the other members for it.  Call it before r
 * changes, so that the old rules apply to the past and the new ones to what
 * follows. */
void cap_settle(struct cap *c, const struct cap_rules *r, int64_t boot_ms);

/* Tells the cap that from now on the scope is busy or not, and time usable or
 * not.  Call it when either changes and when cap_next_ms has come.  was_held
 * means that the leader before us held the scope and that we do not see
 * everything yet: the debt then grows even if the scope does not look busy.
 * Returns whether the scope is to be held from now on. */
bool cap_step(struct cap *c, const struct cap_rules *r, bool busy,
	      bool was_held, bool usable, int64_t boot_ms);

/* Lowers the debt to debt_ms if it is higher.  Returns whether it was. */
bool cap_limit(struct cap *c, const struct cap_rules *r, int64_t debt_ms,
	       int64_t boot_ms);

/* Returns the boot time at which time alone next changes the result of
 * cap_step, or STAMP_NONE if it never does. */
int64_t cap_next_ms(const struct cap *c, const struct cap_rules *r);
/* Returns whether there is neither a debt nor a window, so that there is
 * nothing to remember. */
bool cap_is_none(const struct cap *c, const struct cap_rules *r,
		 int64_t boot_ms);

#endif
