/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
file_read(const char *path, size_t bytes_max, char **out, size_t *n,
	  struct err *e)
{
	FILE *f = fopen(path, "re");
	char *bytes;
	size_t got;

	if (f == NULL)
		return err_set(e, ERR_SYSTEM, "%s: %s", path, strerror(errno));
	bytes = malloc(bytes_max + 2);
	got = bytes == NULL ? 0 : fread(bytes, 1, bytes_max + 1, f);
	if (bytes == NULL || ferror(f)) {
		free(bytes);
		(void)fclose(f);
		return err_set(e, ERR_SYSTEM, "%s: cannot be read: %s", path,
			       strerror(errno));
	}
	(void)fclose(f);
	if (got > bytes_max) {
		free(bytes);
		return err_set(e, ERR_LIMIT, "%s: over %zu bytes", path,
			       bytes_max);
	}
	bytes[got] = '\0';
	*out = bytes;
	*n = got;
	return 0;
}
