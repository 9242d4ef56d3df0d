/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RULES_DECIDE_H
#define CORE_RULES_DECIDE_H

#include <stdbool.h>

#include "core/base/object.h"

/*
 * Decides what to write on one machine
 * (docs/rules.md#what-people-may-do-while-we-hold, docs/rules.md#writes).  A
 * machine has two halves, a NodeClaim and its Node, and a goal.  The function
 * is pure and names one write at a time.  To get the next write, the caller
 * marks the half that is being written as busy and asks again.  Any thread may
 * call it.
 */
enum goal {
	GOAL_LEAVE, /* write nothing: it is being deleted, or it is a Node
			   without a claim that need not be held */
	GOAL_HOLD,  /* the Node carries hold and mark, and so does the claim
			   until its Node is registered, unless a person has a
			   say */
	GOAL_CLEAR, /* nothing of ours is left on either half */
};

/* One half of a machine.  A zeroed struct is a half that is not there. */
struct half {
	bool present;
	bool busy;  /* it cannot be written now: a write is under way, or
			   has to wait */
	bool spent; /* somebody removed hold and mark, and we have put them
			   back as often as a period (docs/rules.md#words)
			   allows: do not hold it again */
	enum tenure tenure;
	enum hold hold;		/* what the object has of today's hold */
	bool previous;		/* the mark stands for a previous hold (struct
			   object) */
	bool previous_default;	/* that previous hold is the default hold */
	enum hold default_hold; /* what the object has of the default hold */
	bool registered;	/* Karpenter has registered the Node, and copied
				   the claim's annotations to it */
};

/* What can be done at the API server.  `decide` returns only the first four;
 * the controller adds the rest.  A fresh list is a consistent read: it shows
 * everything that was written before it began. */
enum act {
	ACT_NONE,
	ACT_HOLD,	/* add hold and mark */
	ACT_CLEAR,	/* remove hold and mark */
	ACT_UNMARK,	/* remove the mark alone: the hold is a person's */
	ACT_CLASSIFY,	/* write on the claim what it replaces (CLASS_KEY) */
	ACT_READ,	/* get the object, then decide again */
	ACT_READ_CLAIM, /* get the claim that the Node's ownerReference names */
	ACT_LIST_CLAIMS,    /* make a fresh list of the NodeClaims */
	ACT_LIST_NODEPOOLS, /* make a fresh list of the NodePools */
};

/* Returns whether this act changes an object. */
static inline bool
act_writes(enum act a)
{
	return a == ACT_HOLD || a == ACT_CLEAR || a == ACT_UNMARK ||
	       a == ACT_CLASSIFY;
}

struct decision {
	enum act act; /* ACT_NONE, ACT_HOLD, ACT_CLEAR or ACT_UNMARK */
	enum kind on; /* the half to write on; without meaning for ACT_NONE */
	bool release; /* after this write nothing of ours protects the half:
			   the caller first makes the fresh lists of a
			   release */
};

struct decision decide(const struct half *claim, const struct half *node,
		       enum goal goal);

/* Returns whether a person has a say in this machine, as docs/rules.md#words
 * defines it. */
bool decide_person(const struct half *claim, const struct half *node);

#endif
