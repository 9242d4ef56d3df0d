/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_TIMING_H
#define EDGE_TIMING_H

#include <stdint.h>

/*
 * Deadlines that are not part of the configuration, for `serve` and the other
 * commands, in milliseconds.  timing_default has those of the product, from
 * limits.h.  Tests of the whole program pass shorter ones.
 */
struct timing {
	/* Deadlines for struct server_options. */
	int64_t head_ms, body_ms, reply_ms, idle_ms;
	/* Timeouts of calls to the API server. */
	int64_t connect_ms, call_ms, list_ms, silent_ms;
	int64_t whole_ms; /* how long a list of many pages may take */
	int64_t query_ms; /* timeout of a range query to Prometheus */
	int64_t token_ms; /* how often a token file is read again */
	int64_t cert_ms;  /* how often the certificate files are checked */
	/* After SIGTERM the webhook runs on for at least this long, and until
	 * no connection has been open for this long.  It never runs on for
	 * longer than drainTimeout. */
	int64_t quiet_ms;
	/* hold --while: how long the leader may take to list the ticket. */
	int64_t listed_ms;
	/* uninstall: time between two lists that show no mark. */
	int64_t settle_ms;
	/* How often `serve` writes its soft state (controller_soft) when it
	 * runs without leader election. */
	int64_t soft_ms;
	/* Liveness: a thread that is silent for longer is stuck. */
	int64_t heart_ms;
};

extern const struct timing timing_default;

#endif
