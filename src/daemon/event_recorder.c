/* SPDX-License-Identifier: Apache-2.0 */
#include "event_recorder.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "core/base/str.h"
#include "edge/kube/answer.h"
#include "edge/log.h"
#include "moment.h"
#include "wire/api/event.h"
#include "wire/api/patch.h"

/*
 * This worker has a connection of its own, so that the writes of Events and the
 * calls of other workers never wait for each other.  It asks
 * core/protocol/event_series what to write, writes it and reports the outcome.
 * Its leaf lock is held only across calls of core/protocol/event_series.  A
 * thread that records an Event therefore never waits for the API server.
 */

struct event_recorder {
	struct worker *worker;
	const struct clock *clock;
	struct kube_stream *stream;
	int64_t call_ms;
	char instance[EVENT_INSTANCE_BYTES];
	uint64_t dropped; /* the value of series.dropped that was logged last */
	char body[EVENT_BYTES];

	pthread_mutex_t lock; /* guards the members below */
	/* Signals a new Event, or that `stopping` or `ended` was set. */
	pthread_cond_t turn;
	bool stopping, ended;
	struct event_series series;
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

/* --- the call ------------------------------------------------------------- */

static enum event_series_code
event_code_of(const struct kube_reply *r)
{
	switch (answer_class(r)) {
	case ANSWER_OK:
		return EVENT_SERIES_WRITTEN;
	case ANSWER_GONE:
	case ANSWER_UNSERVED:
		return EVENT_SERIES_GONE;
	case ANSWER_EXISTS:
		return EVENT_SERIES_EXISTS;
	case ANSWER_EXPIRED:
	case ANSWER_INVALID:
	case ANSWER_REFUSED:
		return EVENT_SERIES_REFUSED;
	case ANSWER_CONFLICT: /* A quota is full, and may have room later. */
	case ANSWER_BUSY:
	case ANSWER_BLOCKED:
	case ANSWER_FAILED:
		break;
	}
	return EVENT_SERIES_FAILED;
}

/* Logs trouble when it begins and when it ends. */
static void
report(struct event_recorder *t, const struct event_series_todo *todo,
       enum event_series_code code, int status, const char *why)
{
	const struct event_series_event *v = todo->event;
	enum log_level level;

	/* An Event that exists already is ours: the reply to its creation was
	 * lost. */
	if (code == EVENT_SERIES_WRITTEN || code == EVENT_SERIES_EXISTS) {
		level = worker_recovered(t->worker);
		LOG(level, "event written",
		    LS("event", event_series_reason_name(v->reason)),
		    LS("nodepool", v->nodepool), LI("count", v->count));
		return;
	}
	/* The API server keeps an Event for an hour.  If the Event is gone,
	 * event_series creates it again. */
	if (code == EVENT_SERIES_GONE && todo->step == EVENT_SERIES_PATCH)
		return;
	level = worker_trouble(t->worker);
	LOG(level, "event failed",
	    LS("event", event_series_reason_name(v->reason)),
	    LS("nodepool", v->nodepool), LI("code", status), LS("err", why));
}

/* Writes the Event, sets *o and logs the result.  Returns -1 if the stop of the
 * worker has cut the call. */
static int
event_write(struct event_recorder *t, const struct event_series_todo *todo,
	    struct event_series_outcome *o)
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
	o->code = rc == 0 ? event_code_of(&r) : EVENT_SERIES_FAILED;
	o->retry_after_ms = rc == 0 ? r.retry_after_ms : -1;
	report(t, todo, o->code, r.status,
	       rc == 0 ? answer_text(&r, text) : e.text);
	return 0;
}

/* --- the thread ----------------------------------------------------------- */

/* Waits for the next write.  Returns false if the worker is stopping and no
 * write is due.  The event of the write belongs to this thread until
 * event_series_done, so it is read without the lock. */
static bool
next(struct event_recorder *t, struct event_series_todo *todo,
     uint64_t *dropped)
{
	struct timespec until;

	lock(t);
	for (;;) {
		worker_beat(t->worker);
		*todo = event_series_next(&t->series, clock_now(t->clock));
		*dropped = t->series.dropped;
		if (todo->step != EVENT_SERIES_WAIT || t->stopping)
			break;
		until = moment_after(worker_nap_ms(todo->wait_ms));
		(void)pthread_cond_timedwait(&t->turn, &t->lock, &until);
	}
	unlock(t);
	return todo->step != EVENT_SERIES_WAIT;
}

/* Logs how many Events core/protocol/event_series has dropped. */
static void
tell_dropped(struct event_recorder *t, uint64_t dropped)
{
	if (dropped == t->dropped || !log_ratelimit("events dropped", 3))
		return;
	LOG(LOG_WARN, "events dropped",
	    LI("events", (int64_t)(dropped - t->dropped)));
	t->dropped = dropped;
}

static void
recorder_run(void *ctx)
{
	struct event_recorder *t = ctx;
	struct event_series_todo todo;
	struct event_series_outcome o;
	uint64_t dropped;

	while (next(t, &todo, &dropped)) {
		tell_dropped(t, dropped);
		if (event_write(t, &todo, &o))
			break;
		lock(t);
		event_series_done(&t->series, &o, clock_now(t->clock));
		unlock(t);
	}
	lock(t);
	t->ended = true;
	(void)pthread_cond_broadcast(&t->turn);
	unlock(t);
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
	event_series_say(&t->series, what, now);
	(void)pthread_cond_broadcast(&t->turn);
	unlock(t);
}

/* --- making and freeing --------------------------------------------------- */

static void
recorder_stop(void *ctx)
{
	struct event_recorder *t = ctx;
	struct timespec until = moment_after(t->call_ms < EVENT_SERIES_STOP_MS
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
}

static const struct worker_kind event_recorder_kind = {
	.name = "event-recorder",
	.run = recorder_run,
	.stop = recorder_stop,
};

struct event_recorder *
event_recorder_new(const struct event_recorder_setup *o, struct worker *worker,
		   struct err *e)
{
	struct event_recorder *t = calloc(1, sizeof(*t));
	pthread_condattr_t attr;

	if (t == NULL) {
		err_set(e, ERR_SYSTEM, "no memory for the event recorder");
		return NULL;
	}
	t->stream = kube_stream_new(o->kube, e);
	if (t->stream == NULL) {
		free(t);
		return NULL;
	}
	t->worker = worker;
	t->clock = o->clock;
	t->call_ms = o->timing->call_ms;
	str_cut(t->instance, sizeof(t->instance), o->instance);
	event_series_init(&t->series, clock_boot_us());
	(void)pthread_mutex_init(&t->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&t->turn, &attr);
	(void)pthread_condattr_destroy(&attr);
	worker_init(worker, &event_recorder_kind, t, t->stream);
	return t;
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
