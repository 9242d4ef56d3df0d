/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_CERTS_CERTS_SAVE_H
#define EDGE_CERTS_CERTS_SAVE_H

#include <stddef.h>
#include <sys/types.h>

#include "core/base/err.h"

/*
 * Files of one folder that change together.  Each file is first written under a
 * temporary name in the same folder.  The files get their final names only when
 * all of them are on the disk.
 */
struct certs_file {
	const char *name;
	mode_t mode; /* The exact mode, not changed by the umask. */
	const char *bytes;
	size_t n;
};

#define CERTS_FILES_MAX 4

/* Saves n <= CERTS_FILES_MAX files.  The folder is created with mode 0700 if it
 * is missing.  It returns -1 on failure, and *e says why. */
int certs_save(const char *dir, const struct certs_file *files, size_t n,
	       struct err *e);

#endif
