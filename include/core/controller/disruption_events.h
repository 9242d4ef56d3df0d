/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_DISRUPTION_EVENTS_H
#define CORE_CONTROLLER_DISRUPTION_EVENTS_H

#include <stdint.h>

#include "core/base/index.h"
#include "core/base/limits.h"

/*
 * Remembers Karpenter's Events about NodeClaims that are not in the table yet.
 * An entry has the claim's uid and the Event's reason.  If there is no room,
 * the oldest entry is dropped, and its claim then counts as a scale-up.  Not
 * thread-safe.
 */
/* The reason of an Event that gives none. */
#define DISRUPTION_UNKNOWN "unknown"

/* The reason that an Event gave for one claim. */
struct disruption_said {
	char uid[UID_BYTES];
	char reason[CLASS_BYTES];
};

struct disruption_events {
	struct disruption_said *at; /* a ring; free entries have the uid "" */
	uint32_t next, max;
	uint64_t seed;
	struct index by_uid;
};

/* `max` is the number of claims that fit.  `seed` is the seed of the index's
 * hash (core/base/index.h).  The hash needs a secret seed, because nobody
 * checks the uids in Events.  Returns -1 if there is no memory; call
 * disruption_events_done in either case. */
int disruption_events_init(struct disruption_events *d, uint32_t max,
			   uint64_t seed);
void disruption_events_done(struct disruption_events *d);
/* Remembers the reason for this claim.  Of several reasons for one claim, the
 * first that is not DISRUPTION_UNKNOWN stays. */
void disruption_events_put(struct disruption_events *d, const char *uid,
			   const char *reason);
/* Returns the reason for this claim and forgets it, or returns NULL if there
 * was no Event.  The reason belongs to *d and is valid until the next call. */
const char *disruption_events_take(struct disruption_events *d,
				   const char *uid);
/* Forgets all reasons. */
void disruption_events_forget(struct disruption_events *d);

#endif
