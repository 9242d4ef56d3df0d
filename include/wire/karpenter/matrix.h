/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_MATRIX_H
#define WIRE_KARPENTER_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "wire/karpenter/snapshot.h"

/*
 * Makes facts of Karpenter's metrics in Prometheus's answer to a range query
 * (docs/what-if.md#prometheus).  The series come one by one, and the facts are
 * known when all series have come.  A gauge with the age of each Node tells
 * which Nodes existed, and when each of them came and went.  Counters tell how
 * many NodeClaims of a NodePool were created and disrupted, and why, but not
 * which NodeClaims they were.  So each step of a counter is assigned to the
 * Nodes that came or went next.  No metric names a NodeClaim, so each gets the
 * name of its Node.  The price of a Node is the cost of its NodePool divided by
 * the number of Nodes in it.
 *
 * If one answer does not cover the whole time, pass several answers in order of
 * time.  Together they count as one answer, and a sample that comes twice
 * counts once.  Not thread-safe.
 */
struct matrix;

struct matrix *matrix_new(void);    /* NULL if no memory */
void matrix_free(struct matrix *m); /* accepts NULL */

/* Takes one series, an element of "result".  If it returns SNAPSHOT_FAILED,
 * there is no memory or no room, and *e says which. */
enum snapshot_what matrix_series(struct matrix *m, const char *bytes, size_t n,
				 struct err *e);
/* Like matrix_series, for a series that is parsed already. */
enum snapshot_what matrix_object(struct matrix *m, const struct json *series,
				 struct err *e);

struct matrix_sums {
	/* The first and the last time of a sample of ages or counters, or
	 * STAMP_NONE if there is none. */
	int64_t from_ms, to_ms;
	/* The time between two samples, which limits how exact all times are;
	 * 0: no series has two samples. */
	int64_t step_ms;
	uint64_t lost; /* disruptions that could not be assigned to a Node */
};
/* Call this when all series have come.  It calls fn for each fact, in any
 * order; the fact is valid during the call.  Returns -1 if fn fails, or if
 * there is no memory. */
int matrix_end(struct matrix *m, snapshot_fn *fn, void *ctx,
	       struct matrix_sums *out, struct err *e);

/* What an answer contains besides its series.  matrix_answer reads it from the
 * envelope that split_envelope returns, and matrix_answer_object from an answer
 * that is parsed already. */
#define MATRIX_TEXT_BYTES 160
struct matrix_answer {
	/* matrix: whether this is the answer to a range query.  vector: whether
	 * it is the answer to a query for one moment, with a vector as the
	 * result.  Both are false for an error, and for an envelope that is not
	 * well-formed or has a key twice. */
	bool matrix, vector;
	/* How many warnings came.  With one the answer may be partial.
	 * VictoriaMetrics' isPartial counts as one. */
	uint64_t warnings;
	/* How many infos came.  They do not say that the answer may be
	 * partial. */
	uint64_t infos;
	/* Prometheus' error, or else its first warning, or its first info, or
	 * the first line of an answer in plain text, or "". */
	char text[MATRIX_TEXT_BYTES];
};
void matrix_answer(const char *bytes, size_t n, struct matrix_answer *out);
void matrix_answer_object(const struct json *answer, struct matrix_answer *out);
/* Returns whether this is an element of a vector. */
bool matrix_is_sample(const char *bytes, size_t n);

/* Sums over all answers that a matrix_ask_fn got. */
struct matrix_asked {
	uint64_t answers, bytes, warnings, infos;
	/* The first warning, or else the first info, or "" if none. */
	char warning[MATRIX_TEXT_BYTES];
};
/* A matrix_ask_fn asks a Prometheus for the series (src/tools/prometheus).  It
 * calls fn for each series, in the order in which matrix_series needs them;
 * bytes are NULL for a series that is too large.  It returns -1 with *e set if
 * fn fails, or if it cannot get an answer. */
typedef int matrix_item_fn(void *to, const char *bytes, size_t n,
			   struct err *e);
typedef int matrix_ask_fn(void *ctx, matrix_item_fn *fn, void *to,
			  struct matrix_asked *out, struct err *e);

#endif
