/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_WORKER_H
#define DAEMON_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "edge/kube/kube.h"
#include "edge/log.h"

/*
 * A worker is one thread of the daemon: a watcher, the sweeper, the elector,
 * the event recorder or the certificate renewer.  `serve` has an array of
 * workers.  x_new(…, worker, …) makes the object that a thread works on and
 * calls worker_init.  x_free frees it after the join.
 *
 *	NEW ── worker_start ─▶ RUNNING ── run returns ─▶ ENDED
 *	                          └──── worker_join ───────┴─▶ JOINED
 *
 * Main makes every transition but the one to ENDED, which the thread makes
 * itself.  A zeroed worker is one that the configuration does not need: it
 * stays NEW, and every call ignores it.
 */
#define WORKER_BEAT_MS 1000 /* the longest sleep between two beats */

/* What all workers of one kind have in common. */
struct worker_kind {
	/* Name of each thread, and of the check of these workers in /livez.  At
	 * most 15 bytes. */
	const char *name;
	void (*run)(void *ctx); /* the body of the thread */
	/* Asks the body to return.  Main calls it once at most, and it may wait
	 * for a bounded time.  NULL: state_stop suffices. */
	void (*stop)(void *ctx);
};

enum worker_state {
	WORKER_NEW,
	WORKER_RUNNING,
	WORKER_ENDED,
	WORKER_JOINED,
};

struct worker {
	/* NULL if the configuration does not need this worker. */
	const struct worker_kind *kind;
	void *ctx;
	/* The stream with which the worker makes its calls, or NULL. */
	const struct kube_stream *stream;
	pthread_t thread;
	_Atomic enum worker_state state;
	_Atomic int64_t beat_ms; /* boot time of the last beat */
	/* Whether worker_stop was called.  Only main uses this. */
	bool asked;
	/* Whether there is trouble, which was logged when it began.  Only the
	 * thread uses this. */
	bool troubled;
};

/* Main calls this before the start.  ctx and stream must outlive the join. */
void worker_init(struct worker *w, const struct worker_kind *kind, void *ctx,
		 const struct kube_stream *stream);

/* Main calls this.  It returns -1 if the thread cannot be created, and the
 * worker stays NEW. */
int worker_start(struct worker *w, struct err *e);
/* Main calls this.  It has an effect only on a worker that was started, and
 * only once. */
void worker_stop(struct worker *w);
/* Main calls this.  It waits until the thread has ended. */
void worker_join(struct worker *w);

/* Any thread may call this.  It also returns true for a worker that was never
 * started. */
bool worker_ended(const struct worker *w);
/* Any thread may call this.  Returns whether the worker has ended, or has given
 * a sign of life within max_ms: a beat of its own, or of the call that it
 * makes.  The call counts because a thread in a silent watch is alive. */
bool worker_is_well(const struct worker *w, int64_t max_ms);

/* The worker's own thread calls these functions. */
void worker_beat(struct worker *w);
/* Returns how much of wait_ms the thread may sleep before its next beat. */
int64_t worker_nap_ms(int64_t wait_ms);

/* Trouble is logged when it begins and when it ends.  Both functions return the
 * level for a log line: LOG_WARN when trouble begins, LOG_INFO when it ends,
 * LOG_DEBUG while nothing changes. */
enum log_level worker_trouble(struct worker *w);
enum log_level worker_recovered(struct worker *w);

#endif
