/* SPDX-License-Identifier: Apache-2.0 */
#include "certs_save.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define BESIDE_BYTES 64 /* "." name "." and sixteen hex digits */

static int
failed(const char *name, struct err *e)
{
	return err_set(e, ERR_SYSTEM, "%.120s: %s", name, strerror(errno));
}

static int
open_dir(const char *dir, struct err *e)
{
	bool made = mkdir(dir, 0700) == 0;
	int fd;

	if (made ? chmod(dir, 0700) != 0 : errno != EEXIST)
		return failed(dir, e);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? failed(dir, e) : fd;
}

static int
write_all(int fd, const char *at, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, at, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		at += done;
		n -= (size_t)done;
	}
	return fsync(fd);
}

static int
write_beside(int dir, const struct certs_file *f, char beside[BESIDE_BYTES],
	     struct err *e)
{
	uint64_t r;
	int fd, rc;

	if (getrandom(&r, sizeof(r), 0) != sizeof(r))
		return failed("random", e);
	(void)snprintf(beside, BESIDE_BYTES, ".%s.%016" PRIx64, f->name, r);
	fd = openat(dir, beside,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    f->mode & 0600);
	if (fd < 0) {
		beside[0] = '\0';
		return failed(f->name, e);
	}
	/* openat has applied the umask; fchmod has not. */
	rc = fchmod(fd, f->mode) || write_all(fd, f->bytes, f->n)
		     ? failed(f->name, e)
		     : 0;
	(void)close(fd);
	return rc;
}

static int
save_in(int dir, const struct certs_file *files, size_t n, struct err *e)
{
	char beside[CERTS_FILES_MAX][BESIDE_BYTES] = {{0}};
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++)
		rc = write_beside(dir, &files[i], beside[i], e);
	for (size_t i = 0; i < n && rc == 0; i++) {
		if (renameat(dir, beside[i], dir, files[i].name))
			rc = failed(files[i].name, e);
		else
			beside[i][0] = '\0';
	}
	for (size_t i = 0; i < n; i++)
		if (beside[i][0] != '\0')
			(void)unlinkat(dir, beside[i], 0);
	return rc == 0 && fsync(dir) ? failed("folder", e) : rc;
}

int
certs_save(const char *dir, const struct certs_file *files, size_t n,
	   struct err *e)
{
	int fd, rc;

	assert(n <= CERTS_FILES_MAX);
	fd = open_dir(dir, e);
	if (fd < 0)
		return -1;
	rc = save_in(fd, files, n, e);
	(void)close(fd);
	return rc;
}
