/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_KUBE_KUBE_CALL_H
#define EDGE_KUBE_KUBE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "edge/kube/kube.h"
#include "kube_parts.h"

/*
 * The interface between the parts of edge/kube and kube.c, the only file that
 * makes calls with libcurl.  A call is one request and its reply.  A lane is
 * one thread's event loop with its keep-alive connections.  This header is
 * private to edge/kube.
 */

/* Constant after kube_new, so any thread may read it. */
struct kube {
	struct kubeconfig access;
	struct kube_url url;
	struct kube_plugin
		*plugin; /* Has its own lock.  NULL if there is no plugin. */
	struct clock *clock;
	struct counters *counters;
	char *user_agent;
	int64_t connect_ms, token_ms, rest_ms;
	int keepalive_idle_s, keepalive_probe_s;
};

/* Accept, Content-Type, the caller's, Host, Authorization */
#define KUBE_LINES 5

struct kube_call {
	const struct kube *kube;
	/* The easy handle of libcurl.  headers and connect_to are its lists. */
	void *easy;
	void *headers, *connect_to;
	char detail[256]; /* libcurl's text about a failure. */
	char *url;
	char *lines[KUBE_LINES]; /* Lines of the request's head. */
	unsigned lines_n, lines_fixed;
	enum rest_method method;
	uint64_t tag; /* the caller's number for the call (kube_lanes_start) */

	int64_t timeout_ms, silent_ms, gather_ms, fence_ms;
	/* Boot time in ms of the start and of the last byte. */
	int64_t start_ms, last_ms;
	unsigned token_version;
	bool again;  /* Whether the call was sent again after a 401. */
	bool active; /* Whether the call is in a lane. */
	bool ended;  /* Whether the call has ended; err says how. */
	struct err err;

	struct kube_head head;
	kube_sink *sink; /* Gets a 2xx body.  If NULL, the body is kept. */
	void (*opened)(void *ctx);
	void *ctx;
	bool fed;   /* Whether bytes came since the last pause. */
	char *body; /* NULL while empty */
	size_t body_bytes, body_cap, answer_max;
};

/* These functions are in kube.c.  kube_call_new copies the request. */
struct kube_call *kube_call_new(const struct kube *k,
				const struct kube_request *q, struct err *e);
void kube_call_free(struct kube_call *c); /* The call must be in no lane. */
int kube_library_init(void);
void kube_library_done(void);

/* These functions are in kube_call.c.  They return -1 if memory is short. */
int kube_call_init(struct kube_call *c, const struct kube *k,
		   const struct kube_request *q);
void kube_call_done(struct kube_call *c);
int kube_call_authorize(struct kube_call *c, const char *token);
void kube_call_reset(struct kube_call *c); /* Prepares a new attempt. */

/* These functions of kube_call.c take the reply as it arrives.  They return -1,
 * with the reason in c->err, if the call has to end. */
int kube_call_take_head(struct kube_call *c, const char *line, size_t n);
int kube_call_take_body(struct kube_call *c, const char *bytes, size_t n);
void kube_call_reply(const struct kube_call *c, struct kube_reply *out);

/* kube_call_deadline returns when the call must be over, in ms of boot time, or
 * INT64_MAX if it has no deadline.  kube_call_overdue returns whether the
 * deadline has passed, and then sets c->err.  Both are in kube_call.c. */
int64_t kube_call_deadline(const struct kube_call *c);
bool kube_call_overdue(struct kube_call *c, int64_t boot_ms);
/* A CURLOPT_PREREQFUNCTION, which libcurl calls just before it sends the
 * request.  It returns 1, which stops the call, if the deadline has passed, and
 * otherwise 0. */
int kube_call_unsent(void *call, char *, char *, int, int);

/* Counts the call in rest_client_requests_total if it ended without a reply and
 * was not cancelled. */
void kube_call_unanswered(const struct kube_call *c);

/* A lane belongs to one thread.  Other threads may only call kube_lane_wake. */
struct kube_lane {
	/* The multi handle of libcurl, or NULL while the lane rests. */
	void *multi;
	/* poll_fd is an epoll of the sockets and of wake_fd, which is an
	 * eventfd. */
	int poll_fd, wake_fd;
	/* When libcurl's next timer is due (boot_ms), or INT64_MAX if there is
	 * none. */
	int64_t due_ms;
	/* The maximum number of connections, and the number of calls in
	 * flight. */
	unsigned connections, active;
	/* Whether a call got a 401 since the connections were opened. */
	bool refused;
};

/* These functions are in kube_lane.c. */
int kube_lane_init(struct kube_lane *l, unsigned connections, struct err *e);
void kube_lane_done(struct kube_lane *l); /* The lane must have no call. */
void kube_lane_wake(struct kube_lane *l); /* any thread */

/* Sleeps until there is something to do, until a wake-up, or for wait_ms.
 * Returns whether there was a wake-up. */
bool kube_lane_sleep(struct kube_lane *l, int64_t wait_ms);

/* Returns whether there is something to do now. */
bool kube_lane_ready(const struct kube_lane *l);
/* Sleeps until a wake-up, or for wait_ms, and ignores all other events. */
void kube_lane_pause(struct kube_lane *l, int64_t wait_ms);

/* Sends the call, or sends it again, with the current token. */
int kube_lane_start(struct kube_lane *l, struct kube_call *c,
		    struct kube_token *t, struct err *e);

/* These functions are in kube.c.  A call that is dropped before its end closes
 * its connection. */
int kube_lane_add(struct kube_lane *l, struct kube_call *c);
void kube_lane_drop(struct kube_lane *l, struct kube_call *c);

/* Moves all calls on as far as possible without waiting.  Returns how many
 * calls have ended. */
unsigned kube_lane_drive(struct kube_lane *l);

/* Closes all connections.  The next call opens new ones. */
void kube_lane_rest(struct kube_lane *l);

#endif
