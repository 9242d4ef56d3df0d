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
 * Debt and window are durations on CLOCK_BOOTTIME, so no shift of the API
 * server's clock changes them.  Debt shrinks and the window runs in usable time
 * only: while we lead and see everything, because only then can anything be
 * released.  Both are functions of what stood at at_ms, so asking more often
 * does not round anything away.
 *
 * Callers pass CLOCK_BOOTTIME as boot_ms, and hold the lock of the struct's
 * owner.
 */
struct cap_rules {
	int64_t max_ms;		/* 0: no cap, no debt, no window */
	int64_t window_ms;	/* 0: a full debt is forgiven at once */
};

struct cap {
	int64_t debt_ms;	/* as of at_ms */
	int64_t window_ms;	/* what was left then; 0: no window is open */
	int64_t at_ms;		/* boot time */
	bool held;		/* since then */
	bool grows;		/* whether the debt grows: it is held, perhaps
				   by the leader before us */
	bool usable;		/* since then */
};

/* What debt and window are now. */
int64_t cap_debt_ms(const struct cap *c, const struct cap_rules *r,
		    int64_t boot_ms);
int64_t cap_window_ms(const struct cap *c, int64_t boot_ms);

/* Brings *c up to now.  Call it before the rules change. */
void cap_settle(struct cap *c, const struct cap_rules *r, int64_t boot_ms);

/* Says whether the scope is busy, and whether time is usable, from now on.
 * was_held: not everything is seen yet, and the leader before us held the
 * scope, so the debt grows though we may not know why.  Returns whether the
 * scope is held. */
bool cap_step(struct cap *c, const struct cap_rules *r, bool busy,
	      bool was_held, bool usable, int64_t boot_ms);

/* Lowers the debt to debt_ms if it is more.  Returns whether it was. */
bool cap_limit(struct cap *c, const struct cap_rules *r, int64_t debt_ms,
	       int64_t boot_ms);

/* When time alone next changes something, in boot time; STAMP_NONE: never. */
int64_t cap_next_ms(const struct cap *c, const struct cap_rules *r);
/* Is there neither debt nor window, so that nothing is to be remembered? */
bool cap_is_none(const struct cap *c, const struct cap_rules *r,
		 int64_t boot_ms);

#endif
