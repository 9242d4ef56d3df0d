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
 * writes the output that stdout's reader has not taken yet.  Such a function
 * fails with ERR_TIMEOUT when until_ms has passed, and with ERR_CANCELLED on
 * SIGINT, SIGTERM or SIGHUP; a second one of these ends the process at once.
 */
struct session_setup {
	struct kube *kube;
	const char *program; /* prefix of the lines on stderr */
	const struct timing *timing;
	struct output *out; /* the command's output, or NULL if none */
	/* Boot time at which the session ends; INT64_MAX: never. */
	int64_t until_ms;
	unsigned calls; /* how many calls may be in flight */

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
#define SESSION_LOOK_MS 100 /* how often it looks for signals and until_ms */

struct session {
	struct session_setup s;
	struct kube_lanes *lanes;
	struct signals signals;
	struct pace pace;
};

/* Blocks SIGINT, SIGTERM and SIGHUP until session_close.  The setup's pointers
 * are borrowed.  It returns -1 on failure, and *e says why; call session_close
 * even then. */
int session_open(struct session *n, const struct session_setup *s,
		 struct err *e);
void session_close(struct session *n);

/* These make calls as kube_lanes does.  A timeout_ms of 0 becomes that of the
 * method. */
int session_start(struct session *n, struct kube_request *q, uint64_t tag,
		  struct err *e);
/* Waits for the next call to end.  *no_answer says why there is no answer to
 * it; its code is ERR_NONE if there is one.  It returns -1 if the time is up or
 * a signal came. */
int session_finished(struct session *n, uint64_t *tag, struct kube_reply *r,
		     struct err *no_answer, struct err *e);
/* Makes one turn of a wait, without checking the time.  Returns true if one of
 * the caller's calls has ended. */
bool session_turn(struct session *n, int64_t wait_ms, uint64_t *tag,
		  struct kube_reply *r, struct err *no_answer);

/* Makes one call and waits for the reply.  No other call may be in flight.  It
 * tries again if there is no reply or the API server is busy, and says so once.
 * *r stays valid until the next call. */
int session_ask(struct session *n, struct kube_request *q, struct kube_reply *r,
		struct err *e);
/* Waits for `ms`.  The reply of a call that ends meanwhile is lost, so the
 * caller should have no call in flight. */
int session_sleep(struct session *n, int64_t ms, struct err *e);

/* The list that session_list reads, and the functions that it calls. */
struct session_list {
	const char *path, *accept; /* path ends where limit= may follow;
					   accept NULL: application/json */
	void (*begin)(void *ctx);  /* may be NULL */
	int (*item)(void *ctx, const char *bytes, size_t n,
		    struct err *e); /* a split_item_fn: bytes is NULL for
					   an item that is too large */
	void *ctx;
};
/* Passes each item of a list to `item`, one whole page after another.  `begin`
 * is called first, and again whenever the list has to start over.  It returns
 * 0, 1 if the API server does not serve the resource, or -1.  It fails as soon
 * as `item` fails. */
int session_list(struct session *n, const struct session_list *list,
		 struct err *e);

#endif
