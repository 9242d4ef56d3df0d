/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ELECTOR_H
#define DAEMON_ELECTOR_H

#include "edge/timing.h"
#include "state.h"
#include "watcher.h"
#include "wire/config/config.h"
#include "worker.h"

/* The elector is the worker that keeps the Lease.  The Lease also stores the
 * state that the next leader needs, so there is an elector even without leader
 * election.  core/protocol/lease decides what to do. */
struct elector;

/* Everything but namespace_name must outlive the elector. */
struct elector_setup {
	struct state *shared;
	struct kube *kube;
	const struct config *config;
	/* VIEW_COUNT watchers, one for each kind.  They list again when the
	 * lead changes. */
	struct watcher *const *watchers;
	/* The namespace of the Lease, if the configuration names none. */
	const char *namespace_name;
	const struct timing *timing; /* only soft_ms is used */
};

/* Main calls this before any worker starts.  With leader election, this replica
 * does not lead until the elector has got the Lease.  It returns NULL on
 * failure, and *e says why.  Stopping the worker makes the elector give up the
 * Lease and end.  Stop it only when sweeper and renewer have ended. */
struct elector *elector_new(const struct elector_setup *o,
			    struct worker *worker, struct err *e);
/* Main calls this after the join.  NULL is allowed. */
void elector_free(struct elector *el);

#endif
