/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules/cap.h"

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Returns ms * by / of.  A duration may be ten years long, so the product needs
 * 128 bits. */
static int64_t
scaled(int64_t ms, int64_t by, int64_t of)
{
	return (int64_t)((__int128)ms * by / of);
}

int64_t
cap_window_ms(const struct cap *c, int64_t boot_ms)
{
	int64_t past = c->usable ? boot_ms - c->at_ms : 0;

	return c->window_ms > past ? c->window_ms - past : 0;
}

int64_t
cap_debt_ms(const struct cap *c, const struct cap_rules *r, int64_t boot_ms)
{
	int64_t past = boot_ms - c->at_ms, paid;

	if (r->max_ms == 0)
		return 0;
	if (c->window_ms > 0) /* The debt is gone when the window ends. */
		return cap_window_ms(c, boot_ms) > 0 ? c->debt_ms : 0;
	if (c->grows)
		return least(c->debt_ms + past, r->max_ms);
	if (!c->usable)
		return c->debt_ms;
	if (past >= r->window_ms)
		return 0;
	paid = scaled(past, r->max_ms, r->window_ms);
	return c->debt_ms > paid ? c->debt_ms - paid : 0;
}

void
cap_settle(struct cap *c, const struct cap_rules *r, int64_t boot_ms)
{
	int64_t debt_ms = cap_debt_ms(c, r, boot_ms);

	c->window_ms = r->max_ms == 0 ? 0 : cap_window_ms(c, boot_ms);
	c->debt_ms = debt_ms;
	c->at_ms = boot_ms;
}

bool
cap_step(struct cap *c, const struct cap_rules *r, bool busy, bool was_held,
	 bool usable, int64_t boot_ms)
{
	bool window = cap_window_ms(c, boot_ms) > 0;
	bool opens = busy && !window && r->max_ms > 0 &&
		     cap_debt_ms(c, r, boot_ms) >= r->max_ms;
	bool held = busy && (r->max_ms == 0 || !(window || opens));
	bool grows = held || (was_held && !window && !opens);
	bool paid = c->debt_ms > 0 && cap_debt_ms(c, r, boot_ms) == 0;

	if (held != c->held || grows != c->grows || usable != c->usable ||
	    opens || paid || window != (c->window_ms > 0))
		cap_settle(c, r, boot_ms);
	if (opens) {
		c->window_ms = r->window_ms;
		c->debt_ms = r->window_ms > 0 ? r->max_ms : 0;
	}
	if (!held) /* The cap may have been lowered. */
		c->debt_ms = least(c->debt_ms, r->max_ms);
	c->held = held || (opens && r->window_ms == 0);
	c->grows = grows || c->held;
	c->usable = usable;
	return c->held;
}

int64_t
cap_next_ms(const struct cap *c, const struct cap_rules *r)
{
	if (c->window_ms > 0)
		return c->usable ? c->at_ms + c->window_ms : STAMP_NONE;
	if (r->max_ms == 0)
		return STAMP_NONE;
	if (c->held)
		return c->at_ms + r->max_ms - c->debt_ms;
	if (c->grows || !c->usable || c->debt_ms == 0)
		return STAMP_NONE;
	/* Rounded up, so that no debt is left at that moment. */
	return c->at_ms + scaled(c->debt_ms, r->window_ms, r->max_ms) + 1;
}

bool
cap_is_none(const struct cap *c, const struct cap_rules *r, int64_t boot_ms)
{
	return cap_window_ms(c, boot_ms) == 0 &&
	       cap_debt_ms(c, r, boot_ms) == 0;
}
