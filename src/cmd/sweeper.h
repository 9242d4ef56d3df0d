/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_SWEEPER_H
#define CMD_SWEEPER_H

#include "core/policy.h"
#include "shared.h"
#include "timing.h"
#include "watcher.h"

/* The thread that does what core/sweep says. */
struct sweeper;

/* watchers[VIEW_COUNT] outlive it; concurrency: calls in flight. */
struct sweeper *sweeper_start(struct shared *s, struct kube *k,
			      const struct rules *rules, unsigned concurrency,
			      struct watcher *const *watchers,
			      const struct timing *t, struct err *e);
/* After shared_stop it finishes what is in flight and ends. */
bool sweeper_ended(const struct sweeper *s);
void sweeper_join(struct sweeper *s);
void sweeper_free(struct sweeper *s);	/* NULL is fine */
int64_t sweeper_heartbeat_age_ms(const struct sweeper *s);

#endif
