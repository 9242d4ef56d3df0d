/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/limits.h"

/* Reads up to max bytes.  A pipe (a shell's `<(...)`) is read until its writers
 * close it.  A pipe that nobody writes to counts as empty. */
static ssize_t
read_whole(int fd, char *to, size_t max)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t got = 0;

	while (got < max) {
		ssize_t n = read(fd, to + got, max - got);

		if (n > 0)
			got += (size_t)n;
		else if (n == 0)
			break;
		else if (errno == EAGAIN && poll(&p, 1, FILE_PIPE_MS) == 0) {
			errno = ETIMEDOUT;
			return -1;
		} else if (errno != EAGAIN && errno != EINTR)
			return -1;
	}
	return (ssize_t)got;
}

int
file_read(const char *path, size_t bytes_max, char **out, size_t *n,
	  struct err *e)
{
	/* Without O_NONBLOCK, open would wait for a writer of the pipe. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *bytes;
	ssize_t got;

	if (fd < 0)
		return err_set(e, ERR_SYSTEM, "%s: %s", path, strerror(errno));

	bytes = malloc(bytes_max + 2);
	got = bytes == NULL ? -1 : read_whole(fd, bytes, bytes_max + 1);
	if (got < 0)
		(void)err_set(e, ERR_SYSTEM, "%s: cannot be read: %s", path,
			      strerror(errno));
	else if ((size_t)got > bytes_max)
		(void)err_set(e, ERR_LIMIT, "%s: over %zu bytes", path,
			      bytes_max);

	(void)close(fd);
	if (got < 0 || (size_t)got > bytes_max) {
		if (got > 0)
			explicit_bzero(bytes, (size_t)got);
		free(bytes);
		return -1;
	}

	bytes[got] = '\0';
	*out = bytes;
	*n = (size_t)got;
	return 0;
}
