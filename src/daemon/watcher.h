/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_WATCHER_H
#define DAEMON_WATCHER_H

#include "core/rules/admit.h"
#include "edge/timing.h"
#include "state.h"

/* One thread that keeps one resource listed and watched. */
struct watcher;

struct watcher *watcher_start(struct state *s, struct kube *k, enum kind kind,
			      const struct hold_key *hold,
			      const struct timing *t, struct err *e);
/* NULL is passed by in all that follows: one that is not needed.  List anew,
 * now. */
void watcher_restart(struct watcher *w);
/* After state_stop: ends its call and joins.  Its heartbeat may be asked for
 * until watcher_free. */
void watcher_join(struct watcher *w);
void watcher_free(struct watcher *w);
int64_t watcher_heartbeat_age_ms(const struct watcher *w);

#endif
