/* SPDX-License-Identifier: Apache-2.0 */
#include "core/protocol/reflect.h"

#include <assert.h>

#include "core/base/str.h"

/* A watch that ends sooner than this counts as a failure.  client-go calls it a
 * "very short watch". */
#define WATCH_SHORT_MS 1000

void
reflect_init(struct reflect *r, uint64_t seed)
{
	*r = (struct reflect){.expired_ms = INT64_MIN / 2};
	pace_init(&r->pace, seed);
}

static bool
reflect_check(const struct reflect *r)
{
	bool rv = r->rv[0] != '\0', cont = r->cont[0] != '\0';

	switch (r->state) {
	case REFLECT_UNLISTED:
		return !rv && !cont;
	case REFLECT_PAGING:
		return cont;
	case REFLECT_LISTED:
		return rv && !cont;
	}
	return false;
}

void
reflect_restart(struct reflect *r)
{
	r->state = REFLECT_UNLISTED;
	r->rv[0] = r->cont[0] = '\0';
}

void
reflect_seen(struct reflect *r, const char *rv)
{
	if (rv[0] != '\0' && r->state == REFLECT_LISTED)
		(void)str_copy(r->rv, sizeof(r->rv), rv);
}

struct reflect_todo
reflect_next(struct reflect *r, struct now now)
{
	struct reflect_todo t = {.rv = r->rv, .cont = r->cont};

	if (now.boot_ms < r->not_before_ms) {
		t.step = REFLECT_WAIT;
		t.wait_ms = r->not_before_ms - now.boot_ms;
	} else if (r->state != REFLECT_LISTED) {
		t.step = REFLECT_LIST;
	} else {
		t.step = REFLECT_WATCH;
		t.timeout_s = WATCH_MIN_S +
			      (int)(pace_random(&r->pace) % WATCH_MIN_S);
		r->watch_ms = now.boot_ms;
	}
	return t;
}

bool
reflect_short(const struct reflect *r, struct now now)
{
	return now.boot_ms - r->watch_ms < WATCH_SHORT_MS;
}

static void
failed(struct reflect *r, int64_t retry_after_ms, int64_t boot_ms)
{
	if (boot_ms - r->failed_ms > BACKOFF_RESET_MS)
		r->failures = 0;
	r->failed_ms = boot_ms;
	r->failures++;
	r->not_before_ms =
		boot_ms + pace_backoff(&r->pace, r->failures, BACKOFF_MIN_MS,
				       BACKOFF_MAX_MS);
	/* A Retry-After of 0 does not end the backoff, because tries without a
	 * pause would be a busy loop. */
	if (retry_after_ms > 0)
		r->not_before_ms = boot_ms + retry_after_ms;
}

static void
took_page(struct reflect *r, const struct reflect_outcome *o, int64_t boot_ms)
{
	const char *cont = o->code == REFLECT_PAGE ? o->cont : "";

	if (str_copy(r->rv, sizeof(r->rv), o->rv) ||
	    str_copy(r->cont, sizeof(r->cont), cont)) {
		reflect_restart(r); /* The list cannot be completed. */
		failed(r, -1, boot_ms);
		return;
	}
	r->state = r->cont[0] != '\0' ? REFLECT_PAGING
		   : r->rv[0] != '\0' ? REFLECT_LISTED
				      : REFLECT_UNLISTED;
}

void
reflect_done(struct reflect *r, const struct reflect_outcome *o, struct now now)
{
	bool listing = r->state != REFLECT_LISTED;

	switch (o->code) {
	case REFLECT_PAGE:
	case REFLECT_COMPLETE:
		took_page(r, o, now.boot_ms);
		break;
	case REFLECT_UNSERVED:
		reflect_restart(r);
		r->not_before_ms =
			now.boot_ms + pace_jitter(&r->pace, UNSERVED_MS);
		break;
	case REFLECT_ENDED:
		if (reflect_short(r, now))
			failed(r, -1, now.boot_ms);
		break;
	case REFLECT_EXPIRED:
		reflect_restart(r);
		failed(r, -1, now.boot_ms);
		/* After the first 410 in BACKOFF_RESET_MS, the list begins at
		 * once.  This holds even if many tries failed before, because
		 * the answer shows that the server is back. */
		if (!listing && now.boot_ms - r->expired_ms > BACKOFF_RESET_MS)
			r->not_before_ms = now.boot_ms;
		r->expired_ms = now.boot_ms;
		break;
	case REFLECT_FAILED:
		/* A list that failed in the middle starts again, because its
		 * continue token may have gone with the server that issued
		 * it. */
		if (listing)
			reflect_restart(r);
		failed(r, o->retry_after_ms, now.boot_ms);
		break;
	}
	assert(reflect_check(r));
}
