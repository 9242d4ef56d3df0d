/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_REFLECT_H
#define CORE_PROTOCOL_REFLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/pace.h"
#include "core/base/stamp.h"

/*
 * Tells its caller what to do to keep one resource listed and watched, as
 * client-go's reflector does (tools/cache/reflector.go): make a complete list
 * in pages with resourceVersion unset, then watch from the list's
 * resourceVersion on.  A watch goes on where the one before it ended.  After a
 * 410, the next step is a list.  A list that fails starts again with its first
 * page.  After a failure, and after a very short watch, the next step waits for
 * a backoff with jitter.
 *
 * A step machine (docs/architecture.md#step-machines): reflect_next says what
 * to do or for how long to wait, and reflect_done is told what came of it.  One
 * step is under way at a time.  If the caller cuts a step short, it need not
 * report it: reflect_next then says again what to do.
 *
 * Each resource has a struct reflect of its own, which owns no memory and is
 * used by one thread.  All times are boot_ms.
 */
enum reflect_step {
	REFLECT_WAIT,
	REFLECT_LIST,  /* list one page, with `cont` as the continue token;
			   "" asks for the first page */
	REFLECT_WATCH, /* watch from rv on, for timeout_s seconds */
};

struct reflect_todo {
	enum reflect_step step;
	int64_t wait_ms;       /* WAIT: for how long; INT64_MAX: until another
				  function is called */
	const char *rv, *cont; /* WATCH; LIST.  Both belong to the struct
				   reflect and are valid until the next call */
	int timeout_s;	       /* WATCH: for how many seconds */
};

enum reflect_code {
	REFLECT_PAGE,	  /* LIST: a page came, and more follow */
	REFLECT_COMPLETE, /* LIST: the last page came */
	REFLECT_UNSERVED, /* the API server does not serve the resource;
				   the next step is a list, after UNSERVED_MS or
				   up to twice as long */
	REFLECT_ENDED,	  /* WATCH: it ended without an error */
	REFLECT_EXPIRED,  /* 410, in the stream or as the answer */
	REFLECT_FAILED,	  /* anything else */
};

struct reflect_outcome {
	enum reflect_code code;
	const char *rv;		/* PAGE, COMPLETE: the list's resourceVersion */
	const char *cont;	/* PAGE: the continue token of the next page */
	int64_t retry_after_ms; /* FAILED: the answer's Retry-After; -1: it has
				   none */
};

/*
 * What the next step is.
 *
 *	UNLISTED ── a page, more follow ─▶ PAGING ── another ─▶ PAGING
 *
 *	UNLISTED, PAGING ── the last page ─────────▶ LISTED
 *	PAGING ── a failure ───────────────────────▶ UNLISTED
 *	LISTED ── a line, the end of a watch,
 *	          or a failure ────────────────────▶ LISTED
 *	any ── a 410, not served, or a restart ────▶ UNLISTED
 *
 * reflect_done makes all transitions but the restart.
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
	/* The next step waits until not_before_ms.  The others say when the
	 * last step failed, and when the last watch began. */
	int64_t not_before_ms, failed_ms, watch_ms;
	int64_t expired_ms; /* when the last 410 came */
};

/* Returns whether the state is consistent.  For assert. */
bool reflect_check(const struct reflect *r);

/* Makes *r ready for its first list.  seed: of all jitter. */
void reflect_init(struct reflect *r, uint64_t seed);
struct reflect_todo reflect_next(struct reflect *r, struct now now);
void reflect_done(struct reflect *r, const struct reflect_outcome *o,
		  struct now now);

/* Call this with the resourceVersion of each watch line and bookmark.  The next
 * watch starts there.  An rv of "" changes nothing, nor does a line that comes
 * after reflect_restart. */
void reflect_seen(struct reflect *r, const char *rv);

/* Returns whether the watch under way is still so young that its end would
 * count as a failure, so that the next one has to wait. */
bool reflect_short(const struct reflect *r, struct now now);

/* Forgets the resourceVersion, so that the next step is a list from its first
 * page on.  The end of a watch under way may still be reported, but not a page
 * of a list. */
void reflect_restart(struct reflect *r);

#endif
