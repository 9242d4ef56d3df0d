/* SPDX-License-Identifier: Apache-2.0 */
#include "event_recorder.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "edge/kube/answer.h"
#include "edge/log.h"
#include "moment.h"
#include "wire/api/event.h"
#include "wire/api/patch.h"
#include "wire/api/watch.h"

/*
 * One thread with a connection of its own: an Event waits for nobody, and
 * nobody for an Event.  It asks core/protocol/event_series what to write, writes it, and tells
 * what came of it.  Its lock is a leaf, held across calls of core/protocol/event_series alone:
 * who says something never waits for the API server.
 */

#define BEAT_MS 1000	/* it never sleeps longer: liveness */

struct event_recorder {
	const struct clock *clock;
	struct kube_stream *stream;
	int64_t call_ms;
	char instance[EVENT_INSTANCE_BYTES];
	pthread_t thread;
	_Atomic int64_t beat_ms;
	bool started;
	bool troubled;		/* said so in the log */
	uint64_t dropped;	/* said so, too */
	char body[EVENT_BYTES];

	pthread_mutex_t lock;	/* of what follows */
	pthread_cond_t turn;	/* more was said; stopping; ended */
	bool stopping, ended;
	struct event_series tell;
};

static void
lock(struct event_recorder *t)
{
	(void)pthread_mutex_lock(&t->lock);
}

static void
unlock(struct event_recorder *t)
{
	(void)pthread_mutex_unlock(&t->lock);
}

/* --- the call ------------------------------------------------------------ */

static enum event_series_outcome
outcome_of(const struct kube_reply *r)
{
	struct status st = {0};
	bool is_status;

	if (r->status >= 200 && r->status < 300)
		return EVENT_SERIES_WRITTEN;
	is_status = status_decode(r->body, r->body_bytes, &st);
	switch (r->status) {
	case 401:	/* another token may come: no word on this Event */
	case 408:
	case 429:
		return EVENT_SERIES_FAILED;
	case 404:	/* not a proxy's */
		return is_status || answer_unserved(r) ? EVENT_SERIES_GONE
						       : EVENT_SERIES_FAILED;
	case 409:	/* not a quota's conflict */
		return strcmp(st.reason, "AlreadyExists") == 0
			       ? EVENT_SERIES_EXISTS
			       : EVENT_SERIES_FAILED;
	default:
		return r->status >= 400 && r->status < 500
			       ? EVENT_SERIES_REFUSED
			       : EVENT_SERIES_FAILED;
	}
}

/* Once when trouble begins, once when it ends. */
static void
report(struct event_recorder *t, const struct event_series_todo *todo,
       enum event_series_outcome o, int status, const char *why)
{
	const struct event_series_event *v = todo->event;
	enum log_level level = t->troubled ? LOG_DEBUG : LOG_WARN;

	/* What exists is ours: an answer got lost. */
	if (o == EVENT_SERIES_WRITTEN || o == EVENT_SERIES_EXISTS) {
		LOG(t->troubled ? LOG_INFO : LOG_DEBUG, "event written",
		    LS("event", event_reason_name(v->reason)),
		    LS("nodepool", v->pool), LI("count", v->count));
		t->troubled = false;
		return;
	}
	/* An Event lives for an hour: it is made anew. */
	if (o == EVENT_SERIES_GONE && todo->step == EVENT_SERIES_PATCH)
		return;
	LOG(level, "event failed", LS("event", event_reason_name(v->reason)),
	    LS("nodepool", v->pool), LI("code", status), LS("err", why));
	t->troubled = true;
}

/* -1: cut short by the stop. */
static int
call(struct event_recorder *t, const struct event_series_todo *todo,
     enum event_series_outcome *o, int64_t *retry_after_ms)
{
	char path[EVENT_PATH_BYTES], text[ANSWER_TEXT];
	struct kube_request q = {.method = "POST",
				 .path = EVENT_PATH,
				 .content_type = "application/json",
				 .body = t->body,
				 .timeout_ms = t->call_ms};
	struct kube_reply r;
	struct err e = {0};
	struct buf body, b;
	int rc;

	buf_init(&body, t->body, sizeof(t->body));
	buf_init(&b, path, sizeof(path));
	if (todo->step == EVENT_SERIES_PATCH) {
		q.method = "PATCH";
		q.path = path;
		q.content_type = PATCH_MERGE_TYPE;
		event_path(&b, todo->event);
		event_series(&body, todo->event->count, todo->event->last_us);
	} else {
		event_create(&body, todo->event, t->instance);
	}
	assert(!body.full && !b.full);
	q.body_bytes = body.len;
	rc = kube_stream_run(t->stream, &q, NULL, NULL, NULL, &r, &e);
	if (rc != 0 && e.code == ERR_CANCELLED)
		return -1;
	*o = rc == 0 ? outcome_of(&r) : EVENT_SERIES_FAILED;
	*retry_after_ms = rc == 0 ? r.retry_after_ms : -1;
	report(t, todo, *o, r.status, rc == 0 ? answer_text(&r, text) : e.text);
	return 0;
}

/* --- the thread ---------------------------------------------------------- */

/* The next write, waited for; false: stopping, and none is due.  Its event is
 * nobody else's until event_series_done: it is read without the lock. */
static bool
next(struct event_recorder *t, struct event_series_todo *todo,
     uint64_t *dropped)
{
	struct timespec until;

	lock(t);
	for (;;) {
		atomic_store(&t->beat_ms, clock_boot_ms());
		*todo = event_series_next(&t->tell, clock_now(t->clock));
		*dropped = t->tell.dropped;
		if (todo->step != EVENT_SERIES_WAIT || t->stopping)
			break;
		until = moment(todo->wait_ms < BEAT_MS ? todo->wait_ms
						       : BEAT_MS);
		(void)pthread_cond_timedwait(&t->turn, &t->lock, &until);
	}
	unlock(t);
	return todo->step != EVENT_SERIES_WAIT;
}

/* More kinds at once than core/protocol/event_series has room for. */
static void
tell_dropped(struct event_recorder *t, uint64_t dropped)
{
	if (dropped == t->dropped || !log_ratelimit("events dropped", 3))
		return;
	LOG(LOG_WARN, "events dropped",
	    LI("events", (int64_t)(dropped - t->dropped)));
	t->dropped = dropped;
}

static void *
run(void *ctx)
{
	struct event_recorder *t = ctx;
	struct event_series_todo todo;
	enum event_series_outcome o;
	int64_t retry_after_ms;
	uint64_t dropped;

	while (next(t, &todo, &dropped)) {
		tell_dropped(t, dropped);
		if (call(t, &todo, &o, &retry_after_ms))
			break;
		lock(t);
		event_series_done(&t->tell, o, retry_after_ms,
				  clock_now(t->clock));
		unlock(t);
	}
	lock(t);
	t->ended = true;
	(void)pthread_cond_broadcast(&t->turn);
	unlock(t);
	return NULL;
}

void
event_recorder_say(struct event_recorder *t,
		   const struct event_series_what *what)
{
	struct now now;

	if (t == NULL)
		return;
	now = clock_now(t->clock);
	lock(t);
	event_series_say(&t->tell, what, now);
	(void)pthread_cond_broadcast(&t->turn);
	unlock(t);
}

/* --- birth and end ------------------------------------------------------- */

struct event_recorder *
event_recorder_new(const struct clock *c, struct kube *k, const char *instance,
	   const struct timing *timing, struct err *e)
{
	struct event_recorder *t = calloc(1, sizeof(*t));
	pthread_condattr_t attr;

	if (t == NULL) {
		err_set(e, ERR_SYSTEM, "no memory for the teller");
		return NULL;
	}
	t->stream = kube_stream_new(k, e);
	if (t->stream == NULL) {
		free(t);
		return NULL;
	}
	t->clock = c;
	t->call_ms = timing->call_ms;
	str_cut(t->instance, sizeof(t->instance), instance);
	event_series_init(&t->tell, clock_boot_us());
	atomic_store(&t->beat_ms, clock_boot_ms());
	(void)pthread_mutex_init(&t->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&t->turn, &attr);
	(void)pthread_condattr_destroy(&attr);
	return t;
}

int
event_recorder_start(struct event_recorder *t, struct err *e)
{
	if (pthread_create(&t->thread, NULL, run, t) != 0)
		return err_set(e, ERR_SYSTEM, "cannot start a thread");
	t->started = true;
	return 0;
}

void
event_recorder_join(struct event_recorder *t)
{
	struct timespec until;

	if (t == NULL || !t->started)
		return;
	until = moment(t->call_ms < EVENT_SERIES_STOP_MS
			       ? t->call_ms
			       : EVENT_SERIES_STOP_MS);
	lock(t);
	t->stopping = true;
	(void)pthread_cond_broadcast(&t->turn);
	while (!t->ended &&
	       pthread_cond_timedwait(&t->turn, &t->lock, &until) == 0)
		;
	unlock(t);
	kube_stream_cancel(t->stream);
	(void)pthread_join(t->thread, NULL);
	t->started = false;
}

void
event_recorder_free(struct event_recorder *t)
{
	if (t == NULL)
		return;
	kube_stream_free(t->stream);
	(void)pthread_cond_destroy(&t->turn);
	(void)pthread_mutex_destroy(&t->lock);
	free(t);
}

int64_t
event_recorder_heartbeat_age_ms(const struct event_recorder *t)
{
	int64_t own = clock_boot_ms() - atomic_load(&t->beat_ms);
	int64_t in_call = kube_stream_heartbeat_age_ms(t->stream);

	return own < in_call ? own : in_call;
}
