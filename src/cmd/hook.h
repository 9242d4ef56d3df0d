/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_HOOK_H
#define CMD_HOOK_H

#include "core/policy.h"
#include "edge/server.h"
#include "shared.h"
#include "timing.h"
#include "wire/config.h"

/*
 * The webhook: edge/server's requests to wire/admission and back.  Never
 * touches the table; leaves one atomic hint.
 */
struct hook {
	struct shared *shared;
	const struct rules *rules;
	struct server *server;
};

int hook_start(struct hook *h, struct shared *s, const struct config *c,
	       const struct timing *t, struct err *e);
void hook_stop(struct hook *h);

#endif
