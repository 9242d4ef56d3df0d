/* SPDX-License-Identifier: Apache-2.0 */
#include "input.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "core/base/limits.h"

#define CHUNK (64u << 10)

struct input {
	const char *name;
	gzFile file;
	char *data;
	/* data[from] to data[to - 1] are bytes that were read but not returned
	 * yet.  There is no newline before data[looked]. */
	size_t room, from, to, looked;
	/* Whether the rest of a line is skipped because the line is too long.
	 */
	bool skips;
	bool ended;
	/* The error that input_begins met.  A later call reports it. */
	struct err trouble;
	uint64_t bytes;
};

static gzFile
open_file(const char *name)
{
	gzFile file;
	int fd;

	if (strcmp(name, "-") != 0)
		return gzopen(name, "rbe");
	fd = dup(STDIN_FILENO);
	if (fd < 0)
		return NULL;
	file = gzdopen(fd, "rb");
	if (file == NULL)
		(void)close(fd);
	return file;
}

struct input *
input_open(const char *name, struct err *e)
{
	struct input *in = calloc(1, sizeof(*in));

	if (in != NULL)
		in->data = malloc(CHUNK);
	if (in == NULL || in->data == NULL) {
		(void)err_set(e, ERR_SYSTEM, "out of memory");
		input_close(in);
		return NULL;
	}
	in->name = name;
	in->room = CHUNK;
	errno = 0;
	in->file = open_file(name);
	if (in->file == NULL || gzbuffer(in->file, CHUNK) != 0) {
		(void)err_set(e, ERR_INPUT, "%s: %s", name,
			      strerror(errno != 0 ? errno : ENOMEM));
		input_close(in);
		return NULL;
	}
	return in;
}

void
input_close(struct input *in)
{
	if (in == NULL)
		return;
	if (in->file != NULL)
		(void)gzclose(in->file);
	free(in->data);
	free(in);
}

const char *
input_name(const struct input *in)
{
	return strcmp(in->name, "-") == 0 ? "stdin" : in->name;
}

uint64_t
input_bytes(const struct input *in)
{
	return in->bytes;
}

/* Makes room for more bytes after those that were not returned yet.  If one
 * line fills a buffer of ITEM_BYTES_MAX, the line is dropped. */
static int
make_room(struct input *in)
{
	char *data;

	if (in->from > 0) {
		memmove(in->data, in->data + in->from, in->to - in->from);
		in->to -= in->from;
		in->looked -= in->from;
		in->from = 0;
	}
	if (in->to < in->room)
		return 0;
	if (in->skips || in->room >= ITEM_BYTES_MAX) {
		in->skips = true;
		in->to = in->looked = 0;
		return 0;
	}
	data = realloc(in->data, 2 * in->room);
	if (data == NULL)
		return -1;
	in->data = data;
	in->room *= 2;
	return 0;
}

/* Skips a byte order mark and refuses UTF-16.  PowerShell writes both by
 * default. */
static int
skip_mark(struct input *in, struct err *e)
{
	if (in->to >= 3 && memcmp(in->data, "\xef\xbb\xbf", 3) == 0)
		in->from = in->looked = 3;
	if (in->to < 2 || (memcmp(in->data, "\xff\xfe", 2) != 0 &&
			   memcmp(in->data, "\xfe\xff", 2) != 0))
		return 0;
	in->ended = true;
	in->to = 0;
	return err_set(e, ERR_INPUT,
		       "%s: text in UTF-16, expected UTF-8 (in PowerShell: "
		       "| Out-File -Encoding utf8)",
		       input_name(in));
}

/* Reads more bytes, and sets in->ended if there are none.  Returns -1 if the
 * rest of the file cannot be read. */
static int
read_more(struct input *in, struct err *e)
{
	int got, code = Z_OK;

	if (make_room(in))
		return err_set(e, ERR_SYSTEM, "%s: out of memory",
			       input_name(in));
	errno = 0;
	got = gzread(in->file, in->data + in->to,
		     (unsigned)(in->room - in->to));
	if (got > 0) {
		in->to += (size_t)got;
		if (in->bytes == 0 && skip_mark(in, e))
			return -1;
		in->bytes += (uint64_t)got;
		return 0;
	}
	in->ended = true;
	(void)gzerror(in->file, &code);
	if (got == 0 && code == Z_OK)
		return 0;
	return err_set(e, ERR_INPUT, "%s: %s after %llu bytes", input_name(in),
		       code == Z_ERRNO	     ? strerror(errno)
		       : code == Z_BUF_ERROR ? "gzip data is cut"
					     : "gzip data is damaged",
		       (unsigned long long)in->bytes);
}

/* Returns the line that ends before data[end].  The next line begins at
 * data[next]. */
static enum input_got
give(struct input *in, size_t end, size_t next, const char **line, size_t *n)
{
	bool skipped = in->skips;

	*line = in->data + in->from;
	*n = end - in->from;
	in->from = in->looked = next;
	in->skips = false;
	return skipped ? INPUT_LONG : INPUT_LINE;
}

/* Returns INPUT_END if the file ended normally, and INPUT_DAMAGED with *e set
 * if it ended because of an error. */
static enum input_got
end_of(const struct input *in, struct err *e)
{
	if (in->trouble.code == ERR_NONE)
		return INPUT_END;
	*e = in->trouble;
	return INPUT_DAMAGED;
}

bool
input_begins(struct input *in, const char *text)
{
	size_t n;

	while (!in->ended && in->to - in->from < INPUT_PEEK)
		if (read_more(in, &in->trouble))
			break;
	n = in->to - in->from;
	if (n > INPUT_PEEK)
		n = INPUT_PEEK;
	return n > 0 && in->data[in->from] == '{' &&
	       memmem(in->data + in->from, n, text, strlen(text)) != NULL;
}

enum input_got
input_piece(struct input *in, const char **bytes, size_t *n, struct err *e)
{
	while (in->from == in->to) {
		if (in->ended)
			return end_of(in, e);
		if (read_more(in, e))
			return INPUT_DAMAGED;
	}
	*bytes = in->data + in->from;
	*n = in->to - in->from;
	in->from = in->looked = in->to;
	return INPUT_LINE;
}

enum input_got
input_line(struct input *in, const char **line, size_t *n, struct err *e)
{
	for (;;) {
		const char *newline = memchr(in->data + in->looked, '\n',
					     in->to - in->looked);

		if (newline != NULL)
			return give(in, (size_t)(newline - in->data),
				    (size_t)(newline - in->data) + 1, line, n);
		in->looked = in->to;
		if (in->ended && in->from == in->to && !in->skips)
			return end_of(in, e);
		if (in->ended)
			return give(in, in->to, in->to, line, n);
		if (read_more(in, e))
			return INPUT_DAMAGED;
	}
}
