/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_METRICS_METRICS_H
#define WIRE_METRICS_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/counters.h"
#include "core/controller/controller.h"

/*
 * Writes the metrics page in the Prometheus text format, version 0.0.4
 * (docs/operations.md#metrics).  Each family is written once, with HELP and
 * TYPE, and label values are escaped.  The function keeps no state; any thread
 * may call it.
 */
struct metrics_process {
	double cpu_seconds, start_time_seconds;
	uint64_t resident_bytes, virtual_bytes, open_fds, max_fds;
};

struct metrics_gauges {
	struct controller_report controller;
	/* Number of objects that are held because of a hold-until.  With
	 * MODE_OBSERVE, the number that would be held. */
	uint32_t by_hand[KIND_COUNT];
	int64_t cert_not_after_ms; /* expiry of the certificate; 0: none */
	bool leads;
	const char *lease_name;
	const char *version;
	const char *cluster_scope; /* label of the scope whose name is "" */
	uint64_t log_dropped;	   /* how many log lines were dropped */
	struct metrics_process process;
};

/* The caller's iterators over the scopes and over the NodePools.  They work
 * like controller_scope and controller_nodepool_at.  They are callbacks so that
 * the caller can take its lock for each item. */
typedef bool metrics_scope_fn(void *ctx, uint32_t *i, struct scope_report *out);
typedef bool metrics_nodepool_fn(void *ctx, uint32_t *i,
				 struct nodepool_report *out);

/* Appends the page to b, and sets b->full if the page does not fit.  *c is only
 * read. */
void metrics_write(struct buf *b, struct counters *c,
		   const struct metrics_gauges *g, metrics_scope_fn *scopes,
		   metrics_nodepool_fn *nodepools, void *ctx);

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

#endif
