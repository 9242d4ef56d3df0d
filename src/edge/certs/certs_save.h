/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_CERTS_CERTS_SAVE_H
#define EDGE_CERTS_CERTS_SAVE_H

#include <stddef.h>
#include <sys/types.h>

#include "core/base/err.h"

/*
 * Files of a folder that change together: each is written beside its place,
 * and none is put there before all are on the disk.
 */
struct certs_file {
	const char *name;
	mode_t mode;		/* exactly, whatever the umask */
	const char *bytes;
	size_t n;
};

#define CERTS_FILES_MAX 4

/* The folder is made (0700) if it is missing. */
int certs_save(const char *dir, const struct certs_file *files, size_t n,
	       struct err *e);

#endif
