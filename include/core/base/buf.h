/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_BUF_H
#define CORE_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A struct buf writes text into storage that the caller owns and that outlives
 * the struct.  It never allocates, and the text always ends with a NUL.  A
 * piece of text that does not fit is left out as a whole and sets `full`.  From
 * then on all writes are ignored, so a caller can write everything and check
 * `full` once at the end.  Not thread-safe.
 */
struct buf {
	char *data;
	size_t len; /* length without the NUL */
	size_t cap; /* capacity with the NUL; at least 1 */
	bool full;
};

/* Begins an empty text in storage[cap].  cap is at least 1. */
void buf_init(struct buf *b, char *storage, size_t cap);
/* buf_add appends n bytes, buf_puts a string without its NUL, and buf_printf
 * formatted text. */
void buf_add(struct buf *b, const char *bytes, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Makes room for n more bytes and returns the place to which the caller writes
 * them, or NULL if they do not fit. */
char *buf_more(struct buf *b, size_t n);

/* Appends s as a JSON string, quotes included (RFC 8259 §7).  Characters that
 * could control a terminal (utf8_shown) are escaped.  Bytes that are not UTF-8
 * become U+FFFD, so the result is always valid JSON.  The result has the quotes
 * and at most 6 bytes for each byte of s. */
void buf_json(struct buf *b, const char *s);

#endif
