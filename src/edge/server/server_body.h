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
	_Atomic size_t max;	 /* bytes allocated for bodies at once */
	size_t big_bytes;	 /* bodies with more room than this are big, and
				   take at most half of max, so that small ones
				   always find some, or 0 if no such limit */
	unsigned big_max;	 /* how many big bodies are handled at once */
	_Atomic size_t held;	 /* bytes allocated now */
	_Atomic size_t big_held; /* bytes that big bodies have of them */
	_Atomic unsigned big;	 /* big bodies that are handled now */
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
 * dropped.  Memory grows with what has come, four times as much at most and
 * 4 KiB at least, and not with what is promised. */
int body_add(struct body *b, struct budget *g, const char *bytes, size_t n,
	     size_t size);
/* Returns which bodies have to make room for this one: those with more room
 * than the result.  SIZE_MAX: none has to.  If this body is big and more than
 * half of the big ones' share is taken, big bodies have to.  If three quarters
 * of everything is taken, all bodies have to. */
size_t body_needs_room(const struct body *b, const struct budget *g);
/* Frees the body and gives its bytes back to the budget. */
void body_drop(struct body *b, struct budget *g);

#endif
