/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_KUBE_KUBE_H
#define EDGE_KUBE_KUBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/counters.h"
#include "core/base/err.h"
#include "edge/clock.h"
#include "wire/kubeconfig/kubeconfig.h"

/*
 * Calls to the API server by libcurl over HTTP/1.1 keep-alive connections
 * (HTTP/2 does not heal from a hung connection).  `struct kube` is what all
 * threads share: address, TLS, credentials.  A `kube_stream` is one thread's
 * blocking call, a `kube_pool` one thread's many calls in flight.  All stream
 * and pool objects are freed before the kube.  Where access.exec is to give the
 * token, kube_new runs it, and calls do when it expires.  The process must have SIGPIPE
 * ignored or blocked: OpenSSL writes to sockets without MSG_NOSIGNAL.  Proxy
 * variables count as for curl, but never for loopback.
 */

/* KUBERNETES_SERVICE_HOST/PORT and the service account's files (client-go
 * rest.InClusterConfig).  root replaces "/var/run/secrets/kubernetes.io/
 * serviceaccount" in tests.  ERR_INPUT: not in a cluster. */
int kube_in_cluster(const char *root, struct kubeconfig *out, struct err *e);

struct kube_options {
	struct kubeconfig access;	/* where and as whom; taken over (and
					   zeroed) where kube_new succeeds */
	struct clock *clock;		/* fed by Date headers; or NULL */
	struct counters *counters;	/* rest_client_requests; or NULL */
	const char *user_agent;		/* not "curl…": it gets pretty JSON */
	int64_t connect_ms;		/* name, TCP, TLS; 0 = libcurl's */
	int keepalive_idle_s, keepalive_probe_s;
	int64_t token_ms;		/* a token file is read again */
	int64_t exec_ms;		/* for a plugin to end; 0 = 60 s */
	int64_t rest_ms;		/* a pool idle for so long closes its
					   connections; 0 = 15 s */
};

struct kube;
struct kube *kube_new(struct kube_options *o, struct err *e);
void kube_free(struct kube *k);

struct kube_request {
	const char *method;	/* "GET", "PATCH", "POST", "DELETE" */
	const char *path;	/* "/api/v1/nodes?limit=500" */
	const char *accept;	/* NULL: application/json */
	const char *content_type;	/* with a body */
	const char *body;	/* copied */
	size_t body_bytes;
	int64_t timeout_ms;	/* of the whole call; 0 = none (a watch) */
	int64_t silent_ms;	/* no byte for that long ends it; 0 = never */
	int64_t fence_ms;	/* boot time: nothing is sent from then on, not
				   even by a process that slept; 0 = never */
};

struct kube_reply {
	int status;		/* HTTP; 0 = no answer, the error says why */
	int64_t retry_after_ms;	/* seconds or date (RFC 9110), at most 5
				   minutes; -1 = none */
	const char *body;	/* never NULL; NUL-terminated, valid until the
				   next run or finished, or the free */
	size_t body_bytes;
};

/* kube_stream: 2xx bodies go to `sink` as they arrive.  All others, and those
 * of a stream without a sink or of a pool, end up in reply->body: 2xx up to
 * ITEM_BYTES_MAX, the rest up to ENVELOPE_BYTES_MAX; beyond: ERR_LIMIT. */
typedef int kube_sink(void *ctx, const char *bytes, size_t n, struct err *e);

struct kube_stream;
struct kube_stream *kube_stream_new(struct kube *k, struct err *e);
void kube_stream_free(struct kube_stream *s);

/* Blocks.  0: an HTTP answer came and ended whole (reply->status says which).
 * -1: ERR_TIMEOUT (also silence), ERR_CUT, ERR_TLS, ERR_SYSTEM, ERR_LIMIT,
 * ERR_CANCELLED, or what the sink said; reply->status is set if a head came.
 * `opened` (may be NULL) is called once when the head of a 2xx answer is
 * there.  On 401 (pool: too) the token is read again and, if there is another
 * one, the call made once more.  Redirects are not followed. */
int kube_stream_run(struct kube_stream *s, const struct kube_request *q,
		    kube_sink *sink, void (*opened)(void *ctx), void *ctx,
		    struct kube_reply *reply, struct err *e);

/* From any thread: a call under way ends at once with ERR_CANCELLED.
 * kube_stream_cancel stays in force; kube_stream_nudge ends only the call
 * that is running now. */
void kube_stream_cancel(struct kube_stream *s);
void kube_stream_nudge(struct kube_stream *s);

/* Since the call under way last turned its loop, each second at least: a
 * silent watch is no dead thread.  Any thread. */
int64_t kube_stream_heartbeat_age_ms(const struct kube_stream *s);

struct kube_lanes;
/* n connections at most; n calls may be in flight. */
struct kube_lanes *kube_lanes_new(struct kube *k, unsigned n, struct err *e);
void kube_lanes_free(struct kube_lanes *p);	/* cuts what is in flight */
unsigned kube_lanes_room(const struct kube_lanes *p);
/* A kept-alive connection that ends before a byte of the answer costs no error:
 * libcurl makes the call again on a new one.  A write may so arrive twice: it
 * needs a precondition. */
int kube_lanes_start(struct kube_lanes *p, const struct kube_request *q,
		    uint64_t tag, struct err *e);

/* Waits for network, kube_lanes_wake or wait_ms. */
void kube_lanes_wait(struct kube_lanes *p, int64_t wait_ms);
void kube_lanes_wake(struct kube_lanes *p);	/* from any thread */

/* The next finished call, if any: true, with its tag.  *err_out is ERR_NONE
 * where an HTTP answer came.  reply->body is valid until the next call. */
bool kube_lanes_finished(struct kube_lanes *p, uint64_t *tag,
			struct kube_reply *reply, struct err *err_out);

#endif
