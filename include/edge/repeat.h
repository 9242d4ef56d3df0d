/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_REPEAT_H
#define EDGE_REPEAT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The log's rate limiter.  It limits how often a phrase may be logged in a
 * window of REPEAT_WINDOW_MS (a minute), and counts the lines that are
 * suppressed.  The time is boot time.  Callers pass it as an argument, so that
 * tests need not wait.  A struct repeats owns no memory.  Not thread-safe:
 * edge/log calls these functions under a lock.
 */
#define REPEAT_PHRASES 64 /* maximum number of phrases in the table */
#define REPEAT_WINDOW_MS 60000

struct repeat {
	/* A string literal, not copied.  NULL: the entry is free. */
	const char *phrase;
	int64_t until_ms; /* the end of the window */
	/* Number of lines that were allowed in this window, and number of lines
	 * that were suppressed. */
	unsigned said, kept_back;
};

struct repeats {
	int64_t due_ms; /* when the first report is due, or INT64_MAX if none */
	struct repeat at[REPEAT_PHRASES];
};
#define REPEATS_INIT                                                           \
	{                                                                      \
		.due_ms = INT64_MAX                                            \
	}

/* Returns whether the phrase may be logged now.  The first line with the phrase
 * begins a window, in which the phrase may be logged `burst` times.  A phrase
 * for which the table has no room may always be logged. */
bool repeats_allow(struct repeats *r, const char *phrase, unsigned burst,
		   int64_t now_ms);

/* Gets a phrase whose window is over and that had suppressed lines, with their
 * number in *kept_back.  Each such phrase comes once.  Returns false if there
 * is none. */
bool repeats_report(struct repeats *r, int64_t now_ms, const char **phrase,
		    unsigned *kept_back);

#endif
