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
	size_t values;	/* kept or not */
	bool drops;	/* what is scanned now is not kept */
	struct json_tally kept;
	char *out;	/* the kept text; NULL: all of it is kept where it is */
	size_t out_bytes;
	struct err *e;
};

static int
scan_refuse(const struct scan *s, const char *why)
{
	return err_set(s->e, ERR_INPUT, "not JSON: %s at byte %zu", why,
		       (size_t)(s->p - s->start));
}

/* Refuses the byte at p, which the grammar does not allow here. */
static int
scan_astray(const struct scan *s)
{
	if (s->p >= s->end)
		return scan_refuse(s, s->p == s->start ? "nothing"
						      : "unfinished document");
	if (s->depth == 0 && (*s->p == '}' || *s->p == ']'))
		return scan_refuse(s, "unexpected bracket");
	if (*s->p == '\0' || strchr("{}[],:\"-0123456789trufalsen", *s->p) == NULL)
		return scan_refuse(s, "unexpected byte");
	return scan_refuse(s, "syntax error");
}

static void
skip_space(struct scan *s)
{
	while (s->p < s->end && json_is_space(*s->p))
		s->p++;
}

static bool
scan_is_at(const struct scan *s, char c)
{
	return s->p < s->end && *s->p == c;
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

/* Called at a backslash.  Leaves p after the escape. */
static int
scan_escape(struct scan *s)
{
	if (s->end - s->p < 2 || s->p[1] == 'u')
		return scan_unicode(s);
	if (strchr("\"\\/bfnrt", s->p[1]) == NULL || s->p[1] == '\0')
		return scan_refuse(s, "syntax error");
	s->p += 2;
	return 0;
}

/* Called at an opening quote.  Leaves p after the closing one. */
static int
scan_string(struct scan *s)
{
	const char *opened = s->p++;

	for (;;) {
		size_t n;

		skip_plain(s);
		if (s->p >= s->end) {
			s->p = opened;
			return scan_refuse(s, "unfinished string");
		}
		if (*s->p == '"') {
			s->p++;
			return 0;
		}
		if (*s->p == '\\') {
			if (scan_escape(s))
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

static const char *
skip_digits(const char *p, const char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/* RFC 8259 §6.  The check is needed because cJSON takes whatever strtod takes.
 * Leaves p after it. */
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
	s->p = p;
	return 0;
}

static int
scan_literal(struct scan *s, const char *literal)
{
	size_t n = strlen(literal);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, literal, n) != 0)
		return scan_astray(s);
	s->p += n;
	return 0;
}

static int
scan_open(struct scan *s)
{
	if (++s->depth > s->bounds->depth_max)
		return err_set(s->e, ERR_LIMIT,
			       "JSON nested deeper than %u at byte %zu",
			       s->bounds->depth_max, (size_t)(s->p - s->start));
	s->p++;
	skip_space(s);
	return 0;
}

static void
scan_close(struct scan *s)
{
	s->depth--;
	s->p++;
}

/* Called after a value in a container that `bracket` closes.  Sets *more if
 * another one follows, and is then in front of it. */
static int
scan_between(struct scan *s, char bracket, bool *more)
{
	skip_space(s);
	*more = scan_is_at(s, ',');
	if (*more) {
		s->p++;
		skip_space(s);
	} else if (scan_is_at(s, bracket)) {
		scan_close(s);
	} else {
		return scan_astray(s);
	}
	return 0;
}

/* Counts a string or number that has just been scanned, and began at `from`. */
static void
count_text(struct scan *s, const char *from)
{
	if (!s->drops)
		s->kept.text_bytes += (size_t)(s->p - from);
}

/* Scans a key and the colon. */
static int
scan_key(struct scan *s)
{
	if (!scan_is_at(s, '"'))
		return scan_astray(s);
	if (scan_string(s))
		return -1;
	skip_space(s);
	if (!scan_is_at(s, ':'))
		return scan_astray(s);
	s->p++;
	skip_space(s);
	return 0;
}

static int
count_value(struct scan *s)
{
	if (++s->values > s->bounds->values_max)
		return err_set(s->e, ERR_LIMIT,
			       "JSON of more than %u values at byte %zu",
			       s->bounds->values_max,
			       (size_t)(s->p - s->start));
	if (s->drops)
		return 0;
	if (++s->kept.values > s->bounds->kept_values_max)
		return err_set(s->e, ERR_LIMIT,
			       "JSON of more than %u values that matter "
			       "at byte %zu",
			       s->bounds->kept_values_max,
			       (size_t)(s->p - s->start));
	return 0;
}

static int scan_value(struct scan *s);

static int
scan_object(struct scan *s)
{
	bool more = true;

	if (scan_open(s))
		return -1;
	if (scan_is_at(s, '}')) {
		scan_close(s);
		return 0;
	}
	while (more) {
		const char *from = s->p;

		if (scan_key(s))
			return -1;
		s->kept.keys += !s->drops;
		count_text(s, from);
		if (scan_value(s) || scan_between(s, '}', &more))
			return -1;
	}
	return 0;
}

static int
scan_array(struct scan *s)
{
	bool more = true;

	if (scan_open(s))
		return -1;
	if (scan_is_at(s, ']')) {
		scan_close(s);
		return 0;
	}
	while (more) {
		if (scan_value(s) || scan_between(s, ']', &more))
			return -1;
	}
	return 0;
}

static int
scan_scalar(struct scan *s)
{
	const char *from = s->p;
	int failed;

	if (s->p >= s->end)
		return scan_astray(s);
	switch (*s->p) {
	case '"':
		failed = scan_string(s);
		break;
	case 't':
		return scan_literal(s, "true");
	case 'f':
		return scan_literal(s, "false");
	case 'n':
		return scan_literal(s, "null");
	default:
		if (*s->p != '-' && (*s->p < '0' || *s->p > '9'))
			return scan_astray(s);
		failed = scan_number(s);
	}
	count_text(s, from);
	return failed;
}

/* Scans a whole value: all of it is kept, or nothing. */
static int
scan_value(struct scan *s)
{
	if (count_value(s))
		return -1;
	if (scan_is_at(s, '{'))
		return scan_object(s);
	if (scan_is_at(s, '['))
		return scan_array(s);
	return scan_scalar(s);
}

/* --- keeping a part -------------------------------------------------------- */

static int
put_bytes(struct scan *s, const char *bytes, size_t n)
{
	if (n > s->bounds->kept_bytes_max - s->out_bytes)
		return err_set(s->e, ERR_LIMIT,
			       "JSON of more than %zu bytes that matter "
			       "at byte %zu",
			       s->bounds->kept_bytes_max,
			       (size_t)(s->p - s->start));
	memcpy(s->out + s->out_bytes, bytes, n);
	s->out_bytes += n;
	return 0;
}

/* Finds what is to be kept of the member whose key, with its quotes, begins at
 * `key` and has n bytes.  A key with an escape may be any of them: cJSON sees
 * to it. */
static bool
is_kept(const struct json_keep *of, const char *key, size_t n,
	const struct json_keep **below)
{
	*below = NULL;
	for (; of->key != NULL; of++) {
		if (strlen(of->key) == n - 2 &&
		    memcmp(key + 1, of->key, n - 2) == 0) {
			*below = of->members;
			return true;
		}
	}
	return memchr(key, '\\', n) != NULL;
}

static int pick_value(struct scan *s, const struct json_keep *keep);

static int
pick_member(struct scan *s, const struct json_keep *keep, bool *first)
{
	const char *key = s->p;
	const struct json_keep *below;
	size_t n;

	if (!scan_is_at(s, '"'))
		return scan_astray(s);
	if (scan_string(s))
		return -1;
	n = (size_t)(s->p - key);
	s->p = key;
	if (scan_key(s))
		return -1;
	if (!is_kept(keep, key, n, &below)) {
		int failed;

		s->drops = true;
		failed = scan_value(s);
		s->drops = false;
		return failed;
	}
	s->kept.keys++;
	s->kept.text_bytes += n;
	if ((!*first && put_bytes(s, ",", 1)) || put_bytes(s, key, n) ||
	    put_bytes(s, ":", 1))
		return -1;
	*first = false;
	return pick_value(s, below);
}

static int
pick_object(struct scan *s, const struct json_keep *keep)
{
	bool more = true, first = true;

	if (put_bytes(s, "{", 1) || scan_open(s))
		return -1;
	if (scan_is_at(s, '}')) {
		scan_close(s);
		more = false;
	}
	while (more) {
		if (pick_member(s, keep, &first) ||
		    scan_between(s, '}', &more))
			return -1;
	}
	return put_bytes(s, "}", 1);
}

static int
pick_array(struct scan *s, const struct json_keep *keep)
{
	bool more = true;

	if (put_bytes(s, "[", 1) || scan_open(s))
		return -1;
	if (scan_is_at(s, ']')) {
		scan_close(s);
		more = false;
	}
	while (more) {
		if (pick_value(s, keep) || scan_between(s, ']', &more) ||
		    (more && put_bytes(s, ",", 1)))
			return -1;
	}
	return put_bytes(s, "]", 1);
}

static int
pick_value(struct scan *s, const struct json_keep *keep)
{
	const char *from = s->p;

	if (keep != NULL && (scan_is_at(s, '{') || scan_is_at(s, '['))) {
		if (count_value(s))
			return -1;
		return *from == '{' ? pick_object(s, keep)
				    : pick_array(s, keep);
	}
	return scan_value(s) ? -1 : put_bytes(s, from, (size_t)(s->p - from));
}

/* --- the document ---------------------------------------------------------- */

int
json_scan(const char *bytes, size_t n, const struct json_bounds *bounds,
	  const struct json_keep *keep, char *out, struct json_tally *kept,
	  struct err *e)
{
	struct scan s = {
		.start = bytes,
		.p = bytes,
		.end = bytes + n,
		.bounds = bounds,
		.out = out,
		.e = e,
	};

	skip_space(&s);
	if (out != NULL ? pick_value(&s, keep) : scan_value(&s))
		return -1;
	skip_space(&s);
	if (s.p < s.end && *s.p != '\0' &&
	    strchr("{[,:\"-0123456789trufalsen", *s.p) != NULL)
		return scan_refuse(&s, "more than one document");
	if (s.p < s.end)
		return scan_astray(&s);
	*kept = s.kept;
	kept->bytes = s.out_bytes;
	return 0;
}
