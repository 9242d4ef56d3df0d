/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TABLE_MACHINES_H
#define CORE_TABLE_MACHINES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/index.h"
#include "core/base/object.h"
#include "core/rules/decide.h"

/*
 * The table of Nodes and NodeClaims, matched to machines.  Each object is an
 * entry, and its id is its place in the table.  A claim and its Node are each
 * other's peer.  They are matched by the uid in the Node's ownerReference, or
 * else by the claim's status.nodeName
 * (docs/rules.md#which-objects-are-karpenters).  The head of a machine is the
 * entry of its claim, or of its Node if it has no claim, and the id of the head
 * names the machine.
 *
 * An id stays the same until machines_drop, and is then used again.
 * machines_init allocates all memory; entries that were never used touch no
 * page.  Times without a remark are server_ms.  Not thread-safe: callers hold
 * the owner's lock.
 */

/* One object.  The members are those of struct object, unless they say
 * otherwise. */
struct entry {
	bool used;
	enum kind kind;
	uint32_t peer;		/* the other half's id; NO_ID: none */
	uint32_t generation;	/* number of the list that showed it last, or
				   after which a watch did; the owner sets it */
	bool deleting, launched, launch_known, registered;
	bool disrupted;
	enum hold hold, default_hold;
	enum mark mark;
	bool has_held_key, has_previous;
	enum hold previous_hold;
	uint8_t previous_key;		/* slot in machines.previous_keys */
	/* created_ms and ready_ms are no later than the moment at which they
	 * were first seen, and follow machines_shift.  The stamps are what
	 * stands on the object. */
	int64_t mark_ms, created_ms, ready_ms;
	int64_t created_stamp_ms, ready_stamp_ms;
	int64_t tried_ms;	/* claim: its created_ms, or that of the first
				   try if it is another try of a boot that
				   failed */
	int64_t seen_ms, launch_seen_ms;	/* when it was first seen, and
						   first seen launched
						   (STAMP_NONE: not yet) */
	/* Claim: the controller and core/controller/replacements set these, and
	 * machines_put leaves them alone. */
	bool classed;		/* its class is written on the object */
	bool judged;	/* it has come to count, and it was decided then whether
			   it is a substitute */
	bool deletion_seen;	/* its deletion has been taken note of */
	bool opted_out;	/* a person removed its hold before its Node was
			   registered; until the next period */
	char replaces[CLASS_BYTES];	/* its class, written or not; "" if it
					   has none */
	char said[CLASS_BYTES];	/* the reason that Karpenter's Event gives; ""
				   if there was no Event */
	char name[NAME_BYTES];
	char uid[UID_BYTES];
	char rv[RV_BYTES];
	char nodepool[NODEPOOL_BYTES];
	char other_name[NAME_BYTES];	/* claim: status.nodeName; Node: the
					   name in its ownerReference */
	char owner_uid[UID_BYTES];	/* Node: the uid in its ownerReference;
					   "" if it has none */
};

/* A hold of an earlier configuration that some marks still stand for. */
struct previous_key {
	unsigned users;		/* entries that name it; 0: free */
	struct hold_key hold;
};

/* Other code may read `at`, `top`, `cap` and the counts. */
struct machines {
	struct entry *at;	/* by id */
	uint32_t top, free, cap;	/* ids below top have been used; free:
					   the first free one of these */
	uint32_t max;			/* of each kind */
	uint32_t count[KIND_COUNT];
	uint32_t marked[KIND_COUNT];	/* those with TENURE_OURS, for the
					   metric */
	struct previous_key previous_keys[HELD_KEYS_MAX];
	struct index claim_by_uid, claim_by_node;
	struct index node_by_name, node_by_owner;
};

/* max: how many objects of each kind fit.  Ids are below 2 max.  m must not
 * move afterwards.  Returns -1 if there is no memory; *m is then empty. */
int machines_init(struct machines *m, uint32_t max);
void machines_done(struct machines *m);

/* The entries that a put or a drop changed or matched anew.  The caller looks
 * at their machines again. */
struct touched {
	uint32_t n;
	uint32_t id[6];
};

/* Finds or makes the entry of a Node or NodeClaim and takes over the object's
 * facts.  seen_ms is the server time now.  A time on the object that is later
 * than the moment at which it was first seen counts as that moment.  A Node of
 * the same name but another uid replaces the old one, even if the table is
 * full.  Sets *t, which includes the entry itself.  Returns the entry's id, or
 * NO_ID if the table is full. */
uint32_t machines_put(struct machines *m, const struct object *o,
		      int64_t seen_ms, struct touched *t);
/* Call this when the API server's clock was set by by_ms.  It shifts all
 * moments but those that are stamps on objects. */
void machines_shift(struct machines *m, int64_t by_ms);
/* Takes the creation and readiness of all objects from their stamps again, but
 * no later than now_ms, as if each object were first seen now. */
void machines_restamp(struct machines *m, int64_t now_ms);
/* Removes the entry; its id is free again.  Adds to *t, which the caller has
 * initialized, the entries that lost or found a peer. */
void machines_drop(struct machines *m, uint32_t id, struct touched *t);

/* Return an entry's id, or NO_ID: that of an object, which is found by uid
 * (NodeClaim) or by name (Node), or that of the claim with this uid. */
uint32_t machines_find(const struct machines *m, const struct object *o);
uint32_t machines_find_claim(const struct machines *m, const char *uid);
/* Returns the head of the machine that entry `id` belongs to. */
uint32_t machines_head(const struct machines *m, uint32_t id);
/* Return the two halves of a machine, each NULL if the machine has none.  The
 * entries belong to the table and are valid until they are dropped. */
struct entry *machines_claim(const struct machines *m, uint32_t head);
struct entry *machines_node(const struct machines *m, uint32_t head);
uint32_t machines_id(const struct machines *m, const struct entry *e);

enum tenure entry_tenure(const struct entry *e);

/* Returns what `decide` needs to know of an entry.  If e is NULL, the half is
 * not present.  The caller fills in `busy` and `spent`, which the table does
 * not know. */
struct half machines_half(const struct machines *m, const struct entry *e);
/* Returns the hold that the entry's mark stands for.  It is `today`, or one of
 * an earlier configuration, which belongs to the table and is valid until the
 * entry changes. */
const struct hold_key *machines_hold(const struct machines *m,
				     const struct entry *e,
				     const struct hold_key *today);
/* Returns what a write that removes the mark has to test, so that it removes
 * nothing that has changed meanwhile.  true: the mark's own text is enough.
 * false: the write has to test the object's resourceVersion, because the mark
 * is no time of ours, or because Karpenter may still copy a person's hold to
 * the Node beside our mark when it registers the Node. */
bool entry_mark_exact(const struct entry *e);

#endif
