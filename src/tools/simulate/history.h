/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_HISTORY_H
#define TOOLS_SIMULATE_HISTORY_H

#include "replay.h"
#include "story.h"
#include "tally.h"
#include "turns.h"

/*
 * Enters the facts, in order of time, into the roster of machines and into
 * every replay.  Call history_init first.  Not thread-safe.
 */
struct history {
	struct roster roster;
	struct replay **replays;
	size_t replays_n;
	/* Karpenter's decisions as they were without a holder, so that none of
	 * them waits.  NULL if there is no setting. */
	struct waits *alone;
	struct story story;
	struct tally *tally;
	/* The holds that a holder's /status reported. */
	struct turns happened;
	/* The period in which a holder watched, or STAMP_NONE if none did. */
	int64_t watched_from_ms, watched_to_ms;
	/* The part of this period about which no holder has reported what was
	 * held. */
	int64_t unwatched_ms;
	uint64_t decisions;
	uint32_t *ids; /* machines of the latest decision, each once */
	size_t ids_n, ids_room;
};

/* *t is borrowed until history_done.  Returns -1 if there is no memory. */
int history_init(struct history *h, struct tally *t);
void history_done(struct history *h);
/* Adds a setting.  Call it before the first fact is taken; start_ms is the time
 * of that fact.  Returns -1 if there is no memory. */
int history_setting(struct history *h, const struct rules *rules,
		    const struct waits_setup *waits, int64_t start_ms);

/* Takes the next fact.  Returns -1 if there is no memory.  After a
 * FACT_DECIDED, h->ids are its machines. */
int history_take(struct history *h, const struct fact *f);
/* Returns whether there were facts about machines.  Otherwise all facts were
 * about what a holder did, and there is nothing to replay. */
bool history_replays(const struct history *h);
/* Reports what the holder did from h->watched_from_ms to h->watched_to_ms. */
void history_happened(const struct history *h, struct replay_sums *out);
/* Call this when the log ends. */
void history_end(struct history *h, int64_t at_ms);

#endif
