/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TABLE_MACHINES_H
#define CORE_TABLE_MACHINES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/index.h"
#include "core/base/object.h"
#include "core/base/packed.h"
#include "core/base/strings.h"
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
 * An id stays the same until machines_drop, and may then be used for another
 * object.  machines_init allocates all memory, but the pages of entries that
 * were never used are not touched.  An entry is small, because there may be
 * hundreds of thousands: its texts are packed, and functions such as
 * machines_name unpack them.  Times are server_ms unless a comment says
 * otherwise.  Not thread-safe: callers hold the owner's lock.
 */

/* One object.  The members are those of struct object unless a comment says
 * otherwise. */
struct entry {
	bool used : 1;
	enum kind kind : 3;
	bool deleting : 1, launched : 1, launch_known : 1, registered : 1;
	bool disrupted : 1, exposed : 1;
	enum hold hold : 2;
	enum mark mark : 2;
	bool has_held_key : 1;
	bool rebooted : 1; /* claim only: Karpenter has rebooted it */
	bool drifted : 1;  /* claim only */
	bool unread : 1;   /* claim only */
	/* Claim only: core/controller/replacements sets the next five members,
	 * and machines_put does not change them. */
	bool classed : 1; /* its class is written on the object */
	/* The claim has come to count.  At that time it was decided whether the
	 * claim is a substitute. */
	bool judged : 1;
	/* The claim counts whatever minScaleUp says, because it was created
	 * shortly after a boot had failed. */
	bool again : 1;
	/* Karpenter has named the claim as a replacement, and it has closed the
	 * place of a deletion (core/controller/deletions). */
	bool closed : 1;
	bool deletion_seen : 1; /* replacements_deleted has seen its deletion */
	/* With MODE_OBSERVE: the write that machines_assume has assumed.  The
	 * hold and mark above are then as this write would leave them, and
	 * differ from those on the object.  ACT_NONE if they are those on the
	 * object. */
	uint32_t assumed : 2; /* an enum act */
	bool carries : 1;     /* the object itself has hold and mark */
	uint32_t peer;	      /* the other half's id, or NO_ID if none */
	/* Number of the latest list that showed it, or after which the watch
	 * showed it.  The owner sets it. */
	uint32_t generation;
	/* References to machines.strings.  machines_name and similar functions
	 * return the texts. */
	uint32_t name, nodepool;
	/* Claim: status.nodeName.  Node: the name in its ownerReference. */
	uint32_t other_name;
	struct uid uid;
	struct version rv;
	/* created_ms and ready_ms are no later than the moment at which they
	 * were first seen, and machines_shift shifts them.  The two members
	 * with `stamp` in their names have the values on the object.  While a
	 * machine is rebooted, ready_ms stays, and ready_stamp_ms is
	 * STAMP_NONE. */
	int64_t mark_ms, created_ms, created_stamp_ms;
	union {
		struct { /* claim */
			int64_t ready_ms, ready_stamp_ms;
			int64_t seen_ms; /* when it was first seen */
			/* If rebooted: when it first became ready, or
			 * STAMP_NONE if unknown. */
			int64_t first_ready_ms;
			/* Its class, or "" if it has none.  The class may not
			 * be written on the object yet. */
			uint32_t replaces;
			/* The reason in Karpenter's Event about the claim, or
			 * "". */
			uint32_t said;
		};
		/* Node: the uid in its ownerReference, or UID_NONE. */
		struct uid owner_uid;
	};
};

/* Other code may read `top`, `cap` and the counts. */
struct machines {
	struct entry *at; /* indexed by id */
	uint32_t top;	  /* the first id that was never used */
	uint32_t free;	  /* the first of the free ids, or NO_ID */
	uint32_t cap;
	uint32_t max; /* maximum number of objects of each kind */
	uint32_t count[KIND_COUNT];
	/* Number of objects with TENURE_OURS.  With MODE_OBSERVE, the number of
	 * objects that would have it. */
	uint32_t marked[KIND_COUNT];
	/* Number of objects that carry hold and mark themselves. */
	uint32_t carrying[KIND_COUNT];
	struct strings strings;
	struct index claim_by_uid, claim_by_name, claim_by_node;
	struct index node_by_name, node_by_owner;
};

/* Makes a table for `max` objects of each kind.  All ids are below 2 * max.  *m
 * must not be moved afterwards.  Returns -1 if there is no memory; *m is then
 * empty. */
int machines_init(struct machines *m, uint32_t max);
void machines_done(struct machines *m);

/* The entries that a put or a drop has changed or matched.  The caller
 * refreshes the machines of these entries. */
struct touched {
	uint32_t n;
	uint32_t id[6];
	bool owner_changed; /* the ownerReference of the Node has changed */
};

/* Makes or updates the entry of a Node or NodeClaim.  seen_ms is the current
 * server time.  If the table reads a time on the object for the first time, and
 * this time is later than seen_ms, the table stores seen_ms instead.  A Node
 * with the same name and another uid replaces the old Node, even if the table
 * is full.  Sets *t, which includes the entry itself.  Returns the entry's id,
 * or NO_ID if there is no room for the object or its names.  In that case an
 * existing entry is out of date, and the caller drops it. */
uint32_t machines_put(struct machines *m, const struct object *o,
		      int64_t seen_ms, struct touched *t);
/* The same as machines_put, for a caller that has already looked for the entry
 * and has initialized *t.  `id` is the result of machines_find for the object,
 * or NO_ID if machines_is is false for that result. */
uint32_t machines_put_at(struct machines *m, uint32_t id,
			 const struct object *o, int64_t seen_ms,
			 struct touched *t);
/* Call this when the API server's clock has jumped by by_ms.  It shifts all
 * times except those that are stamps on objects. */
void machines_shift(struct machines *m, int64_t by_ms);
/* Sets created_ms and ready_ms of all entries to their stamps again, but no
 * later than now_ms, as if each object were first seen now. */
void machines_restamp(struct machines *m, int64_t now_ms);
/* With MODE_OBSERVE: changes the entry as ACT_HOLD, ACT_CLEAR or ACT_UNMARK
 * would change the object.  mark_ms is the time in the mark of ACT_HOLD.
 * ACT_HOLD needs an entry with neither hold nor mark, ACT_CLEAR an entry with
 * both, and ACT_UNMARK an entry with a mark.  Returns false and changes nothing
 * if the entry does not meet this condition.  The change ends when machines_put
 * gets an object that does not meet the condition. */
bool machines_assume(struct machines *m, uint32_t id, enum act act,
		     int64_t mark_ms);
/* Removes the entry and frees its id.  Adds the entries that lost or found a
 * peer to *t, which the caller has initialized. */
void machines_drop(struct machines *m, uint32_t id, struct touched *t);

/* Returns the entry with this id, which is below `cap`.  The entry belongs to
 * the table.  If it is not `used`, it stands for no object. */
static inline const struct entry *
machines_at(const struct machines *m, uint32_t id)
{
	return &m->at[id];
}

/* machines_find returns the id of the object's entry, found by the uid of a
 * NodeClaim or by the name of a Node.  machines_find_claim returns the id of
 * the claim with this uid.  Both return NO_ID if there is none. */
uint32_t machines_find(const struct machines *m, const struct object *o);
uint32_t machines_find_claim(const struct machines *m, const char *uid);
/* Returns the id of the Node with this name, or else of a claim with this name,
 * or else NO_ID. */
uint32_t machines_find_name(const struct machines *m, const char *name);
/* Returns the id of the claim that the Node names as its owner, or NO_ID. */
uint32_t machines_owner(const struct machines *m, const struct entry *node);
/* Returns whether entry `id`, which machines_find has found, belongs to this
 * very object and not to another object with the same name. */
bool machines_is(const struct machines *m, uint32_t id, const struct object *o);
/* Returns the head of the machine that entry `id` belongs to. */
uint32_t machines_head(const struct machines *m, uint32_t id);
/* machines_claim and machines_node return the two halves of a machine, or NULL
 * for a half that is missing.  The entries belong to the table and are valid
 * until they are dropped. */
struct entry *machines_claim(const struct machines *m, uint32_t head);
struct entry *machines_node(const struct machines *m, uint32_t head);
/* Returns whether a half of the machine is being deleted. */
bool machines_deleting(const struct machines *m, uint32_t head);
uint32_t machines_id(const struct machines *m, const struct entry *e);

/* Return a text of an entry.  The text belongs to the table and is valid until
 * the entry changes. */
const char *machines_name(const struct machines *m, const struct entry *e);
const char *machines_nodepool(const struct machines *m, const struct entry *e);
const char *machines_other_name(const struct machines *m,
				const struct entry *e);
const char *machines_replaces(const struct machines *m, const struct entry *e);
const char *machines_said(const struct machines *m, const struct entry *e);
/* Write a text of an entry to `out`. */
void machines_uid(const struct machines *m, const struct entry *e,
		  char out[UID_BYTES]);
void machines_owner_uid(const struct machines *m, const struct entry *node,
			char out[UID_BYTES]);
void machines_rv(const struct machines *m, const struct entry *e,
		 char out[RV_BYTES]);
/* Return whether the entry's text is equal to the given text. */
bool machines_uid_is(const struct machines *m, const struct entry *e,
		     const char *uid);
bool machines_owner_uid_is(const struct machines *m, const struct entry *node,
			   const char *uid);
bool machines_rv_is(const struct machines *m, const struct entry *e,
		    const char *rv);
/* Set the class of a claim, and the reason in Karpenter's Event about the
 * claim.  If there is no room for the text, or if it has CLASS_BYTES or more,
 * the old text stays. */
void machines_set_replaces(struct machines *m, struct entry *claim,
			   const char *class);
void machines_set_said(struct machines *m, struct entry *claim,
		       const char *reason);

/* Returns whether the claim's machine was ready at some time.  An unread claim
 * counts as never ready. */
static inline bool
machines_entry_was_ready(const struct entry *claim)
{
	return !claim->unread &&
	       (claim->ready_ms != STAMP_NONE || claim->rebooted);
}

/* Returns the owner_uid of a Node, and UID_NONE of a claim. */
struct uid machines_entry_owner_uid(const struct entry *e);
enum tenure machines_entry_tenure(const struct entry *e);

/* Returns an entry in the form that `decide` needs.  NULL stands for a missing
 * half.  The caller sets `busy` and `spent`. */
struct half machines_half(const struct entry *e);
/* A write that removes the mark must fail if the object has changed.  Returns
 * true if it is enough that the write tests the mark's text, and false if the
 * write has to test the resourceVersion.  The resourceVersion is needed if the
 * mark is not a time in our format, and while Karpenter may still copy a
 * person's hold to the Node at its registration. */
bool machines_entry_mark_exact(const struct entry *e);

#endif
