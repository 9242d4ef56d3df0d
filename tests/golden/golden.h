/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_GOLDEN_GOLDEN_H
#define TESTS_GOLDEN_GOLDEN_H

#include <stddef.h>

/*
 * Golden files.  golden_folder gives each NAME.json of a folder below
 * tests/golden to the function, which writes into `out` what it made of the
 * bytes.  The test fails where that text differs from NAME.want beside it, and
 * where the folder holds no such file.  With GOLDEN_WRITE=1 in the environment
 * the .want files are written instead: read the difference before you keep it.
 * Tests run from the root of the tree.
 */
typedef void golden_fn(const char *bytes, size_t n, char *out, size_t cap);

void golden_folder(const char *folder, golden_fn *fn);

/* Reads a file of up to 1 MiB and ends it with a NUL.  The caller frees it. */
char *golden_read(const char *path, size_t *n);

#endif
