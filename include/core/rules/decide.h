/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RULES_DECIDE_H
#define CORE_RULES_DECIDE_H

#include <stdbool.h>

#include "core/base/object.h"

/*
 * What to write on one machine (design §4 and §5), as a function of its two
 * halves and of what is wished for it.  No state: one write at a time; asked
 * again, with that half busy, it says the next.
 */
enum goal {
	GOAL_LEAVE,	/* being deleted, or none of our business now */
	GOAL_HOLD,
	GOAL_CLEAR,
};

struct half {
	bool present;
	bool busy;	/* a write is under way, or must wait */
	bool spent;	/* held again often enough this period */
	enum tenure tenure;
	enum hold hold;	/* of today's hold */
	bool former;	/* the mark stands for a former hold */
	bool former_default;	/* … and that is the default one */
	enum hold default_hold;	/* of the default hold, today's or not */
	bool registered;	/* Karpenter has copied the annotations */
	bool opted_out;	/* claim: a person took its hold away, and means its
			   Node as well */
};

enum act {
	ACT_NONE,
	ACT_HOLD,	/* add hold and mark */
	ACT_CLEAR,	/* remove hold and mark */
	ACT_UNMARK,	/* remove the mark alone: the hold is a person's */
	ACT_CLASSIFY,	/* write on the claim what it replaces */
	ACT_READ,	/* get the object and look again */
	ACT_READ_CLAIM,	/* get the claim that a Node names */
	ACT_LIST_CLAIMS,	/* one fresh, consistent list of NodeClaims */
	ACT_LIST_POOLS,		/* … of NodePools */
};

static inline bool
act_writes(enum act a)
{
	return a == ACT_HOLD || a == ACT_CLEAR || a == ACT_UNMARK ||
	       a == ACT_CLASSIFY;
}

struct decision {
	enum act act;	/* NONE, HOLD, CLEAR or UNMARK */
	enum kind on;
	bool release;	/* takes away protection: needs a fresh list */
};

struct decision decide(const struct half *claim, const struct half *node,
		       enum goal wish);

/* Has a person a say in this machine? (design §2) */
bool decide_person(const struct half *claim, const struct half *node);

#endif
