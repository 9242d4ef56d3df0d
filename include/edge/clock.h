/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_CLOCK_H
#define EDGE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/stamp.h"

/*
 * The one place that reads a clock.  Server time is the API server's `Date`
 * header, median of the recent answers, carried on by CLOCK_BOOTTIME; until
 * the first answer it is CLOCK_REALTIME.  Any thread.
 */
struct clock;

struct clock *clock_new(void);
void clock_free(struct clock *c);

int64_t clock_boot_ms(void);
uint64_t clock_boot_us(void);
int64_t clock_wall_ms(void);	/* CLOCK_REALTIME: what a log line says */
struct now clock_now(const struct clock *c);

/* An answer came: its Date (whole seconds), the boot_ms when it was asked for
 * and when it was read.  One that was long on its way, or lay unread while this
 * process slept, counts only where it contradicts what we have. */
void clock_date(struct clock *c, int64_t date_ms, int64_t sent_ms,
		int64_t boot_ms);

/* true once after the anchor moved by more than CLOCK_SHIFT_MS since it was
 * last told (at first: from this machine's clock at clock_new); *by_ms says by
 * how much.  For the log. */
bool clock_shifted(struct clock *c, int64_t *by_ms);

#endif
