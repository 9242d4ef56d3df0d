/* SPDX-License-Identifier: Apache-2.0 */
#include "dice.h"

static uint32_t
next_byte(struct dice *d)
{
	d->left--;
	return *d->bytes++;
}

static uint32_t
roll_bytes(struct dice *d, uint32_t n)
{
	uint32_t v = next_byte(d);

	if (n > 256 && d->left > 0)
		v = v << 8 | next_byte(d);
	return v % n;
}

/* xorshift64*: not the core's own generator, which is under test. */
uint32_t
roll(struct dice *d, uint32_t n)
{
	if (d->even)
		return n - 1;
	if (d->left > 0)
		return roll_bytes(d, n);
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
