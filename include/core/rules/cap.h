/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RULES_CAP_H
#define CORE_RULES_CAP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/stamp.h"

/*
 * The cap on one scope's hold.  It is a leaky bucket
 * (docs/rules.md#caps-and-release-windows).  The debt grows by a second for
 * each second that the scope is held, and shrinks by max/window seconds for
 * each second that the scope is not held.  When the debt of a held scope
 * reaches max_ms, the scope is released for window_ms, even if it is busy.
 * After this window the debt is 0.
 *
 *           busy                 debt = max             window is over
 *    IDLE ───────────▶ HELD ───────────────▶ OPEN ─────────────────▶ IDLE, HELD
 *      ◀─────────────
 *           quiet
 *
 * In the state OPEN the release window is open, and no hold spreads
 * (docs/rules.md#words).
 *
 * Debt and window are durations on CLOCK_BOOTTIME, so no shift of the API
 * server's clock changes them.  The debt shrinks and the window runs only in
 * usable time, that is, while this replica leads and sees everything.  Releases
 * are possible only in usable time.  The struct keeps debt and window as of
 * at_ms, and all later values are computed from these two.  Frequent calls
 * therefore accumulate no rounding errors.
 *
 * A zeroed struct cap is a valid start.  Everything named boot_ms is
 * CLOCK_BOOTTIME.  Not thread-safe: callers hold the lock of the struct's
 * owner.
 */
struct cap_rules {
	/* How long a scope may be held.  If it is 0, there is no cap, no debt
	 * and no window. */
	int64_t max_ms;
	/* How long a release window is open.  If it is 0, a debt that reaches
	 * max_ms becomes 0 at once, and nothing is released. */
	int64_t window_ms;
};

/* The state of one scope's cap.  core/table/timers_scopes.c also sets debt and
 * window directly, after cap_settle. */
struct cap {
	int64_t debt_ms; /* the debt at at_ms */
	/* What was left of the window at at_ms, or 0 if no window was open. */
	int64_t window_ms;
	int64_t at_ms; /* boot time to which the other members refer */
	bool held;     /* the scope has been held since at_ms */
	/* The debt has been growing since at_ms.  It grows while the scope is
	 * held.  It also grows if the previous leader held the scope and we do
	 * not see everything yet. */
	bool grows;
	bool usable; /* time has been usable since at_ms */
};

/* cap_debt_ms returns the present debt.  cap_window_ms returns what is left of
 * the window, or 0 if no window is open. */
int64_t cap_debt_ms(const struct cap *c, const struct cap_rules *r,
		    int64_t boot_ms);
int64_t cap_window_ms(const struct cap *c, int64_t boot_ms);

/* Computes debt and window as of now, and sets at_ms to now.  Call it before r
 * changes, so that the old rules apply to the past and the new rules to the
 * future. */
void cap_settle(struct cap *c, const struct cap_rules *r, int64_t boot_ms);

/* Tells the cap whether the scope is busy, and whether time is usable, from now
 * on.  Call this when `busy` or `usable` changes, and when the time from
 * cap_next_ms has come.  was_held means that the previous leader held the scope
 * and that we do not see everything yet.  The debt then grows even if the scope
 * does not look busy.  Returns whether the scope is to be held from now on. */
bool cap_step(struct cap *c, const struct cap_rules *r, bool busy,
	      bool was_held, bool usable, int64_t boot_ms);

/* Returns the boot time at which time alone next changes the state: the window
 * ends, the debt reaches max_ms, or the debt becomes 0.  Returns STAMP_NONE if
 * time alone changes nothing. */
int64_t cap_next_ms(const struct cap *c, const struct cap_rules *r);
/* Returns whether there is neither a debt nor a window, so that there is
 * nothing to remember. */
bool cap_is_none(const struct cap *c, const struct cap_rules *r,
		 int64_t boot_ms);

#endif
