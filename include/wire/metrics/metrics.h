/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_METRICS_METRICS_H
#define WIRE_METRICS_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/counters.h"
#include "core/controller/controller.h"

/*
 * The Prometheus text format, version 0.0.4 (docs/operations.md#metrics).  Each
 * family is written once, with HELP and TYPE, and label values are escaped.
 * Scopes come through a callback, so that the caller can take its lock for
 * each.  Stateless; any thread.
 */
struct metrics_process {
	double cpu_seconds, start_time_seconds;
	uint64_t resident_bytes, virtual_bytes, open_fds, max_fds;
};

struct metrics_gauges {
	struct controller_report controller;
	int64_t cert_not_after_ms;	/* 0: no certificate */
	bool leads;
	const char *lease_name;
	const char *version;
	const char *cluster_scope;	/* the name of scope "" : "cluster" */
	struct metrics_process process;
};

typedef bool metrics_scope_fn(void *ctx, uint32_t *i, struct scope_report *out);

void metrics_write(struct buf *b, struct counters *c,
		   const struct metrics_gauges *g, metrics_scope_fn *scopes,
		   void *ctx);

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

#endif
