/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/stamp.h"
#include "core/base/str.h"
#include "core/base/utf8.h"
#include "reader_parts.h"

/*
 * JSON values in a text begin at a '{', or are strings that have one.  Brackets
 * and commas between values are text, so the elements of an array, and values
 * that stand side by side, are values of the text.  Lines of a container
 * runtime are read like strings, and rows of CSV like values.
 */

/* How much text behind a value is searched for a time. */
#define BEHIND_BYTES 128
/* A value that is too large ends with its line if the line is this long. */
#define LONG_LINE_BYTES (64u << 10)

/* How an object is written in a text. */
enum form {
	FORM_NONE, /* this '{' begins no object */
	FORM_JSON,
	FORM_STRING, /* {\"a\":1} in a string with escapes */
	FORM_CELL,   /* {""a"":1} in a cell of CSV */
	FORM_CUT,    /* The text ends before that is known. */
};

static enum form
form_at(const char *p, const char *end)
{
	const char *next = p + 1;

	while (next < end && isspace((unsigned char)*next))
		next++;
	if (end - next < 3)
		return FORM_CUT;
	if (*p == '[')
		return *next == '"' ? FORM_JSON : FORM_NONE;
	if (next[0] == '\\' && next[1] == '"')
		return FORM_STRING;
	if (next[0] == '"' && next[1] == '"' && next[2] != ':' &&
	    next[2] != ' ')
		return FORM_CELL;
	return *next == '"' || *next == '}' ? FORM_JSON : FORM_NONE;
}

/* Returns the next place before `to` where an object begins, or NULL.  In a
 * value that is too large, an array that begins with a string counts as well:
 * Loki's lines are pairs of the time and the text. */
static const char *
find_object(const struct reader *r, const char *p, const char *to,
	    const char *end, enum form *form)
{
	bool arrays = r->opened && r->inside == 0;

	for (;;) {
		while (arrays && p < to && *p != '{' && *p != '[')
			p++;
		p = arrays && p < to ? p : memchr(p, '{', (size_t)(to - p));
		if (p == NULL)
			return NULL;
		*form = form_at(p, end);
		if (*form != FORM_NONE)
			return p;
		p++;
	}
}

/* Returns whether the object at p is a member of an object that is damaged or
 * too large.  Such a member is not read, because the rest of the object may say
 * that it does not count.  Elements of an array in it are read. */
static bool
is_member(const char *from, const char *p)
{
	while (p > from && isspace((unsigned char)p[-1]))
		p--;
	return p - from > 1 && p[-1] == ':' && p[-2] == '"';
}

/* Sets the text of the line behind a value.  Returns false if that is not known
 * yet. */
static bool
see_behind(struct around *a, const char *s, const char *end)
{
	size_t n = (size_t)(end - s), i = 0;

	while (i < n && i < BEHIND_BYTES && s[i] != '\n' && s[i] != '{')
		i++;
	if (a->behind_n == 0) {
		a->behind = s;
		a->behind_n = i;
	}
	return a->rest != READER_MORE || i < n || i == BEHIND_BYTES;
}

/* Takes the message before a value in zap's text format, "TIME\tINFO\tlogger\t
 * message\t{…}". */
static void
take_message(struct around *a, char message[SHAPE_BYTES])
{
	const char *to = a->before + a->before_n - 1, *from = to;

	if (a->before_n == 0 || *to != '\t')
		return;
	while (from > a->before && from[-1] != '\t')
		from--;
	if (from == a->before || to - from >= SHAPE_BYTES)
		return;
	memcpy(message, from, (size_t)(to - from));
	message[to - from] = '\0';
	for (size_t i = 0, n; message[i] != '\0'; i += n) {
		n = utf8_len(message + i, strlen(message + i));
		if (n == 0)
			return;
	}
	a->message = message;
}

/* Names the members of a value in which nothing was recognized. */
static void
tell_shape(struct reader *r, const struct json *o, const struct around *a)
{
	const char *message = json_string(json_member(o, "message"));
	static const char more[] = ", …)";
	const struct json *v = json_first(o);
	char shape[SHAPE_BYTES], key[24];
	struct buf b;

	buf_init(&b, shape, sizeof(shape) - sizeof(more));
	buf_puts(&b, "(an object with the members");
	for (; v != NULL && !b.full; v = json_next(v)) {
		str_cut(key, sizeof(key), json_key(v));
		buf_printf(&b, "%s %s", v == json_first(o) ? "" : ",", key);
	}
	(void)strcpy(shape + b.len, b.full ? more : ")");
	judge_tell(r, READ_OTHER, message != NULL ? message : shape,
		   judge_time(o, a));
}

/* Reads the value at p.  Returns its size, or 0 with *why set. */
static size_t
read_value(struct reader *r, const char *p, const char *end, struct around a,
	   enum json_end *why)
{
	uint64_t before = r->found;
	char message[SHAPE_BYTES];
	size_t used;

	AUTO_JSON v = pieces_parse(p, (size_t)(end - p), &used, why);

	if (v == NULL)
		return 0;
	if (!see_behind(&a, p + used, end)) {
		*why = JSON_CUT;
		return 0;
	}
	take_message(&a, message);
	json_unpair(v);
	walk(r, v, a);
	if (r->found == before && r->line != LINE_BROKEN && a.depth == 0 &&
	    json_is_object(v))
		tell_shape(r, v, &a);
	return used;
}

/* Reads the row of CSV at s.  Returns its size, or 0 with *why set. */
static size_t
read_row(struct reader *r, const char *s, const char *end, struct around a,
	 enum json_end *why)
{
	size_t row, n, used;
	const char *brace;
	bool cut;
	char *text = row_json(r, s, end, a.rest, &row, &n, &cut);

	*why = cut ? JSON_CUT : JSON_BAD;
	if (text == NULL)
		return 0;
	/* The time is before the line, whatever its column's name is. */
	brace = memchr(s, '{', row);
	a.before = s;
	a.before_n = brace == NULL ? row : (size_t)(brace - s);
	a.rest = READER_LAST;
	used = read_value(r, text, text + n, a, why);
	free(text);
	return used > 0 ? row : 0;
}

/* Takes only the '{' of a value that cannot be read as a whole, and the text
 * before it.  What is in the value follows in the next steps. */
static size_t
open_value(struct reader *r, const char *s, const char *p, const char *line,
	   bool large)
{
	reader_text(r, s, (size_t)(p - s));
	if (large && r->inside == 0) {
		r->in_line = (size_t)(line - p) > LONG_LINE_BYTES;
		r->opened = true;
		buf_add(&r->envelope, p, 1);
	} else
		reader_broken(r, p, (size_t)(line - p));
	return (size_t)(p + 1 - s);
}

/* Takes what comes behind a value up to the end of the line, if that is only
 * space. */
static size_t
skip_end(struct reader *r, const char *s, const char *end)
{
	const char *p = s;

	while (p < end && (*p == ' ' || *p == '\r'))
		p++;
	if (p == end || *p != '\n')
		return 0;
	reader_end_line(r);
	return (size_t)(p + 1 - s);
}

/* Takes the value at p and the text before it.  `line` is the end of the first
 * line.  Returns 0 if more bytes are needed. */
static size_t
step_value(struct reader *r, const char *s, const char *p, const char *line,
	   const char *end, enum form form, struct around a)
{
	const char *quote = memrchr(s, '"', (size_t)(p - s));
	enum json_end why = JSON_BAD;
	uint64_t before = r->found;
	bool member;
	size_t used = 0;

	if (form == FORM_CUT && a.rest == READER_MORE)
		return 0;
	if (form == FORM_CUT)
		form = FORM_JSON;
	if (form == FORM_STRING && quote != NULL)
		p = quote;
	member = form == FORM_JSON && is_member(s, p);
	if (p > s) {
		a.before = s;
		a.before_n = (size_t)(p - s);
	}
	if (form == FORM_CELL)
		used = read_row(r, s, end, a, &why);
	else if (!member)
		used = read_value(r, p, end, a, &why);
	if (form == FORM_CELL && used > 0)
		p = s;
	if (used > 0) {
		if (r->inside == 0 &&
		    (r->line != LINE_BROKEN || r->found > before))
			r->line = LINE_READ;
		reader_text(r, s, (size_t)(p - s));
		return (size_t)(p + used - s) + skip_end(r, p + used, end);
	}
	/* The rest of the line says whether it seems to be a decision. */
	if (a.rest == READER_MORE &&
	    (why == JSON_CUT || (line == end && r->line < LINE_BROKEN)))
		return 0;
	if (why == JSON_CUT && r->inside > 0) {
		if (form != FORM_CELL)
			stash_keep(r, p, (size_t)(end - p), &a);
		return (size_t)(end - s);
	}
	/* No other string or cell ends in the window.  In its second half,
	 * something may begin that ends later.  A line that is no row has no
	 * cells. */
	if (form == FORM_CELL || (why == JSON_CUT && form == FORM_STRING)) {
		reader_broken(r, p, (size_t)(line - p));
		p = why == JSON_CUT ? p + (end - p) / 2 : line - 1;
		return open_value(r, s, p, end, false);
	}
	if (why == JSON_CUT && a.rest == READER_LAST && !r->cut) {
		r->cut = true;
		r->before = r->found;
	}
	return open_value(r, s, p, line,
			  why == JSON_LARGE ||
				  (why == JSON_CUT && a.rest == READER_FULL) ||
				  (member && r->opened));
}

/* Returns the text after "… stdout P " or "… stdout F ", or after these texts
 * with "stderr" (CRI's log format), and sets *stream, and *last to whether it
 * was F.  Returns NULL if the text does not begin in that format. */
static const char *
cri_rest(const char *s, size_t n, const char **stream, bool *last)
{
	/* An RFC 3339 time with nanoseconds has 35 bytes. */
	size_t head = n < 48 ? n : 48;

	for (size_t i = 20; i + 10 <= head && *s != '{'; i++)
		if ((memcmp(s + i, " stdout ", 8) == 0 ||
		     memcmp(s + i, " stderr ", 8) == 0) &&
		    (s[i + 8] == 'P' || s[i + 8] == 'F') && s[i + 9] == ' ') {
			*last = s[i + 8] == 'F';
			*stream = s[i + 6] == 't' ? "stdout" : "stderr";
			return s + i + 10;
		}
	return NULL;
}

/* Reads the n bytes of a line of a container runtime.  Returns false if it has
 * nothing to read. */
static bool
step_cri(struct reader *r, const char *s, size_t n, const struct around *a)
{
	uint64_t before = r->found;
	enum form form;

	text_read(r, s, n, false, a);
	if (find_object(r, s, s + n, s + n, &form) == NULL &&
	    r->found == before)
		return false;
	r->line = LINE_READ;
	return true;
}

/* Does for a text in a value what text_step does for the stream.  Its lines are
 * not accounted for, and may be any number. */
static size_t
step_inside(struct reader *r, const char *s, size_t n, const struct around *a)
{
	const char *end = s + n, *newline, *p;
	enum form form;

	p = find_object(r, s, end, end, &form);
	if (p == NULL)
		return n;
	newline = memrchr(s, '\n', (size_t)(p - s));
	return newline != NULL ? (size_t)(newline + 1 - s)
			       : step_value(r, s, p, end, end, form, *a);
}

/* Takes a row of the table that the stream is.  Returns false if it is no
 * row. */
static bool
step_row(struct reader *r, const char *s, const char *end,
	 const struct around *a, size_t *used)
{
	enum json_end why;

	*used = read_row(r, s, end, *a, &why);
	if (*used == 0)
		return why == JSON_CUT && a->rest == READER_MORE;
	if (r->line != LINE_BROKEN)
		r->line = LINE_READ;
	*used += skip_end(r, s + *used, end);
	return true;
}

size_t
text_step(struct reader *r, const char *s, size_t n, const struct around *a)
{
	const char *end = s + n, *newline = memchr(s, '\n', n), *p;
	const char *line = newline != NULL ? newline : end;
	bool whole = newline != NULL || a->rest != READER_MORE;
	size_t bytes = (size_t)(line - s);
	const char *stream;
	size_t used;
	enum form form;
	bool last;

	if (r->columns > 0 && step_row(r, s, end, a, &used))
		return used;
	if (cri_rest(s, bytes, &stream, &last) != NULL &&
	    (!whole || step_cri(r, s, bytes, a)))
		return whole ? bytes : 0;
	p = find_object(r, s, line, end, &form);
	if (p != NULL)
		return step_value(r, s, p, line, end, form, *a);
	if (!whole)
		return 0;
	if (newline == NULL && a->rest == READER_FULL && r->line != LINE_READ) {
		judge_tell(r, READ_LONG, "", STAMP_NONE);
		r->line = LINE_READ;
	}
	reader_text(r, s, bytes);
	if (!r->begun)
		row_header(r, s, bytes);
	if (newline == NULL)
		return bytes;
	reader_end_line(r);
	return bytes + 1;
}

/* Returns whether the object marks the strings in it as pieces of a line ("P")
 * or as its end ("F"). */
static bool
marks(const struct json *o, const char *mark)
{
	return json_says(o, "_p", mark) || json_says(o, "logtag", mark);
}

void
text_read(struct reader *r, const char *s, size_t n, bool last,
	  const struct around *a)
{
	struct around in = *a;
	bool end = false;
	const char *rest = cri_rest(s, n, &in.name, &end);
	uint64_t before = r->found;
	unsigned told = r->told_n;

	if (rest != NULL) {
		in.before = s;
		in.before_n = (size_t)(rest - s);
		n -= in.before_n;
		s = rest;
	}
	in.rest = READER_LAST;
	if (r->stashed > 0 &&
	    stash_join(r, s, n, last || end || marks(a->in, "F"), &in))
		return;
	if (r->tail.n > 0 && (rest != NULL ? !end : marks(a->in, "P")) &&
	    stash_before(r, s, n, &in))
		return;
	r->inside++;
	for (size_t i = 0; i < n && !r->failed;) {
		judge_forget(r, told);
		i += step_inside(r, s + i, n - i, &in);
	}
	if (--r->inside == 0)
		judge_forget(r, 0);
	if (r->found == before && memchr(s, '}', n) != NULL &&
	    (end || marks(a->in, "F")))
		stash_end(r, s, n, &in);
}
