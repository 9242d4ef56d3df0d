/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_HOOK_H
#define DAEMON_HOOK_H

#include "core/rules/admit.h"
#include "edge/server/server.h"
#include "edge/timing.h"
#include "state.h"
#include "wire/config/config.h"

/*
 * The webhook.  Each request of edge/server takes a straight way through
 * wire/admission (decode), core/rules/admit and wire/admission (encode), and
 * back.  The hook never touches the table: beside the review it asks
 * disabled_nodepools, and it leaves one atomic hint.  Its requests are served by
 * the webhook's threads; hook_start and hook_stop are main's.
 */
struct hook {
	struct state *shared;
	const struct rules *rules;
	struct server *server;
};

int hook_start(struct hook *h, struct state *s, const struct config *c,
	       const struct timing *t, struct err *e);
void hook_stop(struct hook *h);

#endif
