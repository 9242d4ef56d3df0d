/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/karpenter/reader.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/index.h"
#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "core/base/str.h"
#include "reader_parts.h"

/*
 * The stream is text in which JSON values begin at a '{'.  Brackets and commas
 * between values are text, so the elements of an array, and values that stand
 * side by side, are values of the stream.  If a value is damaged, too large for
 * the window, or cut at the end, only its '{' is text, so the values in it are
 * read.  This takes the memory of one window, however large a list is.  What a
 * large list has besides its items is kept in `envelope`, because it may have
 * the warnings of Prometheus.
 *
 * Most values are lines of a log.  They are first read with only the members
 * that such lines have (`wanted`).  What this does not explain is read whole,
 * and `walk` looks for objects that `judge` recognizes.  A string in which an
 * object begins is read like the stream.
 *
 * A value may be cut into several strings, or into several lines of a container
 * runtime's file, and `stash` joins these.
 */

/* The first attempt to read a value sees so much of its line. */
#define GLANCE_BYTES (64u << 10)
/* How much text behind a value is searched for a time. */
#define BEHIND_BYTES 128

struct reader *
reader_new(reader_fn *fn, void *ctx)
{
	struct reader *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->fn = fn;
	r->ctx = ctx;
	buf_init(&r->envelope, r->envelope_text, sizeof(r->envelope_text));
	return r;
}

void
reader_free(struct reader *r)
{
	if (r == NULL)
		return;
	pieces_done(&r->pieces);
	audit_free(r->audit);
	stash_done(&r->stash);
	judge_forget(r, 0);
	free(r);
}

/* --- looking for objects in a value --------------------------------------- */

static void read_text(struct reader *r, const char *s, size_t n,
		      const struct around *a);
static void read_string(struct reader *r, const char *s, size_t n, bool last,
			const struct around *a);
static void walk(struct reader *r, const struct json *v, struct around a);

/* Writes the value in its plain form, and walks that. */
static void
walk_plain(struct reader *r, const struct json *v, const struct around *a)
{
	char *text = malloc(2 * ITEM_BYTES_MAX);
	struct json *root = NULL;
	struct buf b;

	if (text != NULL) {
		buf_init(&b, text, 2 * ITEM_BYTES_MAX);
		plain_write(&b, v);
		if (!b.full)
			root = json_parse(text, b.len, &json_bounds_stored,
					  NULL);
	}
	free(text);
	if (root != NULL)
		walk(r, root, *a);
	json_free(root);
}

/* Reads a string that journald has written as an array of its bytes.  Returns
 * whether the array is one. */
static bool
walk_bytes(struct reader *r, const struct json *v, const struct around *a)
{
	char *text = NULL;
	size_t n = 0;
	long long c;

	for (const struct json *i = v; i != NULL; i = json_next(i), n++)
		if (json_integer(i, &c) != 0 || c < 0 || c > UINT8_MAX)
			return false;
	text = n < 2 ? NULL : malloc(n + 1);
	if (text == NULL)
		return false;
	n = 0;
	for (const struct json *i = v; i != NULL; i = json_next(i))
		text[n++] = json_integer(i, &c) == 0 ? (char)c : ' ';
	text[n] = '\0';
	read_string(r, text, n, false, a);
	free(text);
	return true;
}

/* Reads the members that are strings first, because a raw line has its own time
 * and its parsed members may not. */
static void
walk_members(struct reader *r, const struct json *o, struct around *a)
{
	a->kind = json_says(o, "kind", "NodeClaimList") ? "NodeClaim"
		  : json_says(o, "kind", "EventList")	? "Event"
							: NULL;
	a->in = o;
	r->inside++;
	for (int strings = 1; strings >= 0; strings--)
		for (const struct json *v = json_first(o);
		     v != NULL && !r->failed; v = json_next(v)) {
			if ((json_string(v) != NULL) != strings)
				continue;
			a->name = json_key(v);
			walk(r, v, *a);
		}
	if (--r->inside == 0)
		judge_forget(r, 0);
}

static void
walk_elements(struct reader *r, const struct json *array, struct around *a)
{
	const struct json *first = json_first(array);
	unsigned told = r->told_n;
	int64_t at;

	if (walk_bytes(r, first, a))
		return;
	/* Loki and tables have the time beside the line. */
	for (const struct json *v = first; v != NULL; v = json_next(v))
		if (json_string(v) != NULL && when_value(v, &at)) {
			a->at_ms = at;
			break;
		}
	for (const struct json *v = first; v != NULL && !r->failed;
	     v = json_next(v)) {
		if (json_string(v) != NULL && when_value(v, &at)) {
			a->at_ms = at;
			continue;
		}
		/* Another element is another line. */
		judge_forget(r, told);
		walk(r, v, *a);
	}
}

static void
walk(struct reader *r, const struct json *v, struct around a)
{
	const char *s = json_string(v);
	uint64_t found = r->found;
	int64_t at;

	if (a.depth > READER_DEPTH_MAX)
		return;
	a.depth += json_is_object(v);
	if (s != NULL)
		read_string(r, s, strlen(s), false, &a);
	else if (plain_wanted(v))
		walk_plain(r, v, &a);
	else if (json_is_array(v))
		walk_elements(r, v, &a);
	else if (json_is_object(v) && !judge_value(r, v, &a)) {
		struct around in = a;

		if (when_object(v, &at)) {
			in.at_ms = at;
			in.before_n = in.behind_n = 0;
		}
		walk_members(r, v, &in);
		if (r->found == found)
			(void)judge_log(r, v, &a, true);
	}
}

/* --- texts ---------------------------------------------------------------- */

/* Hashes the long strings around a piece, which are the same for all pieces of
 * a line: its pod, its stream and the like. */
static uint32_t
hash_origin(const struct json *v, const char *piece)
{
	uint32_t h = 1;
	int64_t at;

	for (v = json_first(v); v != NULL; v = json_next(v)) {
		const char *s = json_string(v);

		if (s == NULL)
			h = h * 31 + hash_origin(v, piece);
		else if (s != piece && strlen(s) > 5 && !when_value(v, &at))
			h = h * 31 + index_hash(s, 0);
	}
	return h;
}

static struct stash_origin
origin_of(const struct around *a, const char *piece)
{
	return (struct stash_origin){
		.name = a->name,
		.from = a->in != NULL ? hash_origin(a->in, piece) : 0,
		.at_ms = judge_time(NULL, a)};
}

/* Returns the text after "… stdout P " or "… stdout F ", or after these texts
 * with "stderr" (CRI's log format), and sets *stream, and *last to whether it
 * was F.  Returns NULL if the text does not begin in that format. */
static const char *
cri_rest(const char *s, size_t n, const char **stream, bool *last)
{
	/* An RFC 3339 time with nanoseconds has 35 bytes. */
	size_t head = n < 48 ? n : 48;

	for (size_t i = 20; i + 10 <= head; i++)
		if ((memcmp(s + i, " stdout ", 8) == 0 ||
		     memcmp(s + i, " stderr ", 8) == 0) &&
		    (s[i + 8] == 'P' || s[i + 8] == 'F') && s[i + 9] == ' ') {
			*last = s[i + 8] == 'F';
			*stream = s[i + 6] == 't' ? "stdout" : "stderr";
			return s + i + 10;
		}
	return NULL;
}

/* Returns whether the text is a value of its own. */
static bool
is_whole(const char *s, size_t n)
{
	static const struct json_keep nothing[] = {{NULL, NULL}};
	struct json *v = s[0] != '{' ? NULL
				     : json_pick(s, n, nothing,
						 &json_bounds_stored, NULL);

	json_free(v);
	return v != NULL;
}

/* Returns whether the string goes on with a value that was cut, and reads that
 * value if it is whole. */
static bool
joins(struct reader *r, const char *s, size_t n, bool last,
      const struct around *a)
{
	struct stash_origin of = origin_of(a, s);
	struct stash_value *v;
	struct around whole = *a;

	last = last || (n > 0 && s[n - 1] == '\n') ||
	       json_says(a->in, "_p", "F") || json_says(a->in, "logtag", "F");
	if (n == 0 || is_whole(s, n) ||
	    !stash_join(&r->stash, &of, s, n, last, &v))
		return false;
	r->found++;
	if (v == NULL)
		return true;
	whole.at_ms = v->at_ms;
	whole.before_n = whole.behind_n = 0;
	read_text(r, v->bytes, v->n, &whole);
	stash_drop(&r->stash, v);
	return true;
}

static void
read_string(struct reader *r, const char *s, size_t n, bool last,
	    const struct around *a)
{
	struct around in = *a;
	const char *rest = cri_rest(s, n, &in.name, &last);

	if (rest != NULL) {
		in.before = s;
		in.before_n = (size_t)(rest - s);
		n -= in.before_n;
		s = rest;
	}
	if (r->stash.alive > 0 && joins(r, s, n, last, &in))
		return;
	if (memchr(s, '{', n) != NULL)
		read_text(r, s, n, &in);
}

/* How an object is written in a text. */
enum form {
	FORM_NONE, /* this '{' begins no object */
	FORM_JSON,
	FORM_ESCAPED, /* {\"a\":1} in a string with escapes */
	FORM_CSV,     /* {""a"":1} in a cell of CSV */
};

static enum form
form_at(const char *p, const char *end)
{
	const char *next = p + 1;

	while (next < end && isspace((unsigned char)*next))
		next++;
	/* At the end of the text nothing is known yet. */
	if (end - next < 3 || *next == '}')
		return FORM_JSON;
	if (next[0] == '\\' && next[1] == '"')
		return FORM_ESCAPED;
	if (next[0] == '"' && next[1] == '"' && next[2] != ':' &&
	    next[2] != ' ')
		return FORM_CSV;
	return *next == '"' ? FORM_JSON : FORM_NONE;
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

/* Returns the next place where an object begins, or NULL. */
static const char *
find_object(const char *p, const char *end, enum form *form)
{
	while ((p = memchr(p, '{', (size_t)(end - p))) != NULL) {
		*form = form_at(p, end);
		if (*form != FORM_NONE)
			return p;
		p++;
	}
	return NULL;
}

/* Returns how much text of the line is behind a value. */
static size_t
behind_bytes(const char *s, const char *end)
{
	size_t n = (size_t)(end - s) < BEHIND_BYTES ? (size_t)(end - s)
						    : BEHIND_BYTES;

	for (size_t i = 0; i < n; i++)
		if (s[i] == '\n' || s[i] == '{')
			n = i;
	return n;
}

/* Returns the quote that ends the string with escapes, or the cell, or end.  A
 * newline ends a string, too. */
static const char *
quoted_end(const char *s, const char *end, enum form form)
{
	for (; s < end; s++) {
		if (form == FORM_ESCAPED && (*s == '"' || *s == '\n'))
			return s;
		if (form == FORM_CSV && *s == '"' &&
		    (s + 1 == end || s[1] != '"'))
			return s;
		/* The next character is of a pair. */
		if (*s == (form == FORM_CSV ? '"' : '\\') && s + 1 < end)
			s++;
	}
	return end;
}

/* Reads the string with escapes, or the cell, from s on.  It ends at `at`. */
static void
read_quote(struct reader *r, const char *s, const char *at, enum form form,
	   const struct around *a)
{
	char *text = malloc((size_t)(at - s) + 3), *to = text;
	struct json *v;

	if (text == NULL)
		return;
	if (form == FORM_CSV) {
		for (; s < at; s += 1 + (*s == '"'))
			*to++ = *s;
		*to = '\0';
		read_string(r, text, (size_t)(to - text), true, a);
	} else {
		*to++ = '"';
		memcpy(to, s, (size_t)(at - s));
		to += at - s;
		*to++ = '"';
		v = json_parse(text, (size_t)(to - text), &json_bounds_stored,
			       NULL);
		walk(r, v, *a);
		json_free(v);
	}
	free(text);
}

/* Reads the string with escapes, or the cell, that has the '{' at p.  It begins
 * behind the last quote before p, but not before `from`.  Returns the number of
 * bytes from p to its end, or 0 if it does not end.  In that case, no other
 * string or cell ends before `end`, either. */
static size_t
read_quoted(struct reader *r, const char *from, const char *p, const char *end,
	    enum form form, const struct around *a)
{
	const char *s = p, *at;
	struct around in = *a;

	while (s > from && s[-1] != '"')
		s--;
	at = quoted_end(s, end, form);
	if (a->more && at < end && end - at <= BEHIND_BYTES &&
	    memchr(at, '\n', (size_t)(end - at)) == NULL)
		at = end;
	if (at == end)
		return 0;
	in.before = from;
	in.before_n = (size_t)(s - from);
	in.behind = at + 1;
	in.behind_n = behind_bytes(at + 1, end);
	in.more = false;
	read_quote(r, s, at, form, &in);
	return (size_t)(at + 1 - p);
}

/* Takes the message before a value in zap's text format, "TIME\tINFO\tlogger\t
 * message\t{…}". */
static void
take_message(struct around *a, char message[SHAPE_BYTES])
{
	const char *from = a->before, *to = from + a->before_n;

	if (to == from || *--to != '\t')
		return;
	a->before = to;
	while (a->before > from && a->before[-1] != '\t')
		a->before--;
	if (a->before == from || (size_t)(to - a->before) >= SHAPE_BYTES)
		a->before = from;
	else {
		memcpy(message, a->before, (size_t)(to - a->before));
		message[to - a->before] = '\0';
		a->message = message;
		a->before = from;
	}
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

/* Reads the value at p.  Returns the size of the value, or 0 with *end set. */
static size_t
read_value(struct reader *r, const char *p, size_t n, const struct around *a,
	   enum json_end *end)
{
	struct json_bounds bounds = json_bounds_stored;
	uint64_t before = r->found;
	char message[SHAPE_BYTES];
	struct around in = *a;
	size_t used;
	bool done;

	/* One decision may be about thousands of nodes. */
	bounds.kept_values_max = bounds.values_max;
	bounds.kept_bytes_max = ITEM_BYTES_MAX;
	AUTO_JSON line =
		json_pick_first(p, n, judge_wanted, &bounds, &used, end);
	if (line == NULL)
		return 0;
	if (in.behind_n == 0) {
		in.behind = p + used;
		in.behind_n = behind_bytes(p + used, p + n);
	}
	if (a->more && in.behind + in.behind_n == p + n &&
	    in.behind_n < BEHIND_BYTES) {
		*end = JSON_CUT;
		return 0;
	}
	in.more = false;
	take_message(&in, message);
	done = in.message == NULL && judge_line(r, line);
	if (!done) {
		AUTO_JSON whole =
			json_pick_first(p, used, NULL, &bounds, &used, end);

		walk(r, whole, in);
		if (r->found == before && !r->broken && a->depth == 0)
			tell_shape(r, whole, &in);
	}
	r->useful = r->useful || !r->broken || r->found > before;
	r->cut_any = r->cut_any || (r->cut && r->found > before);
	return used;
}

/* Reads a text that is whole: a string, or a line of a container runtime. */
static void
read_text(struct reader *r, const char *s, size_t n, const struct around *a)
{
	const char *from = s, *end = s + n, *p;
	unsigned told = r->told_n;
	enum form form;

	while (!r->failed && (p = find_object(s, end, &form)) != NULL) {
		struct around in = *a;
		enum json_end why = JSON_BAD;
		size_t used;

		if (p > from) {
			in.before = from;
			in.before_n = (size_t)(p - from);
		}
		judge_forget(r, told);
		used = form != FORM_JSON
			       ? read_quoted(r, from, p, end, form, &in)
		       : is_member(from, p)
			       ? 0
			       : read_value(r, p, (size_t)(end - p), &in, &why);
		if (used == 0 && form != FORM_JSON)
			return;
		if (used == 0 && why == JSON_CUT) {
			struct stash_origin of = origin_of(&in, from);

			stash_keep(&r->stash, &of, p, (size_t)(end - p));
			r->found++;
			return;
		}
		s = p + (used > 0 ? used : 1);
		from = used > 0 ? s : from;
	}
}

/* --- the stream ----------------------------------------------------------- */

static void
tell_broken(struct reader *r, bool decides)
{
	judge_tell(r, decides ? READ_UNDECIDED : READ_BROKEN,
		   decides ? "(a decision that is cut or damaged)" : "",
		   STAMP_NONE);
}

static void
end_line(struct reader *r)
{
	if (r->is_long)
		judge_tell(r, READ_LONG, "", STAMP_NONE);
	else if (!r->useful && r->texty && !r->opened)
		tell_broken(r, r->decides);
	r->opened = r->opened && !r->in_line;
	r->useful = r->texty = r->broken = r->is_long = false;
	r->decides = false;
	for (; r->stash.lost > 0; r->stash.lost--) {
		tell_broken(r, r->stash.decisions > 0);
		r->stash.decisions -= r->stash.decisions > 0;
	}
}

/* Notes text between values. */
static void
note_text(struct reader *r, const char *s, size_t n)
{
	bool texty = false;

	for (size_t i = 0; i < n && !texty; i++)
		texty = !isspace((unsigned char)s[i]) &&
			strchr("[]{},", s[i]) == NULL;
	if (r->opened && (texty || (n > 0 && memchr(s, '}', n) != NULL) ||
			  (n > 0 && memchr(s, ']', n) != NULL)))
		buf_add(&r->envelope, s, n);
	r->texty = r->texty || texty;
}

/* Takes the n bytes of text, and the lines that end in them. */
static void
skip_text(struct reader *r, const char *s, size_t n)
{
	const char *end = s + n, *newline;

	while ((newline = memchr(s, '\n', (size_t)(end - s))) != NULL) {
		note_text(r, s, (size_t)(newline - s));
		end_line(r);
		s = newline + 1;
	}
	note_text(r, s, (size_t)(end - s));
}

/* Notes a value that cannot be read, of which these bytes are in the line. */
static void
note_broken(struct reader *r, const char *s, size_t n)
{
	r->decides = r->decides || (!r->broken && log_may_decide(s, n));
	r->broken = r->texty = true;
}

/* Takes only the '{' of a value that cannot be read as a whole, and the text
 * before it.  n bytes of the value are in its line.  What is in the value
 * follows in the next steps. */
static size_t
open_value(struct reader *r, const char *s, const char *p, size_t n, bool large)
{
	skip_text(r, s, (size_t)(p - s));
	if (large) {
		r->opened = true;
		buf_add(&r->envelope, "{", 1);
	} else
		note_broken(r, p, n);
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
	end_line(r);
	return (size_t)(p + 1 - s);
}

/* Reads the value at p, which is in the line that begins at s.  Returns the
 * bytes from s that were used; 0: more are needed. */
static size_t
step_value(struct reader *r, const char *s, const char *p, const char *end,
	   enum form form, enum reader_rest rest)
{
	const char *newline = memchr(p, '\n', (size_t)(end - p));
	const char *line = newline != NULL ? newline : end;
	size_t glance = (size_t)(line - p), used;
	struct around a = {.before = s,
			   .before_n = (size_t)(p - s),
			   .behind = "",
			   .at_ms = STAMP_NONE,
			   .name = ""};
	enum json_end why = JSON_CUT;
	bool last;

	/* A line of a container runtime is read like a string. */
	if (cri_rest(s, (size_t)(line - s), &a.name, &last) != NULL) {
		if (newline == NULL && rest == READER_MORE)
			return 0;
		a.before_n = 0;
		read_string(r, s, (size_t)(line - s), false, &a);
		r->useful = true;
		return (size_t)(line - s);
	}
	if (form != FORM_JSON) {
		a.more = rest == READER_MORE;
		used = read_quoted(r, s, p, end, form, &a);
		if (used == 0 && rest == READER_MORE)
			return 0;
		r->useful = r->useful || used > 0;
		/* Nothing ends in the window.  In its second half, something
		 * may begin that ends later. */
		if (used > 0)
			return used + (size_t)(p - s);
		note_broken(r, p, glance);
		return open_value(r, s, p + (end - p) / 2, 0, false);
	}
	if (is_member(s, p))
		return open_value(r, s, p, glance, r->opened);
	if (glance > GLANCE_BYTES)
		glance = GLANCE_BYTES;
	a.more = rest == READER_MORE && newline == NULL;
	used = read_value(r, p, glance, &a, &why);
	a.more = rest == READER_MORE;
	if (used == 0 && why == JSON_CUT && p + glance < end)
		used = read_value(r, p, (size_t)(end - p), &a, &why);
	if (used == 0 && why == JSON_CUT && rest == READER_MORE)
		return 0;
	if (used == 0) {
		r->cut = r->cut || (why == JSON_CUT && rest == READER_LAST);
		r->in_line =
			newline == NULL || (size_t)(newline - p) > GLANCE_BYTES;
		return open_value(r, s, p, (size_t)(line - p),
				  why == JSON_LARGE || (why == JSON_CUT &&
							rest == READER_FULL));
	}
	note_text(r, s, (size_t)(p - s));
	p += used;
	return (size_t)(p - s) + skip_end(r, p, end);
}

/* Reads a line that may go on with a value that was cut.  Returns false if it
 * does not. */
static bool
step_piece(struct reader *r, const char *s, size_t n)
{
	struct around a = {
		.before = "", .behind = "", .at_ms = STAMP_NONE, .name = ""};
	bool last = false;
	const char *text = cri_rest(s, n, &a.name, &last);

	return text != NULL && joins(r, text, (size_t)(s + n - text), last, &a);
}

static size_t
step(struct reader *r, const char *s, size_t n, enum reader_rest rest)
{
	const char *end = s + n, *until = end, *p, *line;
	enum form form = FORM_NONE;

	/* While a value waits for its rest, one line is read at a time. */
	if (r->stash.alive > 0) {
		line = memchr(s, '\n', n);
		if (line == NULL && rest == READER_MORE)
			return 0;
		until = line != NULL ? line : end;
		if (step_piece(r, s, (size_t)(until - s))) {
			r->useful = true;
			return (size_t)(until - s);
		}
		until += line != NULL;
	}
	p = find_object(s, until, &form);
	line = memrchr(s, '\n', (size_t)((p != NULL ? p : until) - s));
	if (line != NULL) {
		skip_text(r, s, (size_t)(line + 1 - s));
		return (size_t)(line + 1 - s);
	}
	if (p != NULL)
		return step_value(r, s, p, end, form, rest);
	if (rest == READER_MORE)
		return 0;
	r->is_long = r->is_long || rest == READER_FULL;
	note_text(r, s, n);
	return (size_t)(end - s);
}

int
reader_step(struct reader *r, const char *bytes, size_t n,
	    enum reader_rest rest, size_t *used, struct err *e)
{
	r->e = e;
	*used = step(r, bytes, n, rest);
	return r->failed ? -1 : 0;
}

int
reader_end(struct reader *r, bool *cut, struct err *e)
{
	struct around a = {.before = "",
			   .behind = "",
			   .at_ms = STAMP_NONE,
			   .name = "",
			   .depth = 1};

	r->e = e;
	end_line(r);
	read_text(r, r->envelope.data, r->envelope.len, &a);
	for (int i = 0; i < STASHES && !r->opened; i++)
		if (r->stash.values[i].bytes != NULL)
			stash_give_up(&r->stash, &r->stash.values[i]);
	end_line(r);
	*cut = r->cut_any;
	return r->failed ? -1 : 0;
}
