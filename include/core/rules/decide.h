/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RULES_DECIDE_H
#define CORE_RULES_DECIDE_H

#include <stdbool.h>

#include "core/base/object.h"

/*
 * What to write on one machine (docs/rules.md#what-people-may-do-while-we-hold,
 * docs/rules.md#writes): a function of its two halves, the NodeClaim and the
 * Node, and of the goal.  It keeps no state and names one write at a time.
 * Asked again, with that half busy, it names the next.  Any thread.
 */
enum goal {
	GOAL_LEAVE,	/* leave it alone: it is being deleted, or is none of
			   our business now */
	GOAL_HOLD,
	GOAL_CLEAR,
};

struct half {
	bool present;
	bool busy;	/* a write is under way, or has to wait */
	bool spent;	/* held again as often as a period allows */
	enum tenure tenure;
	enum hold hold;	/* what the object says of today's hold */
	bool previous;	/* the mark stands for a previous hold */
	bool previous_default;	/* … and that one is the default hold */
	enum hold default_hold;	/* what it says of the default hold, today's or
				   not */
	bool registered;	/* Karpenter has copied the claim's
				   annotations */
	bool opted_out;	/* claim: a person removed its hold, and means its Node
			   as well */
};

enum act {
	ACT_NONE,
	ACT_HOLD,	/* add hold and mark */
	ACT_CLEAR,	/* remove hold and mark */
	ACT_UNMARK,	/* remove the mark alone: the hold is a person's */
	ACT_CLASSIFY,	/* write on the claim what it replaces */
	ACT_READ,	/* get the object, then decide again */
	ACT_READ_CLAIM,	/* get the claim that a Node names */
	ACT_LIST_CLAIMS,	/* make one fresh, consistent list of
				   NodeClaims */
	ACT_LIST_NODEPOOLS,		/* the same, of NodePools */
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
	bool release;	/* it takes protection away: needs a fresh list */
};

struct decision decide(const struct half *claim, const struct half *node,
		       enum goal wish);

/* Does a person have a say in this machine (docs/rules.md#words)? */
bool decide_person(const struct half *claim, const struct half *node);

#endif
