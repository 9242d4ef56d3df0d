/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_EVENT_RECORDER_H
#define DAEMON_EVENT_RECORDER_H

#include "core/base/err.h"
#include "core/protocol/event_series.h"
#include "edge/clock.h"
#include "edge/kube/kube.h"
#include "edge/timing.h"
#include "worker.h"

/* The event recorder is the worker that writes our Events on NodePools.
 * core/protocol/event_series decides which Events to write and when.  If Events
 * cannot be written, nothing else in the program is affected. */
struct event_recorder;

struct event_recorder_setup {
	const struct clock *clock;
	struct kube *kube;
	const char *instance;	     /* the name of this replica; copied */
	const struct timing *timing; /* only call_ms is used */
};

/* Main calls this.  It returns NULL on failure, and *e says why.  Stop the
 * worker only when no thread records Events any more.  worker_stop first waits
 * until the worker has tried each due write one time, but for no longer than
 * the shorter of EVENT_SERIES_STOP_MS and call_ms.  It then cuts the call in
 * progress.  Writes that wait for a later try are dropped. */
struct event_recorder *event_recorder_new(const struct event_recorder_setup *o,
					  struct worker *worker, struct err *e);
/* Main calls this after the join.  NULL is allowed. */
void event_recorder_free(struct event_recorder *t);

/* Records an Event.  Any thread may call it, even before the worker starts.  It
 * never waits for the API server.  It copies *what and its strings.  If t is
 * NULL, nothing happens. */
void event_recorder_say(struct event_recorder *t,
			const struct event_series_what *what);

#endif
