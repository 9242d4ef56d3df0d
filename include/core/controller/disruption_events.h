/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_DISRUPTION_EVENTS_H
#define CORE_CONTROLLER_DISRUPTION_EVENTS_H

#include <stdint.h>

#include "core/base/index.h"
#include "core/base/limits.h"

/*
 * What Karpenter has said of NodeClaims that are yet to be seen: the claim's
 * uid and the reason.  Where there is no room the oldest goes; its claim then
 * counts as a scale-up.  Not thread-safe.
 */
#define SIGN_UNKNOWN "unknown"	/* a replacement, without a reason */

struct sign_said {
	char uid[UID_BYTES];
	char reason[CLASS_BYTES];
};

struct signs {
	struct sign_said *at;	/* a ring; "": taken */
	uint32_t next, max;
	struct index by_uid;
};

int signs_init(struct signs *s, uint32_t max);	/* -1: no memory */
void signs_done(struct signs *s);
/* The first that names a reason stands. */
void signs_put(struct signs *s, const char *uid, const char *reason);
/* The reason, and forgets it; NULL: nothing was said.  Good until the next
 * call. */
const char *signs_take(struct signs *s, const char *uid);
void signs_forget(struct signs *s);

#endif
