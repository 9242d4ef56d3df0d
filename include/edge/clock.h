/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_CLOCK_H
#define EDGE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/stamp.h"

/*
 * The one place that reads a clock.  Server time is the API server's `Date`
 * header, the median of the recent answers, carried on by CLOCK_BOOTTIME.
 * Until the first answer it is CLOCK_REALTIME.  Any thread.
 */
struct clock;

struct clock *clock_new(void);
void clock_free(struct clock *c);

int64_t clock_boot_ms(void);
uint64_t clock_boot_us(void);
int64_t clock_wall_ms(void);	/* CLOCK_REALTIME, for log lines */
struct now clock_now(const struct clock *c);

/* Takes the Date of an answer (whole seconds), the boot time when it was asked
 * for, and the boot time when it was read.  An answer that was long on its way,
 * or lay unread while this process slept, counts only if it contradicts what we
 * have. */
void clock_date(struct clock *c, int64_t date_ms, int64_t sent_ms,
		int64_t boot_ms);

/* Returns true once after the anchor has moved by more than CLOCK_SHIFT_MS
 * since the last time it did (at first: from this machine's clock at
 * clock_new).  *by_ms is by how much.  For the log. */
bool clock_shifted(struct clock *c, int64_t *by_ms);

#endif
