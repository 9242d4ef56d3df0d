/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EDGE_REFUSE_H
#define TESTS_EDGE_REFUSE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Makes one call of our own objects fail, as where the system has no more of
 * what is asked for.  A copy of our archives calls refused_malloc for malloc and
 * so on (REFUSED in the Makefile), so neither the calls of the libraries nor
 * those of the tests are meant.  Only calls of the thread that begins are
 * counted.
 */
enum refuse {
	REFUSE_MEMORY,
	REFUSE_FILES,	/* files, folders and sockets: each time they are
			   opened, read or written */
	REFUSE_THREADS,	/* threads and processes */
	REFUSE_KINDS,
};

extern const char *const refuse_names[REFUSE_KINDS];

/* Begins: the nth call of that kind from now fails, counted from 1; 0: none. */
void refuse_begin(enum refuse kind, unsigned nth);
/* Ends.  Returns whether there was such a call, which has failed. */
bool refuse_end(void);

/*
 * The same for a process whose threads call in no certain order.  Of each place
 * in our code that calls, the nth call fails, and those before and after it do
 * not.  Only the places of one part of `parts` are meant, the same ones in each
 * process; so few fail at a time, and together the parts are all.
 */
struct refuse_places {
	enum refuse kind;
	unsigned nth, part, parts;
	bool others;	/* the calls of all threads but this one; else its own */
};
/* Begins, and never ends. */
void refuse_places(const struct refuse_places *p);
/* How many calls have failed so far. */
unsigned refuse_places_failed(void);

/* How many blocks of memory that were allocated between begin and end have not
 * been freed. */
size_t refuse_kept(void);

/* Frees a block that our own objects have allocated. */
void refused_free(void *p);

#endif
