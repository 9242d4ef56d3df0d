/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/status/query.h"

#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/str.h"

#define SHOWN_BYTES 40 /* how much of a bad value an error message shows */

/* --- the query ------------------------------------------------------------ */

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Copies the beginning of a part of a query for an error message. */
static void
show(char out[SHOWN_BYTES], const char *s, size_t n)
{
	char text[SHOWN_BYTES];

	if (n >= sizeof(text))
		n = sizeof(text) - 1;
	memcpy(text, s, n);
	text[n] = '\0';
	str_cut(out, SHOWN_BYTES, text);
}

static int
decode(const char *s, size_t n, struct query_param *p, struct err *e)
{
	size_t to = 0;

	for (size_t i = 0; i < n; i++) {
		int high, low, c = (unsigned char)s[i];

		if (c == '%') {
			high = i + 2 < n ? digit(s[i + 1]) : -1;
			low = high >= 0 ? digit(s[i + 2]) : -1;
			if (low < 0 || (high == 0 && low == 0))
				return err_set(e, ERR_INPUT,
					       "%s: expected two hexadecimal "
					       "digits, not 00, after each %%",
					       p->key);
			c = high * 16 + low;
			i += 2;
		}
		if (to + 1 >= p->cap)
			return err_set(e, ERR_INPUT,
				       "%s: expected at most %zu bytes", p->key,
				       p->cap - 1);
		p->out[to++] = (char)c;
	}
	p->out[to] = '\0';
	return 0;
}

static int
unknown(const char *s, size_t n, const struct query_param *params, size_t known,
	struct err *e)
{
	char key[SHOWN_BYTES], keys[120];
	struct buf b;

	show(key, s, n);
	buf_init(&b, keys, sizeof(keys));
	for (size_t i = 0; i < known; i++)
		buf_printf(&b, "%s%s=…", i > 0 ? " or " : "", params[i].key);
	return err_set(e, ERR_INPUT, "%s: unknown, expected %s", key, keys);
}

static int
take_param(const char *s, size_t n, struct query_param *params, size_t known,
	   struct err *e)
{
	const char *equals = memchr(s, '=', n);
	size_t key = equals != NULL ? (size_t)(equals - s) : n;

	for (struct query_param *p = params; p < params + known; p++) {
		if (strlen(p->key) != key || strncmp(p->key, s, key) != 0)
			continue;
		if (p->found)
			return err_set(e, ERR_INPUT,
				       "%s: given twice, expected once",
				       p->key);
		if (key + 1 >= n)
			return err_set(e, ERR_INPUT, "%s: expected a value",
				       p->key);
		p->found = true;
		return decode(equals + 1, n - key - 1, p, e);
	}
	return unknown(s, key, params, known, e);
}

/* Returns whether the parameter is one that kubectl adds.  `kubectl get --raw`
 * adds its --request-timeout to the query, and the API server passes it on. */
static bool
kubectls(const char *query, size_t n)
{
	return n > 8 && strncmp(query, "timeout=", 8) == 0;
}

int
query_read(const char *query, struct query_param *params, size_t n,
	   struct err *e)
{
	for (size_t i = 0; i < n; i++)
		params[i].found = false;
	while (*query != '\0') {
		size_t part = strcspn(query, "&");

		if (part > 0 && !kubectls(query, part) &&
		    take_param(query, part, params, n, e))
			return -1;
		query += part;
		query += *query == '&';
	}
	return 0;
}

/* --- the format ----------------------------------------------------------- */

static const struct {
	const char *name, *type; /* the name in a query, and the media type */
	enum status_format f;
} formats[] = {
	/* If formats have the same weight and are named equally exactly, the
	 * first of them in this table is used. */
	{"text", "text/plain", STATUS_TEXT},
	{"json", "application/json", STATUS_JSON},
	{"html", "text/html", STATUS_HTML},
};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

int
query_format(const char *name, enum status_format *f, struct err *e)
{
	for (size_t i = 0; i < FORMATS; i++) {
		if (strcmp(name, formats[i].name) != 0)
			continue;
		*f = formats[i].f;
		return 0;
	}
	return err_set(e, ERR_INPUT, "format: expected text, json or html");
}

/* Returns how exactly a media range of n bytes names the media type.  0: not at
 * all.  1: the range is for all media types.  2: it is for all media types of
 * one kind, such as text.  3: it names just this media type. */
static int
names(const char *range, size_t n, const char *type)
{
	size_t kind = strcspn(type, "/") + 1;

	if (n == strlen(type) && strncasecmp(range, type, n) == 0)
		return 3;
	if (n == kind + 1 && range[kind] == '*' &&
	    strncasecmp(range, type, kind) == 0)
		return 2;
	return n == 3 && strncmp(range, "*/*", 3) == 0;
}

/* Returns the weight of a media range, in thousandths.  A weight that cannot be
 * read counts as 1. */
static int
weight(const char *range, size_t n)
{
	int q = 0, unit = 1000;
	const char *end = range + n;

	while ((range = memchr(range, ';', (size_t)(end - range))) != NULL) {
		range++;
		while (range < end && (*range == ' ' || *range == '\t'))
			range++;
		if (end - range < 3 || (*range != 'q' && *range != 'Q') ||
		    range[1] != '=' || (range[2] != '0' && range[2] != '1'))
			continue;
		for (range += 2; range < end && unit > 0; range++) {
			if (*range == '.')
				continue;
			if (digit(*range) < 0 || digit(*range) > 9)
				break;
			q += digit(*range) * unit;
			unit /= 10;
		}
		return q > 1000 ? 1000 : q;
	}
	return 1000;
}

enum status_format
query_accept(const char *accept)
{
	int exact[FORMATS] = {0}, q[FORMATS] = {0};
	size_t best = 0;

	while (accept != NULL && *accept != '\0') {
		size_t n, type;

		accept += strspn(accept, " \t,");
		n = strcspn(accept, ",");
		type = strcspn(accept, "; \t,");
		for (size_t i = 0; i < FORMATS; i++) {
			int how = names(accept, type, formats[i].type);

			if (how <= exact[i])
				continue;
			exact[i] = how;
			q[i] = weight(accept, n);
		}
		accept += n;
	}
	for (size_t i = 1; i < FORMATS; i++)
		if (q[i] > q[best] ||
		    (q[i] == q[best] && exact[i] > exact[best] && q[i] > 0))
			best = i;
	return formats[best].f;
}
