/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_FILE_H
#define EDGE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/base/err.h"

/* Reads a whole file into *out, as *n bytes and a NUL.  The caller frees *out.
 * ERR_SYSTEM: the file cannot be read.  ERR_LIMIT: it has more than bytes_max
 * bytes.  The error names the file.  Any thread. */
int file_read(const char *path, size_t bytes_max, char **out, size_t *n,
	      struct err *e);

/*
 * Writes a file so that it appears under its name either complete or not at
 * all.  The file is written under another name in the same folder, and then
 * renamed.  The rename replaces an existing file or symbolic link.
 *
 * dir: a descriptor of the folder of `name`, or AT_FDCWD.  dir and name are
 * borrowed.
 */
struct file_draft {
	int dir;
	const char *name;
	/* The temporary name, or NULL when there is no temporary file. */
	char *beside;
};

/* Returns a descriptor to write to, which the caller closes, or -1 with *e set.
 * mode is exact, whatever the umask. */
int file_draft(struct file_draft *d, int dir, const char *name, mode_t mode,
	       struct err *e);
/* Renames the file to its final name.  If it has to survive a power failure,
 * call fsync(2) on the file before, and on the folder afterwards. */
int file_draft_move(struct file_draft *d, struct err *e);
/* Removes the file if it was not moved.  A zeroed draft is allowed. */
void file_draft_done(struct file_draft *d);

/* Checks whether a file may be written to path.  Fails with ERR_INPUT, and
 * names path, if path is something other than a regular file, if it is one of
 * the n other files, or if it is open as stdin, stdout or stderr.  A file is
 * recognized even by another name.  A path that does not exist is allowed. */
int file_place(const char *path, const char *const *others, size_t n,
	       struct err *e);
/* Returns whether a and b name the same place, so that writing a file to a
 * would replace a file at b.  Neither file has to exist. */
bool file_same_place(const char *a, const char *b);

#endif
