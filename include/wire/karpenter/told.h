/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_TOLD_H
#define WIRE_KARPENTER_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/index.h"
#include "wire/karpenter/fact.h"

/*
 * Which facts about which NodeClaims were told already, of a source that shows
 * the same objects again and again.  A `record` lists all NodeClaims in rounds;
 * what a round does not show is gone.  The audit log has no rounds.  Not
 * thread-safe.
 */
struct told_claim {
	char *name, *node;
	uint32_t facts;	/* a bit for each kind of fact */
	bool replacement;	/* its maker is told */
	uint32_t round;	/* the last that showed it; 0: the place is free */
};

struct told {
	struct told_claim *at;
	uint32_t max, top, round;
	struct index index;
};

/* Returns -1 if there is no memory. */
int told_init(struct told *t, uint32_t max);
void told_done(struct told *t);
void told_begin(struct told *t);	/* a round, and before all else */
/* Returns whether the fact is news, and notes that it is told.  A decision, and
 * who made a claim, is news only if the claim is known.  No room: it is
 * none. */
bool told_news(struct told *t, const struct fact *f);
/* After a whole list: finds the next claim from *i on that is gone, and fills in
 * *f, whose texts are valid until told_drop.  Returns false at the end. */
bool told_gone(const struct told *t, uint32_t *i, struct fact *f);
void told_drop(struct told *t, uint32_t i);
/* The claim of this name is gone.  Unknown: nothing. */
void told_forget(struct told *t, const char *name);
/* Returns whether a fact of this kind was told of the claim. */
bool told_knows(const struct told *t, const char *name, enum fact_kind kind);

#endif
