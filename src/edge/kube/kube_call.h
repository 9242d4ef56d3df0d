/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_KUBE_KUBE_CALL_H
#define EDGE_KUBE_KUBE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "edge/kube/kube.h"
#include "kube_parts.h"

/*
 * How kube_stream and kube_pool speak to kube.c, the one file that knows
 * libcurl: a call is one request and its answer, a lane one thread's event
 * loop with its keep-alive connections.
 */

struct kube {	/* not changed after kube_new: any thread */
	struct kubeconfig access;
	struct kube_url url;
	struct kube_plugin *plugin;	/* locked; NULL: no exec */
	struct clock *clock;
	struct counters *counters;
	char *user_agent;
	int64_t connect_ms, token_ms, rest_ms;
	int keepalive_idle_s, keepalive_probe_s;
};

#define KUBE_LINES 4	/* Accept, Content-Type, Host, Authorization */

struct kube_call {
	const struct kube *kube;
	void *easy;		/* libcurl's, as are headers and connect_to */
	void *headers, *connect_to;
	char detail[256];	/* libcurl's words for what went wrong */
	char *url;
	char *lines[KUBE_LINES];	/* of the request's head */
	unsigned lines_n, lines_fixed;
	enum rest_method method;
	uint64_t tag;		/* the pool's */

	int64_t timeout_ms, silent_ms, fence_ms;
	int64_t start_ms, last_ms;	/* boot time; of the last byte */
	unsigned token_version;
	bool again;		/* made once more after a 401 */
	bool active;		/* in a lane */
	bool ended;		/* err says how */
	struct err err;

	struct kube_head head;
	kube_sink *sink;	/* of a 2xx body; NULL: it is kept, too */
	void (*opened)(void *ctx);
	void *ctx;
	char *body;		/* NULL while empty */
	size_t body_bytes, body_cap;
};

/* kube.c.  The request is copied. */
struct kube_call *kube_call_new(const struct kube *k,
				const struct kube_request *q, struct err *e);
void kube_call_free(struct kube_call *c);	/* not while in a lane */
int kube_library_init(void);
void kube_library_done(void);

/* kube_call.c: -1 is "out of memory". */
int kube_call_init(struct kube_call *c, const struct kube *k,
		   const struct kube_request *q);
void kube_call_done(struct kube_call *c);
int kube_call_authorize(struct kube_call *c, const char *token);
void kube_call_reset(struct kube_call *c);	/* nothing has come yet */

/* kube_call.c: what arrives; -1 ends the call with c->err. */
int kube_answer_head(struct kube_call *c, const char *line, size_t n);
int kube_answer_body(struct kube_call *c, const char *bytes, size_t n);
void kube_answer_reply(const struct kube_call *c, struct kube_reply *out);

/* kube_call.c: when it must be over.  INT64_MAX: never. */
int64_t kube_call_deadline(const struct kube_call *c);
bool kube_call_overdue(struct kube_call *c, int64_t boot_ms);
/* A CURLOPT_PREREQFUNCTION: 0, or 1 where it is over before it is sent. */
int kube_call_unsent(void *call, char *, char *, int, int);

/* No answer came (it is counted as such). */
void kube_call_unanswered(const struct kube_call *c);

/* One thread's, but for kube_lane_wake. */
struct kube_lane {
	void *multi;		/* libcurl's; NULL while resting */
	int wake_fd;		/* an eventfd */
	unsigned connections, active;	/* at most; calls under way */
	bool refused;		/* by a 401 since connections were opened */
};

/* kube_lane.c */
int kube_lane_init(struct kube_lane *l, unsigned connections, struct err *e);
void kube_lane_done(struct kube_lane *l);	/* no call may be in it */
void kube_lane_wake(struct kube_lane *l);	/* any thread */

/* Sends the call, or sends it again: with the token as it is now. */
int kube_lane_start(struct kube_lane *l, struct kube_call *c,
		    struct kube_token *t, struct err *e);

/* kube.c.  A call that is dropped under way takes its connection along. */
int kube_lane_add(struct kube_lane *l, struct kube_call *c);
void kube_lane_drop(struct kube_lane *l, struct kube_call *c);

/* Does what can be done now; the number of calls that ended by it. */
unsigned kube_lane_drive(struct kube_lane *l);

/* Sleeps until there is something to do, a wake-up (true), or wait_ms. */
bool kube_lane_sleep(struct kube_lane *l, int64_t wait_ms);

/* Closes all connections; the next call opens new ones. */
void kube_lane_rest(struct kube_lane *l);

#endif
