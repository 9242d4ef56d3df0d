/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_SOURCE_H
#define TOOLS_SIMULATE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "tally.h"
#include "wire/karpenter/fact.h"
#include "wire/karpenter/matrix.h"

/*
 * One of the inputs that are read side by side: a file of lines, a list of
 * objects, a saved answer of Prometheus, or a query to Prometheus.  The first
 * bytes of a file tell its kind.  The facts wait here, in order of time, until
 * the merge takes them:
 *
 *	source_open -> source_read, until source_ended
 *	               source_first, source_take, whenever a fact waits
 *
 * The lines of a file may be out of order by SIMULATE_DISORDER_MS.  So a fact
 * may be taken when the file has been read that much further.  If a time lies
 * far ahead, the next line has to confirm it, or it counts as odd.  The other
 * inputs give out no fact before they have ended.  Not thread-safe.
 */
struct source;

/* What all sources share. */
struct merging {
	struct tally *tally;
	/* Number and bytes of the facts that wait, of all sources. */
	size_t waiting, waiting_bytes;
	/* Time of the latest fact that the merge has given out, or STAMP_NONE.
	 * A fact with an earlier time is late. */
	int64_t given_ms;
	/* Latest time of a line without a fact, or of an answer of
	 * Prometheus. */
	int64_t ticked_ms;
	char warning[240];
	bool warns;
};
/* Returns whether so many facts wait that one has to be taken before more is
 * read. */
bool source_merging_is_full(const struct merging *m);

/* The name is borrowed, and "-" is stdin.  Both return NULL with *e set on
 * failure. */
struct source *source_open(const char *name, struct merging *m, struct err *e);
struct source *source_ask(matrix_ask_fn *ask, void *ctx, struct merging *m,
			  struct err *e);
void source_close(struct source *s); /* accepts NULL */

/* Reads the next line or piece.  Returns -1 with *e set on failure. */
int source_read(struct source *s, struct err *e);
bool source_ended(const struct source *s);
/* Returns the time up to which the source has been read, or STAMP_NONE if it
 * has shown no time yet. */
int64_t source_newest_ms(const struct source *s);

/* source_first returns the earliest of the facts that wait, or NULL if none
 * does.  source_take gives it to the caller, who frees it. */
const struct fact *source_first(const struct source *s);
struct fact *source_take(struct source *s);

#endif
