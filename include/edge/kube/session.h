/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_KUBE_SESSION_H
#define EDGE_KUBE_SESSION_H

#include "core/base/pace.h"
#include "edge/kube/kube.h"
#include "edge/output.h"
#include "edge/signals.h"
#include "edge/timing.h"

/*
 * Makes the calls of a command, on one thread.  Every function that waits also
 * writes output that is still in memory because stdout's reader was slow.  Such
 * a function fails with ERR_TIMEOUT when until_ms has passed, and with
 * ERR_CANCELLED on a signal of edge/signals.h; a second signal ends the process
 * at once.
 */
struct session_setup {
	struct kube *kube;
	const char *program; /* prefix of the lines on stderr */
	const struct timing *timing;
	struct output *out; /* the command's output, or NULL if none */
	/* Boot time at which the session ends; INT64_MAX: never. */
	int64_t until_ms;
	unsigned calls; /* maximum number of calls in flight */

	/* Other work of the thread while it waits, or NULL.  `turn` does the
	 * work that is due, and returns in how many milliseconds the next work
	 * is due.  `answered` gets the answer to each call that was started
	 * with SESSION_OTHER. */
	int64_t (*turn)(void *ctx);
	void (*answered)(void *ctx, const struct kube_reply *r,
			 const struct err *no_answer);
	void *ctx;
};
#define SESSION_OTHER UINT64_MAX
/* How often a wait checks for signals and until_ms. */
#define SESSION_LOOK_MS 100

struct session {
	struct session_setup s;
	struct kube_lanes *lanes;
	struct signals signals;
	struct pace pace;
};

/* Blocks the signals of edge/signals.h until session_close.  The setup's
 * pointers are borrowed.  It returns -1 on failure, and *e says why; call
 * session_close even then. */
int session_open(struct session *n, const struct session_setup *s,
		 struct err *e);
void session_close(struct session *n);

/* Starts a call as kube_lanes_start does.  If q->timeout_ms is 0, it becomes
 * list_ms for a GET, and call_ms for other methods (struct timing). */
int session_start(struct session *n, struct kube_request *q, uint64_t tag,
		  struct err *e);
/* Waits for the next call to end.  *no_answer says why there is no answer; its
 * code is ERR_NONE if there is an answer.  It returns -1 if the time is up or a
 * signal came. */
int session_finished(struct session *n, uint64_t *tag, struct kube_reply *r,
		     struct err *no_answer, struct err *e);
/* Makes one turn of a wait.  It checks neither the signals nor until_ms.
 * Returns true if a call has ended that was not started with SESSION_OTHER. */
bool session_turn(struct session *n, int64_t wait_ms, uint64_t *tag,
		  struct kube_reply *r, struct err *no_answer);

/* Makes one call and waits for the reply.  No other call may be in flight.  If
 * there is no reply, or a 429 or 5xx, it tries again after a pause, and prints
 * one line about it.  An answer that is too large (ERR_LIMIT) fails at once.
 * *r stays valid until the next call. */
int session_ask(struct session *n, struct kube_request *q, struct kube_reply *r,
		struct err *e);
/* Waits for `ms` milliseconds.  The reply of a call that ends during the wait
 * is lost, so the caller should have no call in flight. */
int session_sleep(struct session *n, int64_t ms, struct err *e);

/* The list that session_list reads, and the functions that it calls. */
struct session_list {
	/* path: without limit and continue, which session_list adds.  accept:
	 * NULL stands for application/json. */
	const char *path, *accept;
	void (*begin)(void *ctx); /* may be NULL */
	int (*item)(void *ctx, const char *bytes, size_t n,
		    struct err *e); /* a split_item_fn */
	void *ctx;
};
/* Passes each item of a list to `item`, page by page.  `begin` is called first,
 * and again whenever the list has to start over.  Returns 0 if the list is
 * complete, 1 if the API server does not serve the resource, or -1.  If `item`
 * fails, no further item is passed, and the list fails with that error. */
int session_list(struct session *n, const struct session_list *list,
		 struct err *e);

#endif
