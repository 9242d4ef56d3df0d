/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/str.h"

#include <string.h>

#define ELLIPSIS "…"

void
str_wipe(char *s)
{
	if (s != NULL)
		explicit_bzero(s, strlen(s));
}

int
str_copy(char *dst, size_t cap, const char *s)
{
	size_t n = strlen(s);

	if (n >= cap)
		return -1;
	memcpy(dst, s, n + 1);
	return 0;
}

/* Copies the first n bytes of s.  If they do not fit, copies as many whole
 * characters as fit.  Returns the number of bytes copied. */
static size_t
copy_whole(char *dst, size_t cap, const char *s, size_t n)
{
	if (n >= cap)
		for (n = cap - 1;
		     n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80;)
			n--;
	if (n > 0)
		memcpy(dst, s, n);
	dst[n] = '\0';
	return n;
}

void
str_cut(char *dst, size_t cap, const char *s)
{
	(void)copy_whole(dst, cap, s, s == NULL ? 0 : strlen(s));
}

void
str_shorten(char *dst, size_t cap, const char *s)
{
	size_t n = s == NULL ? 0 : strlen(s), dots = sizeof(ELLIPSIS) - 1;

	if (n < cap || cap <= dots)
		dots = 0;
	n = copy_whole(dst, cap - dots, s, n);
	memcpy(dst + n, ELLIPSIS, dots);
	dst[n + dots] = '\0';
}

uint64_t
str_digest(uint64_t before, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		before = (before ^ (unsigned char)bytes[i]) * 1099511628211u;
	return before;
}

static unsigned
smallest(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

unsigned
str_distance(const char *a, const char *known)
{
	unsigned row[STR_WORD_BYTES];
	size_t n = strlen(known);

	for (size_t j = 0; j <= n; j++)
		row[j] = (unsigned)j;
	for (size_t i = 0; a[i] != '\0' && i < STR_WORD_BYTES; i++) {
		unsigned corner = row[0];

		row[0] = (unsigned)i + 1;
		for (size_t j = 0; j < n; j++) {
			/* This bit is the case of an ASCII letter. */
			unsigned other = ((a[i] ^ known[j]) & ~0x20) != 0;
			unsigned next = smallest(row[j] + 1, row[j + 1] + 1,
						 corner + other);

			corner = row[j + 1];
			row[j + 1] = next;
		}
	}
	return row[n];
}
