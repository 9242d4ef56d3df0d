/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/stamp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define DAY_MS (86400 * (int64_t)1000)
#define FIRST_MS INT64_C(-62167219200000) /* 0000-01-01T00:00:00Z */
#define LAST_MS INT64_C(253402300799999)  /* 9999-12-31T23:59:59.999Z */

/* Returns the days since 1970-01-01 in the proleptic Gregorian calendar. */
static int64_t
days_from_civil(int64_t y, int m, int d)
{
	int64_t era, yoe, doy;

	y -= m <= 2;
	era = (y >= 0 ? y : y - 399) / 400;
	yoe = y - era * 400;
	doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static void
civil_from_days(int64_t z, int64_t *y, int *m, int *d)
{
	int64_t era, doe, yoe, doy, mp;

	z += 719468;
	era = (z >= 0 ? z : z - 146096) / 146097;
	doe = z - era * 146097;
	yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	mp = (5 * doy + 2) / 153;
	*d = (int)(doy - (153 * mp + 2) / 5 + 1);
	*m = (int)(mp < 10 ? mp + 3 : mp - 9);
	*y = yoe + era * 400 + (*m <= 2);
}

/* Reads exactly n digits. */
static int
digits(const char **s, int n, int *out)
{
	int v = 0;

	for (int i = 0; i < n; i++) {
		if ((*s)[i] < '0' || (*s)[i] > '9')
			return -1;
		v = v * 10 + ((*s)[i] - '0');
	}
	*s += n;
	*out = v;
	return 0;
}

static int
literal(const char **s, const char *allowed)
{
	if (**s == '\0' || strchr(allowed, **s) == NULL)
		return -1;
	(*s)++;
	return 0;
}

static int
month_days(int y, int m)
{
	static const int days[] = {31, 28, 31, 30, 31, 30,
				   31, 31, 30, 31, 30, 31};
	bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;

	return days[m - 1] + (m == 2 && leap);
}

static int
to_ms(int y, int mo, int d, int h, int mi, int s, int64_t *ms)
{
	if (mo < 1 || mo > 12 || d < 1 || d > month_days(y, mo) || h > 23 ||
	    mi > 59 || s > 60)
		return -1;
	*ms = days_from_civil(y, mo, d) * DAY_MS +
	      ((h * 60 + mi) * (int64_t)60 + s) * 1000;
	return 0;
}

static int
parse_fraction(const char **s, int *ms)
{
	int scale = 100, any = 0;

	*ms = 0;
	if (**s != '.')
		return 0;
	for ((*s)++; **s >= '0' && **s <= '9'; (*s)++, any = 1) {
		*ms += (**s - '0') * scale;
		scale /= 10;
	}
	return any ? 0 : -1;
}

static int
parse_offset(const char **s, int64_t *ms)
{
	int h, m, sign = **s == '-' ? -1 : 1;

	*ms = 0;
	if (**s == 'Z' || **s == 'z') {
		(*s)++;
		return 0;
	}
	if (literal(s, "+-") || digits(s, 2, &h) || literal(s, ":") ||
	    digits(s, 2, &m) || h > 23 || m > 59)
		return -1;
	*ms = sign * (h * 60 + m) * (int64_t)60000;
	return 0;
}

int
stamp_parse(const char *s, int64_t *ms)
{
	int y, mo, d, h, mi, sec, frac;
	int64_t off, t;

	if (digits(&s, 4, &y) || literal(&s, "-") || digits(&s, 2, &mo) ||
	    literal(&s, "-") || digits(&s, 2, &d) || literal(&s, "Tt") ||
	    digits(&s, 2, &h) || literal(&s, ":") || digits(&s, 2, &mi) ||
	    literal(&s, ":") || digits(&s, 2, &sec) ||
	    parse_fraction(&s, &frac) || parse_offset(&s, &off) || *s != '\0')
		return -1;
	if (to_ms(y, mo, d, h, mi, sec, &t))
		return -1;
	/* An offset or a leap second may move the time out of the years 0 to
	 * 9999 in UTC.  stamp_format could not write such a time. */
	t += frac - off;
	if (t < FIRST_MS || t > LAST_MS)
		return -1;
	*ms = t;
	return 0;
}

/* Writes v with n digits.  Each review writes a stamp, and printf would take a
 * twentieth of the review's instructions. */
static void
digits_put(char *out, int n, unsigned v)
{
	for (; n > 0; v /= 10)
		out[--n] = (char)('0' + v % 10);
}

void
stamp_format(int64_t ms, char out[STAMP_BYTES])
{
	static const char form[] = "0000-00-00T00:00:00Z";
	int64_t days = ms / DAY_MS, rest = ms % DAY_MS, y;
	int m, d, s;

	if (rest < 0) {
		rest += DAY_MS;
		days--;
	}
	civil_from_days(days, &y, &m, &d);
	if (y < 0 || y > 9999) {
		/* RFC 3339 has only the years 0 to 9999.  Our clock never shows
		 * another year. */
		y = y < 0 ? 0 : 9999;
	}
	s = (int)(rest / 1000);
	memcpy(out, form, sizeof(form));
	digits_put(out, 4, (unsigned)y);
	digits_put(out + 5, 2, (unsigned)m);
	digits_put(out + 8, 2, (unsigned)d);
	digits_put(out + 11, 2, (unsigned)s / 3600);
	digits_put(out + 14, 2, (unsigned)s / 60 % 60);
	digits_put(out + 17, 2, (unsigned)s % 60);
}

void
stamp_format_us(int64_t us, char out[STAMP_US_BYTES])
{
	int64_t s = us / 1000000, rest = us % 1000000;
	size_t n;

	if (rest < 0) {
		rest += 1000000;
		s--;
	}
	stamp_format(s * 1000, out);
	n = strlen(out) - 1; /* without the Z */
	(void)snprintf(out + n, STAMP_US_BYTES - n, ".%06uZ", (unsigned)rest);
}

int
stamp_parse_http(const char *s, int64_t *ms)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	int y, mo = 0, d, h, mi, sec;

	if (strlen(s) != 29 || s[3] != ',' || s[4] != ' ')
		return -1;
	for (int i = 0; i < 12 && mo == 0; i++)
		if (strncmp(s + 8, months + (ptrdiff_t)3 * i, 3) == 0)
			mo = i + 1;
	s += 5;
	if (digits(&s, 2, &d) || literal(&s, " "))
		return -1;
	s += 3;
	if (literal(&s, " ") || digits(&s, 4, &y) || literal(&s, " ") ||
	    digits(&s, 2, &h) || literal(&s, ":") || digits(&s, 2, &mi) ||
	    literal(&s, ":") || digits(&s, 2, &sec) || strcmp(s, " GMT") != 0)
		return -1;
	return to_ms(y, mo, d, h, mi, sec, ms);
}
