/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_INPUT_H
#define TOOLS_SIMULATE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "wire/karpenter/reader.h"

/* A file that is read through a window of at most ITEM_BYTES_MAX bytes.  zlib
 * detects whether it is compressed with gzip.  A byte order mark and sequences
 * that set colors on a terminal are left out.  Not thread-safe. */
struct input;

/* Opens a file, or stdin for "-".  The name is borrowed.  Returns NULL with *e
 * set on failure. */
struct input *input_open(const char *name, struct err *e);
void input_close(struct input *in); /* accepts NULL */

/* Shows the bytes that were read and not used yet, and returns what can follow
 * them.  They are valid until input_more. */
enum reader_rest input_window(const struct input *in, const char **bytes,
			      size_t *n);
/* Takes n bytes away from the beginning of the window. */
void input_use(struct input *in, size_t n);
/* Reads more bytes into a window that is not full, or finds that the file has
 * ended.  Returns -1 with *e set if the rest of the file cannot be read; the
 * file has ended then. */
int input_more(struct input *in, struct err *e);

const char *input_name(const struct input *in);
uint64_t input_bytes(const struct input *in); /* uncompressed bytes read */

#endif
