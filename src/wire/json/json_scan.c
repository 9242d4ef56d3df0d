/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/json/json_scan.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "core/base/utf8.h"

struct scan {
	const char *start, *p, *end;
	const struct json_bounds *bounds;
	unsigned depth;
	struct json_tally tally;
	struct err *e;
};

static int
scan_refuse(const struct scan *s, const char *why)
{
	return err_set(s->e, ERR_INPUT, "not JSON: %s at byte %zu", why,
		       (size_t)(s->p - s->start));
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* How many of these eight bytes come before the first '"', '\\', control byte
 * or non-ASCII byte?  Each term sets the top bit of a byte that it finds.  A
 * borrow may set it for a byte after a true one, but never before it. */
static int
plain8(const char *p)
{
	uint64_t w, t;

	memcpy(&w, p, sizeof(w));
	w = le64toh(w);
	t = w | (w - EACH(0x20)) | ((w ^ EACH('"')) - EACH(1)) |
	    ((w ^ EACH('\\')) - EACH(1));
	t &= EACH(0x80);
	return t == 0 ? 8 : __builtin_ctzll(t) / 8;
}

static void
skip_plain(struct scan *s)
{
	int n = 8;

	while (n == 8 && s->end - s->p >= 8) {
		n = plain8(s->p);
		s->p += n;
	}
	/* Up to seven last bytes of the document. */
	while (n == 8 && s->p < s->end && (unsigned char)*s->p >= 0x20 &&
	       (unsigned char)*s->p < 0x80 && *s->p != '"' && *s->p != '\\')
		s->p++;
}

static int
hex4(const char *p, unsigned *out)
{
	unsigned v = 0;

	for (int i = 0; i < 4; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c >= '0' && c <= '9')
			v = v * 16 + (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = v * 16 + ((c | 0x20) - 'a' + 10);
		else
			return -1;
	}
	*out = v;
	return 0;
}

/* Called at "\uXXXX".  Leaves p after it, or after the surrogate pair. */
static int
scan_unicode(struct scan *s)
{
	unsigned v, low;

	if (s->end - s->p < 6 || hex4(s->p + 2, &v))
		return scan_refuse(s, "bad \\u escape");
	if (v == 0 && !s->bounds->nul_ok)
		return scan_refuse(s, "\\u0000");
	if (v >= 0xd800 && v <= 0xdfff) {
		if (v >= 0xdc00 || s->end - s->p < 12 || s->p[6] != '\\' ||
		    s->p[7] != 'u' || hex4(s->p + 8, &low) || low < 0xdc00 ||
		    low > 0xdfff)
			return scan_refuse(s, "lone surrogate");
		s->p += 6;
	}
	s->p += 6;
	return 0;
}

/* Called at an opening quote.  Leaves p at the closing one. */
static int
scan_string(struct scan *s)
{
	const char *opened = s->p++;

	s->tally.strings++;
	for (;;) {
		size_t n;

		skip_plain(s);
		if (s->p >= s->end) {
			s->p = opened;
			return scan_refuse(s, "unfinished string");
		}
		if (*s->p == '"')
			return 0;
		if (*s->p == '\\') {
			if (s->end - s->p >= 2 && s->p[1] != 'u')
				s->p += 2;
			else if (scan_unicode(s))
				return -1;
		} else if ((unsigned char)*s->p < 0x20) {
			return scan_refuse(s, "control byte in a string");
		} else {
			n = utf8_len(s->p, (size_t)(s->end - s->p));
			if (n == 0)
				return scan_refuse(s, "invalid UTF-8");
			s->p += n;
		}
	}
}

static bool
is_number(char c)
{
	return c == '-' || (c >= '0' && c <= '9');
}

static const char *
skip_digits(const char *p, const char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/* RFC 8259 §6.  The check is needed because cJSON takes whatever strtod takes.
 * Leaves p at the last byte. */
static int
scan_number(struct scan *s)
{
	const char *p = s->p + (*s->p == '-'), *from = p;

	p = skip_digits(p, s->end);
	if (p == from || (*from == '0' && p - from > 1))
		return scan_refuse(s, "bad number");
	if (p < s->end && *p == '.') {
		from = ++p;
		p = skip_digits(p, s->end);
		if (p == from)
			return scan_refuse(s, "bad number");
	}
	if (p < s->end && (*p == 'e' || *p == 'E')) {
		p++;
		p += p < s->end && (*p == '-' || *p == '+');
		from = p;
		p = skip_digits(p, s->end);
		if (p == from)
			return scan_refuse(s, "bad number");
	}
	s->p = p - 1;
	return 0;
}

static int
scan_value(struct scan *s)
{
	if (++s->tally.values > s->bounds->values_max)
		return err_set(s->e, ERR_LIMIT,
			       "JSON of more than %u values at byte %zu",
			       s->bounds->values_max,
			       (size_t)(s->p - s->start));
	return 0;
}

/* Scans an opening bracket.  If the container is not empty it counts its first
 * value; each comma counts one more. */
static int
scan_open(struct scan *s)
{
	const char *p = s->p + 1;

	if (++s->depth > s->bounds->depth_max)
		return err_set(s->e, ERR_LIMIT,
			       "JSON nested deeper than %u at byte %zu",
			       s->bounds->depth_max, (size_t)(s->p - s->start));
	while (p < s->end && json_is_space(*p))
		p++;
	if (p < s->end && (*p == '}' || *p == ']'))
		return 0;
	return scan_value(s);
}

/* Bytes that may stand outside of strings, besides punctuation and numbers.
 * The check is needed because cJSON takes every byte up to 0x20 for a space and
 * skips a BOM. */
static bool
is_outside(char c)
{
	return json_is_space(c) || (c != '\0' && strchr("trufalsen", c));
}

static int
scan_bytes(struct scan *s)
{
	if (scan_value(s))
		return -1;

	for (; s->p < s->end; s->p++) {
		switch (*s->p) {
		case '"':
			if (scan_string(s))
				return -1;
			break;
		case '{':
		case '[':
			if (scan_open(s))
				return -1;
			break;
		case '}':
		case ']':
			if (s->depth-- == 0)
				return scan_refuse(s, "unexpected bracket");
			break;
		case ',':
			if (scan_value(s))
				return -1;
			break;
		case ':':
			break;
		default:
			if (is_number(*s->p)) {
				if (scan_number(s))
					return -1;
			} else if (!is_outside(*s->p)) {
				return scan_refuse(s, "unexpected byte");
			}
		}
	}
	return s->depth == 0 ? 0 : scan_refuse(s, "unfinished document");
}

int
json_scan(const char *bytes, size_t n, const struct json_bounds *bounds,
	  struct json_tally *out, struct err *e)
{
	struct scan s = {
		.start = bytes,
		.p = bytes,
		.end = bytes + n,
		.bounds = bounds,
		.e = e,
	};

	if (scan_bytes(&s))
		return -1;
	*out = s.tally;
	return 0;
}
