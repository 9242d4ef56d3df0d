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
 * Writes a file so that it appears at its place whole or not at all.  It is
 * written under another name in the same folder, and then moved.  The move
 * replaces a file at its place and never follows a link there.
 *
 * dir: the folder of `name`, or AT_FDCWD.  Both are borrowed.
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
/* Moves the file to its place.  To have it there even after a power failure,
 * call fsync(2) on the file before, and on the folder afterwards. */
int file_draft_move(struct file_draft *d, struct err *e);
/* Removes the file if it was not moved.  A zeroed draft is allowed. */
void file_draft_done(struct file_draft *d);

/* Checks a place for a file.  It fails with ERR_INPUT, and names the place, if
 * something other than a regular file is there, or one of the n others, or the
 * file that is open as stdin, stdout or stderr, under whatever name. */
int file_place(const char *path, const char *const *others, size_t n,
	       struct err *e);
/* Returns whether a file at one of these places would replace one at the other.
 * Neither has to exist yet. */
bool file_same_place(const char *a, const char *b);

#endif
