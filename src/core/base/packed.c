/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/packed.h"

#include <string.h>

#include "core/base/str.h"

/* --- uids ----------------------------------------------------------------- */

#define UUID_LENGTH 36

static const char digits[] = "0123456789abcdef";

static bool
is_hyphen(int i)
{
	return i == 8 || i == 13 || i == 18 || i == 23;
}

static uint64_t
four(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;

	return (uint32_t)c[0] << 24 | (uint32_t)c[1] << 16 |
	       (uint32_t)c[2] << 8 | c[3];
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Reads eight hexadecimal digits at once, four at `a` and four at `b`.  Speed
 * matters, because every watch line has several uids.  Returns false if a
 * character is not a lower-case hexadecimal digit. */
static bool
digits_read(const char *a, const char *b, uint64_t *out)
{
	uint64_t c = four(a) << 32 | four(b), v, letters;

	/* Convert each character to the value of a digit.  The test below
	 * converts the values back.  If a character is not a lower-case digit,
	 * the result differs from the text. */
	v = (c & EACH(0x0f)) + (c >> 6 & EACH(1)) * 9;
	letters = (v + EACH(0x80 - 10)) >> 7 & EACH(1);
	if ((v & EACH(0xf0)) != 0 ||
	    v + EACH('0') + letters * ('a' - 10 - '0') != c)
		return false;
	v = (v >> 4 | v) & 0x00ff00ff00ff00ff;
	v = (v >> 8 | v) & 0x0000ffff0000ffff;
	*out = (v >> 16 | v) & 0xffffffff;
	return true;
}

/* Reads a UUID in lower case.  Returns false for any other text, and for a UUID
 * whose high half is that of UID_NONE, because that half marks a reference.
 * The caller then keeps the text as a string. */
static bool
uuid_read(const char *text, struct uid *out)
{
	uint64_t part[4];

	if (strlen(text) != UUID_LENGTH || text[8] != '-' || text[13] != '-' ||
	    text[18] != '-' || text[23] != '-' ||
	    !digits_read(text, text + 4, &part[0]) ||
	    !digits_read(text + 9, text + 14, &part[1]) ||
	    !digits_read(text + 19, text + 24, &part[2]) ||
	    !digits_read(text + 28, text + 32, &part[3]) ||
	    (part[0] << 32 | part[1]) == UID_NONE.high)
		return false;
	*out = (struct uid){part[0] << 32 | part[1], part[2] << 32 | part[3]};
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
packed_uid_take(struct strings *s, const char *text, struct uid *out)
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
packed_uid_find(const struct strings *s, const char *text, struct uid *out)
{
	uint32_t ref;

	if (uuid_read(text, out))
		return true;
	ref = strings_find(s, text);
	*out = (struct uid){UID_NONE.high, ref};
	return ref != NO_ID;
}

void
packed_uid_drop(struct strings *s, struct uid u)
{
	if (u.high == UID_NONE.high)
		strings_drop(s, (uint32_t)u.low);
}

void
packed_uid_text(const struct strings *s, struct uid u, char out[UID_BYTES])
{
	if (u.high != UID_NONE.high)
		uuid_write(u, out);
	else
		(void)str_copy(out, UID_BYTES,
			       strings_text(s, (uint32_t)u.low));
}

int
packed_uid_compare(const struct strings *s, struct uid a, struct uid b)
{
	char a_text[UID_BYTES], b_text[UID_BYTES];

	if (packed_uid_equals(a, b))
		return 0;
	/* The digits of both UUIDs are in the same places, so the numbers have
	 * the same order as the texts. */
	if (a.high != UID_NONE.high && b.high != UID_NONE.high)
		return a.high < b.high || (a.high == b.high && a.low < b.low)
			       ? -1
			       : 1;
	packed_uid_text(s, a, a_text);
	packed_uid_text(s, b, b_text);
	return strcmp(a_text, b_text);
}

/* --- versions ------------------------------------------------------------- */

#define NUMBER_LENGTH 18 /* 10^18 < VERSION_TEXT */

/* Reads a decimal number.  Returns false for any other text, and for a number
 * that has a leading zero or more than NUMBER_LENGTH digits.  The caller then
 * keeps the text as a string. */
static bool
number_read(const char *text, uint64_t *out)
{
	size_t length = strlen(text);
	uint64_t n = 0;

	if (length == 0 || length > NUMBER_LENGTH ||
	    (text[0] == '0' && length > 1))
		return false;
	for (size_t i = 0; i < length; i++) {
		unsigned v = (unsigned)(unsigned char)text[i] - '0';

		if (v > 9)
			return false;
		n = n * 10 + v;
	}
	*out = n;
	return true;
}

int
packed_version_take(struct strings *s, const char *text, struct version *out)
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
packed_version_find(const struct strings *s, const char *text,
		    struct version *out)
{
	uint32_t ref;

	if (number_read(text, &out->n))
		return true;
	ref = strings_find(s, text);
	out->n = VERSION_TEXT + ref;
	return ref != NO_ID;
}

uint64_t
packed_version_key(const char *text)
{
	uint64_t n;

	if (text[0] == '\0')
		return 0;
	if (number_read(text, &n))
		return n + 1;
	n = 0;
	for (; *text != '\0'; text++)
		n = (n ^ (unsigned char)*text) * 0x9fb21c651e98df25u;
	return VERSION_TEXT | n;
}

void
packed_version_drop(struct strings *s, struct version v)
{
	if (v.n >= VERSION_TEXT)
		strings_drop(s, (uint32_t)(v.n - VERSION_TEXT));
}

void
packed_version_text(const struct strings *s, struct version v,
		    char out[RV_BYTES])
{
	char reversed[RV_BYTES];
	int n = 0;

	if (v.n >= VERSION_TEXT) {
		(void)str_copy(out, RV_BYTES,
			       strings_text(s, (uint32_t)(v.n - VERSION_TEXT)));
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
