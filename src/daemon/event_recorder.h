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
struct teller;

/* instance: this replica's name, copied.  Of t, call_ms counts. */
struct teller *teller_new(const struct clock *c, struct kube *k,
			  const char *instance, const struct timing *t,
			  struct err *e);
int teller_start(struct teller *t, struct err *e);

/* Any thread, also before the start; never waits for the API server.  What
 * `what` points to is copied.  NULL: nobody is told. */
void teller_say(struct teller *t, const struct tell_what *what);

/* Nobody says more.  What is due is tried once, for TELL_STOP_MS at most (or
 * one call_ms, if that is shorter); what waits for a later try is dropped.
 * Its heartbeat may be asked for until teller_free.  NULL is fine. */
void teller_join(struct teller *t);
void teller_free(struct teller *t);
int64_t teller_heartbeat_age_ms(const struct teller *t);

#endif
