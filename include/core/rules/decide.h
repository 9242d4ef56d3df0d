/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RULES_DECIDE_H
#define CORE_RULES_DECIDE_H

#include <stdbool.h>

#include "core/base/object.h"

/*
 * Decides what to write on one machine
 * (docs/rules.md#what-people-may-do-while-we-hold, docs/rules.md#writes).  A
 * machine has two halves, a NodeClaim and its Node, and a goal.  The function
 * `decide` is pure and returns one write at a time.  To get the next write, the
 * caller marks the half that is being written as busy and asks again.  Any
 * thread may call it.
 */
enum goal {
	/* Write nothing.  The machine is being deleted, or it is a Node without
	 * a claim, which need not be held. */
	GOAL_LEAVE,
	/* The Node is to carry hold and mark.  Until its Node is registered,
	 * the claim is to carry both, too.  No hold is added if a person has a
	 * say (decide_person). */
	GOAL_HOLD,
	GOAL_CLEAR, /* remove what is ours from both halves */
};

/* One half of a machine.  A zeroed struct stands for a missing half. */
struct half {
	bool present;
	/* The half cannot be written now: a write is under way, or has to
	 * wait. */
	bool busy;
	/* Somebody has removed hold and mark, and we have put them back as
	 * often as is allowed in one period (docs/rules.md#words).  The half is
	 * not held again. */
	bool spent;
	enum tenure tenure;
	enum hold hold; /* state of the hold by holdAnnotation */
	/* Karpenter has registered the Node, and has copied the claim's
	 * annotations to the Node. */
	bool registered;
};

/* What the controller does at the API server.  `decide` returns only the first
 * four; the controller chooses the others itself.  A fresh list is a consistent
 * read: it shows everything that was written before it began. */
enum act {
	ACT_NONE,
	ACT_HOLD,  /* add hold and mark */
	ACT_CLEAR, /* remove hold and mark */
	/* Remove only the mark, because a person has set, changed or removed
	 * the hold. */
	ACT_UNMARK,
	/* Write on the claim what the claim replaces (CLASS_KEY). */
	ACT_CLASSIFY,
	ACT_READ,	/* get the object, then decide again */
	ACT_READ_CLAIM, /* get the claim that the Node's ownerReference names */
	ACT_LIST_CLAIMS,    /* make a fresh list of the NodeClaims */
	ACT_LIST_NODEPOOLS, /* make a fresh list of the NodePools */
	ACT_LIST_TICKETS,   /* make a fresh list of the tickets */
};

/* Returns whether this act changes an object. */
static inline bool
act_writes(enum act a)
{
	return a == ACT_HOLD || a == ACT_CLEAR || a == ACT_UNMARK ||
	       a == ACT_CLASSIFY;
}

/* Returns whether this act makes a fresh list. */
static inline bool
act_lists(enum act a)
{
	return a == ACT_LIST_CLAIMS || a == ACT_LIST_NODEPOOLS ||
	       a == ACT_LIST_TICKETS;
}

struct decision {
	enum act act; /* ACT_NONE, ACT_HOLD, ACT_CLEAR or ACT_UNMARK */
	enum kind on; /* the half to write on; no meaning for ACT_NONE */
	/* The write removes our hold because the goal is GOAL_CLEAR.  The
	 * caller first makes the fresh lists that a release needs. */
	bool release;
};

struct decision decide(const struct half *claim, const struct half *node,
		       enum goal goal);

/* Returns whether a person has decided about the machine
 * (docs/rules.md#words). */
bool decide_person(const struct half *claim, const struct half *node);

#endif
