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

/* How many blocks of memory that were allocated between begin and end have not
 * been freed. */
size_t refuse_kept(void);

/* Frees a block that our own objects have allocated. */
void refused_free(void *p);

#endif
