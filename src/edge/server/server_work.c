/* SPDX-License-Identifier: Apache-2.0 */
#include "server_work.h"

#include <string.h>

#include "core/base/limits.h"

bool
work_has_room(struct work *w, const struct server_route *route)
{
	unsigned n = 0;

	pthread_mutex_lock(&w->lock);
	for (const struct request *r = w->first; r != NULL; r = r->next)
		n += r->route == route;
	pthread_mutex_unlock(&w->lock);
	return n < SERVER_WAITING_MAX;
}

static void
refuse(struct work *w, struct request *r)
{
	r->refusal = 503;
	w->calls.ready(w->calls.ctx, r);
}

void
work_put(struct work *w, struct request *r)
{
	bool stop;

	pthread_mutex_lock(&w->lock);
	stop = w->stop;
	if (!stop) {
		r->next = NULL;
		*w->last = r;
		w->last = &r->next;
		pthread_cond_signal(&w->turn);
	}
	pthread_mutex_unlock(&w->lock);
	if (stop)
		refuse(w, r);
}

/* Takes the next request of the queue, and waits for one if there is none.
 * Returns NULL if the worker has to stop and the queue is empty. */
static struct request *
next(struct work *w, bool *stop)
{
	struct request *r;

	pthread_mutex_lock(&w->lock);
	while (w->first == NULL && !w->stop)
		pthread_cond_wait(&w->turn, &w->lock);
	*stop = w->stop;
	r = w->first;
	if (r != NULL)
		w->first = r->next;
	if (w->first == NULL)
		w->last = &w->first;
	pthread_mutex_unlock(&w->lock);
	return r;
}

/* Cuts one connection with an unread reply, and waits for a change.  Call it
 * under the lock, which it releases while it waits.  The change comes from
 * work_forget, when the serving thread closes the connection that was cut.  The
 * change may also come from work_sends, because a reply that is not being sent
 * yet cannot be cut. */
static void
cut_one(struct work *w)
{
	unsigned before = w->changes;

	pthread_mutex_unlock(&w->lock);
	conns_cut_unread(w->conns);
	pthread_mutex_lock(&w->lock);
	while (w->changes == before && !w->stop)
		pthread_cond_wait(&w->turn, &w->lock);
}

static void
make_room(struct work *w, struct request *r)
{
	r->unread = r->reply.body_bytes;
	pthread_mutex_lock(&w->lock);
	while (w->unread > 0 && w->unread + r->unread > w->unread_max &&
	       !w->stop)
		cut_one(w);
	w->unread += r->unread;
	pthread_mutex_unlock(&w->lock);
}

static void
change(struct work *w, size_t read)
{
	pthread_mutex_lock(&w->lock);
	w->unread -= read;
	w->changes++;
	pthread_cond_signal(&w->turn);
	pthread_mutex_unlock(&w->lock);
}

void
work_sends(struct work *w, struct conn *c, const struct request *r)
{
	if (r->unread == 0)
		return;
	conn_unread(c, true);
	change(w, 0);
}

/* conn_unread has to come first.  After `change` the worker may choose a
 * connection to cut, and wait for the next change.  If it chose c, there would
 * be no next change, because the reply on c is already forgotten. */
void
work_forget(struct work *w, struct conn *c, const struct request *r)
{
	if (r->unread == 0)
		return;
	conn_unread(c, false);
	change(w, r->unread);
}

static void *
worker(void *arg)
{
	struct work *w = arg;
	struct request *r;
	bool stop;

	while ((r = next(w, &stop)) != NULL) {
		if (stop) {
			refuse(w, r);
			continue;
		}
		w->calls.run(w->calls.ctx, r);
		make_room(w, r);
		w->calls.ready(w->calls.ctx, r);
	}
	return NULL;
}

int
work_init(struct work *w, struct conns *conns, size_t unread_max,
	  const struct work_calls *calls, struct err *e)
{
	int rc;

	*w = (struct work){
		.calls = *calls, .conns = conns, .unread_max = unread_max};
	w->last = &w->first;
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->turn, NULL);
	rc = pthread_create(&w->thread, NULL, worker, w);
	w->runs = rc == 0;
	if (w->runs)
		return 0;

	(void)pthread_mutex_destroy(&w->lock);
	(void)pthread_cond_destroy(&w->turn);
	return err_set(e, ERR_SYSTEM, "start the worker thread: %s",
		       strerror(rc));
}

void
work_stop(struct work *w)
{
	if (!w->runs)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->turn);
	pthread_mutex_unlock(&w->lock);
	(void)pthread_join(w->thread, NULL);
}

void
work_done(struct work *w)
{
	if (!w->runs)
		return;
	(void)pthread_mutex_destroy(&w->lock);
	(void)pthread_cond_destroy(&w->turn);
}
