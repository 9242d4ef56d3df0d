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
	_Atomic size_t max; /* bytes allocated for bodies at once */
	/* Bodies with more room than this are big.  Together they use at most
	 * half of max, so that small bodies always find room.  0: no limit. */
	size_t big_bytes;
	unsigned big_max;	 /* how many big bodies are handled at once */
	_Atomic size_t held;	 /* bytes allocated now */
	_Atomic size_t big_held; /* bytes among them of big bodies */
	_Atomic unsigned big;	 /* big bodies that are being handled */
};

/* Takes one of the places for big bodies.  It returns false, and takes none, if
 * there is no room. */
bool body_big_take(struct budget *g);
void body_big_give(struct budget *g);

struct body {
	char *data;
	size_t bytes, cap;
	uint64_t seen; /* bytes that came, kept or not */
};

/* Appends n bytes.  `size` is the length of the whole body if it is known, else
 * 0.  It returns -1 if the budget or memory is used up; the body is then
 * dropped.  Memory grows with the bytes that have come (at most four times as
 * much, at least 4 KiB), and not with the Content-Length. */
int body_add(struct body *b, struct budget *g, const char *bytes, size_t n,
	     size_t size);
/* Returns a size; bodies with more room than that have to make room for this
 * body.  SIZE_MAX means that none has to.  Big bodies have to if this body is
 * big and more than half of the big bodies' share is used.  All bodies have to
 * if three quarters of the budget are used. */
size_t body_needs_room(const struct body *b, const struct budget *g);
/* Frees the body and gives its bytes back to the budget. */
void body_drop(struct body *b, struct budget *g);

#endif
