/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WHATIF_ZLIB_H
#define WHATIF_ZLIB_H

/* What tools/simulate/input takes of zlib.  The browser unpacks a file before
 * the command reads it. */
typedef struct page_file *gzFile;

#define Z_OK 0
#define Z_ERRNO (-1)
#define Z_BUF_ERROR (-5) /* the file is cut */

gzFile gzopen(const char *name, const char *mode);
gzFile gzdopen(int fd, const char *mode);
int gzbuffer(gzFile file, unsigned n);
int gzread(gzFile file, void *to, unsigned n);
const char *gzerror(gzFile file, int *code);
int gzclose(gzFile file);

#endif
