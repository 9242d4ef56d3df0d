/* SPDX-License-Identifier: Apache-2.0 */
#include "config_keys.h"

#include <string.h>

#include "core/base/utf8.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGIT "0123456789"

/* Returns whether the character is an ASCII control, a C1 control, U+FFFE or
 * U+FFFF.  Those that are not ASCII are valid UTF-8, but YAML cannot carry
 * them. */
static bool
is_unprintable(const unsigned char *p, size_t n)
{
	if (n == 1)
		return p[0] < 0x20 || p[0] == 0x7f;
	if (n == 2)
		return p[0] == 0xc2 && p[1] < 0xa0;
	return n == 3 && p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe;
}

bool
syntax_text(const char *s)
{
	size_t left = strlen(s);

	while (left > 0) {
		size_t n = utf8_len(s, left);

		if (n == 0 || is_unprintable((const unsigned char *)s, n))
			return false;
		s += n;
		left -= n;
	}
	return true;
}

/* Returns whether the n bytes at s consist of characters in `inner`, and the
 * first and the last byte are in `ends`. */
static bool
is_word(const char *s, size_t n, const char *inner, const char *ends)
{
	return n > 0 && strspn(s, inner) >= n && strchr(ends, s[0]) != NULL &&
	       strchr(ends, s[n - 1]) != NULL;
}

static bool
is_label(const char *s, size_t n)
{
	return n <= 63 && is_word(s, n, LOWER DIGIT "-", LOWER DIGIT);
}

bool
syntax_label(const char *s)
{
	return is_label(s, strlen(s));
}

static bool
is_subdomain(const char *s, size_t n)
{
	const char *end = s + n;

	if (n > 253)
		return false;
	for (;;) {
		const char *dot = memchr(s, '.', (size_t)(end - s));

		if (!is_label(s, (size_t)((dot ? dot : end) - s)))
			return false;
		if (dot == NULL)
			return true;
		s = dot + 1;
	}
}

bool
syntax_subdomain(const char *s)
{
	return is_subdomain(s, strlen(s));
}

bool
syntax_annotation(const char *s)
{
	const char *slash = strchr(s, '/'), *name = slash ? slash + 1 : s;
	size_t n = strlen(name);

	if (slash != NULL && !is_subdomain(s, (size_t)(slash - s)))
		return false;
	return n <= 63 &&
	       is_word(name, n, LOWER UPPER DIGIT "-_.", LOWER UPPER DIGIT);
}

static bool
is_port(const char *s)
{
	unsigned v = 0;

	if (*s == '\0' || strlen(s) > 5)
		return false;
	for (; *s != '\0'; s++) {
		if (*s < '0' || *s > '9')
			return false;
		v = v * 10 + (unsigned)(*s - '0');
	}
	return v <= 65535;
}

bool
syntax_address(const char *s)
{
	const char *colon = strrchr(s, ':');
	size_t n;

	if (colon == NULL || !is_port(colon + 1))
		return false;
	n = (size_t)(colon - s);
	if (n == 0)
		return true;
	if (s[0] != '[')
		return strspn(s, LOWER UPPER DIGIT "-.") == n;
	return n > 3 && s[n - 1] == ']' &&
	       strspn(s + 1, DIGIT "abcdefABCDEF:.") == n - 2;
}
