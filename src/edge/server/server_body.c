/* SPDX-License-Identifier: Apache-2.0 */
#include "server_body.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES ((size_t)4096)
/* A body of known length gets this much at once.  Most reviews are smaller. */
#define PROMISED_BYTES ((size_t)(64 << 10))

static bool
budget_take(struct budget *g, size_t n)
{
	size_t held = atomic_fetch_add(&g->held, n);

	if (n <= g->max && held <= g->max - n)
		return true;
	atomic_fetch_sub(&g->held, n);
	return false;
}

bool
budget_big_take(struct budget *g)
{
	if (atomic_fetch_add(&g->big, 1) < g->big_max)
		return true;
	budget_big_give(g);
	return false;
}

void
budget_big_give(struct budget *g)
{
	atomic_fetch_sub(&g->big, 1);
}

static size_t
next_cap(const struct body *b, size_t need, size_t size)
{
	size_t cap = b->cap * 2;

	if (cap == 0)
		cap = size > 0 ? PROMISED_BYTES : FIRST_BYTES;
	if (size > 0 && cap > size)
		cap = size;
	return cap < need ? need : cap;
}

int
body_add(struct body *b, struct budget *g, const char *bytes, size_t n,
	 size_t size)
{
	if (n > b->cap - b->bytes) {
		size_t cap = next_cap(b, b->bytes + n, size);
		char *data = NULL;

		if (budget_take(g, cap - b->cap)) {
			data = realloc(b->data, cap);
			if (data == NULL)
				atomic_fetch_sub(&g->held, cap - b->cap);
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
	atomic_fetch_sub(&g->held, b->cap);
	b->data = NULL;
	b->bytes = 0;
	b->cap = 0;
}
