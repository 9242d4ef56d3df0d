/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_MERGE_H
#define TOOLS_SIMULATE_MERGE_H

#include "core/base/err.h"
#include "tally.h"
#include "wire/karpenter/fact.h"
#include "wire/karpenter/matrix.h"

/*
 * Reads several sources side by side and gives out their facts in order of time.
 * A fact that comes later than others that were given out is left out and
 * counted, and so is one that stands in several files.
 * Nothing in a file is an error but the head of a record of another version.
 * Not thread-safe.
 */
struct merge;

/* names: n files, borrowed; "-" is stdin.  t outlives the merge and counts what
 * is read.  Returns NULL with *e set. */
struct merge *merge_open(const char *const *names, size_t n, struct tally *t,
			 struct err *e);
/* Adds another one, of series that are asked for, before the first merge_next.
 * Call it once.  Returns -1 with *e set. */
int merge_ask(struct merge *m, matrix_ask_fn *ask, void *ctx, struct err *e);
void merge_close(struct merge *m); /* NULL: nothing */

/* Returns 1 with *f, which is valid until the next call, or with *f NULL after a
 * long stretch without a fact; 0 at the end; -1 with *e set. */
int merge_next(struct merge *m, const struct fact **f, struct err *e);

/* What there is to warn of: a file that is damaged, or what Prometheus warns of.
 * NULL: nothing. */
const char *merge_warning(struct merge *m);

#endif
