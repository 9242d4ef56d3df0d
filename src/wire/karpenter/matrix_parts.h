/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_MATRIX_PARTS_H
#define WIRE_KARPENTER_MATRIX_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/index.h"
#include "core/base/limits.h"
#include "parts.h"
#include "prices.h"
#include "wire/karpenter/matrix.h"

/* matrix.c fills these structs from the series, and matrix_tell.c makes facts
 * of them. */

/* The labels of a series, as hashes of their keys and values. */
struct labels {
	struct label {
		uint32_t key, value;
	} at[MATRIX_LABELS_MAX];
	unsigned n;
};

/* A Node, as its series of ages shows it.  birth_ms is when the Node came: the
 * time of a sample minus the age.  first_ms and last_ms are the times of its
 * first and its last sample. */
struct life {
	char *node;
	char pool[NODEPOOL_BYTES];
	int64_t birth_ms, first_ms, last_ms;
	enum fact_maker maker;
	/* made: a step of the counter of creations was assigned to this Node.
	 * decided: a step of the counter of disruptions was. */
	bool made, decided;
};

enum counted { COUNTED_CREATED, COUNTED_DISRUPTED, COUNTED_PODS };

/* A step by which a counter grew from one sample to the next. */
struct grown {
	enum counted of;
	char pool[NODEPOOL_BYTES], reason[NODEPOOL_BYTES];
	int64_t at_ms;
	long long by;
	/* Whether no earlier sample of the counter is known.  `by` is then the
	 * whole first value. */
	bool first;
	uint32_t counter; /* its place in `counters` */
};

/* The last sample of a counter, whose series may go on in the next answer. */
struct counter {
	uint64_t labels; /* a hash of all its labels */
	struct labels each;
	uint32_t before; /* in replicas_drop: another replica's, or NO_ID */
	int64_t first_ms, last_ms;
	double last;
};

/* The labels that tell the replicas of a Prometheus, or the ways of federation,
 * apart.  The same Node in two series at the same times shows them. */
struct replicas {
	uint32_t keys[MATRIX_REPLICA_LABELS_MAX];
	unsigned keys_n;
	struct seen {
		uint32_t node;
		int64_t birth_ms, first_ms, last_ms;
		struct labels labels;
	} seen[MATRIX_SEEN_MAX];
	unsigned seen_n;
};

struct matrix {
	struct life *lives;
	struct grown *grown;
	struct counter *counters;
	size_t lives_n, lives_room, grown_n, grown_room, counters_n,
		counters_room;
	struct index by_labels; /* finds a counter by its `labels` */
	struct replicas replicas;
	struct prices prices;
	struct pieces pieces; /* memory for the machines of a decision */
	/* Time of the first sample of COUNTED_PODS, or STAMP_NONE. */
	int64_t pods_ms;
	struct matrix_sums sums;
};

/* Merges the lives of the same Node.  A Node has several series if several
 * replicas were scraped, or if several answers show it. */
void matrix_join(struct matrix *m);
void replicas_labels(const struct json *metric, struct labels *out);
/* Looks at a series of the age of a Node. */
void replicas_see(struct replicas *r, const struct life *l,
		  const struct json *metric);
/* Removes the steps of counters that another replica shows, too.  Returns -1 if
 * there is no memory. */
int replicas_drop(struct matrix *m);
int matrix_order(int64_t a, int64_t b); /* compares two times, for qsort */

#endif
