/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_REPEAT_H
#define EDGE_REPEAT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Who may repeat himself how often: log's rate limiter, with the time as an
 * argument.  No lock: log has one.
 */
#define REPEAT_PHRASES 64
#define REPEAT_WINDOW_MS 60000

struct repeat {
	const char *phrase;	/* a string literal; NULL: free */
	int64_t until_ms;	/* of its minute */
	unsigned said, kept_back;
};

struct repeats {
	int64_t due_ms;	/* the first report; INT64_MAX: none */
	struct repeat at[REPEAT_PHRASES];
};
#define REPEATS_INIT {.due_ms = INT64_MAX}

/* true at most `burst` times in a minute that begins with the first.  With
 * more phrases at once than the table has room for, true. */
bool repeats_allow(struct repeats *r, const char *phrase, unsigned burst,
		   int64_t now_ms);

/* A phrase whose minute is over and that was kept back: once each. */
bool repeats_report(struct repeats *r, int64_t now_ms, const char **phrase,
		    unsigned *kept_back);

#endif
