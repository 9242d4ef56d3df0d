/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_BUF_H
#define CORE_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes text into storage that the caller owns.  It never allocates, and the
 * text always ends with a NUL.  Text that does not fit sets `full`, which stays
 * set: write everything, and check once at the end.  Not thread-safe.
 */
struct buf {
	char *data;
	size_t len;	/* without the NUL */
	size_t cap;	/* with the NUL; at least 1 */
	bool full;
};

void buf_init(struct buf *b, char *storage, size_t cap);
void buf_add(struct buf *b, const char *bytes, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Appends s as a JSON string, quotes included (RFC 8259 §7).  Bytes that are
 * not UTF-8 come out as U+FFFD, so the result is always valid JSON. */
void buf_json(struct buf *b, const char *s);

/* Overwrites a secret text up to its NUL, whatever becomes of it afterwards: the
 * compiler keeps the writes even where a free follows.  NULL is allowed. */
void str_wipe(char *s);

/* Copies s into dst[cap].  Returns -1, with dst untouched, if it does not fit.
 */
int str_copy(char *dst, size_t cap, const char *s);
/* The same, but cuts s after the last whole UTF-8 character that fits.  NULL
 * counts as "". */
void str_cut(char *dst, size_t cap, const char *s);

#endif
