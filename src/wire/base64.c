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

/* Decodes s into out.  Returns the decoded length, or 0 for an error. */
static size_t
decode(const char *s, char *out)
{
	size_t n = 0, got = 3;

	while (*(s += strspn(s, " \t\r\n")) != '\0') {
		if (got != 3)
			return 0; /* there is text after the padding */
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

/* Encodes the first three of n bytes, or all if there are fewer. */
static void
encode_three(const char *bytes, size_t n, char out[4])
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = (uint32_t)(unsigned char)bytes[0] << 16;

	if (n > 1)
		bits |= (uint32_t)(unsigned char)bytes[1] << 8;
	if (n > 2)
		bits |= (unsigned char)bytes[2];
	out[0] = digits[bits >> 18];
	out[1] = digits[bits >> 12 & 63];
	out[2] = n > 1 ? digits[bits >> 6 & 63] : '=';
	out[3] = n > 2 ? digits[bits & 63] : '=';
}

void
base64_encode(struct buf *b, const char *bytes, size_t n)
{
	char *out = buf_more(b, BASE64_BYTES(n));

	for (size_t i = 0; out != NULL && i < n; i += 3, out += 4)
		encode_three(bytes + i, n - i, out);
}
