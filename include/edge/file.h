/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_FILE_H
#define EDGE_FILE_H

#include <stddef.h>

#include "core/base/err.h"

/* Reads a whole file into *out, which gets a NUL behind its *n bytes and which
 * the caller frees.  ERR_SYSTEM: the file cannot be read.  ERR_LIMIT: it has
 * more than bytes_max bytes.  The error names the file.  Any thread. */
int file_read(const char *path, size_t bytes_max, char **out, size_t *n,
	      struct err *e);

#endif
