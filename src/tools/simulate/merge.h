/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_MERGE_H
#define TOOLS_SIMULATE_MERGE_H

#include "core/base/err.h"
#include "tally.h"
#include "wire/karpenter/fact.h"
#include "wire/karpenter/matrix.h"

/*
 * Reads several sources side by side and gives out their facts in order of
 * time.  A fact is left out and counted if a later fact was given out already,
 * or if the same fact was, from another file.  Content that cannot be used is
 * mostly counted, or becomes a warning.  It is an error only in a few cases,
 * such as a record of another version, or text in UTF-16.  Not thread-safe.
 */
struct merge;

/* Opens n files, of which "-" is stdin.  The names are borrowed.  *t must
 * outlive the merge; it counts what is read.  Returns NULL with *e set on
 * failure. */
struct merge *merge_open(const char *const *names, size_t n, struct tally *t,
			 struct err *e);
/* Adds a source whose time series are fetched by calling `ask`, for instance
 * from Prometheus.  Call it once at most, before the first merge_next.  Returns
 * -1 with *e set on failure. */
int merge_ask(struct merge *m, matrix_ask_fn *ask, void *ctx, struct err *e);
void merge_close(struct merge *m); /* accepts NULL */

/* Returns 1 with the next fact in *f, which is valid until the next call.
 * After much input without a fact it returns 1 with *f NULL, so that the caller
 * can show its progress.  Returns 0 at the end, and -1 with *e set on failure.
 */
int merge_next(struct merge *m, const struct fact **f, struct err *e);

/* Returns the next warning (a file is damaged, or Prometheus has sent a
 * warning), or NULL if there is none. */
const char *merge_warning(struct merge *m);

#endif
