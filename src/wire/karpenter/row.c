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
	const char *next; /* what follows: a separator or the end of the line */
};

/* Takes the cell at s.  Returns false if it is none.  If the text ends in the
 * cell, `next` is NULL then. */
static bool
take_cell(const char *s, const char *end, char separator, struct cell *c)
{
	const char stops[] = {separator, '\r', '\n', '"', '\0'};
	bool quoted = s < end && *s == '"';

	c->from = c->to = s + quoted;
	c->next = NULL;
	while (!quoted && c->to < end && strchr(stops, *c->to) == NULL)
		c->to++;
	while (quoted && c->to < end &&
	       (*c->to != '"' || (c->to + 1 < end && c->to[1] == '"')))
		c->to += 1 + (*c->to == '"');
	if (quoted && c->to >= end)
		return false;
	c->next = c->to + quoted;
	if (c->next < end && *c->next == '\r')
		c->next++;
	return c->next == end || *c->next == separator || *c->next == '\n';
}

/* Counts the cells of the row at s, and sets *to to its end.  Returns 0 if the
 * text is no row, with *to NULL if it may be one that goes on. */
static unsigned
count_cells(const char *s, const char *end, char separator, const char **to)
{
	struct cell c = {.next = s - 1};
	unsigned n = 0;

	do {
		bool is_cell = take_cell(c.next + 1, end, separator, &c);

		*to = c.next;
		if (!is_cell)
			return 0;
		n++;
	} while (c.next < end && *c.next == separator);
	return n;
}

/* Finds the separator of a row that has as many cells, or at least as many if
 * there is no header. */
static unsigned
find_row(struct reader *r, unsigned cells, const char *s, const char *end,
	 const char **to)
{
	static const char separators[] = ",;\t";
	unsigned n = 0;

	for (const char *c = separators; *c != '\0' && n < cells; c++) {
		if (r->columns > 0 && *c != r->separator)
			continue;
		n = count_cells(s, end, *c, to);
		if (n >= cells)
			r->separator = *c;
		else if (*to == NULL)
			break;
	}
	return n < cells || (r->columns > 0 && n > cells) ? 0 : n;
}

void
row_header(struct reader *r, const char *s, size_t n)
{
	const char *end = s + n, *to;
	unsigned columns = find_row(r, 2, s, end, &to);
	struct cell c = {.next = s - 1};

	if (columns == 0 || n > sizeof(r->header))
		return;
	while (c.next < end)
		if (!take_cell(c.next + 1, end, r->separator, &c) ||
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
		bool control = iscntrl((unsigned char)*s) != 0;

		if (*s == '\n' || *s == '"' || *s == '\\')
			*to++ = '\\';
		*to++ = *s == '\n' ? 'n' : control ? ' ' : *s;
	}
	*to++ = '"';
	return to;
}

/* Writes the row as JSON.  Empty cells are left out. */
static char *
put_row(const struct reader *r, char *to, const char *s, const char *end)
{
	struct cell c = {.next = s - 1}, key = {.next = r->header - 1};
	bool named = r->columns > 0, first = true;

	*to++ = named ? '{' : '[';
	while (c.next < end) {
		(void)take_cell(c.next + 1, end, r->separator, &c);
		if (named)
			(void)take_cell(key.next + 1, r->header + r->header_n,
					r->separator, &key);
		if (c.from == c.to)
			continue;
		if (!first)
			*to++ = ',';
		first = false;
		if (named) {
			to = put_cell(to, &key);
			*to++ = ':';
		}
		to = put_cell(to, &c);
	}
	*to++ = named ? '}' : ']';
	return to;
}

char *
row_json(struct reader *r, const char *s, const char *end,
	 enum reader_rest rest, size_t *row, size_t *n, bool *cut)
{
	const char *to;
	unsigned cells =
		find_row(r, r->columns > 0 ? r->columns : 1, s, end, &to);
	char *text;

	*cut = to == NULL || (rest == READER_MORE && cells > 0 && to == end);
	if (*cut || cells == 0)
		return NULL;
	*row = (size_t)(to - s);
	text = malloc(2 * (*row + r->header_n) + 6 * (size_t)cells + 2);
	if (text != NULL)
		*n = (size_t)(put_row(r, text, s, to) - text);
	return text;
}
