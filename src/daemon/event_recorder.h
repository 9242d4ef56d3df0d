/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_EVENT_RECORDER_H
#define DAEMON_EVENT_RECORDER_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/protocol/event_series.h"
#include "edge/clock.h"
#include "edge/kube/kube.h"
#include "edge/timing.h"
#include "worker.h"

/* The worker that writes our Events on NodePools: core/protocol/event_series
 * says which and when.  Whatever becomes of them, nothing else in the program
 * notices. */
struct event_recorder;

struct event_recorder_setup {
	const struct clock *clock;
	struct kube *kube;
	const char *instance;		/* this replica's name; copied */
	const struct timing *timing;	/* call_ms */
};

/* NULL: *e says why.  The worker's stop comes when nobody says more.  It waits
 * while what is due is tried once, for EVENT_SERIES_STOP_MS at most (or one
 * call_ms, if that is shorter), and then cuts the call.  What waits for a
 * later try is dropped. */
struct event_recorder *event_recorder_new(const struct event_recorder_setup *o,
					  struct worker *worker,
					  struct err *e);
void event_recorder_free(struct event_recorder *t);	/* after the join; NULL
							   is fine */

/* Any thread, also before the start; never waits for the API server.  What
 * `what` points to is copied.  t is NULL: nobody is told. */
void event_recorder_say(struct event_recorder *t,
			const struct event_series_what *what);

#endif
