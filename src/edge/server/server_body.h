/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SERVER_SERVER_BODY_H
#define EDGE_SERVER_SERVER_BODY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Request bodies as they arrive, and the bounds on all of them together.
 * Pure but for the allocation; a body belongs to one thread, the budget to
 * all.
 */

struct budget {
	size_t max;		/* bytes allocated for bodies at once */
	unsigned big_max;	/* big ones handled at once */
	_Atomic size_t held;
	_Atomic unsigned big;
};

/* false: no room, nothing taken. */
bool budget_big_take(struct budget *g);
void budget_big_give(struct budget *g);

struct body {
	char *data;
	size_t bytes, cap;
	uint64_t seen;		/* of the message, kept or not */
};

/* Appends.  size: the whole body's if known, else 0.  What is allocated
 * follows what has come, not what was promised.  -1: the budget or memory is
 * used up; the body is dropped. */
int body_add(struct body *b, struct budget *g, const char *bytes, size_t n,
	     size_t size);
void body_drop(struct body *b, struct budget *g);

#endif
