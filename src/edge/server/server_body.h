/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SERVER_SERVER_BODY_H
#define EDGE_SERVER_SERVER_BODY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Collects request bodies as they arrive, within bounds on all of them
 * together.  A body belongs to one thread, and all threads share the budget.  A
 * zeroed struct body is empty; of a budget the owner sets the two maxima.
 */

struct budget {
	_Atomic size_t max; /* bytes allocated for bodies at once … */
	size_t big_bytes;   /* … of which those that have more room than
				   this take at most half, so that small ones
				   always find some; 0: no such limit */
	unsigned big_max;   /* big ones handled at once */
	_Atomic size_t held;
	_Atomic size_t big_held; /* … by big ones */
	_Atomic unsigned big;
};

/* Takes one of the places for big bodies.  It returns false, and takes none, if
 * there is no room. */
bool budget_big_take(struct budget *g);
void budget_big_give(struct budget *g);

struct body {
	char *data;
	size_t bytes, cap;
	uint64_t seen; /* of the message, kept or not */
};

/* Appends n bytes.  `size` is the length of the whole body if it is known, else
 * 0.  It returns -1 if the budget or memory is used up; the body is then
 * dropped.  Memory grows with what has come, four times as much at most and
 * 4 KiB at least, and not with what is promised. */
int body_add(struct body *b, struct budget *g, const char *bytes, size_t n,
	     size_t size);
/* Returns which bodies have to make room for this one: those with more room than
 * that, or none (SIZE_MAX).  Big ones do if more than half of their share is
 * taken and this is a big one, and all if three quarters of everything is. */
size_t body_needs_room(const struct body *b, const struct budget *g);
/* Frees the body and gives its bytes back to the budget. */
void body_drop(struct body *b, struct budget *g);

#endif
