/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_INPUT_H
#define TOOLS_SIMULATE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/* A file that is read line by line.  zlib detects whether it is compressed with
 * gzip.  Only one line is in memory, with at most ITEM_BYTES_MAX bytes.  Not
 * thread-safe. */
struct input;

/* Opens a file, or stdin for "-".  The name is borrowed.  Returns NULL with *e
 * set on failure. */
struct input *input_open(const char *name, struct err *e);
void input_close(struct input *in); /* accepts NULL */

enum input_got {
	INPUT_END,
	INPUT_LINE,
	INPUT_LONG,    /* a line was skipped because it is too long */
	INPUT_DAMAGED, /* the rest of the file cannot be read; *e says why */
};
/* Gets the next line, without its newline.  It is valid until the next call. */
enum input_got input_line(struct input *in, const char **line, size_t *n,
			  struct err *e);

#define INPUT_PEEK 512
/* Returns whether the file begins with '{' and has the text in its first
 * INPUT_PEEK bytes.  Call this before you get a line or piece. */
bool input_begins(struct input *in, const char *text);
/* Gets the next bytes, with or without newlines, instead of a line. */
enum input_got input_piece(struct input *in, const char **bytes, size_t *n,
			   struct err *e);

const char *input_name(const struct input *in);
uint64_t input_bytes(const struct input *in); /* uncompressed bytes read */

#endif
