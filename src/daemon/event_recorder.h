/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_EVENT_RECORDER_H
#define DAEMON_EVENT_RECORDER_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/protocol/event_series.h"
#include "edge/clock.h"
#include "edge/kube/kube.h"
#include "edge/timing.h"

/* The thread that writes our Events on NodePools: core/protocol/event_series says which and
 * when.  Whatever becomes of them, nothing else in the program notices. */
struct event_recorder;

/* instance: this replica's name, copied.  Of t, call_ms counts. */
struct event_recorder *event_recorder_new(const struct clock *c, struct kube *k,
			  const char *instance, const struct timing *t,
			  struct err *e);
int event_recorder_start(struct event_recorder *t, struct err *e);

/* Any thread, also before the start; never waits for the API server.  What
 * `what` points to is copied.  NULL: nobody is told. */
void event_recorder_say(struct event_recorder *t,
			const struct event_series_what *what);

/* Nobody says more.  What is due is tried once, for EVENT_SERIES_STOP_MS at most (or
 * one call_ms, if that is shorter); what waits for a later try is dropped.
 * Its heartbeat may be asked for until event_recorder_free.  NULL is fine. */
void event_recorder_join(struct event_recorder *t);
void event_recorder_free(struct event_recorder *t);
int64_t event_recorder_heartbeat_age_ms(const struct event_recorder *t);

#endif
