/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/base64.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int
digit_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Returns the next character that is not white space. */
static char
next_char(const char **s)
{
	*s += strspn(*s, " \t\r\n");
	return **s == '\0' ? '\0' : *(*s)++;
}

/* Decodes four characters.  Returns the number of bytes, or 0 for an error. */
static size_t
decode_four(const char **s, char out[3])
{
	uint32_t bits = 0;
	size_t pad = 0;

	for (int i = 0; i < 4; i++) {
		char c = next_char(s);
		int v = digit_value(c);

		pad += c == '=';
		if (c == '=' ? i < 2 : (v < 0 || pad > 0))
			return 0;
		bits = bits << 6 | (uint32_t)(c == '=' ? 0 : v);
	}
	out[0] = (char)(bits >> 16);
	out[1] = (char)(bits >> 8);
	out[2] = (char)bits;
	return 3 - pad;
}

/* Returns the decoded length, or 0 for an error. */
static size_t
decode(const char *s, char *out)
{
	size_t n = 0, got = 3;

	while (*(s += strspn(s, " \t\r\n")) != '\0') {
		if (got != 3)
			return 0; /* something after the padding */
		got = decode_four(&s, out + n);
		if (got == 0)
			return 0;
		n += got;
	}
	return n;
}

int
base64_decode(const char *s, char **out)
{
	char *bytes = malloc(strlen(s) / 4 * 3 + 4);
	size_t n;

	*out = NULL;
	if (bytes == NULL)
		return -1;
	n = decode(s, bytes);
	if (n > 0 && memchr(bytes, '\0', n) == NULL) {
		bytes[n] = '\0';
		*out = bytes;
	} else {
		free(bytes);
	}
	return 0;
}

void
base64_encode(struct buf *b, const char *bytes, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		char four[] = "====";
		uint32_t bits = 0;

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 |
			       (i + k < n ? (unsigned char)bytes[i + k] : 0);
		for (size_t k = 0; k < 4 && i + k <= n; k++)
			four[k] = digits[bits >> (18 - 6 * k) & 63];
		buf_add(b, four, 4);
	}
}
