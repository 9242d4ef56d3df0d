/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_COUNTERS_H
#define CORE_BASE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * The counters of the process.  COUNTERS lists each simple counter once, with
 * its metric's name and its labels.  wire/metrics puts METRICS_PREFIX before a
 * name.  A name that other programs use too begins with '=', and wire/metrics
 * writes it without the '=' and without the prefix.  A name that begins with
 * '?' is about holds, and wire/metrics gives it another prefix with
 * MODE_OBSERVE.  The three histograms and the counts of calls to the API server
 * are members of struct counters.
 *
 * All counts are atomic.  Any thread may add to them, and wire/metrics reads
 * them.
 */
#define METRICS_PREFIX "karpenter_node_holder_"

#define ADMISSION(X, id, labels) X(id, "admission_requests_total", labels)

#define WATCH_WHY(X, id, resource, why)                                        \
	X(id, "watch_restarts_total",                                          \
	  "resource=\"" resource "\",reason=\"" why "\"")
#define WATCH(X, id, resource)                                                 \
	WATCH_WHY(X, WATCH_##id##_END, resource, "end")                        \
	WATCH_WHY(X, WATCH_##id##_EXPIRED, resource, "expired")                \
	WATCH_WHY(X, WATCH_##id##_SILENT, resource, "silent")                  \
	WATCH_WHY(X, WATCH_##id##_ERROR, resource, "error")

#define SKIPPED(X, id, resource)                                               \
	X(SKIPPED_##id, "objects_skipped_total", "resource=\"" resource "\"")

#define RENEWAL_WRITE(X, id, what)                                             \
	X(RENEWAL_##id, "self_signed_writes_total", "object=\"" what "\"")

#define COUNTERS(X)                                                            \
	ADMISSION(X, NODE_HELD, "kind=\"Node\",result=\"held\"")               \
	ADMISSION(X, NODE_UNCHANGED, "kind=\"Node\",result=\"unchanged\"")     \
	ADMISSION(X, NODE_WOULD, "kind=\"Node\",result=\"would_hold\"")        \
	ADMISSION(X, CLAIM_HELD, "kind=\"NodeClaim\",result=\"held\"")         \
	ADMISSION(X, CLAIM_UNCHANGED,                                          \
		  "kind=\"NodeClaim\",result=\"unchanged\"")                   \
	ADMISSION(X, CLAIM_WOULD, "kind=\"NodeClaim\",result=\"would_hold\"")  \
	ADMISSION(X, OTHER_UNCHANGED, "kind=\"other\",result=\"unchanged\"")   \
	ADMISSION(X, REFUSED, "kind=\"\",result=\"refused\"")                  \
	ADMISSION(X, FAILED, "kind=\"\",result=\"error\"")                     \
	ADMISSION(X, SHED, "kind=\"\",result=\"shed\"")                        \
	X(HOLDS_OK, "?holds_total", "result=\"ok\"")                           \
	X(HOLDS_CONFLICT, "?holds_total", "result=\"conflict\"")               \
	X(HOLDS_GONE, "?holds_total", "result=\"gone\"")                       \
	X(HOLDS_ERROR, "?holds_total", "result=\"error\"")                     \
	X(RELEASES_OK, "?releases_total", "result=\"ok\"")                     \
	X(RELEASES_CONFLICT, "?releases_total", "result=\"conflict\"")         \
	X(RELEASES_GONE, "?releases_total", "result=\"gone\"")                 \
	X(RELEASES_ERROR, "?releases_total", "result=\"error\"")               \
	X(REPLACEMENTS, "replacements_total", "")                              \
	X(DISRUPTION_EVENTS_IGNORED, "disruption_events_ignored_total", "")    \
	X(TABLE_FULL, "table_full_total", "")                                  \
	SKIPPED(X, NODES, "nodes")                                             \
	SKIPPED(X, CLAIMS, "nodeclaims")                                       \
	SKIPPED(X, NODEPOOLS, "nodepools")                                     \
	SKIPPED(X, EVENTS, "events")                                           \
	SKIPPED(X, TICKETS, "tickets")                                         \
	X(TICKETS_FLAWED, "tickets_flawed_total", "")                          \
	WATCH(X, NODES, "nodes")                                               \
	WATCH(X, CLAIMS, "nodeclaims")                                         \
	WATCH(X, NODEPOOLS, "nodepools")                                       \
	WATCH(X, EVENTS, "events")                                             \
	WATCH(X, TICKETS, "tickets")                                           \
	RENEWAL_WRITE(X, CA, "ca")                                             \
	RENEWAL_WRITE(X, BUNDLE, "bundle")                                     \
	RENEWAL_WRITE(X, LEAF, "certificate")                                  \
	X(RENEWAL_FAILED, "self_signed_errors_total", "")                      \
	X(CERT_READS, "=certwatcher_read_certificate_total", "")               \
	X(CERT_ERRORS, "=certwatcher_read_certificate_errors_total", "")

enum counter {
#define X(id, name, labels) COUNTER_##id,
	COUNTERS(X)
#undef X
		COUNTER_COUNT,
};

/* The buckets of admission_duration_seconds: upper bounds in microseconds; the
 * last bucket, +Inf, is implied. */
#define LATENCY_BUCKETS_US                                                     \
	{                                                                      \
		100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000,  \
			250000, 500000, 1000000                                \
	}
#define LATENCY_BUCKETS 13

/* The buckets of hold_latency_seconds: upper bounds in milliseconds; the last
 * bucket, +Inf, is implied. */
#define HOLD_BUCKETS_MS                                                        \
	{                                                                      \
		100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 300000   \
	}
#define HOLD_BUCKETS 10

/* The buckets of write_duration_seconds: upper bounds in milliseconds; the last
 * bucket, +Inf, is implied. */
#define WRITE_BUCKETS_MS                                                       \
	{                                                                      \
		5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000          \
	}
#define WRITE_BUCKETS 11

enum rest_method {
	REST_GET,
	REST_PATCH,
	REST_POST,
	REST_DELETE,
	REST_METHODS,
};
/* Status codes below this are counted each by itself.  A call without an
 * answer, or with a code of this or more, counts under 0. */
#define HTTP_CODE_MAX 600

/* Zeroed memory is a valid initial value.  The histograms keep the number
 * of observations in each bucket, not the cumulated number that Prometheus
 * shows. */
struct counters {
	_Atomic uint64_t at[COUNTER_COUNT];
	_Atomic uint64_t latency[LATENCY_BUCKETS + 1];
	_Atomic uint64_t latency_us_sum;
	_Atomic uint64_t hold_latency[HOLD_BUCKETS + 1];
	_Atomic uint64_t hold_latency_ms_sum;
	_Atomic uint64_t write_duration[WRITE_BUCKETS + 1];
	_Atomic uint64_t write_duration_ms_sum;
	/* Calls to the API server, by method and HTTP status. */
	_Atomic uint64_t rest[REST_METHODS][HTTP_CODE_MAX];
};

static inline void
counter_add(struct counters *c, enum counter id)
{
	atomic_fetch_add_explicit(&c->at[id], 1, memory_order_relaxed);
}

/* Each of these functions adds one observation to a histogram.
 * counters_latency adds to admission_duration_seconds, counters_hold_latency to
 * hold_latency_seconds, and counters_write_duration to
 * write_duration_seconds. */
void counters_latency(struct counters *c, uint64_t us);
void counters_hold_latency(struct counters *c, uint64_t ms);
void counters_write_duration(struct counters *c, uint64_t ms);

#endif
