/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_RETRIES_H
#define CORE_CONTROLLER_RETRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/rules/admit.h"
#include "core/table/machines.h"
#include "core/table/nodepools.h"
#include "core/table/timers.h"

/*
 * Boots that failed.  Karpenter deletes a claim that does not get ready and
 * makes another: the same scale-up, tried again.  So that its scope is not
 * released in between, the machine goes on counting until a claim that was
 * created after its deletion has come to count, or for a minute.  Its timer
 * stands in the table under an id behind those of the machines.  Moments are
 * server time.  Where there is no room a boot is not remembered: its machine
 * counts no more.  Not thread-safe.
 */
struct retry {
	bool used;
	char pool[POOL_BYTES];
	char name[NAME_BYTES], uid[UID_BYTES];
	int64_t created_ms; /* of the first try */
	int64_t own_created_ms, until_ms;
	int64_t created_stamp_ms, deleted_stamp_ms; /* as written */
};

struct retries {
	const struct rules *rules;
	const struct nodepools *nodepools;
	struct timers *timers;
	uint32_t first_id; /* of their timers */
	struct retry at[RETRIES_MAX];
};

/* Remembers the boot of a claim that counted. */
void retries_put(struct retries *t, const struct entry *claim,
		 int64_t deleted_ms, int64_t now_ms);
/* The claim has come to count: it is the next try of one of them, perhaps. */
void retries_take(struct retries *t, struct entry *claim, int64_t now_ms);
void retries_end(struct retries *t, struct retry *r);

/* The timer by that id is due. */
void retries_due(struct retries *t, uint32_t id, int64_t now_ms);
/* What NodePools say has changed. */
void retries_refresh(struct retries *t, int64_t now_ms);
void retries_forget(struct retries *t);
/* The server's clock was set. */
void retries_shift(struct retries *t, int64_t by_ms);

static inline bool
retries_has(const struct retries *t, uint32_t id) /* whose timer is it? */
{
	return id >= t->first_id;
}

static inline const struct retry *
retries_at(const struct retries *t, uint32_t id)
{
	return &t->at[id - t->first_id];
}

#endif
