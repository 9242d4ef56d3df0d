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
 * (HTTP/2 does not heal from a hung connection).
 *
 * `struct kube` is what all threads share: address, TLS, credentials.  A
 * `kube_stream` is one thread's blocking call, and `kube_lanes` are one
 * thread's many calls in flight.  Free all streams and lanes before the kube.
 *
 * If access.exec is to give the token, kube_new runs it, and calls run it again
 * when the token expires.  The process must have SIGPIPE ignored or blocked,
 * because OpenSSL writes to sockets without MSG_NOSIGNAL.  Proxy variables
 * count as for curl, but never for loopback.
 */

/* Finds the cluster by KUBERNETES_SERVICE_HOST/PORT and the service account's
 * files (client-go rest.InClusterConfig).  In tests root replaces
 * "/var/run/secrets/kubernetes.io/serviceaccount".  ERR_INPUT: this is not in a
 * cluster. */
int kube_in_cluster(const char *root, struct kubeconfig *out, struct err *e);

struct kube_options {
	struct kubeconfig access;	/* which API server, and as whom; if
					   kube_new succeeds it takes this over
					   and zeroes it */
	struct clock *clock;		/* fed by Date headers; NULL: none */
	struct counters *counters;	/* rest_client_requests; NULL: none */
	const char *user_agent;		/* not "curl…", which gets pretty
					   JSON */
	int64_t connect_ms;		/* for name, TCP and TLS; 0 =
					   libcurl's */
	int keepalive_idle_s, keepalive_probe_s;
	int64_t token_ms;		/* a token file is read again this
					   often */
	int64_t exec_ms;		/* how long a plugin may run; 0 = 60
					   s */
	int64_t rest_ms;		/* lanes that are idle for so long close
					   their connections; 0 = 15 s */
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
	int64_t silent_ms;	/* no byte for this long ends the call; 0 =
				   never */
	int64_t fence_ms;	/* boot time: nothing is sent from then on, not
				   even by a process that slept; 0 = never */
};

struct kube_reply {
	int status;		/* HTTP; 0 = no answer, and the error says
				   why */
	int64_t retry_after_ms;	/* from seconds or a date (RFC 9110), at most 5
				   minutes; -1 = none */
	const char *body;	/* never NULL; NUL-terminated, valid until the
				   next run or finished, or the free */
	size_t body_bytes;
};

/* The body of a 2xx answer to a stream goes to `sink` as it arrives.  All other
 * bodies, and those of lanes or of a stream without a sink, end up in
 * reply->body: 2xx up to ITEM_BYTES_MAX, the rest up to ENVELOPE_BYTES_MAX.  A
 * longer body is ERR_LIMIT. */
typedef int kube_sink(void *ctx, const char *bytes, size_t n, struct err *e);

struct kube_stream;
struct kube_stream *kube_stream_new(struct kube *k, struct err *e);
void kube_stream_free(struct kube_stream *s);

/* Makes one call, and blocks.
 *
 * 0: an HTTP answer came and ended whole; reply->status says which.  -1:
 * ERR_TIMEOUT (also for silence), ERR_CUT, ERR_TLS, ERR_SYSTEM, ERR_LIMIT,
 * ERR_CANCELLED, or what the sink said; reply->status is set if a head came.
 *
 * `opened` (may be NULL) is called once when the head of a 2xx answer is there.
 * On 401 the token is read again and, if there is another one, the call is made
 * once more; this also holds for lanes.  Redirects are not followed. */
int kube_stream_run(struct kube_stream *s, const struct kube_request *q,
		    kube_sink *sink, void (*opened)(void *ctx), void *ctx,
		    struct kube_reply *reply, struct err *e);

/* From any thread: end a call under way at once with ERR_CANCELLED.
 * kube_stream_cancel stays in force; kube_stream_nudge ends only the call that
 * is running now. */
void kube_stream_cancel(struct kube_stream *s);
void kube_stream_nudge(struct kube_stream *s);

/* Milliseconds since the call under way last turned its loop, which it does
 * each second at least.  So a silent watch does not look like a dead thread.
 * Any thread. */
int64_t kube_stream_heartbeat_age_ms(const struct kube_stream *s);

struct kube_lanes;
/* Makes lanes with at most n connections, so n calls may be in flight. */
struct kube_lanes *kube_lanes_new(struct kube *k, unsigned n, struct err *e);
void kube_lanes_free(struct kube_lanes *p);	/* cuts what is in flight */
unsigned kube_lanes_room(const struct kube_lanes *p);
/* Starts a call; tag comes back with its answer.  If a kept-alive connection
 * ends before a byte of the answer, libcurl makes the call again on a new one,
 * without an error.  So a write may arrive twice, and needs a precondition. */
int kube_lanes_start(struct kube_lanes *p, const struct kube_request *q,
		    uint64_t tag, struct err *e);

/* Waits until the network has something, kube_lanes_wake is called, or wait_ms
 * are over. */
void kube_lanes_wait(struct kube_lanes *p, int64_t wait_ms);
void kube_lanes_wake(struct kube_lanes *p);	/* from any thread */

/* Gives the next finished call and its tag; false: there is none.  *err_out is
 * ERR_NONE if an HTTP answer came.  reply->body is valid until the next call of
 * kube_lanes_finished. */
bool kube_lanes_finished(struct kube_lanes *p, uint64_t *tag,
			struct kube_reply *reply, struct err *err_out);

#endif
