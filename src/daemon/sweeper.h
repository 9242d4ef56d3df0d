/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_SWEEPER_H
#define DAEMON_SWEEPER_H

#include "core/rules/admit.h"
#include "edge/timing.h"
#include "event_recorder.h"
#include "state.h"
#include "watcher.h"

/* The thread that does what core/controller says. */
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
struct sweeper *sweeper_start(const struct sweeper_setup *o, struct err *e);
/* After state_stop it finishes what is in flight and ends. */
bool sweeper_ended(const struct sweeper *s);
void sweeper_join(struct sweeper *s);
void sweeper_free(struct sweeper *s);	/* NULL is fine */
int64_t sweeper_heartbeat_age_ms(const struct sweeper *s);

#endif
