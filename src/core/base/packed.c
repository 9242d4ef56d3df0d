/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/packed.h"

#include "core/base/buf.h"

/* --- uids ----------------------------------------------------------------- */

#define UUID_LENGTH 36

static const char digits[] = "0123456789abcdef";

static bool
is_hyphen(int i)
{
	return i == 8 || i == 13 || i == 18 || i == 23;
}

/* Reads a UUID in lower case.  One that begins like a reference stays a
 * text. */
static bool
uuid_read(const char *text, struct uid *out)
{
	uint64_t half[2] = {0};
	int digit = 0;

	for (int i = 0; i < UUID_LENGTH; i++) {
		unsigned c = (unsigned char)text[i], v;

		if (is_hyphen(i)) {
			if (c != '-')
				return false;
			continue;
		}
		if (c - '0' < 10)
			v = c - '0';
		else if (c - 'a' < 6)
			v = c - 'a' + 10;
		else
			return false;
		half[digit / 16] = half[digit / 16] << 4 | v;
		digit++;
	}
	if (text[UUID_LENGTH] != '\0' || half[0] == UID_NONE.high)
		return false;
	*out = (struct uid){half[0], half[1]};
	return true;
}

static void
uuid_write(struct uid u, char out[UID_BYTES])
{
	int shift = 60;

	for (int i = 0; i < UUID_LENGTH; i++) {
		if (is_hyphen(i)) {
			out[i] = '-';
			continue;
		}
		out[i] = digits[u.high >> shift & 15];
		shift -= 4;
		if (shift < 0) {
			u.high = u.low;
			shift = 60;
		}
	}
	out[UUID_LENGTH] = '\0';
}

int
uid_take(struct strings *s, const char *text, struct uid *out)
{
	uint32_t ref;

	if (uuid_read(text, out))
		return 0;
	ref = strings_take(s, text);
	if (ref == NO_ID)
		return -1;
	*out = (struct uid){UID_NONE.high, ref};
	return 0;
}

bool
uid_find(const struct strings *s, const char *text, struct uid *out)
{
	uint32_t ref;

	if (uuid_read(text, out))
		return true;
	ref = strings_find(s, text);
	*out = (struct uid){UID_NONE.high, ref};
	return ref != NO_ID;
}

void
uid_drop(struct strings *s, struct uid u)
{
	if (u.high == UID_NONE.high)
		strings_drop(s, (uint32_t)u.low);
}

void
uid_text(const struct strings *s, struct uid u, char out[UID_BYTES])
{
	if (u.high != UID_NONE.high)
		uuid_write(u, out);
	else
		(void)str_copy(out, UID_BYTES,
			       strings_text(s, (uint32_t)u.low));
}

/* --- versions ------------------------------------------------------------- */

/* Reads a number below VERSION_TEXT as it is usually written, that is, without
 * zeros in front. */
static bool
number_read(const char *text, uint64_t *out)
{
	uint64_t n = 0;

	if (text[0] == '\0' || (text[0] == '0' && text[1] != '\0'))
		return false;
	for (; *text != '\0'; text++) {
		unsigned v = (unsigned)(unsigned char)*text - '0';

		if (v > 9 || n > (VERSION_TEXT - 1 - v) / 10)
			return false;
		n = n * 10 + v;
	}
	*out = n;
	return true;
}

int
version_take(struct strings *s, const char *text, struct version *out)
{
	uint32_t ref;

	if (number_read(text, &out->n))
		return 0;
	ref = strings_take(s, text);
	if (ref == NO_ID)
		return -1;
	out->n = VERSION_TEXT + ref;
	return 0;
}

bool
version_find(const struct strings *s, const char *text, struct version *out)
{
	uint32_t ref;

	if (number_read(text, &out->n))
		return true;
	ref = strings_find(s, text);
	out->n = VERSION_TEXT + ref;
	return ref != NO_ID;
}

void
version_drop(struct strings *s, struct version v)
{
	if (v.n >= VERSION_TEXT)
		strings_drop(s, (uint32_t)(v.n - VERSION_TEXT));
}

void
version_text(const struct strings *s, struct version v, char out[RV_BYTES])
{
	char reversed[RV_BYTES];
	int n = 0;

	if (v.n >= VERSION_TEXT) {
		(void)str_copy(out, RV_BYTES,
			       strings_text(s,
					    (uint32_t)(v.n - VERSION_TEXT)));
		return;
	}
	do {
		reversed[n++] = (char)('0' + v.n % 10);
		v.n /= 10;
	} while (v.n > 0);
	while (n > 0)
		*out++ = reversed[--n];
	*out = '\0';
}
