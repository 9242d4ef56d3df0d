/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cap.h"

static bool
passed(int64_t moment, int64_t now_ms)
{
	return moment != STAMP_NONE && moment <= now_ms;
}

static int64_t
after(int64_t moment, int64_t ms)
{
	return moment == STAMP_NONE ? STAMP_NONE : moment + ms;
}

/* Also of none. */
static int64_t
no_later(int64_t moment, int64_t limit)
{
	return moment < limit ? moment : limit;
}

bool
cap_step(struct cap *c, const struct cap_rules *r, bool busy, int64_t now_ms)
{
	if (r->max_ms == 0) {
		*c = (struct cap)CAP_NONE;
		return busy;
	}
	/* Of before the clock was set back, perhaps by another leader: what
	 * has begun, began now at the latest. */
	c->run_ms = no_later(c->run_ms, now_ms);
	c->idle_ms = no_later(c->idle_ms, now_ms);
	c->open_ms = no_later(c->open_ms, now_ms + r->window_ms);
	if (passed(c->open_ms, now_ms))
		*c = (struct cap)CAP_NONE;
	if (passed(after(c->idle_ms, r->window_ms), now_ms) &&
	    c->open_ms == STAMP_NONE)
		*c = (struct cap)CAP_NONE;
	if (!busy && c->run_ms != STAMP_NONE && c->idle_ms == STAMP_NONE)
		c->idle_ms = now_ms;
	if (busy && c->run_ms == STAMP_NONE)
		c->run_ms = now_ms;
	if (busy)
		c->idle_ms = STAMP_NONE;
	if (busy && c->open_ms == STAMP_NONE &&
	    c->run_ms + r->max_ms <= now_ms)
		c->open_ms = now_ms + r->window_ms;
	return busy && c->open_ms == STAMP_NONE;
}

int64_t
cap_next_ms(const struct cap *c, const struct cap_rules *r, bool busy)
{
	if (c->open_ms != STAMP_NONE)
		return c->open_ms;
	if (!busy)
		return after(c->idle_ms, r->window_ms);
	return after(c->run_ms, r->max_ms);
}

bool
cap_is_none(const struct cap *c)
{
	return c->run_ms == STAMP_NONE && c->open_ms == STAMP_NONE;
}
