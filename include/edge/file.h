/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_FILE_H
#define EDGE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/base/err.h"

/* Reads a whole file into *out, which gets a NUL behind its *n bytes and which
 * the caller frees.  ERR_SYSTEM: the file cannot be read.  ERR_LIMIT: it has
 * more than bytes_max bytes.  The error names the file.  Any thread. */
int file_read(const char *path, size_t bytes_max, char **out, size_t *n,
	      struct err *e);

/*
 * A file that is at its place whole, or not at all: it is written under another
 * name in the same folder, and then moved.  What was at its place is replaced,
 * and a link there is never followed.
 *
 * dir: a folder in which name is, or AT_FDCWD.  Both are borrowed.
 */
struct file_draft {
	int dir;
	const char *name;
	char *beside; /* the temporary name, until the file is moved; NULL:
			 none */
};

/* Returns a descriptor to write to, which the caller closes, or -1 with *e set.
 * mode is exact, whatever the umask. */
int file_draft(struct file_draft *d, int dir, const char *name, mode_t mode,
	       struct err *e);
/* Moves the file to its place.  Whoever wants it there after a power failure
 * calls fsync(2) before, and for the folder afterwards. */
int file_draft_move(struct file_draft *d, struct err *e);
/* Removes what was not moved.  A zeroed draft is nothing. */
void file_draft_done(struct file_draft *d);

/* Refuses a place for a file where there is something else than a regular file,
 * or one of the n others, or what is open as stdin, stdout or stderr, under
 * whatever name.  ERR_INPUT; the error names the place. */
int file_place(const char *path, const char *const *others, size_t n,
	       struct err *e);
/* Would a file at one of these take the place of one at the other?  None has to
 * be there yet. */
bool file_same_place(const char *a, const char *b);

#endif
