/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SERVER_SERVER_WORK_H
#define EDGE_SERVER_SERVER_WORK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "server_conn.h"
#include "server_request.h"

/*
 * The worker is a thread for slow handlers, so that the serving thread can go
 * on with other requests.  A request belongs to the serving thread, except from
 * work_put until calls.ready:
 *
 *      WAITING → RUNNING → FULL → ready
 *
 * The serving thread puts the request into the queue (WAITING).  The worker
 * runs the request's handler (RUNNING).  While unread replies leave no room for
 * the new reply, the worker cuts the connections whose replies have been unread
 * for longest (FULL).
 *
 * This unit uses no HTTP library.  It has one leaf lock, and calls no other
 * unit while it holds the lock.
 */
struct work_calls {
	void (*run)(void *ctx, struct request *r); /* sets r->reply */
	void (*ready)(void *ctx, struct request *r);
	void *ctx;
};

struct work {
	struct work_calls calls;
	struct conns *conns;
	size_t unread_max;
	pthread_t thread;
	pthread_mutex_t lock;
	/* signals a new request, a change of the unread replies, or the stop */
	pthread_cond_t turn;
	struct request *first, **last; /* Queue of the waiting requests. */
	size_t unread;		       /* Bytes of unread replies. */
	/* Number of changes of the unread replies, for which cut_one waits. */
	unsigned changes;
	bool runs, stop;
};

/* Starts the worker.  Returns -1 on failure, and *e says why.  If work_init is
 * not called, the struct must be zeroed, and only work_stop, work_done and
 * work_forget may be called. */
int work_init(struct work *w, struct conns *conns, size_t unread_max,
	      const struct work_calls *calls, struct err *e);
/* Ends the worker after the request that it runs.  The requests that wait, and
 * those that are put later, become ready at once, refused with 503. */
void work_stop(struct work *w);
/* Call this when the serving threads have ended. */
void work_done(struct work *w);

/* Returns whether there is room for one more request of this route. */
bool work_has_room(struct work *w, const struct server_route *route);
void work_put(struct work *w, struct request *r);
/* Call this when the serving thread sends the reply of r on c.  It does nothing
 * if the worker has not made the reply. */
void work_sends(struct work *w, struct conn *c, const struct request *r);
/* Call this before the request r of c is freed.  If the worker has made the
 * reply of r, the reply no longer counts as unread. */
void work_forget(struct work *w, struct conn *c, const struct request *r);

#endif
