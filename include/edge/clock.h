/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_CLOCK_H
#define EDGE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/stamp.h"

/*
 * All code that makes decisions takes the time from here.  Server time is
 * CLOCK_BOOTTIME plus an offset to the API server's clock.  The offset is the
 * median of the offsets that the `Date` headers of the last answers show.
 * Before the first answer, server time is CLOCK_REALTIME.  Any thread may call
 * any function, and no function waits.
 */
struct clock;

struct clock *clock_new(void);	  /* NULL if no memory */
void clock_free(struct clock *c); /* NULL is allowed */

int64_t clock_boot_ms(void);
uint64_t clock_boot_us(void);
int64_t clock_wall_ms(void); /* CLOCK_REALTIME, for log lines */
struct now clock_now(const struct clock *c);

/* Takes the Date of an answer.  sent_ms is the boot time when the request was
 * sent, boot_ms the boot time when the answer was read.  If these times are
 * more than a second apart, because the answer was slow or this process slept,
 * the Date is ignored unless it contradicts the present offset.  A Date before
 * 2024 is always ignored. */
void clock_date(struct clock *c, int64_t date_ms, int64_t sent_ms,
		int64_t boot_ms);

/* Returns true if the offset has moved by more than CLOCK_SHIFT_MS since the
 * last call that returned true.  As long as no call has returned true, the
 * offset is compared with that of CLOCK_REALTIME at clock_new.  *by_ms is the
 * difference.  For the log only. */
bool clock_shifted(struct clock *c, int64_t *by_ms);

#endif
