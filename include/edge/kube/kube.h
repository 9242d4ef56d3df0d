/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_KUBE_KUBE_H
#define EDGE_KUBE_KUBE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/counters.h"
#include "core/base/err.h"
#include "edge/clock.h"
#include "wire/kubeconfig/kubeconfig.h"

/*
 * Makes calls to the API server with libcurl, over HTTP/1.1 keep-alive
 * connections.  (libcurl would go on using a hung HTTP/2 connection for later
 * calls.)
 *
 * `struct kube` is what all threads share: address, TLS and credentials.  A
 * `kube_stream` makes one blocking call at a time.  `kube_lanes` make many
 * calls at once.  Each stream and each lanes belongs to one thread, except for
 * the functions marked "any thread".  Free all streams and lanes before the
 * kube.
 *
 * If the token comes from a credential plugin (access.exec), kube_new runs the
 * plugin, and calls run it again before the token expires and after a 401.  The
 * process must ignore or block SIGPIPE, because OpenSSL writes to sockets
 * without MSG_NOSIGNAL.  The proxy variables of curl apply, but never to
 * loopback addresses.
 */

/* Finds the cluster by KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and the
 * service account's files (client-go rest.InClusterConfig).  root is the folder
 * of these files; NULL stands for
 * "/var/run/secrets/kubernetes.io/serviceaccount".  The caller ends *out with
 * kubeconfig_done.  ERR_INPUT: this process does not run in a cluster. */
int kube_in_cluster(const char *root, struct kubeconfig *out, struct err *e);

/* A credential plugin and the token that it has printed, for all threads
 * (edge/exec). */
struct kube_plugin {
	/* Any thread: gets the present token.  If *text is NULL or is the token
	 * of another version, *text is freed and set to a copy of the present
	 * token, which the caller frees, and *version is set.  If it is time to
	 * renew the token, one thread runs the plugin while the others wait.
	 * The run is cut when *cancelled becomes true; `cancelled` may be NULL.
	 * Returns -1 with *e set if there is no token. */
	int (*get)(struct kube_plugin *p, const atomic_bool *cancelled,
		   char **text, unsigned *version, struct err *e);
	/* Any thread: reports that a call with the token of this version got a
	 * 401.  If no thread has replaced that token yet, this runs the plugin.
	 * Returns true if there is another token now. */
	bool (*refused)(struct kube_plugin *p, const atomic_bool *cancelled,
			unsigned version);
	void (*free)(struct kube_plugin *p);
};
/* Borrows access.  ms is the time limit of each run of the plugin.  The
 * function runs the plugin once, so that a plugin that fails makes the start
 * fail.  Returns NULL on failure, and *e says why. */
typedef struct kube_plugin *kube_plugin_new(const struct kubeconfig *access,
					    int64_t ms, struct err *e);

struct kube_options {
	/* The API server and the credentials.  If kube_new succeeds, it takes
	 * ownership of the contents and zeroes this member.  Otherwise the
	 * contents remain the caller's. */
	struct kubeconfig access;
	/* Receives the Date headers.  Borrowed, may be NULL. */
	struct clock *clock;
	/* For rest_client_requests_total.  Borrowed, may be NULL. */
	struct counters *counters;
	/* The name for the header User-Agent.  It must not begin with "curl":
	 * the API server pretty-prints its answers for curl. */
	const char *user_agent;
	/* Timeout for name resolution, TCP and TLS; 0: libcurl's default. */
	int64_t connect_ms;
	int keepalive_idle_s, keepalive_probe_s;
	int64_t token_ms; /* how often a token file is read again */
	/* NULL if no plugin may run; kube_new then fails with ERR_INPUT if
	 * `access` needs a plugin. */
	kube_plugin_new *plugin_new;
	int64_t exec_ms; /* how long a plugin may run; 0: 60 s */
	/* How long lanes may be idle before they close their connections; 0:
	 * LANES_REST_MS. */
	int64_t rest_ms;
};

struct kube;
/* Returns NULL on failure, and *e says why.  It makes no call, but may run the
 * plugin. */
struct kube *kube_new(struct kube_options *o, struct err *e);
void kube_free(struct kube *k); /* NULL is allowed */

/* The caller's function for the body of a 2xx answer.  It gets the body in
 * pieces as they arrive.  If it returns -1 with *e set, the call ends with that
 * error.  The bodies of other answers, and all bodies if there is no sink, are
 * kept in reply->body.  The limit is answer_max for a 2xx answer and
 * ENVELOPE_BYTES_MAX for others; a longer body is ERR_LIMIT. */
typedef int kube_sink(void *ctx, const char *bytes, size_t n, struct err *e);

/* One call.  All strings are copied when the call starts. */
struct kube_request {
	const char *method;	  /* "GET", "PATCH", "POST" or "DELETE" */
	const char *path;	  /* such as "/api/v1/nodes?limit=500" */
	const char *accept;	  /* NULL: application/json */
	const char *content_type; /* needed with a body */
	const char *header;	  /* another line of the head; NULL if none */
	const char *body;	  /* NULL if none */
	size_t body_bytes;
	/* Limit of a body that is kept; 0: ITEM_BYTES_MAX. */
	size_t answer_max;
	/* Limit of the whole call; 0: no limit, as for a watch. */
	int64_t timeout_ms;
	/* The call ends if no byte comes for this long; 0: no limit. */
	int64_t silent_ms;
	/* Streams only: how long to pause after some bytes have come, so that
	 * one wake-up takes many bytes; 0: no pause. */
	int64_t gather_ms;
	/* Boot time at which the call ends; 0: no limit.  The request is never
	 * sent later than that, even if the machine slept between the start of
	 * the call and the sending. */
	int64_t fence_ms;

	/* The next three members are for lanes only: kube_stream_run has
	 * arguments instead.  kube_lanes_wait calls `sink` and `opened`.  It
	 * calls `opened` (may be NULL) when the head of a 2xx answer has
	 * come. */
	kube_sink *sink; /* NULL: the body is kept */
	void (*opened)(void *ctx);
	void *ctx;
};

struct kube_reply {
	int status; /* HTTP status, or 0 if there is no answer */
	/* Retry-After, which may be seconds or a date (RFC 9110), cut to at
	 * most 5 minutes; -1 if there is none. */
	int64_t retry_after_ms;
	/* Never NULL, and NUL-terminated.  Valid until the next kube_stream_run
	 * or kube_lanes_finished, or until the stream or lanes are freed. */
	const char *body;
	size_t body_bytes;
};

struct kube_stream;
struct kube_stream *kube_stream_new(struct kube *k, struct err *e);
void kube_stream_free(struct kube_stream *s);

/* Makes one call, and blocks until it has ended.
 *
 * Returns 0 if a complete HTTP answer came; reply->status is its status.
 * Returns -1 with ERR_TIMEOUT (also after silent_ms), ERR_CUT, ERR_TLS,
 * ERR_SYSTEM, ERR_LIMIT, ERR_CANCELLED, ERR_INPUT (such as for a bad token
 * file), or the error of the sink.  Even on failure reply->status is set if the
 * head of an answer came.
 *
 * `opened` (may be NULL) is called once, when the head of a 2xx answer has
 * come.  After a 401 the token is read again.  If the token has changed, the
 * call is made once more, here as in lanes.  Redirects are not followed. */
int kube_stream_run(struct kube_stream *s, const struct kube_request *q,
		    kube_sink *sink, void (*opened)(void *ctx), void *ctx,
		    struct kube_reply *reply, struct err *e);

/* Any thread: both functions end the call in flight at once, with
 * ERR_CANCELLED.  After kube_stream_cancel, all later calls fail in the same
 * way.  kube_stream_nudge has no effect on later calls. */
void kube_stream_cancel(struct kube_stream *s);
void kube_stream_nudge(struct kube_stream *s);

/* Any thread: returns the milliseconds since the last round of the event loop.
 * During a call there is a round at least once a second, even if a watch is
 * silent.  Between calls the age grows. */
int64_t kube_stream_heartbeat_age_ms(const struct kube_stream *s);

struct kube_lanes;
/* Makes lanes with at most n connections, so n calls may be in flight. */
struct kube_lanes *kube_lanes_new(struct kube *k, unsigned n, struct err *e);
/* Ends the calls in flight and frees the lanes.  NULL is allowed. */
void kube_lanes_free(struct kube_lanes *p);
/* Returns how many more calls may be started now. */
unsigned kube_lanes_room(const struct kube_lanes *p);
/* Returns how many of the kube_lanes_room calls should be started now.  TLS
 * handshakes take processor time from the calls in flight.  The lanes therefore
 * open one connection first, and one more with each answer.  Lanes that have
 * been idle for rest_ms close their connections, and begin with one connection
 * again.  If no answer comes for LANES_PATIENCE_MS, this returns all of the
 * room. */
unsigned kube_lanes_ready(struct kube_lanes *p);
/* Starts a call; `tag` comes back with its answer.  ERR_LIMIT: there is no
 * room.  If a kept-alive connection ends before the first byte of the answer,
 * libcurl repeats the call on a new connection, without an error.  A write may
 * therefore arrive twice, and needs a precondition. */
int kube_lanes_start(struct kube_lanes *p, const struct kube_request *q,
		     uint64_t tag, struct err *e);

/* Makes progress with the calls, and waits until one of them may have ended,
 * kube_lanes_wake is called, or wait_ms have passed. */
void kube_lanes_wait(struct kube_lanes *p, int64_t wait_ms);
void kube_lanes_wake(struct kube_lanes *p); /* any thread */

/* Gets the reply and the tag of the next call that has ended.  Returns false if
 * there is none.  err_out->code is ERR_NONE if a complete HTTP answer came;
 * otherwise *err_out has the reason.  reply->body is valid until the next
 * kube_lanes_finished. */
bool kube_lanes_finished(struct kube_lanes *p, uint64_t *tag,
			 struct kube_reply *reply, struct err *err_out);

#endif
