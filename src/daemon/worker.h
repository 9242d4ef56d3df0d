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
 * the event recorder or the renewer of certificates.  `serve` has an array of
 * them.  The object that a thread works on is made with x_new(…, worker, …),
 * which calls worker_init, and freed with x_free after the join.
 *
 *	NEW ── worker_start ─▶ RUNNING ── run returns ─▶ ENDED
 *	                          └──── worker_join ───────┴─▶ JOINED
 *
 * Main makes each transition but the one to ENDED, which is the thread's own.
 * A zeroed worker is one that the configuration does not need: it stays NEW,
 * and every call passes it by.
 */
#define WORKER_BEAT_MS 1000	/* no thread sleeps longer between two beats */

/* What all workers of one kind have in common. */
struct worker_kind {
	const char *name;	/* of its check at /livez */
	void (*run)(void *ctx);	/* the thread's body */
	/* Asks the body to return; called at most once, by main, and may wait
	 * for a bounded time.  NULL: state_stop is all it takes. */
	void (*stop)(void *ctx);
};

enum worker_state {
	WORKER_NEW,
	WORKER_RUNNING,
	WORKER_ENDED,
	WORKER_JOINED,
};

struct worker {
	const struct worker_kind *kind;	/* NULL: not needed */
	void *ctx;
	const struct kube_stream *stream;	/* of its calls; or NULL */
	pthread_t thread;
	_Atomic enum worker_state state;
	_Atomic int64_t beat_ms;	/* boot time */
	bool asked;	/* to stop; main's */
	bool troubled;	/* the log says so; the thread's */
};

/* Main, before the start.  ctx and stream outlive the join. */
void worker_init(struct worker *w, const struct worker_kind *kind, void *ctx,
		 const struct kube_stream *stream);

/* Main.  -1: the thread cannot be made, and the worker stays NEW. */
int worker_start(struct worker *w, struct err *e);
/* Main.  Only the first call counts, and only if the worker was started. */
void worker_stop(struct worker *w);
/* Main.  Waits until the thread has ended. */
void worker_join(struct worker *w);

/* Any thread.  True, too, for one that was never started. */
bool worker_ended(const struct worker *w);
/* Any thread.  Has it ended, or beaten within max_ms?  What counts is the
 * later of its own beat and its call's: a silent watch is no dead thread. */
bool worker_is_well(const struct worker *w, int64_t max_ms);

/* All that follows: the worker's own thread. */
void worker_beat(struct worker *w);
/* For how long of wait_ms it may sleep before it beats again. */
int64_t worker_nap_ms(int64_t wait_ms);

/* Trouble is told once when it begins and once when it ends.  Both give the
 * level for a line in the log: LOG_WARN at the begin of trouble, LOG_INFO at
 * its end, LOG_DEBUG while nothing changes. */
enum log_level worker_trouble(struct worker *w);
enum log_level worker_recovered(struct worker *w);

#endif
