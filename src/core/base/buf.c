/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/buf.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"

void
buf_init(struct buf *b, char *storage, size_t cap)
{
	assert(cap > 0);
	*b = (struct buf){.data = storage, .cap = cap};
	storage[0] = '\0';
}

char *
buf_more(struct buf *b, size_t n)
{
	char *more = b->data + b->len;

	if (b->full || n >= b->cap - b->len) {
		b->full = true;
		return NULL;
	}
	b->len += n;
	more[n] = '\0';
	return more;
}

void
buf_add(struct buf *b, const char *bytes, size_t n)
{
	char *more = buf_more(b, n);

	if (more != NULL)
		memcpy(more, bytes, n);
}

void
buf_puts(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (b->full)
		return;
	va_start(ap, fmt);
	n = vsnprintf(b->data + b->len, b->cap - b->len, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= b->cap - b->len) {
		b->data[b->len] = '\0';
		b->full = true;
		return;
	}
	b->len += (size_t)n;
}

/* Appends the JSON form of the character at s.  Returns the length of the
 * character in bytes. */
static size_t
json_character(struct buf *b, const char *s)
{
	bool shows;
	size_t n = utf8_shown(s, &shows);

	if (*s == '"')
		buf_puts(b, "\\\"");
	else if (*s == '\\')
		buf_puts(b, "\\\\");
	else if (*s == '\n')
		buf_puts(b, "\\n");
	else if (shows)
		buf_add(b, s, n);
	else if (utf8_len(s, n) == 0)
		buf_puts(b, "\xef\xbf\xbd");
	else
		buf_printf(b, "\\u%04x", utf8_code(s, n));
	return n;
}

/* Returns how many bytes at the beginning of s stand for themselves in a JSON
 * string. */
static size_t
plain_len(const char *s)
{
	static const bool plain[UCHAR_MAX + 1] = {[0x20 ... '"' - 1] = true,
						  ['"' + 1 ... '\\' - 1] = true,
						  ['\\' + 1 ... 0x7e] = true};
	size_t n = 0;

	while (plain[(unsigned char)s[n]])
		n++;
	return n;
}

void
buf_json(struct buf *b, const char *s)
{
	size_t n = plain_len(s);
	char *whole = s[n] == '\0' ? buf_more(b, n + 2) : NULL;

	if (whole != NULL) {
		whole[0] = whole[n + 1] = '"';
		memcpy(whole + 1, s, n);
		return;
	}
	buf_puts(b, "\"");
	for (; *s != '\0'; n = plain_len(s)) {
		buf_add(b, s, n);
		s += n;
		if (*s != '\0')
			s += json_character(b, s);
	}
	buf_puts(b, "\"");
}
