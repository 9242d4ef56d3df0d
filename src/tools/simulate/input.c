/* SPDX-License-Identifier: Apache-2.0 */
#include "input.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "core/base/limits.h"

/* Small, because hundreds of files may be open. */
#define CHUNK (16u << 10)
#define GZIP_CHUNK (8u << 10)

/* Where the bytes are in a sequence that sets colors on a terminal. */
enum color {
	COLOR_NONE,
	COLOR_ESCAPE, /* after the byte ESC */
	COLOR_NUMBERS /* after "ESC [" */
};

struct input {
	const char *name;
	gzFile file;
	char *data;
	/* data[from] to data[to - 1] were read and not used yet. */
	size_t room, from, to;
	bool ended;
	enum color color;
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
	if (in->file == NULL || gzbuffer(in->file, GZIP_CHUNK) != 0) {
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

/* Makes room for more bytes after those that were not used yet. */
static int
make_room(struct input *in)
{
	char *data;

	if (in->from > 0) {
		memmove(in->data, in->data + in->from, in->to - in->from);
		in->to -= in->from;
		in->from = 0;
	}
	if (in->to < in->room)
		return 0;
	data = realloc(in->data, 2 * in->room);
	if (data == NULL)
		return -1;
	in->data = data;
	in->room *= 2;
	return 0;
}

/* Removes sequences that set colors, which stern and jq write.  JSON has no
 * such bytes.  Returns how many of the n bytes remain. */
static size_t
remove_colors(struct input *in, char *p, size_t n)
{
	size_t kept = 0;

	if (in->color == COLOR_NONE && memchr(p, '\033', n) == NULL)
		return n;
	for (size_t i = 0; i < n; i++) {
		if (in->color == COLOR_NUMBERS)
			in->color = strchr("0123456789;", p[i]) != NULL
					    ? COLOR_NUMBERS
					    : COLOR_NONE;
		else if (in->color == COLOR_ESCAPE)
			in->color = p[i] == '[' ? COLOR_NUMBERS : COLOR_NONE;
		else if (p[i] == '\033')
			in->color = COLOR_ESCAPE;
		else
			p[kept++] = p[i];
	}
	return kept;
}

/* Returns what the bytes begin, if it is no text that can be read, and what was
 * expected instead; or NULL. */
static const char *
not_text(const char *s, size_t n)
{
	static const struct {
		const char *begin, *is;
	} kinds[] = {
		{"PK\003\004",
		 "a zip archive, expected text or gzip (unzip -p)"},
		{"\x1f\x8b",
		 "gzip within gzip, expected text or gzip (gunzip)"},
		{"\x28\xb5\x2f\xfd", "zstd, expected text or gzip (zstdcat)"},
		{"\xfd"
		 "7zXZ",
		 "xz, expected text or gzip (xzcat)"},
		{"BZh", "bzip2, expected text or gzip (bzcat)"},
	};

	/* PowerShell writes UTF-16 by default; not all write its mark. */
	if (n >= 2 &&
	    (memcmp(s, "\xff\xfe", 2) == 0 || memcmp(s, "\xfe\xff", 2) == 0 ||
	     (n >= 4 && (s[0] == '\0') != (s[1] == '\0') &&
	      (s[0] == '\0') == (s[2] == '\0') &&
	      (s[1] == '\0') == (s[3] == '\0'))))
		return "text in UTF-16, expected UTF-8 (in PowerShell: "
		       "| Out-File -Encoding utf8)";
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (n >= strlen(kinds[i].begin) &&
		    memcmp(s, kinds[i].begin, strlen(kinds[i].begin)) == 0)
			return kinds[i].is;
	return NULL;
}

/* Skips a byte order mark, and refuses what is no text. */
static int
read_begin(struct input *in, struct err *e)
{
	const char *is = not_text(in->data, in->to);

	if (in->to >= 3 && memcmp(in->data, "\xef\xbb\xbf", 3) == 0)
		in->from = 3;
	if (is == NULL)
		return 0;
	in->ended = true;
	in->to = 0;
	in->bytes = 0;
	return err_set(e, ERR_INPUT, "%s: %s", input_name(in), is);
}

int
input_more(struct input *in, struct err *e)
{
	int got, code = Z_OK;

	if (make_room(in))
		return err_set(e, ERR_SYSTEM, "%s: out of memory",
			       input_name(in));
	errno = 0;
	got = gzread(in->file, in->data + in->to,
		     (unsigned)(in->room - in->to));
	if (got > 0) {
		bool first = in->bytes == 0;

		in->bytes += (uint64_t)got;
		in->to += remove_colors(in, in->data + in->to, (size_t)got);
		return first ? read_begin(in, e) : 0;
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

enum reader_rest
input_window(const struct input *in, const char **bytes, size_t *n)
{
	*bytes = in->data + in->from;
	*n = in->to - in->from;
	if (in->ended)
		return READER_LAST;
	return *n < ITEM_BYTES_MAX ? READER_MORE : READER_FULL;
}

void
input_use(struct input *in, size_t n)
{
	in->from += n;
}
