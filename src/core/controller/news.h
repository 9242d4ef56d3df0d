/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_NEWS_H
#define CORE_CONTROLLER_NEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/table/timers.h"

/*
 * Keeps what was last reported about each scope, and which scopes still have
 * something to report: in notes, in the history for /status, and as
 * hold_latency_seconds.  No decision depends on it.  Times are server_ms unless
 * a comment says otherwise.  Not thread-safe.
 */
struct scope_news {
	/* `made` of the scope (struct scope).  If another scope takes its place
	 * in the table, the other members start anew. */
	uint32_t made;
	/* Whether its quiet time may have moved since the last report. */
	bool moved;
	/* Whether it is held, but no report has said until when. */
	bool untold;
	bool listed; /* Whether it is in news.scopes. */
	/* Whether hold_latency_seconds is still being measured, because not
	 * every object in it is held yet. */
	bool latency_open;
	/* Boot time at which it last became held, or 0 if it never did. */
	int64_t since_boot_ms;
	int64_t told_boot_ms; /* boot time of the last report, or 0 */
	struct quiet told;    /* what the last report said */
	int64_t turned_ms;    /* when it last turned, or STAMP_NONE */
};

/* What holds a NodePool, beside its scope. */
enum manual_by {
	MANUAL_NONE,
	MANUAL_PERSON, /* its hold-until */
	MANUAL_TICKET,
};

/* What was reported about a NodePool in this lead. */
struct manual_news {
	enum manual_by by; /* as of the last report or turn */
	/* Hashes of the last two reports since it has been held without a
	 * break, the latest first, or 0. */
	uint32_t told[2];
	/* Of the latest report: the ticket's place in struct tickets, or NO_ID
	 * for a hold-until, and the boot time, or 0 if there was no report. */
	uint32_t ticket;
	int64_t told_boot_ms;
};

/* A zeroed struct has no news. */
struct news {
	bool latency_open; /* some scope_news.latency_open may be set */
	uint32_t n;
	uint32_t scopes[SCOPES_MAX]; /* the scopes that may have something to
					report */
	struct scope_news at[SCOPES_MAX]; /* indexed by scope */
	/* Indexed by the NodePool's place in struct nodepools. */
	struct manual_news manual[SCOPES_MAX];
};

/* Returns what is kept of the scope.  If another scope had the place before,
 * starts anew. */
struct scope_news *news_of(struct news *n, const struct timers *ts,
			   uint32_t scope);
/* Returns what is kept of the scope, but changes nothing.  Returns an empty
 * struct if nothing was reported of the scope. */
const struct scope_news *news_read(const struct news *n,
				   const struct timers *ts, uint32_t scope);
/* Adds the scope to n->scopes if it is not there. */
void news_list(struct news *n, const struct timers *ts, uint32_t scope);
/* Call this before timers_forget. */
void news_forget(struct news *n);
/* Call this when the API server's clock has jumped by by_ms. */
void news_shift(struct news *n, const struct timers *ts, int64_t by_ms);

#endif
