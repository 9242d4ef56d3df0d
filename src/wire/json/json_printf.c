/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/json/json_printf.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

static const char yes[] = "true", no[] = "false";

const char *
json_bool(bool value)
{
	return value ? yes : no;
}

static void
put_value(struct buf *b, const char *s)
{
	if (s == NULL)
		buf_puts(b, "null");
	else if (s == yes || s == no)
		buf_puts(b, s);
	else
		buf_json(b, s);
}

/* Copies n bytes, with '"' for each '\''.  It copies eight bytes at a time to
 * be fast, because the answer to each review is written by this function. */
static void
copy_quoted(char *to, const char *from, size_t n)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), low = 0x7f * ones;
	uint64_t bytes, other;

	for (; n >= 8; n -= 8, from += 8, to += 8) {
		memcpy(&bytes, from, 8);
		/* The high bit is set in each byte that is not '\''. */
		other = bytes ^ ones * '\'';
		other = ((other & low) + low) | other;
		bytes ^= (~other >> 7 & ones) * ('\'' ^ '"');
		memcpy(to, &bytes, 8);
	}
	for (; n > 0; n--, from++)
		*to++ = *from == '\'' ? '"' : *from;
}

/* Writes the format up to the next '%', and returns a pointer to that '%'. */
static const char *
put_text(struct buf *b, const char *fmt)
{
	size_t n = strcspn(fmt, "%");
	char *to = buf_more(b, n);

	if (to != NULL)
		copy_quoted(to, fmt, n);
	return fmt + n;
}

/* Writes the argument of a conversion, and returns a pointer to what follows
 * the conversion. */
static const char *
put_argument(struct buf *b, const char *conversion, va_list *args)
{
	const char *c = conversion + 1;
	bool wide = c[0] == 'l';
	int decimals = c[0] == '.' ? c[1] - '0' : 0;

	c += wide || c[0] == '.' ? 2 : 0;
	if (*c == 's')
		put_value(b, va_arg(*args, const char *));
	else if (*c == 'u' && wide)
		buf_printf(b, "%llu", va_arg(*args, unsigned long long));
	else if (*c == 'u')
		buf_printf(b, "%u", va_arg(*args, unsigned));
	else if (*c == 'd' && wide)
		buf_printf(b, "%lld", va_arg(*args, long long));
	else if (*c == 'd')
		buf_printf(b, "%d", va_arg(*args, int));
	else if (*c == 'f')
		buf_printf(b, "%.*f", decimals, va_arg(*args, double));
	else
		buf_add(b, c, 1);
	return c + 1;
}

static bool
begins(const struct buf *b)
{
	char before = b->len > 0 ? b->data[b->len - 1] : '{';

	return before == '{' || before == '[';
}

void
json_printf(struct buf *b, const char *fmt, ...)
{
	va_list args;

	if (*fmt == ',' && begins(b))
		fmt++;
	va_start(args, fmt);
	while (*(fmt = put_text(b, fmt)) != '\0')
		fmt = put_argument(b, fmt, &args);
	va_end(args);
}
