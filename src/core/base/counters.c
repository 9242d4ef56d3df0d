/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/counters.h"

#include <stddef.h>

static void
observe(_Atomic uint64_t *buckets, _Atomic uint64_t *sum,
	const uint64_t *bounds, size_t n, uint64_t v)
{
	size_t i = 0;

	while (i < n && v > bounds[i])
		i++;
	atomic_fetch_add_explicit(&buckets[i], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(sum, v, memory_order_relaxed);
}

void
counters_latency(struct counters *c, uint64_t us)
{
	static const uint64_t bounds[] = LATENCY_BUCKETS_US;

	observe(c->latency, &c->latency_us_sum, bounds, LATENCY_BUCKETS, us);
}

void
counters_hold_latency(struct counters *c, uint64_t ms)
{
	static const uint64_t bounds[] = HOLD_BUCKETS_MS;

	observe(c->hold_latency, &c->hold_latency_ms_sum, bounds, HOLD_BUCKETS,
		ms);
}

void
counters_write_duration(struct counters *c, uint64_t ms)
{
	static const uint64_t bounds[] = WRITE_BUCKETS_MS;

	observe(c->write_duration, &c->write_duration_ms_sum, bounds,
		WRITE_BUCKETS, ms);
}
