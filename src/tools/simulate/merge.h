/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_MERGE_H
#define TOOLS_SIMULATE_MERGE_H

#include "core/base/err.h"
#include "tally.h"
#include "wire/karpenter/fact.h"
#include "wire/karpenter/matrix.h"

/*
 * Reads several sources side by side and returns their facts in order of time.
 * A fact is left out and counted if a later fact, or the same fact from another
 * file, was returned before.  Content that cannot be used is usually counted or
 * becomes a warning.  It is an error only in a few cases, such as a record of
 * another version, or text in UTF-16.  Not thread-safe.
 */
struct merge;

/* Opens n files.  The name "-" stands for stdin.  The names are borrowed.  *t
 * counts what is read and must outlive the merge.  Returns NULL with *e set on
 * failure. */
struct merge *merge_open(const char *const *names, size_t n, struct tally *t,
			 struct err *e);
/* Adds a source whose time series are fetched by calling `ask`, for instance
 * from Prometheus.  Call it once at most, before the first merge_next.  Returns
 * -1 with *e set on failure. */
int merge_ask(struct merge *m, matrix_ask_fn *ask, void *ctx, struct err *e);
void merge_close(struct merge *m); /* accepts NULL */

/* Returns 1 and sets *f to the next fact, which is valid until the next call.
 * After much input without a fact it returns 1 and sets *f to NULL, so that the
 * caller can show the progress.  Returns 0 at the end, and -1 with *e set on
 * failure. */
int merge_next(struct merge *m, const struct fact **f, struct err *e);

/* Returns the next warning (a file is damaged, or Prometheus has sent a
 * warning), or NULL if there is none. */
const char *merge_warning(struct merge *m);

#endif
