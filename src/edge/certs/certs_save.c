/* SPDX-License-Identifier: Apache-2.0 */
#include "certs_save.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edge/file.h"

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
write_beside(int dir, const struct certs_file *f, struct file_draft *d,
	     struct err *e)
{
	int fd = file_draft(d, dir, f->name, f->mode, e), rc;

	if (fd < 0)
		return -1;
	rc = write_all(fd, f->bytes, f->n) ? failed(f->name, e) : 0;
	(void)close(fd);
	return rc;
}

static int
save_in(int dir, const struct certs_file *files, size_t n, struct err *e)
{
	struct file_draft drafts[CERTS_FILES_MAX] = {{.beside = NULL}};
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++)
		rc = write_beside(dir, &files[i], &drafts[i], e);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = file_draft_move(&drafts[i], e);
	for (size_t i = 0; i < n; i++)
		file_draft_done(&drafts[i]);
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
