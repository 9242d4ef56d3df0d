/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_REFLECT_H
#define CORE_PROTOCOL_REFLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/pace.h"
#include "core/base/stamp.h"

/*
 * List and watch as client-go's reflector does it (tools/cache/reflector.go): a
 * complete list in pages with resourceVersion unset, then a watch from its
 * resourceVersion on.  After a 410 it lists again.  After anything else it
 * watches again from where the old watch ended, after a backoff with jitter.
 *
 * A step machine (docs/architecture.md#step-machines): reflect_next says what
 * to do or for how long to wait, and reflect_done is told what came of it.  One
 * step is under way at a time.  A step that its caller cuts short needs no
 * outcome: reflect_next says again what to do.  One resource, one thread;
 * boot_ms throughout.
 */
enum reflect_step {
	REFLECT_WAIT,
	REFLECT_LIST,	/* list one page: cont is "" for the first */
	REFLECT_WATCH,	/* watch from rv on, for timeout_s */
};

struct reflect_todo {
	enum reflect_step step;
	int64_t wait_ms;	/* WAIT; INT64_MAX: until another call */
	const char *rv, *cont;	/* owned by struct reflect */
	int timeout_s;
};

enum reflect_code {
	REFLECT_PAGE,		/* a page, and more are to come */
	REFLECT_COMPLETE,	/* the last page */
	REFLECT_UNSERVED,	/* no such resource: we ask again later */
	REFLECT_ENDED,		/* the watch ended as agreed */
	REFLECT_EXPIRED,	/* 410, in the stream or as the answer */
	REFLECT_FAILED,		/* anything else */
};

struct reflect_outcome {
	enum reflect_code code;
	const char *rv;		/* PAGE, COMPLETE: the list's */
	const char *cont;	/* PAGE: the token of the next one */
	int64_t retry_after_ms;	/* FAILED: the answer's; -1: none */
};

struct reflect {
	struct pace pace;
	char rv[RV_BYTES];	/* "" = list first */
	char cont[CONTINUE_BYTES];
	unsigned failures;
	int64_t not_before_ms, failed_ms, watch_ms;
	int64_t expired_ms;	/* the last 410 */
};

void reflect_init(struct reflect *r, uint64_t seed);
struct reflect_todo reflect_next(struct reflect *r, struct now now);
void reflect_done(struct reflect *r, const struct reflect_outcome *o,
		  struct now now);

/* A watch line or bookmark came: the next watch starts at its rv. */
void reflect_seen(struct reflect *r, const char *rv);

/* If the watch under way ends now, was it too short?  Then the next one has to
 * wait as after a failure. */
bool reflect_short(const struct reflect *r, struct now now);

/* Starts over with a list. */
void reflect_restart(struct reflect *r);

#endif
