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
 * One of the things that are read side by side: a file of lines, a list of
 * objects, a saved answer of Prometheus, or a Prometheus that is asked.  The
 * first bytes of a file say which it is.  Its facts wait here, in order of
 * time, until the merge takes them:
 *
 *	source_open -> source_read, until source_ended
 *	               source_first, source_take, whenever a fact waits
 *
 * A file of lines is in order up to SIMULATE_DISORDER_MS, so what waits is to
 * be taken when the file has come further than that.  A time that lies far
 * ahead has to be confirmed by the next line, or it counts as odd.  Of the
 * others nothing has a time before the end.  Not thread-safe.
 */
struct source;

/* What all sources share. */
struct merging {
	struct tally *tally;
	size_t waiting, waiting_bytes; /* facts of all sources that wait */
	int64_t given_ms;  /* the time of the latest fact that the merge gave
			      out.  An earlier fact is late.  STAMP_NONE: none
			      was given out */
	int64_t ticked_ms; /* the latest time of any other line */
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
/* Returns the latest time that the source has come to, or STAMP_NONE if there
 * was none so far. */
int64_t source_newest_ms(const struct source *s);

/* source_first returns the earliest of the facts that wait, or NULL if none
 * does.  source_take gives it to the caller, who frees it. */
const struct fact *source_first(const struct source *s);
struct fact *source_take(struct source *s);

#endif
