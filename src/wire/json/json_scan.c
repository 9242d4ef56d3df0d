/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/json/json_scan.h"

#include <string.h>

#include "core/base/utf8.h"
#include "wire/json/json_text.h"

/*
 * Makes one pass over the text.  It checks the grammar (RFC 8259), UTF-8 and
 * the bounds, and copies what is to be kept.  The scan_… functions check a
 * value that is kept or dropped as a whole.  The pick_… functions check a value
 * of which only a part is kept.
 *
 * Depth is bounded, and so is the recursion.  A key with an escape is kept,
 * because it may be any key.  The copied text is JSON itself.  Nothing is
 * allocated.  Most bytes are plain characters in strings, so json_plain_end
 * skips these many at a time.
 */

/* The longest token of which a part is not valid: an escape of two
 * surrogates. */
#define TOKEN_BYTES 12

struct scan {
	const char *start, *p, *end;
	const struct json_bounds *bounds;
	unsigned depth;
	size_t values;	  /* how many values came so far, kept or not */
	bool drops;	  /* Whether the current bytes are not kept. */
	bool escaped;	  /* Whether a string had a backslash. */
	bool unfinished;  /* Whether the text ended inside of a string. */
	size_t key_bytes; /* Length of the last key, with its quotes. */
	struct json_tally kept;
	char *out; /* the kept text */
	size_t out_bytes;
	struct err *e;
	bool large; /* Whether the text is beyond the bounds of size. */
};

static int
scan_refuse(const struct scan *s, const char *why)
{
	return err_set(s->e, ERR_INPUT, "not JSON: %s at byte %zu", why,
		       (size_t)(s->p - s->start));
}

/* Sets the error for a text beyond the bounds of size. */
static int
scan_limit(struct scan *s, const char *what, size_t most, const char *of_what)
{
	s->large = true;
	return err_set(s->e, ERR_LIMIT, "JSON %s %zu%s at byte %zu", what, most,
		       of_what, (size_t)(s->p - s->start));
}

/* Sets the error for the byte at p, which the grammar does not allow here. */
static int
scan_astray(const struct scan *s)
{
	if (s->p >= s->end)
		return scan_refuse(s, s->p == s->start ? "nothing"
						       : "unfinished document");
	if (s->depth == 0 && (*s->p == '}' || *s->p == ']'))
		return scan_refuse(s, "unexpected bracket");
	if (*s->p == '\0' ||
	    strchr("{}[],:\"-0123456789trufalsen", *s->p) == NULL)
		return scan_refuse(s, "unexpected byte");
	return scan_refuse(s, "syntax error");
}

static inline void
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

/* Called at "\uXXXX".  Leaves p after this escape or, if the escape begins a
 * surrogate pair, after the pair. */
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

/* Called in a string, at a byte that is not plain.  Leaves p after the escape
 * or the character that begins with this byte. */
static int
scan_unplain(struct scan *s)
{
	size_t n;

	if (*s->p == '\\') {
		s->escaped = true;
		return scan_escape(s);
	}
	if ((unsigned char)*s->p < 0x20)
		return scan_refuse(s, "control byte in a string");
	n = utf8_len(s->p, (size_t)(s->end - s->p));
	if (n == 0)
		return scan_refuse(s, "invalid UTF-8");
	s->p += n;
	return 0;
}

/* Scans the string at p, whose bytes before `at` are all plain.  The function
 * is not inlined, because few strings need it, and scan_string is faster
 * without its code. */
__attribute__((noinline)) static int
scan_string_from(struct scan *s, const char *at)
{
	const char *opened = s->p;

	while (at < s->end && *at != '"') {
		s->p = at;
		if (scan_unplain(s))
			return -1;
		at = json_plain_end(s->p, s->end);
	}
	if (at >= s->end) {
		s->p = opened;
		s->unfinished = true;
		return scan_refuse(s, "unfinished string");
	}
	s->p = at + 1;
	return 0;
}

/* Called at an opening quote.  Leaves p after the closing one. */
static int
scan_string(struct scan *s)
{
	const char *at = json_plain_end(s->p + 1, s->end);

	if (at >= s->end || *at != '"')
		return scan_string_from(s, at);
	s->p = at + 1;
	return 0;
}

static const char *
skip_digits(const char *p, const char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/* Scans a number (RFC 8259 §6).  The check is needed because json.c reads
 * numbers with strtod, which accepts more.  Leaves p after the number. */
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

/* Called after a value in a container whose closing bracket is `bracket`.
 * Returns 1 with p at the next value, 0 with p after the bracket, or -1. */
static int
scan_between(struct scan *s, char bracket)
{
	skip_space(s);
	if (scan_is_at(s, ',')) {
		s->p++;
		skip_space(s);
		return 1;
	}
	if (!scan_is_at(s, bracket))
		return scan_astray(s);
	scan_close(s);
	return 0;
}

/* Scans a key and the colon. */
static int
scan_key(struct scan *s)
{
	const char *key = s->p;

	if (!scan_is_at(s, '"'))
		return scan_astray(s);
	if (scan_string(s))
		return -1;
	s->key_bytes = (size_t)(s->p - key);
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
		return scan_limit(s, "of more than", s->bounds->values_max,
				  " values");
	if (s->drops)
		return 0;
	if (++s->kept.values > s->bounds->kept_values_max)
		return scan_limit(s, "of more than", s->bounds->kept_values_max,
				  " values that matter");
	return 0;
}

static int scan_value(struct scan *s);

static int
scan_object(struct scan *s)
{
	int more = 1;

	if (scan_open(s))
		return -1;
	if (scan_is_at(s, '}')) {
		scan_close(s);
		return 0;
	}
	while (more > 0) {
		if (scan_key(s) || scan_value(s))
			return -1;
		more = scan_between(s, '}');
	}
	return more;
}

static int
scan_array(struct scan *s)
{
	int more = 1;

	if (scan_open(s))
		return -1;
	if (scan_is_at(s, ']')) {
		scan_close(s);
		return 0;
	}
	while (more > 0) {
		if (scan_value(s))
			return -1;
		more = scan_between(s, ']');
	}
	return more;
}

static int
scan_scalar(struct scan *s)
{
	if (s->p >= s->end)
		return scan_astray(s);
	switch (*s->p) {
	case '"':
		return scan_string(s);
	case 't':
		return scan_literal(s, "true");
	case 'f':
		return scan_literal(s, "false");
	case 'n':
		return scan_literal(s, "null");
	default:
		if (*s->p != '-' && (*s->p < '0' || *s->p > '9'))
			return scan_astray(s);
		return scan_number(s);
	}
}

/* Scans a value that is kept or dropped as a whole. */
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

/* --- values of which only a part is kept ---------------------------------- */

static inline int
put_bytes(struct scan *s, const char *bytes, size_t n)
{
	if (n > s->bounds->kept_bytes_max - s->out_bytes)
		return scan_limit(s, "of more than", s->bounds->kept_bytes_max,
				  " bytes that matter");
	memcpy(s->out + s->out_bytes, bytes, n);
	s->out_bytes += n;
	return 0;
}

static const struct json_keep kept_whole = {NULL, NULL};

/* Returns which part of a member's value is kept, or NULL if nothing is.  The
 * member's key was scanned last and begins, with its quotes, at `key`.  A
 * member whose key has an escape is kept whole, because only cJSON can read the
 * key. */
static const struct json_keep *
kept_of(const struct scan *s, const struct json_keep *of, const char *key)
{
	size_t n = s->key_bytes - 2;

	for (; of->key != NULL; of++)
		/* Most keys differ in the first byte. */
		if (of->key[0] == key[1] && strlen(of->key) == n &&
		    memcmp(key + 1, of->key, n) == 0)
			return of;
	return s->escaped ? &kept_whole : NULL;
}

static int pick_value(struct scan *s, const struct json_keep *keep);

static int
pick_member(struct scan *s, const struct json_keep *keep, bool first)
{
	const char *key = s->p;
	const struct json_keep *of;

	s->escaped = false;
	if (scan_key(s))
		return -1;
	of = kept_of(s, keep, key);
	if (of == NULL) {
		int failed;

		s->drops = true;
		failed = scan_value(s);
		s->drops = false;
		return failed;
	}
	if ((!first && put_bytes(s, ",", 1)) ||
	    put_bytes(s, key, s->key_bytes) || put_bytes(s, ":", 1))
		return -1;
	return pick_value(s, of->members);
}

/* Returns whether the scan has failed because the text ends too early. */
static bool
scan_is_cut(const struct scan *s)
{
	return !s->large && (s->unfinished || s->end - s->p < TOKEN_BYTES);
}

/* Scans a member and what follows it.  Returns as scan_between does.  If the
 * text ends too early and that is allowed, the object ends there, without the
 * member if it is not whole. */
static int
pick_next(struct scan *s, const struct json_keep *keep, bool first)
{
	size_t bytes = s->out_bytes, values = s->kept.values;
	bool may_end = s->depth <= s->bounds->cut_depth;
	bool failed = pick_member(s, keep, first) != 0;
	int more = failed ? -1 : scan_between(s, '}');

	if (more >= 0 || !may_end || !scan_is_cut(s))
		return more;
	s->p = s->end;
	if (!failed)
		return 0;
	s->out_bytes = bytes;
	s->kept.values = values;
	return 0;
}

static int
pick_object(struct scan *s, const struct json_keep *keep)
{
	size_t begun;
	int more = 1;

	if (put_bytes(s, "{", 1) || scan_open(s))
		return -1;
	if (scan_is_at(s, '}')) {
		scan_close(s);
		more = 0;
	}
	begun = s->out_bytes;
	while (more > 0)
		more = pick_next(s, keep, s->out_bytes == begun);
	return more < 0 ? -1 : put_bytes(s, "}", 1);
}

static int
pick_array(struct scan *s, const struct json_keep *keep)
{
	int more = 1;

	if (put_bytes(s, "[", 1) || scan_open(s))
		return -1;
	if (scan_is_at(s, ']')) {
		scan_close(s);
		more = 0;
	}
	while (more > 0) {
		if (pick_value(s, keep))
			return -1;
		more = scan_between(s, ']');
		if (more > 0 && put_bytes(s, ",", 1))
			return -1;
	}
	return more < 0 ? -1 : put_bytes(s, "]", 1);
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

/* --- the document --------------------------------------------------------- */

int
json_scan(const char *bytes, size_t n, const struct json_bounds *bounds,
	  const struct json_keep *keep, bool alone, char *out,
	  struct json_tally *kept, struct err *e)
{
	struct scan s = {
		.start = bytes,
		.p = bytes,
		.end = bytes + n,
		.bounds = bounds,
		.out = out,
		.e = e,
	};
	int failed;

	skip_space(&s);
	failed = pick_value(&s, keep);
	*kept = s.kept;
	kept->bytes = s.out_bytes;
	kept->used = (size_t)(s.p - s.start);
	kept->end = !failed	      ? JSON_WHOLE
		    : s.large	      ? JSON_LARGE
		    : scan_is_cut(&s) ? JSON_CUT
				      : JSON_BAD;
	if (failed || !alone)
		return failed;
	skip_space(&s);
	if (s.p < s.end && *s.p != '\0' &&
	    strchr("{[,:\"-0123456789trufalsen", *s.p) != NULL)
		return scan_refuse(&s, "more than one document");
	return s.p < s.end ? scan_astray(&s) : 0;
}
