/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SERVER_SERVER_BODY_H
#define EDGE_SERVER_SERVER_BODY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Collects request bodies as they arrive.  The budget bounds the memory of all
 * bodies together.  A body belongs to one thread, and all threads share the
 * budget.  A zeroed struct body is empty.  The owner of a budget sets max,
 * big_bytes and big_max.
 */

struct budget {
	/* Maximum number of bytes for all bodies together. */
	_Atomic size_t max;
	/* Bodies with more room than big_bytes are big.  Together they take at
	 * most half of max, so that small bodies always find room.  If
	 * big_bytes is 0, no body is big. */
	size_t big_bytes;
	/* Maximum number of big bodies that are handled at once. */
	unsigned big_max;
	_Atomic size_t held;	 /* Bytes that are taken now. */
	_Atomic size_t big_held; /* How many bytes of `held` big bodies take. */
	/* Number of big bodies that are being handled. */
	_Atomic unsigned big;
};

/* Takes one of the big_max places for big bodies.  Returns false if no place is
 * free. */
bool body_big_take(struct budget *g);
void body_big_give(struct budget *g);

struct body {
	char *data;
	size_t bytes, cap;
	uint64_t seen; /* Bytes that have arrived, kept or not. */
};

/* Appends n bytes.  `size` is the length of the whole body if it is known, else
 * 0.  Returns -1 if the budget or memory is used up; the body is then dropped.
 * The memory of a body is at most four times the bytes that have arrived, or 4
 * KiB if that is more.  So a client that only promises a large body gets no
 * memory for it. */
int body_add(struct body *b, struct budget *g, const char *bytes, size_t n,
	     size_t size);
/* Returns the size above which another body may be dropped to make room for
 * this one.  The result is 0 (any body may be dropped) if more than three
 * quarters of the budget are taken.  Otherwise it is big_bytes if this body is
 * big and more than half of the big bodies' share is taken.  In all other cases
 * it is SIZE_MAX: no body may be dropped. */
size_t body_needs_room(const struct body *b, const struct budget *g);
/* Frees the body and gives its bytes back to the budget. */
void body_drop(struct body *b, struct budget *g);

#endif
