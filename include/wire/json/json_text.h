/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JSON_JSON_TEXT_H
#define WIRE_JSON_JSON_TEXT_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Classes of bytes in JSON text.  The functions are inline because they run for
 * every byte of a text.  They keep no state; any thread may call them. */

static inline bool
json_is_space(char c)
{
	return (unsigned char)c <= ' ' &&
	       (c == ' ' || c == '\t' || c == '\n' || c == '\r');
}

/* Returns how many of the eight bytes at p come before the first '"', '\\',
 * control byte or non-ASCII byte among them.  Each term sets the top bit of the
 * bytes that it finds.  A borrow may also set the bit of a later byte, but
 * never that of an earlier one. */
static inline int
json_plain8(const char *p)
{
	const uint64_t each = UINT64_C(0x0101010101010101);
	uint64_t w, t;

	memcpy(&w, p, sizeof(w));
	w = le64toh(w);
	t = w | (w - each * 0x20) | ((w ^ each * '"') - each) |
	    ((w ^ each * '\\') - each);
	t &= each * 0x80;
	return t == 0 ? 8 : __builtin_ctzll(t) / 8;
}

/* Returns the place of the first '"', '\\', control byte or non-ASCII byte from
 * p on, or `end`.  The bytes before that place need no decoding. */
static inline const char *
json_plain_end(const char *p, const char *end)
{
	while (end - p >= 8) {
		int n = json_plain8(p);

		p += n;
		if (n < 8)
			return p;
	}
	/* The last bytes of the text, at most seven. */
	while (p < end && (unsigned char)*p >= 0x20 &&
	       (unsigned char)*p < 0x80 && *p != '"' && *p != '\\')
		p++;
	return p;
}

#endif
