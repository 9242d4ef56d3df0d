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
#define DISRUPTION_UNKNOWN "unknown"	/* a replacement, without a reason */

struct sign_said {
	char uid[UID_BYTES];
	char reason[CLASS_BYTES];
};

struct disruption_events {
	struct sign_said *at;	/* a ring; "": taken */
	uint32_t next, max;
	struct index by_uid;
};

int disruption_events_init(struct disruption_events *s, uint32_t max);	/* -1: no memory */
void disruption_events_done(struct disruption_events *s);
/* The first that names a reason stands. */
void disruption_events_put(struct disruption_events *s, const char *uid,
			   const char *reason);
/* The reason, and forgets it; NULL: nothing was said.  Good until the next
 * call. */
const char *disruption_events_take(struct disruption_events *s,
				   const char *uid);
void disruption_events_forget(struct disruption_events *s);

#endif
