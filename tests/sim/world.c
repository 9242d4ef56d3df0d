/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void
world_init(struct world *w, uint64_t seed)
{
	*w = (struct world){.digest = 14695981039346656037u};
	w->dice.state = (seed + 1) * 0x9e3779b97f4a7c15u | 1;
	for (int i = 0; i < 8; i++)
		(void)roll(&w->dice, 2);
	w->rv = 100;
	w->lease_deleted = w->trouble_until = -1000000;
	w->quarrel = w->failed = w->lease_failed = w->large_line = -1000000;
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

void
world_hold(struct world *w, const struct hold_key *k)
{
	w->rekeyed |= w->hold_last.key[0] != '\0' &&
		      strcmp(k->key, w->hold_last.key) != 0;
	w->hold_last = *k;
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
