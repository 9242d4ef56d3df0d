/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "parts.h"

/*
 * Times as logs and log shippers write them: dates, and numbers of seconds,
 * milliseconds, microseconds or nanoseconds since 1970.
 *
 * An object has several of them.  The usual names of the time of a line come
 * first, in the order of their list, and then the earliest of the others that
 * are called a time.
 */

#define EPOCH_BYTES 32
/* How much text before a value is searched for a time. */
#define BEFORE_BYTES 512

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
when_number(double v, int64_t *out)
{
	/* The four ranges of years do not overlap. */
	for (double unit = 1000; unit > 1e-7; unit /= 1000)
		if (v * unit >= (double)SIMULATE_EARLIEST_MS &&
		    v * unit < (double)SIMULATE_LATEST_MS) {
			*out = (int64_t)(v * unit + .0005);
			return true;
		}
	return false;
}

/* Reads the zone at p, and writes it as RFC 3339 does.  A time without a zone
 * is in UTC.  Returns the number of bytes. */
static size_t
zone_at(const char *p, size_t n, char *to)
{
	size_t colon;

	(void)memcpy(to, "Z", 2);
	if (n >= 1 && (*p == 'Z' || *p == 'z'))
		return 1;
	if (n < 5 || (*p != '+' && *p != '-'))
		return 0;
	colon = p[3] == ':';
	if (n < 5 + colon || !is_digit(p[1]) || !is_digit(p[2]) ||
	    !is_digit(p[3 + colon]) || !is_digit(p[4 + colon]))
		return 0;
	memcpy(to, p, 3);
	to[3] = ':';
	memcpy(to + 4, p + 3 + colon, 2);
	to[6] = '\0';
	return 5 + colon;
}

/* Reads a date at p such as "2026-03-02 10:00:00.000".  Returns the number of
 * bytes, or 0 if there is none. */
static size_t
date_at(const char *p, size_t n, int64_t *out)
{
	static const char form[] = "0000-00-00T00:00:00";
	char text[sizeof(form) + 16];
	size_t i, to = sizeof(form) - 1;

	for (i = 0; i < sizeof(form) - 1; i++)
		if (i >= n || (form[i] == '0'	? !is_digit(p[i])
			       : form[i] == 'T' ? strchr("Tt ", p[i]) == NULL
						: p[i] != form[i]))
			return 0;
	memcpy(text, p, i);
	text[10] = 'T';
	if (i + 1 < n && (p[i] == '.' || p[i] == ',') && is_digit(p[i + 1])) {
		text[to++] = '.';
		for (i++; i < n && is_digit(p[i]); i++)
			if (to < sizeof(form) + 3)
				text[to++] = p[i];
	}
	i += zone_at(p + i, n - i, text + to);
	return stamp_parse(text, out) == 0 ? i : 0;
}

/* Reads a number of seconds or of parts of a second since 1970. */
static size_t
epoch_at(const char *p, size_t n, int64_t *out)
{
	char text[EPOCH_BYTES];
	size_t i = 0, whole;

	while (i < n && is_digit(p[i]))
		i++;
	whole = i;
	if (i + 1 < n && p[i] == '.' && is_digit(p[i + 1]))
		for (i++; i < n && is_digit(p[i]);)
			i++;
	if (whole < 9 || i >= sizeof(text))
		return 0;
	memcpy(text, p, i);
	text[i] = '\0';
	return when_number(strtod(text, NULL), out) ? i : 0;
}

static size_t
time_at(const char *p, size_t n, int64_t *out)
{
	size_t used = date_at(p, n, out);

	return used > 0 ? used : epoch_at(p, n, out);
}

static bool
is_of_a_word(char c)
{
	return isalnum((unsigned char)c) || strchr("-_.:", c) != NULL;
}

bool
when_text(const char *s, size_t n, int64_t *out)
{
	size_t i = n > BEFORE_BYTES ? n - BEFORE_BYTES : 0;
	bool found = false;

	while (i < n) {
		int64_t at;
		size_t used = is_digit(s[i]) ? time_at(s + i, n - i, &at) : 0;

		if (used > 0 && (i + used == n || !is_of_a_word(s[i + used]))) {
			*out = at;
			found = true;
		}
		i += used;
		/* The rest of a word is no time. */
		while (i < n && is_of_a_word(s[i]))
			i++;
		while (i < n && !is_of_a_word(s[i]))
			i++;
	}
	return found;
}

bool
when_before(const char *s, size_t n, int64_t *out)
{
	size_t from = n > BEFORE_BYTES ? n - BEFORE_BYTES : 0, at = n;
	char next = '\0', after = '\0'; /* what follows s[at], without spaces */

	/* The text before "],[" is of another row. */
	while (at > from && (s[at - 1] != ']' || next != ',' || after != '['))
		if (!isspace((unsigned char)s[--at])) {
			after = next;
			next = s[at];
		}
	return when_text(s + at, n - at, out);
}

bool
when_value(const struct json *v, int64_t *out)
{
	const char *s = json_string(v);
	double number;
	size_t n;

	if (json_number(v, &number) == 0)
		return when_number(number, out);
	if (s == NULL)
		return false;
	if (stamp_parse(s, out) == 0)
		return true;
	n = strlen(s);
	return n > 0 && n < 2 * EPOCH_BYTES && is_digit(s[0]) &&
	       (time_at(s, n, out) == n ||
		(strchr(s, '}') == NULL && when_text(s, n, out)));
}

/* The names that Karpenter and shippers give to the time of a line.  The first
 * that an object has is its time. */
static const char *const line_times[] = {
	"time",
	"@timestamp",
	"timestamp",
	"ts",
	"_time",
	"timeUnixNano",
	"timeGenerated",
	"eventTime",
	"event_timestamp",
	"datetime",
	"date",
	"observedTimeUnixNano",
};
#define LINE_TIMES_N ((int)(sizeof(line_times) / sizeof(line_times[0])))

/* Returns whether a word begins or ends at p: "time" in "startTime" and in
 * "time_ms", but not in "uptime". */
static bool
parts_words(const char *text, const char *p)
{
	return p == text || !isalnum((unsigned char)p[-1]) ||
	       !isalnum((unsigned char)*p) ||
	       (islower((unsigned char)p[-1]) && isupper((unsigned char)*p));
}

/* Returns whether the name has a word for a time at its start or its end. */
static bool
is_timely(const char *key)
{
	static const char *const words[] = {"time", "timestamp", "date", "ts"};
	size_t n = strlen(key);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t w = strlen(words[i]);

		if (n < w)
			continue;
		if (strncasecmp(key, words[i], w) == 0 &&
		    parts_words(key, key + w))
			return true;
		if (strcasecmp(key + n - w, words[i]) == 0 &&
		    parts_words(key, key + n - w))
			return true;
	}
	return false;
}

/* Returns the rank of a member of this name among the times of an object, or
 * LINE_TIMES_N + 1 if it is none. */
static int
rank_of(const char *key)
{
	int i = 0;

	while (i < LINE_TIMES_N && strcasecmp(key, line_times[i]) != 0)
		i++;
	return i + (i == LINE_TIMES_N && !is_timely(key));
}

bool
when_object(const struct json *o, int64_t *out)
{
	int best = LINE_TIMES_N + 1;
	int64_t at;

	/* Nearly all lines have it. */
	if (when_value(json_member(o, line_times[0]), out))
		return true;
	if (!json_is_object(o))
		return false;
	for (const struct json *v = json_first(o); v != NULL;
	     v = json_next(v)) {
		int rank = rank_of(json_key(v));

		/* Shippers also tell when they have seen the line, which is
		 * later. */
		if (rank <= LINE_TIMES_N && rank <= best &&
		    when_value(v, &at) && (rank < best || at < *out)) {
			*out = at;
			best = rank;
		}
	}
	return best <= LINE_TIMES_N;
}
