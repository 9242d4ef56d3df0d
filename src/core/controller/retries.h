/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_RETRIES_H
#define CORE_CONTROLLER_RETRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/rules/rules.h"
#include "core/table/machines.h"
#include "core/table/nodepools.h"
#include "core/table/timers.h"

/*
 * Keeps the boots that failed (docs/rules.md#boots-that-are-tried-again).
 * Karpenter deletes a claim that does not become ready and makes another: the
 * same scale-up, tried again.  The machine goes on counting, so that its scope
 * is not released in between.  The machine counts until another claim, created
 * after the deletion, has come to count, but for a minute at most.  Its timer
 * stands in the timer table, under an id behind those of the machines.  Moments
 * are server time.  If there is no room, a boot is not remembered, and its
 * machine no longer counts.  Not thread-safe.
 */
struct retry {
	bool used;
	char nodepool[NODEPOOL_BYTES];
	char name[NAME_BYTES], uid[UID_BYTES];
	int64_t created_ms; /* when the first claim of the tries was created */
	int64_t own_created_ms; /* when this claim was created */
	int64_t until_ms; /* the latest time until which the boot counts */
	/* The stamps as they are written on the claim. */
	int64_t created_stamp_ms, deleted_stamp_ms;
	uint32_t least; /* as in struct timer */
};

/* The owner sets the pointers and first_id, and zeroes the rest.  The ids from
 * first_id on, RETRIES_MAX of them, have to fit into the timer table. */
struct retries {
	const struct rules *rules;
	const struct nodepools *nodepools;
	const struct machines *machines;
	struct timers *timers;
	uint32_t first_id; /* id of the first boot's timer */
	struct retry at[RETRIES_MAX];
};

/* Remembers the boot of a claim that counted and is being deleted. */
void retries_put(struct retries *t, const struct entry *claim,
		 int64_t deleted_ms, int64_t now_ms);
/* Call this when the claim has come to count.  If it is the next try of one of
 * the boots, it takes that boot's place. */
void retries_take(struct retries *t, struct entry *claim, int64_t now_ms);
/* Forgets this boot, and its machine no longer counts. */
void retries_end(struct retries *t, struct retry *r);

/* Call this when timers_due returns an id for which retries_has is true. */
void retries_due(struct retries *t, uint32_t id, int64_t now_ms);
/* Call this when a NodePool's terms have changed.  It computes the deadlines
 * again. */
void retries_refresh(struct retries *t, int64_t now_ms);
/* Forgets all boots.  Call it when a lead begins or ends. */
void retries_forget(struct retries *t);
/* Call this when the API server's clock has jumped by by_ms. */
void retries_shift(struct retries *t, int64_t by_ms);

/* Returns whether the timer with this id is that of a failed boot. */
static inline bool
retries_has(const struct retries *t, uint32_t id)
{
	return id >= t->first_id;
}

static inline const struct retry *
retries_at(const struct retries *t, uint32_t id)
{
	return &t->at[id - t->first_id];
}

#endif
