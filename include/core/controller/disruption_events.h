/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_DISRUPTION_EVENTS_H
#define CORE_CONTROLLER_DISRUPTION_EVENTS_H

#include <stdint.h>

#include "core/base/index.h"
#include "core/base/limits.h"

/*
 * Remembers what Karpenter's Events have said of NodeClaims that are yet to be
 * seen: the claim's uid and the reason.  If there is no room, the oldest goes,
 * and its claim then counts as a scale-up.  Not thread-safe.
 */
#define DISRUPTION_UNKNOWN "unknown"	/* a replacement for which no reason is
					   given */

struct disruption_said {
	char uid[UID_BYTES];
	char reason[CLASS_BYTES];
};

struct disruption_events {
	struct disruption_said *at;	/* a ring; uid "": free */
	uint32_t next, max;
	struct index by_uid;
};

/* Returns -1 if there is no memory. */
int disruption_events_init(struct disruption_events *s, uint32_t max);
void disruption_events_done(struct disruption_events *s);
/* Remembers the reason for this claim.  The first that is not
 * DISRUPTION_UNKNOWN stands. */
void disruption_events_put(struct disruption_events *s, const char *uid,
			   const char *reason);
/* Returns the reason and forgets it, or returns NULL if nothing was said.  The
 * reason is good until the next call. */
const char *disruption_events_take(struct disruption_events *s,
				   const char *uid);
void disruption_events_forget(struct disruption_events *s);

#endif
