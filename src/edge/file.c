/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/limits.h"

/* Reads up to max bytes.  A pipe (such as a shell's `<(...)`) is read until its
 * writers close it.  A pipe without a writer counts as empty. */
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
	/* Without O_NONBLOCK, open would wait if path is a pipe without a
	 * writer. */
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

/* --- files that are written ----------------------------------------------- */

#define BESIDE_BYTES 64 /* room for the last part of a temporary name */

static int
failed(const char *name, struct err *e)
{
	return err_set(e, ERR_SYSTEM, "%.180s: %s", name, strerror(errno));
}

int
file_draft(struct file_draft *d, int dir, const char *name, mode_t mode,
	   struct err *e)
{
	const char *slash = strrchr(name, '/');
	int folder = slash == NULL ? 0 : (int)(slash + 1 - name), fd;
	size_t size = (size_t)folder + BESIDE_BYTES;
	uint64_t r;

	*d = (struct file_draft){.dir = dir, .name = name};
	if (getrandom(&r, sizeof(r), 0) != sizeof(r))
		return failed("random", e);
	d->beside = malloc(size);
	if (d->beside == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	(void)snprintf(d->beside, size,
		       "%.*s.karpenter-node-holder.%016" PRIx64, folder, name,
		       r);
	fd = openat(dir, d->beside,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    mode & 0600);
	if (fd < 0) {
		(void)failed(name, e);
		free(d->beside);
		d->beside = NULL;
		return -1;
	}
	/* openat applies the umask, and fchmod does not. */
	if (fchmod(fd, mode) == 0)
		return fd;
	(void)failed(name, e);
	(void)close(fd);
	file_draft_done(d);
	return -1;
}

int
file_draft_move(struct file_draft *d, struct err *e)
{
	if (renameat(d->dir, d->beside, d->dir, d->name))
		return failed(d->name, e);
	free(d->beside);
	d->beside = NULL;
	return 0;
}

void
file_draft_done(struct file_draft *d)
{
	if (d->beside != NULL)
		(void)unlinkat(d->dir, d->beside, 0);
	free(d->beside);
	d->beside = NULL;
}

static bool
is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int
file_place(const char *path, const char *const *others, size_t n, struct err *e)
{
	struct stat place, other;
	bool same = false;

	if (lstat(path, &place) != 0)
		return errno == ENOENT ? 0 : failed(path, e);
	if (!S_ISREG(place.st_mode))
		return err_set(e, ERR_INPUT, "%.150s: %s, expected a file",
			       path,
			       S_ISLNK(place.st_mode) ? "a symbolic link"
						      : "no regular file");
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		same = same ||
		       (fstat(fd, &other) == 0 && is_same(&place, &other));
	for (size_t i = 0; i < n; i++)
		same = same || (stat(others[i], &other) == 0 &&
				is_same(&place, &other));
	return same ? err_set(e, ERR_INPUT,
			      "%.150s: it is read or printed to, expected "
			      "another file",
			      path)
		    : 0;
}

/* Gets the status of the folder that the path is in.  Sets *name to the file's
 * name in that folder; *name points into path. */
static int
folder_stat(const char *path, const char **name, struct stat *st)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash == NULL
			       ? strdup(".")
			       : strndup(path, (size_t)(slash + 1 - path));
	int rc = folder == NULL ? -1 : stat(folder, st);

	*name = slash == NULL ? path : slash + 1;
	free(folder);
	return rc;
}

bool
file_same_place(const char *a, const char *b)
{
	const char *name_a, *name_b;
	struct stat in_a, in_b;

	return folder_stat(a, &name_a, &in_a) == 0 &&
	       folder_stat(b, &name_b, &in_b) == 0 && is_same(&in_a, &in_b) &&
	       strcmp(name_a, name_b) == 0;
}
