/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ELECTOR_H
#define DAEMON_ELECTOR_H

#include "edge/timing.h"
#include "state.h"
#include "watcher.h"
#include "wire/config/config.h"

/* The thread that keeps the Lease, and in it what the next leader is to know
 * (also where nobody is elected): core/protocol/lease says what to do. */
struct elector;

/* Before any other thread starts: where one is elected we do not lead yet.
 * namespace_name: where the Lease is, if the configuration does not say.  Of t,
 * soft_ms counts. */
struct elector *elector_new(struct state *s, struct kube *k,
			    const struct config *c, const char *namespace_name,
			    const struct timing *t, struct err *e);
/* The watchers list anew after a lead has ended. */
int elector_start(struct elector *el, struct watcher *const *watchers,
		  struct err *e);
/* All work has ended: give the Lease up and end. */
void elector_release(struct elector *el);
bool elector_ended(const struct elector *el);
void elector_join(struct elector *el);
void elector_free(struct elector *el);
int64_t elector_heartbeat_age_ms(const struct elector *el);

#endif
