/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TABLE_MACHINES_H
#define CORE_TABLE_MACHINES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/index.h"
#include "core/base/object.h"
#include "core/rules/decide.h"

/*
 * Nodes and NodeClaims, matched to machines.  Each object is an entry with an
 * id.  A claim and its Node are each other's peer; they are matched by the uid
 * in the Node's ownerReference, or else by the claim's status.nodeName
 * (docs/rules.md#which-objects-are-karpenters).  A machine is named by its
 * head: the claim, or a Node without one.
 *
 * machines_init allocates all memory, and entries that were never used cost no
 * page.  Not thread-safe: callers hold the owner's lock.
 */
struct entry {
	bool used;
	enum kind kind;
	uint32_t peer;		/* NO_ID: none */
	uint32_t generation;	/* of the list or watch that showed it last */
	bool deleting, launched, launch_known, registered;
	bool disrupted;
	enum hold hold, default_hold;
	enum mark mark;
	bool has_held_key, has_previous;
	enum hold previous_hold;
	uint8_t previous_key;		/* slot in machines.previous_keys */
	int64_t mark_ms, created_ms, ready_ms;
	int64_t created_stamp_ms, ready_stamp_ms;	/* as written */
	int64_t tried_ms;	/* a claim: created_ms; or, if it tries a failed
				   boot again, that of the first try */
	int64_t seen_ms, launch_seen_ms;	/* when it was first seen, and
						   seen launched */
	bool classed;			/* its class is written on the claim */
	bool judged;	/* it has come to count, and was matched with a deletion
			   if there was one */
	bool deletion_seen;
	bool opted_out;	/* claim: a person removed its hold before its Node was
			   registered; until the next period */
	char replaces[CLASS_BYTES];	/* the claim's class; "" without one */
	char said[CLASS_BYTES];	/* what Karpenter's Event says of it; "" if
				   nothing */
	char name[NAME_BYTES];
	char uid[UID_BYTES];
	char rv[RV_BYTES];
	char nodepool[NODEPOOL_BYTES];
	char other_name[NAME_BYTES];	/* claim: status.nodeName; Node: owner's
					   name */
	char owner_uid[UID_BYTES];	/* Node */
};

/* A hold of an earlier configuration whose marks are outstanding. */
struct previous_key {
	unsigned users;
	struct hold_key hold;
};

struct machines {
	struct entry *at;
	uint32_t top, free, cap;	/* ids below top have been used */
	uint32_t max;			/* of each kind */
	uint32_t count[KIND_COUNT];
	uint32_t marked[KIND_COUNT];	/* those with TENURE_OURS, for the
					   metric */
	struct previous_key previous_keys[HELD_KEYS_MAX];
	struct index claim_by_uid, claim_by_node;
	struct index node_by_name, node_by_owner;
};

int machines_init(struct machines *m, uint32_t max);	/* -1: no memory */
void machines_done(struct machines *m);

/* The machines that a put or a drop changed, which have to be looked at
 * again. */
struct touched {
	uint32_t n;
	uint32_t id[6];
};

/* Finds or makes the entry and takes over the object's facts.  A stamp later
 * than seen_ms counts as seen_ms, once and for all.  A Node of the same name
 * but another uid replaces the old one.  Returns NO_ID if the table is full. */
uint32_t machines_put(struct machines *m, const struct object *o,
		      int64_t seen_ms, struct touched *t);
/* The API server's clock was set: shifts all moments by by_ms, but not what is
 * written on the objects. */
void machines_shift(struct machines *m, int64_t by_ms);
/* Treats every object as first seen now, because a clock that was wrong cannot
 * have begun anything. */
void machines_restamp(struct machines *m, int64_t now_ms);
void machines_drop(struct machines *m, uint32_t id, struct touched *t);

/* Finds the entry of an object by uid (NodeClaim) or by name (Node), or
 * NO_ID. */
uint32_t machines_find(const struct machines *m, const struct object *o);
uint32_t machines_find_claim(const struct machines *m, const char *uid);
uint32_t machines_head(const struct machines *m, uint32_t id);
struct entry *machines_claim(const struct machines *m, uint32_t head);
struct entry *machines_node(const struct machines *m, uint32_t head);
uint32_t machines_id(const struct machines *m, const struct entry *e);

enum tenure entry_tenure(const struct entry *e);

/* What `decide` is to know of an entry.  e may be NULL: then nothing is
 * present.  The caller adds `busy` and `spent`, which the table does not know.
 */
struct half machines_half(const struct machines *m, const struct entry *e);
/* The hold that the entry's mark stands for: today's, or one of an earlier
 * configuration, which belongs to the table. */
const struct hold_key *machines_hold(const struct machines *m,
				     const struct entry *e,
				     const struct hold_key *today);
/* A write that removes the mark has to be sure that nothing else has changed.
 * true: it is enough to test the mark's own text.  false: it has to test the
 * object's version, because the mark is no time of ours, or because
 * registration may still copy a person's hold onto the Node beside our mark. */
bool entry_mark_exact(const struct entry *e);

#endif
