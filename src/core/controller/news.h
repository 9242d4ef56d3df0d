/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_NEWS_H
#define CORE_CONTROLLER_NEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/table/timers.h"

/*
 * What has been reported of each scope, and of which scopes something is still
 * to be reported: in notes, in the history for /status, and as
 * hold_latency_seconds.  Nothing is decided by it.  Times without a remark are
 * server_ms.  Not thread-safe.
 */
struct scope_news {
	/* The scope's own number.  If another scope takes its place, the news
	 * begin anew. */
	uint32_t made;
	bool moved;	       /* its quiet time may have moved since the last
				   report */
	bool untold;	       /* it is held, but no report has said until
				   when */
	bool listed;	       /* it is in news.scopes */
	bool latency_open;     /* not every object in it is held yet, so
				   hold_latency_seconds is still being
				   measured */
	int64_t since_boot_ms; /* boot time since when it is held; 0: it never
				   was */
	int64_t told_boot_ms;  /* boot time of the last report, or 0 */
	struct quiet told;     /* what the last report said */
	int64_t turned_ms;     /* when it last turned, or STAMP_NONE */
};

/* A zeroed struct has no news. */
struct news {
	bool latency_open; /* some scope's latency may still be open */
	uint32_t n;
	uint32_t scopes[SCOPES_MAX]; /* the scopes that may have something to
					report */
	struct scope_news at[SCOPES_MAX]; /* by scope */
};

/* Returns what is kept of the scope. */
struct scope_news *news_of(struct news *n, const struct timers *ts,
			   uint32_t scope);
/* The same for readers.  It returns an empty struct if nothing was reported of
 * the scope. */
const struct scope_news *news_read(const struct news *n,
				   const struct timers *ts, uint32_t scope);
/* Adds the scope to n->scopes if it is not there. */
void news_list(struct news *n, const struct timers *ts, uint32_t scope);
/* Call this before timers_forget. */
void news_forget(struct news *n);
/* Call this when the API server's clock has jumped by by_ms. */
void news_shift(struct news *n, const struct timers *ts, int64_t by_ms);

#endif
