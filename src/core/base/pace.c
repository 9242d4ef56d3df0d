/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/pace.h"

void
pace_init(struct pace *p, uint64_t seed)
{
	p->state = seed;
}

/* splitmix64, a public-domain algorithm by S. Vigna. */
uint64_t
pace_random(struct pace *p)
{
	uint64_t z = p->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

int64_t
pace_jitter(struct pace *p, int64_t ms)
{
	if (ms <= 0)
		return 0;
	return ms + (int64_t)(pace_random(p) % (uint64_t)ms);
}

int64_t
pace_backoff(struct pace *p, unsigned n, int64_t min_ms, int64_t max_ms)
{
	int64_t ms = min_ms;

	while (n > 1 && ms < max_ms) {
		ms *= 2;
		n--;
	}
	return pace_jitter(p, ms > max_ms ? max_ms : ms);
}
