/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_UNBLOCKED_H
#define EDGE_UNBLOCKED_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Writes that do not wait for the reader.  The given descriptor's flags are not
 * changed, because other processes may share it.
 */

/* Opens the pipe or terminal of fd again, non-blocking and for us alone, and
 * returns the new descriptor.  Returns fd itself if the kernel refuses this, or
 * if fd is neither a pipe nor a terminal.  A regular file needs no new
 * descriptor. */
int unblocked_open(int fd);

/* Writes the beginning of the bytes, at most PIPE_BUF of them, and returns how
 * many it has written.  If this piece contains ends of lines, it is cut after
 * the last of them.  Returns 0 if the reader takes nothing now, and -1 with
 * errno set if the write has failed. */
ssize_t unblocked_write(int fd, const char *bytes, size_t n);

#endif
