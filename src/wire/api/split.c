/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/split.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "wire/json/json_text.h"

/*
 * The splitter reads each byte once, however the stream is divided into pieces.
 * Lines are found by memchr.  In a list the splitter is at one of three places:
 * in the envelope, between two items, or in an item.  In an item it follows
 * only strings and the depth of brackets, because the decoder of the item
 * checks the rest.
 *
 * An item that arrives in one piece is handed on without a copy.  Otherwise its
 * beginning waits in `item`.  Of an item that is too large only the beginning
 * is kept.  The array of items is the value of a key with a certain name
 * (`name`) at a certain depth (`level`).  An array of that name at another
 * depth belongs to the envelope.
 */

/* A buffer that is larger than this is not kept for the next item. */
#define ITEM_ROOM (64u << 10)

struct bytes {
	char *data;
	size_t len, cap;
};

/* What the next byte of a list is part of. */
enum place {
	IN_ENVELOPE,
	BETWEEN_ITEMS,
	IN_ITEM,
};

struct split {
	enum split_mode mode;
	const char *name; /* the name of the array of items */
	unsigned level;	  /* how many objects enclose that array */
	size_t item_max;
	split_item_fn *fn;
	void *ctx;
	struct bytes item; /* the part of an item from earlier calls */
	/* Bytes of the item that were not kept, because it is too large. */
	size_t discarded;
	struct bytes envelope;
	enum place place;
	bool in_string, escaped;
	/* Number of open brackets in the envelope or, while in an item, in the
	 * item. */
	unsigned depth;

	/* The next three members are used in the envelope at depth `level`. */
	bool wants_key; /* Whether the next string is a key. */
	/* How many bytes of `name` the key has matched so far; -1: the key is
	 * another one. */
	int matched;
	bool items_next; /* Whether the key `name` and its ':' have come. */

	/* The next two members are used between items. */
	bool wants_item; /* Whether a comma has come, so an item must follow. */
	bool had_item;	 /* Whether an item has come since the last comma. */
};

struct split *
split_new_bounded(enum split_mode mode, size_t item_max, split_item_fn *fn,
		  void *ctx)
{
	struct split *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->mode = mode;
	s->name = mode == SPLIT_MATRIX ? "result" : "items";
	s->level = mode == SPLIT_MATRIX ? 2 : 1;
	s->item_max = item_max;
	s->fn = fn;
	s->ctx = ctx;
	return s;
}

struct split *
split_new(enum split_mode mode, split_item_fn *fn, void *ctx)
{
	return split_new_bounded(mode, ITEM_BYTES_MAX, fn, ctx);
}

static void
bytes_free(struct bytes *b)
{
	free(b->data);
	*b = (struct bytes){0};
}

void
split_free(struct split *s)
{
	if (s == NULL)
		return;
	bytes_free(&s->item);
	bytes_free(&s->envelope);
	free(s);
}

/* Appends n bytes and a NUL.  It fails if *b would have more than `max`
 * bytes. */
static int
bytes_add(struct bytes *b, const char *p, size_t n, size_t max,
	  const char *what, struct err *e)
{
	if (n > max - b->len)
		return err_set(e, ERR_LIMIT, "%s of more than %zu bytes", what,
			       max);
	if (b->len + n >= b->cap) {
		size_t cap = b->cap == 0 ? 4096 : b->cap;
		char *data;

		while (cap <= b->len + n)
			cap *= 2;
		if (cap > max)
			cap = max + 1;
		data = realloc(b->data, cap);
		if (data == NULL)
			return err_set(e, ERR_SYSTEM, "out of memory");
		b->data = data;
		b->cap = cap;
	}
	memcpy(b->data + b->len, p, n);
	b->len += n;
	b->data[b->len] = '\0';
	return 0;
}

/* Keeps a part of an item that is not complete yet, up to item_max. */
static int
item_keep(struct split *s, const char *p, size_t n, struct err *e)
{
	size_t room = s->item_max - s->item.len, kept = n < room ? n : room;

	s->discarded += n - kept;
	return bytes_add(&s->item, p, kept, s->item_max, "an item", e);
}

/* Hands on an item that is complete.  Most items arrive in one piece and are
 * not copied. */
static int
item_done(struct split *s, const char *p, size_t n, struct err *e)
{
	size_t total;
	int failed;

	if (s->item.len == 0)
		return s->fn(s->ctx, p, n, e);
	if (item_keep(s, p, n, e))
		return -1;
	total = s->item.len + s->discarded;
	s->discarded = 0;
	failed = s->fn(s->ctx, s->item.data, total, e);
	s->item.len = 0;
	if (s->item.cap > ITEM_ROOM)
		bytes_free(&s->item);
	return failed;
}

static int
feed_lines(struct split *s, const char *p, const char *end, struct err *e)
{
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		if (nl == NULL)
			return item_keep(s, p, (size_t)(end - p), e);
		if ((nl > p || s->item.len > 0) &&
		    item_done(s, p, (size_t)(nl - p), e))
			return -1;
		p = nl + 1;
	}
	return 0;
}

/* Called inside a string.  Returns the place after the closing quote of the
 * string, or `end`. */
static const char *
skip_string(struct split *s, const char *p, const char *end)
{
	while (p < end) {
		if (s->escaped) {
			s->escaped = false;
			p++;
			continue;
		}
		p = json_plain_end(p, end);
		if (p < end && *p == '"') {
			s->in_string = false;
			return p + 1;
		}
		s->escaped = p < end && *p == '\\';
		p += p < end;
	}
	return end;
}

/* Moves *at to the comma or bracket that ends the item and returns true, or
 * moves it to the end of the bytes and returns false. */
static bool
skip_item(struct split *s, const char **at, const char *end)
{
	const char *p = *at;
	bool ended = false;

	while (p < end && !ended) {
		if (s->in_string) {
			p = skip_string(s, p, end);
			continue;
		}
		switch (*p) {
		case '"':
			s->in_string = true;
			break;
		case '{':
		case '[':
			s->depth++;
			break;
		case '}':
		case ']':
			ended = s->depth == 0;
			s->depth -= !ended;
			break;
		case ',':
			ended = s->depth == 0;
		}
		p += !ended;
	}
	*at = p;
	return ended;
}

static int
feed_item(struct split *s, const char **at, const char *end, struct err *e)
{
	const char *p = *at;

	if (!skip_item(s, at, end))
		return item_keep(s, p, (size_t)(*at - p), e);
	s->place = BETWEEN_ITEMS;
	s->had_item = true;
	s->wants_item = false;
	return item_done(s, p, (size_t)(*at - p), e);
}

static int
feed_between(struct split *s, const char **at, struct err *e)
{
	switch (*(*at)) {
	case ' ':
	case '\t':
	case '\r':
	case '\n':
		break;
	case ',':
		if (!s->had_item)
			return err_set(e, ERR_INPUT, "a list lacks an item");
		s->had_item = false;
		s->wants_item = true;
		break;
	case ']':
		if (s->wants_item)
			return err_set(e, ERR_INPUT, "a list lacks an item");
		s->place = IN_ENVELOPE; /* the envelope takes the bracket */
		s->depth = s->level + 1;
		return 0;
	case '}':
		return err_set(e, ERR_INPUT, "a list ends with '}'");
	default:
		s->place = IN_ITEM;
		s->depth = 0;
		return 0;
	}
	(*at)++;
	return 0;
}

static void
envelope_string_byte(struct split *s, char c)
{
	if (s->escaped) {
		s->escaped = false;
		s->matched = -1;
	} else if (c == '\\') {
		s->escaped = true;
		s->matched = -1;
	} else if (c == '"') {
		s->in_string = false;
	} else if (s->matched >= 0) {
		bool same = c == s->name[s->matched] && c != '\0';

		s->matched = same ? s->matched + 1 : -1;
	}
}

/* Takes one byte of the envelope that is at depth `level` and outside of
 * strings. */
static void
envelope_top_byte(struct split *s, char c)
{
	switch (c) {
	case '"':
		s->matched = s->wants_key ? 0 : -1;
		s->items_next = false;
		break;
	case ':':
		s->items_next = s->wants_key && s->matched >= 0 &&
				s->name[s->matched] == '\0';
		s->wants_key = false;
		break;
	case ',':
		s->wants_key = true;
		s->items_next = false;
	}
}

/* Takes one byte of the envelope.  Returns true if it opens the array of
 * items. */
static bool
envelope_byte(struct split *s, char c)
{
	if (s->in_string) {
		envelope_string_byte(s, c);
		return false;
	}
	if (s->depth == s->level)
		envelope_top_byte(s, c);
	switch (c) {
	case '"':
		s->in_string = true;
		break;
	case '[':
	case '{':
		if (c == '[' && s->depth == s->level && s->items_next)
			return true;
		s->wants_key = ++s->depth == s->level && c == '{';
		break;
	case ']':
	case '}':
		s->depth -= s->depth > 0;
		s->items_next = false;
	}
	return false;
}

static int
feed_envelope(struct split *s, const char **at, const char *end, struct err *e)
{
	const char *p = *at;
	bool opened = false;

	while (*at < end && !opened)
		opened = envelope_byte(s, *(*at)++);
	if (opened) {
		s->place = BETWEEN_ITEMS;
		s->had_item = s->wants_item = s->items_next = false;
	}
	return bytes_add(&s->envelope, p, (size_t)(*at - p), ENVELOPE_BYTES_MAX,
			 "a list's envelope", e);
}

static int
feed_list(struct split *s, const char *p, const char *end, struct err *e)
{
	int failed = 0;

	while (p < end && !failed) {
		switch (s->place) {
		case IN_ENVELOPE:
			failed = feed_envelope(s, &p, end, e);
			break;
		case BETWEEN_ITEMS:
			failed = feed_between(s, &p, e);
			break;
		case IN_ITEM:
			failed = feed_item(s, &p, end, e);
			break;
		}
	}
	return failed;
}

int
split_feed(struct split *s, const char *bytes, size_t n, struct err *e)
{
	if (s->mode == SPLIT_LINES)
		return feed_lines(s, bytes, bytes + n, e);
	return feed_list(s, bytes, bytes + n, e);
}

int
split_end(struct split *s, struct err *e)
{
	if (s->mode == SPLIT_LINES)
		return s->item.len == 0 ? 0
					: err_set(e, ERR_CUT,
						  "the stream ended in a line");
	if (s->place != IN_ENVELOPE || s->depth > 0 || s->in_string ||
	    s->envelope.len == 0)
		return err_set(e, ERR_CUT, "the stream ended in a list");
	return 0;
}

const char *
split_envelope(const struct split *s, size_t *n)
{
	*n = s->envelope.len;
	return s->envelope.data != NULL ? s->envelope.data : "";
}
