/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "reader_parts.h"

/*
 * Reads rows of CSV as objects whose members have the names of the header, and
 * as arrays if there is no header.
 */

/* A cell of a row, without its quotes. */
struct cell {
	const char *from, *to;
	const char *next; /* what follows: a comma or the end of the line */
};

/* Takes the cell at s.  Returns false if it is none.  If the text ends in the
 * cell, `next` is NULL then. */
static bool
take_cell(const char *s, const char *end, struct cell *c)
{
	bool quoted = s < end && *s == '"';

	c->from = c->to = s + quoted;
	c->next = NULL;
	if (quoted) {
		while (c->to < end &&
		       (*c->to != '"' || (c->to + 1 < end && c->to[1] == '"')))
			c->to += 1 + (*c->to == '"');
		if (c->to >= end)
			return false;
	} else {
		while (c->to < end && strchr(",\r\n\"", *c->to) == NULL)
			c->to++;
	}
	c->next = c->to + quoted;
	if (c->next < end && *c->next == '\r')
		c->next++;
	return c->next == end || *c->next == ',' || *c->next == '\n';
}

static bool
ends_row(const struct cell *c, const char *end)
{
	return c->next == end || *c->next == '\n';
}

/* Counts the cells of the row at s, and sets *to to its end.  Returns 0 if the
 * text is no row, with *to NULL if it may be one that goes on. */
static unsigned
count_cells(const char *s, const char *end, const char **to)
{
	struct cell c;
	unsigned n = 0;

	do {
		if (!take_cell(s, end, &c)) {
			*to = c.next;
			return 0;
		}
		s = c.next + 1;
		n++;
	} while (!ends_row(&c, end));
	*to = c.next;
	return n;
}

void
row_header(struct reader *r, const char *s, size_t n)
{
	const char *end = s + n, *at = s;
	unsigned columns = count_cells(s, end, &at);
	struct cell c;

	if (columns < 2 || n > sizeof(r->header))
		return;
	for (at = s; at < end; at = c.next + 1)
		if (!take_cell(at, end, &c) ||
		    (c.from < c.to && isdigit((unsigned char)*c.from)))
			return;
	memcpy(r->header, s, n);
	r->header_n = n;
	r->columns = columns;
}

static char *
put_cell(char *to, const struct cell *c)
{
	*to++ = '"';
	for (const char *s = c->from; s < c->to; s += 1 + (*s == '"')) {
		if (strchr("\"\\\n", *s) != NULL)
			*to++ = '\\';
		*to++ = *s == '\n'		     ? 'n'
			: iscntrl((unsigned char)*s) ? ' '
						     : *s;
	}
	*to++ = '"';
	return to;
}

/* Writes the row as JSON.  Members of empty cells are left out. */
static char *
put_row(const struct reader *r, char *to, const char *s, const char *end)
{
	const char *name = r->header, *header_end = name + r->header_n;
	struct cell c, key;

	*to++ = r->columns > 0 ? '{' : '[';
	for (bool first = true; s <= end; s = c.next + 1) {
		(void)take_cell(s, end, &c);
		if (r->columns > 0)
			(void)take_cell(name, header_end, &key);
		name = key.next + 1;
		if (c.from == c.to)
			continue;
		if (!first)
			*to++ = ',';
		first = false;
		if (r->columns > 0) {
			to = put_cell(to, &key);
			*to++ = ':';
		}
		to = put_cell(to, &c);
	}
	*to++ = r->columns > 0 ? '}' : ']';
	return to;
}

char *
row_json(const struct reader *r, const char *s, const char *end,
	 enum reader_rest rest, size_t *row, size_t *n, bool *cut)
{
	const char *to;
	unsigned cells = count_cells(s, end, &to);
	char *text;

	*cut = to == NULL || (rest == READER_MORE && cells > 0 && to == end);
	if (*cut || cells < 2 || (r->columns > 0 && cells != r->columns))
		return NULL;
	*row = (size_t)(to - s);
	text = malloc(2 * (*row + r->header_n) + 4 * (size_t)cells + 8);
	if (text != NULL)
		*n = (size_t)(put_row(r, text, s, to) - text);
	return text;
}
