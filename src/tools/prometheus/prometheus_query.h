/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_PROMETHEUS_PROMETHEUS_QUERY_H
#define TOOLS_PROMETHEUS_PROMETHEUS_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "prometheus.h"

/*
 * Asks Prometheus an expression for the present moment, again and again, as an
 * alert does: the answer is what the expression finds.  The caller's thread
 * does other work between two calls of prometheus_query_over.  Not thread-safe.
 */
struct prometheus_query;

struct prometheus_found {
	uint64_t series; /* how many series the expression finds */
	/* ERR_NONE, or why it is not known what it finds: there is no answer,
	 * the answer is an error or no vector, or it is empty and has a
	 * warning, so that it may be partial. */
	struct err why;
};

/* Of *s count url, ca_file, token_file and timing.  An answer has ms
 * milliseconds at most.  All strings are borrowed.  Returns NULL with *e
 * set. */
struct prometheus_query *prometheus_query_new(const struct prometheus_setup *s,
					      const char *expression,
					      int64_t ms, struct err *e);
void prometheus_query_free(struct prometheus_query *p); /* NULL is allowed */

/* Sends the question.  The one before it has to be over. */
void prometheus_query_start(struct prometheus_query *p);
/* Waits for the answer, for wait_ms at most.  Returns whether *out is set. */
bool prometheus_query_over(struct prometheus_query *p, int64_t wait_ms,
			   struct prometheus_found *out);

#endif
