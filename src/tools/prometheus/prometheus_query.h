/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_PROMETHEUS_PROMETHEUS_QUERY_H
#define TOOLS_PROMETHEUS_PROMETHEUS_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "prometheus.h"

/*
 * Evaluates an expression in Prometheus at the present moment, as an alerting
 * rule does, and counts the series that it finds.  The caller may do so again
 * and again, and does other work between two calls of prometheus_query_over.
 * Not thread-safe.
 */
struct prometheus_query;

struct prometheus_found {
	uint64_t series; /* how many series the expression finds */
	/* ERR_NONE if `series` is known.  Otherwise why it is not: there was no
	 * answer, the answer is an error or not a vector, or it is empty but
	 * has a warning and so may be incomplete. */
	struct err why;
};

/* Uses url, ca_file, token_file and timing of *s only.  A query times out after
 * `ms` milliseconds at most.  All strings are borrowed.  Returns NULL with *e
 * set on failure. */
struct prometheus_query *prometheus_query_new(const struct prometheus_setup *s,
					      const char *expression,
					      int64_t ms, struct err *e);
void prometheus_query_free(struct prometheus_query *p); /* NULL is allowed */

/* Sends the query.  The query before must have ended, with
 * prometheus_query_over. */
void prometheus_query_start(struct prometheus_query *p);
/* Waits for the answer, for wait_ms at most.  Returns whether *out is set. */
bool prometheus_query_over(struct prometheus_query *p, int64_t wait_ms,
			   struct prometheus_found *out);

#endif
