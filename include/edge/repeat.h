/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_REPEAT_H
#define EDGE_REPEAT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How often a phrase may be repeated: the log's rate limiter, with the time as
 * an argument.  Not thread-safe: callers hold the log's lock.
 */
#define REPEAT_PHRASES 64
#define REPEAT_WINDOW_MS 60000

struct repeat {
	const char *phrase;	/* a string literal; NULL: free */
	int64_t until_ms;	/* end of its minute */
	unsigned said, kept_back;
};

struct repeats {
	int64_t due_ms;	/* when the first report is due; INT64_MAX: none */
	struct repeat at[REPEAT_PHRASES];
};
#define REPEATS_INIT {.due_ms = INT64_MAX}

/* Returns true at most `burst` times in a minute that begins with the first.
 * If the table has no room for the phrase, it returns true. */
bool repeats_allow(struct repeats *r, const char *phrase, unsigned burst,
		   int64_t now_ms);

/* Gives a phrase that was kept back and whose minute is over, each once; false:
 * there is none. */
bool repeats_report(struct repeats *r, int64_t now_ms, const char **phrase,
		    unsigned *kept_back);

#endif
