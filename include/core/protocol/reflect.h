/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_REFLECT_H
#define CORE_PROTOCOL_REFLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/pace.h"
#include "core/base/stamp.h"

/*
 * Decides how to keep one resource listed and watched, as client-go's reflector
 * does (tools/cache/reflector.go).  The first step is a complete list in pages,
 * with resourceVersion unset.  The next step is a watch from the list's
 * resourceVersion.  Each later watch starts where the previous watch ended.
 * After a 410, the next step is a list.  A list that fails starts again from
 * its first page.  After a failure, and after a very short watch, the next step
 * waits for a backoff with jitter.
 *
 * This is a step machine (docs/architecture.md#step-machines): reflect_next
 * returns the next step or the time to wait, and reflect_done receives the
 * step's outcome.  The caller runs one step at a time.  It need not report a
 * step that it cuts short, and calls reflect_next again.
 *
 * Each resource has a struct reflect of its own, which owns no memory and is
 * used by one thread.  All times are boot_ms.
 */
enum reflect_step {
	REFLECT_WAIT,
	/* List the page with the continue token `cont`, which is "" for the
	 * first page. */
	REFLECT_LIST,
	REFLECT_WATCH, /* watch from rv on, for timeout_s seconds */
};

struct reflect_todo {
	enum reflect_step step;
	/* WAIT: the longest time to wait, or INT64_MAX to wait for another call
	 * of a reflect function. */
	int64_t wait_ms;
	/* WATCH: rv is the resourceVersion to start from.  LIST: cont is the
	 * continue token.  Both belong to the struct reflect and are valid
	 * until the next call. */
	const char *rv, *cont;
	int timeout_s; /* WATCH: the timeout in seconds */
};

enum reflect_code {
	REFLECT_PAGE,	  /* LIST: a page came, and more follow */
	REFLECT_COMPLETE, /* LIST: the last page came */
	/* The API server does not serve the resource.  The next step is a list,
	 * after a wait between UNSERVED_MS and twice that time. */
	REFLECT_UNSERVED,
	REFLECT_ENDED,	 /* WATCH: it ended without an error */
	REFLECT_EXPIRED, /* 410, in the stream or as the reply */
	REFLECT_FAILED,	 /* any other failure */
};

struct reflect_outcome {
	enum reflect_code code;
	const char *rv;		/* PAGE, COMPLETE: the list's resourceVersion */
	const char *cont;	/* PAGE: the continue token of the next page */
	int64_t retry_after_ms; /* FAILED: the Retry-After, or -1 */
};

/*
 * The state determines the next step.
 *
 *	UNLISTED ── a page, more follow ─▶ PAGING ── another ─▶ PAGING
 *
 *	UNLISTED, PAGING ── the last page ─────────▶ LISTED
 *	PAGING ── a failure ───────────────────────▶ UNLISTED
 *	LISTED ── a line, the end of a watch,
 *	          or a failure ────────────────────▶ LISTED
 *	any ── a 410, not served, or a restart ────▶ UNLISTED
 *
 * reflect_restart makes the restart, and reflect_done all other transitions.
 */
enum reflect_state {
	REFLECT_UNLISTED, /* list from the first page on */
	REFLECT_PAGING,	  /* list the page with the token `cont` */
	REFLECT_LISTED,	  /* watch from rv on */
};

/* The members are private. */
struct reflect {
	struct pace pace;
	enum reflect_state state;
	char rv[RV_BYTES];
	char cont[CONTINUE_BYTES];
	unsigned failures; /* failures in a row, for the backoff */
	/* not_before_ms is when the next step may begin, failed_ms when the
	 * last failure was, and watch_ms when the last watch began. */
	int64_t not_before_ms, failed_ms, watch_ms;
	int64_t expired_ms; /* when the last 410 came */
};

/* Makes *r ready for its first list.  `seed` is the seed of all jitter. */
void reflect_init(struct reflect *r, uint64_t seed);
struct reflect_todo reflect_next(struct reflect *r, struct now now);
void reflect_done(struct reflect *r, const struct reflect_outcome *o,
		  struct now now);

/* Call this with the resourceVersion of each watch line and bookmark.  The next
 * watch starts from it.  The call does nothing if rv is "", or if no list has
 * been completed since reflect_restart. */
void reflect_seen(struct reflect *r, const char *rv);

/* Returns whether the current watch began so recently that its end would count
 * as a failure.  The next watch would then have to wait. */
bool reflect_short(const struct reflect *r, struct now now);

/* Forgets the resourceVersion, so that the next step is a list from its first
 * page.  The caller may still report the end of the current watch, but not a
 * page of the current list. */
void reflect_restart(struct reflect *r);

#endif
