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

uint32_t
utf8_code(const char *s, size_t n)
{
	static const unsigned char head[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t c = (unsigned char)*s & head[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	return c;
}

/* Characters that a terminal does not show but obeys as commands. */
static const struct {
	uint32_t first, last;
} obeyed[] = {
	{0x00, 0x1f},	/* C0 */
	{0x7f, 0x9f},	/* DEL and C1 */
	{0x61c, 0x61c}, /* change the direction of the text */
	{0x200e, 0x200f},
	/* U+2028 and U+2029 end a line.  The others change the direction of the
	 * text. */
	{0x2028, 0x202e},
	{0x2066, 0x206f}, /* change the direction, or the shapes of letters */
};

size_t
utf8_shown(const char *s, bool *shows)
{
	/* The text may end within these 4 bytes.  utf8_len does not read past
	 * the NUL, because no character contains a NUL after its first byte. */
	size_t n = utf8_len(s, 4);
	uint32_t c = utf8_code(s, n);

	*shows = n > 0;
	for (size_t i = 0; i < sizeof(obeyed) / sizeof(obeyed[0]); i++)
		if (c >= obeyed[i].first && c <= obeyed[i].last)
			*shows = false;
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
