/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CAP_H
#define CORE_CAP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/stamp.h"

/*
 * The cap on one scope's hold (design §4): held for max_ms without a break of
 * at least window_ms, it is released for window_ms, however busy.  What is
 * here outlives the process, in the Lease.  All times are server_ms.
 */
struct cap_rules {
	int64_t max_ms;		/* 0: no cap */
	int64_t window_ms;
};

struct cap {
	int64_t run_ms;		/* held since, short breaks included */
	int64_t idle_ms;	/* not busy since; NONE while busy */
	int64_t open_ms;	/* released until; NONE: no window is open */
};

#define CAP_NONE {STAMP_NONE, STAMP_NONE, STAMP_NONE}

/* Time has passed, or the scope got busy or quiet: is it held?  In order: a
 * moment that was missed is made good. */
bool cap_step(struct cap *c, const struct cap_rules *r, bool busy,
	      int64_t now_ms);
/* When time alone changes something; STAMP_NONE: never. */
int64_t cap_next_ms(const struct cap *c, const struct cap_rules *r, bool busy);
/* Nothing to remember. */
bool cap_is_none(const struct cap *c);

#endif
