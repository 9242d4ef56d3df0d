/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_FILE_H
#define EDGE_FILE_H

#include <stddef.h>

#include "core/base/err.h"

/* Reads a whole file into *out, NUL-terminated; the caller frees it.
 * ERR_SYSTEM: it cannot be read.  ERR_LIMIT: it is over bytes_max.  The error
 * names the file.  Any thread. */
int file_read(const char *path, size_t bytes_max, char **out, size_t *n,
	      struct err *e);

#endif
