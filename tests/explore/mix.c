/* SPDX-License-Identifier: Apache-2.0 */
#include "mix.h"

#include <assert.h>
#include <string.h>

#define LONG_AGO_MS 1200000	/* DRAINING_MS, BACKOFF_RESET_MS and others */

static uint64_t
rotate(uint64_t v, unsigned by)
{
	return v << by | v >> (64 - by);
}

void
mix(struct mix *m, uint64_t v)
{
	m->a = rotate((m->a ^ v) * 0x9fb21c651e98df25u, 29) + m->b;
	m->b = rotate((m->b + v) * 0xd6e8feb86659fd93u, 32) ^ m->a;
}

void
mix_text(struct mix *m, const char *s)
{
	uint64_t v = 0;
	unsigned n = 0;

	for (; *s != '\0'; s++) {
		v = v << 8 | (unsigned char)*s;
		if (++n % 8 == 0)
			mix(m, v);
	}
	mix(m, v << 8 | n);
}

/* --- moments -------------------------------------------------------------- */

/* Mixes how far v lies before or ahead of now.  A value that is no moment is
 * mixed as it is. */
void
mix_moment(struct mix *m, int64_t v, int64_t now)
{
	if (v <= STAMP_NONE + 1 || v == INT64_MAX || v == LEASE_NEVER ||
	    v == INT64_MIN / 2)
		mix(m, (uint64_t)v);
	else if (v < now - LONG_AGO_MS)
		mix(m, (uint64_t)-LONG_AGO_MS);
	else
		mix(m, (uint64_t)(v - now) ^ 0x5555);
}

void
mix_server(struct mix *m, int64_t v)
{
	mix_moment(m, v, m->server);
}

void
mix_boot(struct mix *m, int64_t v)
{
	mix_moment(m, v == 0 ? STAMP_NONE : v, m->boot);
}

void
mix_when(struct mix *m, int64_t v)
{
	if (v == -1)
		mix(m, (uint64_t)v);
	else
		mix_moment(m, v, m->now);
}

void
mix_until(struct mix *m, int64_t v, int64_t now)
{
	mix_moment(m, v <= now ? now : v, now);
}

void
mix_within(struct mix *m, int64_t v, int64_t now, int64_t ms)
{
	mix_moment(m, v < now - ms ? now - ms : v, now);
}

void
mix_stamped(struct mix *m, const char *s)
{
	int64_t at;
	char one[21];

	for (; *s != '\0'; s++) {
		if (s[0] == '2' && s[1] == '0' && strlen(s) >= 20) {
			memcpy(one, s, 20);
			one[20] = '\0';
			if (stamp_read(one, &at)) {
				mix_server(m, at);
				s += 19;
				continue;
			}
		}
		mix(m, (unsigned char)*s);
	}
	mix(m, 0x0b0e);
}

/* --- labels --------------------------------------------------------------- */

void
mix_label(struct mix *m, const char *s)
{
	unsigned i = 0;

	if (s[0] == '\0') {
		mix(m, UINT64_MAX);
		return;
	}
	while (i < m->labels_n && strcmp(m->labels[i], s) != 0)
		i++;
	if (i == m->labels_n) {
		assert(m->labels_n < LABELS);
		assert(strlen(s) < sizeof(m->labels[0]));
		strcpy(m->labels[m->labels_n++], s);
	}
	mix(m, i);
}

void
mix_version(struct mix *m, uint64_t rv)
{
	char s[32];

	snprintf(s, sizeof(s), "%llu", (unsigned long long)rv);
	mix_label(m, s);
}
