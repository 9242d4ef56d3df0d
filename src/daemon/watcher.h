/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_WATCHER_H
#define DAEMON_WATCHER_H

#include "core/rules/admit.h"
#include "edge/timing.h"
#include "state.h"
#include "worker.h"

/* A worker that keeps one resource listed and watched.  Where no watcher of a
 * kind is needed its pointer is NULL, and every function here passes it by. */
struct watcher;

/* All of it outlives the watcher. */
struct watcher_setup {
	struct state *shared;
	struct kube *kube;
	enum kind kind;
	const struct hold_key *hold;
	const struct timing *timing;
};

/* NULL: *e says why.  The worker's stop ends the call under way; state_stop
 * has to come before it. */
struct watcher *watcher_new(const struct watcher_setup *o,
			    struct worker *worker, struct err *e);
/* Any thread: lists anew, now. */
void watcher_restart(struct watcher *w);
void watcher_free(struct watcher *w);	/* after the join */

#endif
