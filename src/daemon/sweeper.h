/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_SWEEPER_H
#define DAEMON_SWEEPER_H

#include "core/rules/rules.h"
#include "edge/timing.h"
#include "event_recorder.h"
#include "state.h"
#include "watcher.h"
#include "worker.h"

/* The sweeper is the worker that carries out the actions of core/controller,
 * with several calls in flight. */
struct sweeper;

/* Everything here must outlive the sweeper. */
struct sweeper_setup {
	struct state *shared;
	struct kube *kube;
	const struct rules *rules;
	struct watcher *const *watchers; /* one for each kind */
	struct event_recorder *recorder;
	const struct timing *timing;
	unsigned concurrency; /* maximum number of calls in flight */
};

/* Main calls this.  It returns NULL on failure, and *e says why.  After
 * state_stop the worker takes no more actions, waits for the replies in flight,
 * and ends. */
struct sweeper *sweeper_new(const struct sweeper_setup *o,
			    struct worker *worker, struct err *e);
/* Main calls this after the join.  NULL is allowed. */
void sweeper_free(struct sweeper *s);

#endif
