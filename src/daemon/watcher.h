/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_WATCHER_H
#define DAEMON_WATCHER_H

#include "core/rules/rules.h"
#include "edge/timing.h"
#include "state.h"
#include "worker.h"

/* A watcher is a worker that keeps one resource listed and watched, as a
 * client-go reflector does.  If the configuration needs no watcher of a kind,
 * the pointer to that watcher is NULL.  Every function here ignores NULL. */
struct watcher;

/* Everything here must outlive the watcher. */
struct watcher_setup {
	struct state *shared;
	struct kube *kube;
	enum kind kind;
	const struct rules *rules;
	const struct timing *timing;
};

/* Main calls this.  It returns NULL on failure, and *e says why.  Stopping the
 * worker cuts the call in progress.  Call state_stop before you stop the
 * worker. */
struct watcher *watcher_new(const struct watcher_setup *o,
			    struct worker *worker, struct err *e);
/* Lists again at once.  Any thread may call it. */
void watcher_restart(struct watcher *w);
/* Main calls this after the join. */
void watcher_free(struct watcher *w);

#endif
