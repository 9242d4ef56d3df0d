/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The anchor is server time minus boot time (the offset of edge/clock.h).  Each
 * Date header gives a sample of the anchor.  A Date has whole seconds, so a
 * sample is up to a second too low.  This is not corrected.  The stamps on
 * objects are cut to whole seconds as well, and a low anchor makes a release
 * late, never early.
 *
 * The anchor is the median of the last samples, so that one odd server or one
 * slow reply does not move it.  The highest sample would be closer to the
 * server's clock.  But each hold would then end too early, because its stamp
 * has lost a fraction of a second, and with several servers the fastest clock
 * would decide.
 *
 * All members are atomic, so that neither readers nor writers wait.  If two
 * threads call clock_date at once, the anchor may lack one sample until the
 * next reply.
 */
#include "edge/clock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/limits.h"

#define SAMPLES 8 /* the anchor is the median of this many samples */
/* A reply that took longer than this counts as slow.  This is also the
 * resolution of a Date. */
#define SLOW_MS 1000

struct clock {
	_Atomic int64_t sample[SAMPLES]; /* STAMP_NONE if not used yet. */
	_Atomic unsigned next;
	_Atomic int64_t anchor; /* STAMP_NONE before the first Date */
	_Atomic int64_t told;	/* The anchor that was last reported. */
};

/* The earliest Date that is accepted.  A server whose clock is not set sends a
 * Date of 1970, and every stamp would then lie in the future.  Before 2024 no
 * server had the API that we use. */
#define CLOCK_EARLIEST_MS INT64_C(1704067200000)

static struct timespec
read_clock(clockid_t id)
{
	struct timespec t = {0};

	(void)clock_gettime(id, &t);
	return t;
}

static int64_t
to_ms(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t
clock_boot_ms(void)
{
	return to_ms(read_clock(CLOCK_BOOTTIME));
}

uint64_t
clock_boot_us(void)
{
	struct timespec t = read_clock(CLOCK_BOOTTIME);

	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

int64_t
clock_wall_ms(void)
{
	return to_ms(read_clock(CLOCK_REALTIME));
}

struct clock *
clock_new(void)
{
	struct clock *c = malloc(sizeof(*c));

	if (c == NULL)
		return NULL;
	for (int i = 0; i < SAMPLES; i++)
		atomic_init(&c->sample[i], STAMP_NONE);
	atomic_init(&c->next, 0);
	atomic_init(&c->anchor, STAMP_NONE);
	atomic_init(&c->told, clock_wall_ms() - clock_boot_ms());
	return c;
}

void
clock_free(struct clock *c)
{
	free(c);
}

struct now
clock_now(const struct clock *c)
{
	int64_t anchor = atomic_load(&c->anchor);
	struct now now = {.boot_ms = clock_boot_ms()};

	now.server_ms =
		anchor == STAMP_NONE ? clock_wall_ms() : now.boot_ms + anchor;
	return now;
}

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t
median(struct clock *c)
{
	int64_t v[SAMPLES];
	size_t n = 0;

	for (int i = 0; i < SAMPLES; i++) {
		int64_t s = atomic_load(&c->sample[i]);

		if (s != STAMP_NONE)
			v[n++] = s;
	}
	qsort(v, n, sizeof(v[0]), compare);
	return v[(n - 1) / 2] + (v[n / 2] - v[(n - 1) / 2]) / 2;
}

/* Returns whether the Date gives no new information.  The server wrote it at
 * some time between our request and the end of its reply.  If the reply was
 * slow and the anchor agrees with a time in between, the Date adds nothing. */
static bool
says_nothing(const struct clock *c, int64_t date_ms, int64_t sent_ms,
	     int64_t boot_ms)
{
	int64_t anchor = atomic_load(&c->anchor);

	return boot_ms - sent_ms > SLOW_MS && anchor != STAMP_NONE &&
	       anchor >= date_ms - boot_ms &&
	       anchor <= date_ms + SLOW_MS - sent_ms;
}

void
clock_date(struct clock *c, int64_t date_ms, int64_t sent_ms, int64_t boot_ms)
{
	unsigned i;

	if (date_ms < CLOCK_EARLIEST_MS ||
	    says_nothing(c, date_ms, sent_ms, boot_ms))
		return;
	i = atomic_fetch_add(&c->next, 1) % SAMPLES;
	atomic_store(&c->sample[i], date_ms - boot_ms);
	atomic_store(&c->anchor, median(c));
}

bool
clock_shifted(struct clock *c, int64_t *by_ms)
{
	int64_t anchor = atomic_load(&c->anchor);
	int64_t told = atomic_load(&c->told);

	if (anchor == STAMP_NONE || llabs(anchor - told) <= CLOCK_SHIFT_MS ||
	    !atomic_compare_exchange_strong(&c->told, &told, anchor))
		return false;
	*by_ms = anchor - told;
	return true;
}
