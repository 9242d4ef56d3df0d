/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_MOMENT_H
#define DAEMON_MOMENT_H

#include <stdint.h>
#include <time.h>

/* Returns the time of CLOCK_MONOTONIC that is `ms` milliseconds from now, for a
 * condition variable that uses this clock. */
static inline struct timespec
moment_after(int64_t ms)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

#endif
