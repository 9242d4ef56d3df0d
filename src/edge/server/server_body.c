/* SPDX-License-Identifier: Apache-2.0 */
#include "server_body.h"

#include <stdlib.h>
#include <string.h>

/* Minimum memory of a body, unless its whole length is known and smaller. */
#define FIRST_BYTES ((size_t)4096)

static bool
share_take(_Atomic size_t *held, size_t n, size_t max)
{
	size_t before = atomic_fetch_add(held, n);

	if (n <= max && before <= max - n)
		return true;
	atomic_fetch_sub(held, n);
	return false;
}

/* Returns how many bytes a body with this room takes from the share of the big
 * bodies. */
static size_t
big_share(const struct budget *g, size_t cap)
{
	return g->big_bytes > 0 && cap > g->big_bytes ? cap : 0;
}

/* Takes `to` - `from` bytes from the budget, for a body that grows. */
static bool
budget_take(struct budget *g, size_t from, size_t to)
{
	size_t big = big_share(g, to) - big_share(g, from);

	if (!share_take(&g->big_held, big, atomic_load(&g->max) / 2))
		return false;
	if (share_take(&g->held, to - from, atomic_load(&g->max)))
		return true;
	atomic_fetch_sub(&g->big_held, big);
	return false;
}

static void
budget_give(struct budget *g, size_t from, size_t to)
{
	atomic_fetch_sub(&g->big_held, big_share(g, from) - big_share(g, to));
	atomic_fetch_sub(&g->held, from - to);
}

bool
body_big_take(struct budget *g)
{
	if (atomic_fetch_add(&g->big, 1) < g->big_max)
		return true;
	body_big_give(g);
	return false;
}

void
body_big_give(struct budget *g)
{
	atomic_fetch_sub(&g->big, 1);
}

size_t
body_needs_room(const struct body *b, const struct budget *g)
{
	size_t max = atomic_load(&g->max);

	if (atomic_load(&g->held) > max / 4 * 3)
		return 0;
	if (big_share(g, b->cap) > 0 && atomic_load(&g->big_held) > max / 4)
		return g->big_bytes;
	return SIZE_MAX;
}

static size_t
next_cap(const struct body *b, size_t need, size_t size, size_t max)
{
	size_t cap = size > 0 ? need * 4 : b->cap * 2;

	if (cap < FIRST_BYTES)
		cap = FIRST_BYTES;
	if (size > 0 && cap > size)
		cap = size;
	if (cap > max)
		cap = max;
	return cap < need ? need : cap;
}

int
body_add(struct body *b, struct budget *g, const char *bytes, size_t n,
	 size_t size)
{
	if (n > b->cap - b->bytes) {
		size_t cap = next_cap(b, b->bytes + n, size,
				      atomic_load(&g->max) / 2);
		char *data = NULL;

		if (budget_take(g, b->cap, cap)) {
			data = realloc(b->data, cap);
			if (data == NULL)
				budget_give(g, cap, b->cap);
		}
		if (data == NULL) {
			body_drop(b, g);
			return -1;
		}
		b->data = data;
		b->cap = cap;
	}
	memcpy(b->data + b->bytes, bytes, n);
	b->bytes += n;
	return 0;
}

void
body_drop(struct body *b, struct budget *g)
{
	free(b->data);
	budget_give(g, b->cap, 0);
	b->data = NULL;
	b->bytes = 0;
	b->cap = 0;
}
