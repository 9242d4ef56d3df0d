/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_UNBLOCKED_H
#define EDGE_UNBLOCKED_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Writes that do not wait for the reader.  The descriptor stays as it is,
 * because other processes may have it, too.
 */

/* Returns what fd refers to, opened once more and not blocking, for us alone.
 * That may be refused, and there is no need of it for a file: then it returns
 * fd. */
int unblocked_open(int fd);

/* Writes one piece, which ends with a line if a whole one is among the bytes,
 * and returns its length; 0: the reader takes nothing now.  Returns -1 with
 * errno set if nobody will ever read it. */
ssize_t unblocked_write(int fd, const char *bytes, size_t n);

#endif
