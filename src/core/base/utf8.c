/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/utf8.h"

#include <string.h>

static bool
is_tail(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

size_t
utf8_len(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;

	if (n == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		return n >= 2 && is_tail(p[1]) ? 2 : 0;
	if ((p[0] & 0xf0) == 0xe0) {
		if (n < 3 || !is_tail(p[1]) || !is_tail(p[2]))
			return 0;
		if ((p[0] == 0xe0 && p[1] < 0xa0) ||
		    (p[0] == 0xed && p[1] > 0x9f))
			return 0;
		return 3;
	}
	if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		if (n < 4 || !is_tail(p[1]) || !is_tail(p[2]) || !is_tail(p[3]))
			return 0;
		if ((p[0] == 0xf0 && p[1] < 0x90) ||
		    (p[0] == 0xf4 && p[1] > 0x8f))
			return 0;
		return 4;
	}
	return 0;
}

size_t
utf8_shown(const char *s, bool *shows)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t n = utf8_len(s, strlen(s));

	*shows = n > 0 && u[0] >= 0x20 && u[0] != 0x7f &&
		 !(u[0] == 0xc2 && u[1] < 0xa0) &&
		 !(u[0] == 0xe2 && u[1] == 0x80 && u[2] >= 0xa8 &&
		   u[2] <= 0xae) &&
		 !(u[0] == 0xe2 && u[1] == 0x81 && u[2] >= 0xa6 &&
		   u[2] <= 0xa9);
	return n > 0 ? n : 1;
}

void
utf8_make_shown(char *s)
{
	char *to = s;
	bool shows;
	size_t n;

	for (; *s != '\0'; s += n) {
		n = utf8_shown(s, &shows);
		if (shows)
			to = (char *)memmove(to, s, n) + n;
		else
			*to++ = '?';
	}
	*to = '\0';
}
