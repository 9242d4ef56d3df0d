/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_UNBLOCKED_H
#define EDGE_UNBLOCKED_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Writes that do not wait for the reader.  The descriptor stays as it is,
 * because other processes may have it, too.
 */

/* Opens what fd refers to once more, non-blocking and for us alone, and returns
 * the new descriptor.  It returns fd itself if that is refused, or if fd is a
 * file, which needs no such descriptor. */
int unblocked_open(int fd);

/* Writes one piece and returns its length.  The piece ends at the end of a line
 * if the bytes contain a whole line.  0: the reader takes nothing now.  Returns
 * -1 with errno set if nobody will ever read it. */
ssize_t unblocked_write(int fd, const char *bytes, size_t n);

#endif
