/* SPDX-License-Identifier: Apache-2.0 */
#include "sweeper.h"

#include <stdlib.h>

#include "core/base/limits.h"
#include "edge/log.h"
#include "job.h"
#include "notes.h"

/*
 * This worker has several keep-alive connections, the lanes.  It asks
 * core/controller for actions while a job is free.  It sleeps in
 * kube_lanes_wait until a reply, a wake-up or the next deadline, and it reports
 * each outcome to core/controller.  It makes no decisions.
 */

struct sweeper {
	struct worker *worker;
	struct job_env env;
	struct kube_lanes *lanes;
	struct watcher *const *watchers;
	struct event_recorder *recorder;
	unsigned concurrency, in_flight;
	/* An array of `concurrency` jobs.  The tag of a request is the index of
	 * its job. */
	struct job *jobs;
};

static void
finish(struct sweeper *w, struct job *j, const struct controller_outcome *o)
{
	state_done(w->env.shared, o);
	j->used = false;
	w->in_flight--;
}

/* Reports that the action failed.  The action may have been performed all the
 * same. */
static void
finish_failed(struct sweeper *w, struct job *j)
{
	finish(w, j,
	       &(struct controller_outcome){.code = CONTROLLER_FAILED,
					    .action = &j->action,
					    .retry_after_ms = -1});
}

static void
job_begin(struct sweeper *w, struct job *j)
{
	struct err e = {0};

	if (job_start(&w->env, j, (uint64_t)(j - w->jobs), w->lanes, &e) == 0)
		return;
	LOG(LOG_ERROR, "request not sent", LS("name", j->action.name),
	    LS("err", e.text));
	finish_failed(w, j);
}

/* Gets the next todo.  With MODE_OBSERVE, writes are only logged (job_tell) and
 * then skipped. */
static struct controller_todo
next(struct sweeper *w)
{
	struct controller_todo todo = state_next(w->env.shared);
	struct controller_outcome o;

	while (todo.step == CONTROLLER_ACT && todo.action.observed) {
		job_tell(&w->env, &todo.action, &o);
		state_done(w->env.shared, &o);
		worker_beat(w->worker);
		todo = state_next(w->env.shared);
	}
	return todo;
}

/* Begins actions until there is nothing to do or no free job.  Returns after
 * how many milliseconds to call this again. */
static int64_t
take_actions(struct sweeper *w)
{
	for (unsigned i = 0; i < w->concurrency; i++) {
		struct job *j = &w->jobs[i];
		struct controller_todo todo;

		if (j->used)
			continue;
		if (kube_lanes_ready(w->lanes) == 0)
			return LANES_PATIENCE_MS;
		todo = next(w);
		if (todo.step == CONTROLLER_WAIT)
			return todo.wait_ms;
		job_init(j, &todo.action);
		w->in_flight++;
		job_begin(w, j);
	}
	return WORKER_BEAT_MS; /* no free job: a reply has to free one first */
}

static void
take_answers(struct sweeper *w)
{
	struct kube_reply r;
	struct controller_outcome o;
	struct err e;
	uint64_t tag;

	while (kube_lanes_finished(w->lanes, &tag, &r, &e)) {
		struct job *j = &w->jobs[tag];

		if (job_answered(&w->env, j, &r, &e, &o))
			finish(w, j, &o);
		else if (atomic_load(&w->env.shared->stopping))
			finish_failed(w, j);
		else
			job_begin(w, j);
	}
}

static void
housekeeping(struct sweeper *w)
{
	int64_t by_ms;

	notes_report(w->env.shared, w->env.rules, w->recorder);
	for (int k = 0; k < VIEW_COUNT; k++)
		if (state_wants_list(w->env.shared, (enum kind)k))
			watcher_restart(w->watchers[k]);
	if (clock_shifted(w->env.shared->clock, &by_ms))
		LOG(LOG_WARN, "API server time shifted", LI("ms", by_ms));
}

static void
sweeper_run(void *ctx)
{
	struct sweeper *w = ctx;
	bool stopping = false;

	/* When the process is stopping, the sweeper takes no new action but
	 * waits for every reply. */
	while (!stopping || w->in_flight > 0) {
		int64_t wait_ms = WORKER_BEAT_MS;

		worker_beat(w->worker);
		if (!stopping)
			wait_ms = take_actions(w);
		kube_lanes_wait(w->lanes, worker_nap_ms(wait_ms));
		take_answers(w);
		housekeeping(w);
		stopping = atomic_load(&w->env.shared->stopping);
	}
}

static const struct worker_kind sweeper_kind = {
	.name = "sweeper",
	.run = sweeper_run,
};

struct sweeper *
sweeper_new(const struct sweeper_setup *o, struct worker *worker, struct err *e)
{
	struct sweeper *w = calloc(1, sizeof(*w));

	if (w == NULL) {
		err_set(e, ERR_SYSTEM, "no memory for the sweeper");
		return NULL;
	}
	w->worker = worker;
	w->env = (struct job_env){
		.shared = o->shared, .rules = o->rules, .timing = o->timing};
	w->watchers = o->watchers;
	w->recorder = o->recorder;
	w->concurrency = o->concurrency;
	w->jobs = calloc(o->concurrency, sizeof(*w->jobs));
	if (w->jobs == NULL)
		err_set(e, ERR_SYSTEM, "no memory for the sweeper");
	else
		w->lanes = kube_lanes_new(o->kube, o->concurrency, e);
	if (w->lanes == NULL) {
		sweeper_free(w);
		return NULL;
	}
	state_sweeper(o->shared, w->lanes);
	worker_init(worker, &sweeper_kind, w, NULL);
	return w;
}

void
sweeper_free(struct sweeper *w)
{
	if (w == NULL)
		return;
	state_sweeper(w->env.shared, NULL);
	kube_lanes_free(w->lanes);
	free(w->jobs);
	free(w);
}
