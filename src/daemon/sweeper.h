/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_SWEEPER_H
#define DAEMON_SWEEPER_H

#include "core/rules/admit.h"
#include "edge/timing.h"
#include "event_recorder.h"
#include "state.h"
#include "watcher.h"
#include "worker.h"

/* The worker that does what core/controller says. */
struct sweeper;

/* All of it outlives the sweeper. */
struct sweeper_setup {
	struct state *shared;
	struct kube *kube;
	const struct rules *rules;
	struct watcher *const *watchers;	/* VIEW_COUNT of them */
	struct event_recorder *teller;
	const struct timing *timing;
	unsigned concurrency;			/* calls in flight */
};

/* NULL: *e says why.  After state_stop the worker takes no more actions, waits
 * for the answers that are under way, and ends. */
struct sweeper *sweeper_new(const struct sweeper_setup *o,
			    struct worker *worker, struct err *e);
void sweeper_free(struct sweeper *s);	/* after the join; NULL is fine */

#endif
