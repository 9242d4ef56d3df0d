/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_PACE_H
#define CORE_BASE_PACE_H

#include <stdint.h>

/*
 * Exponential backoff with jitter, as in client-go's reflector, over a small
 * random generator.  The same seed gives the same sequence, so a run can be
 * repeated.  The generator is not for secrets.  Not thread-safe.
 */
struct pace {
	uint64_t state;
};

void pace_init(struct pace *p, uint64_t seed);
uint64_t pace_random(struct pace *p); /* any 64-bit value */

/* Returns a random time of at least ms and less than 2 * ms, so that callers
 * that begin to wait together do not all come back together.  Returns 0 if ms
 * is not above 0. */
int64_t pace_jitter(struct pace *p, int64_t ms);

/* Returns how long to wait after the n-th failure in a row (n >= 1): min_ms
 * times 2^(n-1), but no more than max_ms, and then with jitter.  The result is
 * less than 2 * max_ms. */
int64_t pace_backoff(struct pace *p, unsigned n, int64_t min_ms,
		     int64_t max_ms);

#endif
