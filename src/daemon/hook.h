/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_HOOK_H
#define DAEMON_HOOK_H

#include "core/rules/rules.h"
#include "edge/server/server.h"
#include "edge/timing.h"
#include "state.h"
#include "wire/config/config.h"

/*
 * The webhook.  Each request of edge/server goes straight through
 * wire/admission (decode), core/rules/admit and wire/admission (encode).  The
 * hook never takes the table's mutex.  It reads the configuration, the clock
 * and disabled_nodepools, and increments counters.  The threads of `server`
 * handle the requests.
 *
 * Main calls hook_start, which fills in *h, and hook_stop.  *s and *c must
 * outlive the hook.  At most connections_max connections are open.  hook_start
 * returns -1 on failure, and *e says why.
 */
struct hook {
	struct state *shared;
	const struct rules *rules;
	struct server *server;
};

int hook_start(struct hook *h, struct state *s, const struct config *c,
	       const struct timing *t, unsigned connections_max, struct err *e);
void hook_stop(struct hook *h);
/* Returns how many connections the webhook may have: `max`, or fewer if the
 * process may not have that many descriptors.  FILES_KEPT descriptors are left
 * for everything else. */
unsigned hook_places(unsigned max);

#endif
