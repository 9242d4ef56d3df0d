/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If poll(2) reports a pipe as writable, the pipe has room for PIPE_BUF bytes,
 * so that write(2) does not block unless another process fills the pipe first.
 * A write to a terminal may block at any time.  Where possible, pipes and
 * terminals are therefore opened again with O_NONBLOCK.
 */
#include "unblocked.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
unblocked_open(int fd)
{
	char path[40];
	struct stat s;
	int own = -1;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (isatty(fd) || (fstat(fd, &s) == 0 && S_ISFIFO(s.st_mode)))
		own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return own < 0 ? fd : own;
}

ssize_t
unblocked_write(int fd, const char *bytes, size_t n)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	const char *newline;
	ssize_t done;

	if (n > PIPE_BUF)
		n = PIPE_BUF;
	newline = memrchr(bytes, '\n', n);
	if (newline != NULL)
		n = (size_t)(newline - bytes) + 1;
	if (poll(&p, 1, 0) <= 0)
		return 0;
	done = write(fd, bytes, n);
	return done < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : done;
}
