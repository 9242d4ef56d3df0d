/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_RECENT_H
#define DAEMON_RECENT_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/counters.h"
#include "wire/status/status.h"

/*
 * Counts the admission reviews of the last minute.  Main copies the counters
 * every RECENT_MS, and recent_read subtracts the copy of a minute ago from the
 * present counters.  Main alone calls recent_init and recent_look; any thread
 * may call recent_read.  No lock is needed: a copy is overwritten only when it
 * is at least 80 s old, and recent_read uses the youngest copy that is at least
 * a minute old.
 */
#define RECENT_LOOKS 16 /* number of copies that are kept */
#define RECENT_MS 5000
#define RECENT_KINDS 6 /* number of counts in a copy */

struct recent {
	_Atomic int64_t at_ms[RECENT_LOOKS]; /* boot time of the copy, or 0 */
	_Atomic uint64_t n[RECENT_LOOKS][RECENT_KINDS];
	_Atomic unsigned next;
};

void recent_init(struct recent *r, int64_t boot_ms);
void recent_look(struct recent *r, const struct counters *c, int64_t boot_ms);
void recent_read(struct recent *r, const struct counters *c, int64_t boot_ms,
		 struct status_admissions *out);

#endif
