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
 * bytes of a file tell its kind.  The source keeps its facts in order of time
 * until the merge takes them:
 *
 *	source_open -> source_read, until source_ended
 *	               source_first, source_take, whenever a fact waits
 *
 * The lines of a file may be out of order by SIMULATE_DISORDER_MS.  The merge
 * may therefore take a fact when the file has been read to a time that is later
 * by this much.  If the time of a line is far ahead, the next line has to
 * confirm it; otherwise it counts as odd and is not accepted.  From the other
 * inputs no fact may be taken before they have ended.  Not thread-safe.
 */
struct source;

/* What all sources share. */
struct merging {
	struct tally *tally;
	/* Number and bytes of the facts that wait in all sources. */
	size_t waiting, waiting_bytes;
	/* Time of the latest fact that the merge has returned, or STAMP_NONE.
	 * A fact that comes with an earlier time is late. */
	int64_t given_ms;
	/* Latest time of a line without a fact, or in an answer of
	 * Prometheus. */
	int64_t ticked_ms;
	char warning[240];
	bool warns;
};
/* Returns whether so many facts wait that the merge has to take one before it
 * reads more. */
bool source_merging_is_full(const struct merging *m);
bool source_merging_is_half_full(const struct merging *m);

/* source_open opens a file, or stdin for "-".  The name is borrowed.
 * source_ask makes a source that calls `ask`, which queries Prometheus.  Both
 * return NULL with *e set on failure. */
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
 * waits.  source_take removes this fact and passes its ownership to the
 * caller. */
const struct fact *source_first(const struct source *s);
struct fact *source_take(struct source *s);

#endif
