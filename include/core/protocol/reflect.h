/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_REFLECT_H
#define CORE_PROTOCOL_REFLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/pace.h"

/*
 * List and watch as client-go's reflector does it (tools/cache/reflector.go): a
 * complete list in pages with resourceVersion unset, then a watch from its
 * resourceVersion on.  After a 410 it lists again.  After anything else it
 * watches again from where the old watch ended, after a backoff with jitter.
 *
 * reflect_next says what to do, and reflect_done is told what came of it.  One
 * resource, one thread; boot_ms throughout.
 */
enum reflect_step {
	REFLECT_WAIT,	/* for wait_ms */
	REFLECT_LIST,	/* list one page: cont is "" for the first */
	REFLECT_WATCH,	/* watch from rv on, for timeout_s */
};

enum reflect_result {
	REFLECT_PAGE,		/* a page, and more are to come: rv and cont */
	REFLECT_COMPLETE,	/* the last page: rv */
	REFLECT_UNSERVED,	/* no such resource: we ask again later */
	REFLECT_ENDED,		/* the watch ended as agreed */
	REFLECT_EXPIRED,	/* 410, in the stream or as the answer */
	REFLECT_FAILED,		/* anything else: retry_after_ms, -1 if none */
};

struct reflect {
	struct pace pace;
	char rv[RV_BYTES];	/* "" = list first */
	char cont[CONTINUE_BYTES];
	unsigned failures;
	int64_t not_before_ms, failed_ms, watch_ms;
	int64_t expired_ms;	/* the last 410 */
};

struct reflect_todo {
	enum reflect_step step;
	int64_t wait_ms;
	const char *rv, *cont;	/* owned by struct reflect */
	int timeout_s;
};

void reflect_init(struct reflect *r, uint64_t seed);
struct reflect_todo reflect_next(struct reflect *r, int64_t now_ms);

/* rv and cont: those of a PAGE or COMPLETE, otherwise NULL. */
void reflect_done(struct reflect *r, enum reflect_result result,
		  const char *rv, const char *cont, int64_t retry_after_ms,
		  int64_t now_ms);

/* A watch line or bookmark came: the next watch starts at its rv. */
void reflect_seen(struct reflect *r, const char *rv);

/* If the watch under way ends now, was it too short?  Then the next one has to
 * wait as after a failure. */
bool reflect_short(const struct reflect *r, int64_t now_ms);

/* Starts over with a list. */
void reflect_restart(struct reflect *r);

#endif
