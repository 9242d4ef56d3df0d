/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ELECTOR_H
#define DAEMON_ELECTOR_H

#include "edge/timing.h"
#include "state.h"
#include "watcher.h"
#include "wire/config/config.h"
#include "worker.h"

/* The worker that keeps the Lease, and in it what the next leader is to know
 * (also where nobody is elected): core/protocol/lease says what to do. */
struct elector;

/* All of it but namespace_name outlives the elector. */
struct elector_setup {
	struct state *shared;
	struct kube *kube;
	const struct config *config;
	struct watcher *const *watchers;	/* VIEW_COUNT; they list anew
						   after a lead has ended */
	const char *namespace_name;	/* of the Lease, where the configuration
					   names none */
	const struct timing *timing;	/* soft_ms */
};

/* Before any worker starts: where a leader is elected, this replica does not
 * lead from here on.  NULL: *e says why.  The worker's stop means that all
 * work has ended: it gives the Lease up and ends. */
struct elector *elector_new(const struct elector_setup *o,
			    struct worker *worker, struct err *e);
void elector_free(struct elector *el);	/* after the join; NULL is fine */

#endif
