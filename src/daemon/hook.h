/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_HOOK_H
#define DAEMON_HOOK_H

#include "core/rules/admit.h"
#include "edge/server/server.h"
#include "edge/timing.h"
#include "state.h"
#include "wire/config/config.h"

/*
 * The webhook: edge/server's requests to wire/admission and back.  Never
 * touches the table; leaves one atomic hint.
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
