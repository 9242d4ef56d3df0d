/* SPDX-License-Identifier: Apache-2.0 */
#include "dice.h"

/* xorshift64*: not the core's own generator, which is under test. */
uint32_t
roll(struct dice *d, uint32_t n)
{
	if (d->even)
		return n - 1;
	d->state ^= d->state >> 12;
	d->state ^= d->state << 25;
	d->state ^= d->state >> 27;
	return (uint32_t)((d->state * 2685821657736338717u) >> 32) % n;
}

int64_t
between(struct dice *d, int64_t low, int64_t high)
{
	if (d->even)
		return low + (high - low) / 2;
	return low + roll(d, (uint32_t)(high - low + 1));
}
