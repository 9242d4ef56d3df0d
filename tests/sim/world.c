/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const ann_keys[ANN_COUNT] = {
	[ANN_HOLD] = DEFAULT_HOLD_KEY,
	[ANN_OTHER_HOLD] = "example.com/keep",
	[ANN_MARK] = MARK_KEY,
	[ANN_HELD_KEY] = HELD_KEY_KEY,
};
const struct hold_key hold_default = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE};
const struct hold_key hold_other = {"example.com/keep", "yes"};

/* xorshift64*: not the core's own generator, which is under test. */
uint32_t
roll(struct dice *d, uint32_t n)
{
	if (d->even)
		return n - 1;
	d->state ^= d->state >> 12;
	d->state ^= d->state << 25;
	d->state ^= d->state >> 27;
	return (uint32_t)((d->state * 2685821657736338717u) >> 32) % n;
}

int64_t
between(struct dice *d, int64_t low, int64_t high)
{
	if (d->even)
		return low + (high - low) / 2;
	return low + roll(d, (uint32_t)(high - low + 1));
}

void
world_init(struct world *w, uint64_t seed)
{
	*w = (struct world){.digest = 14695981039346656037u};
	w->dice.state = (seed + 1) * 0x9e3779b97f4a7c15u | 1;
	for (int i = 0; i < 8; i++)
		(void)roll(&w->dice, 2);
	w->rv = 100;
	w->lease_deleted = w->trouble_until = -1000000;
}

void
world_done(struct world *w)
{
	for (int k = 0; k < VIEW_COUNT; k++)
		free(w->lines[k]);
}

int64_t
world_server_ms(const struct world *w)
{
	int64_t ahead = 0;

	if (w->now >= w->turns_from && w->now < w->turns_until &&
	    (w->now - w->turns_from) / w->turns_every % 2 == 0)
		ahead = w->turns_by;
	return SERVER_START + w->now + ahead;
}

int64_t
world_turn_next(const struct world *w)
{
	int64_t next;

	if (w->now >= w->turns_until)
		return INT64_MAX;
	next = w->now + w->turns_every -
	       (w->now - w->turns_from) % w->turns_every;
	return next < w->turns_until ? next : w->turns_until;
}

int64_t
world_stamp(const struct world *w)
{
	return world_server_ms(w) / 1000 * 1000;
}

static int
month_days(int month, int year)
{
	static const int days[] = {31, 28, 31, 30, 31, 30,
				   31, 31, 30, 31, 30, 31};

	return days[month] + (month == 1 && year % 4 == 0);
}

/* Good from 1970 to 2099, which is all that a history speaks of. */
void
stamp_write(int64_t server_ms, char out[TEXT])
{
	int64_t s = server_ms / 1000;
	int days = (int)(s / 86400), year = 1970, month = 0;
	int rest = (int)(s % 86400);

	for (; days >= 365 + (year % 4 == 0); year++)
		days -= 365 + (year % 4 == 0);
	for (; days >= month_days(month, year); month++)
		days -= month_days(month, year);
	snprintf(out, TEXT, "%04d-%02d-%02dT%02d:%02d:%02dZ", year, month + 1,
		 days + 1, rest / 3600, rest / 60 % 60, rest % 60);
}

bool
stamp_read(const char *text, int64_t *server_ms)
{
	int year, month, day, hour, minute, second, end = 0;
	int64_t days = 0;

	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &year, &month, &day,
		   &hour, &minute, &second, &end) != 6 ||
	    end != 20 || text[20] != '\0' || year < 1970 || year > 2099 ||
	    month < 1 || month > 12)
		return false;
	for (int y = 1970; y < year; y++)
		days += 365 + (y % 4 == 0);
	for (int m = 0; m < month - 1; m++)
		days += month_days(m, year);
	*server_ms = ((days + day - 1) * 86400 + hour * 3600 + minute * 60 +
		      second) * 1000;
	return true;
}

void
world_trouble(struct world *w, int64_t until)
{
	w->trouble_began = w->now;
	if (until > w->trouble_until)
		w->trouble_until = until;
}

static void
digest_add(struct world *w, const char *s)
{
	for (; *s != '\0'; s++)
		w->digest = (w->digest ^ (unsigned char)*s) * 1099511628211u;
}

void
tell(struct world *w, const char *fmt, ...)
{
	char text[400];
	va_list args;
	int n = snprintf(text, sizeof(text), "%8lld.%03d  ",
			 (long long)(w->now / 1000), (int)(w->now % 1000));

	va_start(args, fmt);
	(void)vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, args);
	va_end(args);
	digest_add(w, text);
	if (w->story != NULL)
		fprintf(w->story, "%s\n", text);
}

void
broken(struct world *w, const char *fmt, ...)
{
	va_list args;
	int n;

	if (w->broken[0] != '\0')
		return;
	n = snprintf(w->broken, sizeof(w->broken), "at %lld.%03d s: ",
		     (long long)(w->now / 1000), (int)(w->now % 1000));
	va_start(args, fmt);
	(void)vsnprintf(w->broken + n, sizeof(w->broken) - (size_t)n, fmt,
			args);
	va_end(args);
	if (w->story != NULL)
		fprintf(w->story, "BROKEN %s\n", w->broken);
}
