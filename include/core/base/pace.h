/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_PACE_H
#define CORE_BASE_PACE_H

#include <stdint.h>

/*
 * Jittered exponential backoff as client-go's reflector does it, and a small
 * random generator.  It starts from a seed, so that a run can be repeated.  Not
 * thread-safe.
 */
struct pace {
	uint64_t state;
};

void pace_init(struct pace *p, uint64_t seed);
uint64_t pace_random(struct pace *p);

/* ms · U[1, 2): callers that wait together do not come back together. */
int64_t pace_jitter(struct pace *p, int64_t ms);

/* The wait after the n-th failure in a row (n >= 1): min·2^(n-1), at most max,
 * with jitter. */
int64_t pace_backoff(struct pace *p, unsigned n, int64_t min_ms,
		     int64_t max_ms);

#endif
