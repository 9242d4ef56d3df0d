/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_FACT_H
#define WIRE_KARPENTER_FACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A fact is something that happened to one machine, or that Karpenter decided
 * about several, at one moment.  Every input of `simulate` is turned into facts
 * (docs/what-if.md#the-record), and the replay knows nothing else.
 *
 * The texts of a fact are never NULL; "" means that the input did not say.
 * They belong to whoever made the fact.  Those from fact_copy are in one piece
 * of memory with the fact.  Those from a reader (wire/karpenter/reader) are
 * valid until its next line.
 *
 * After a colon, the comment on a kind names the members that such a fact
 * has.
 */
enum fact_kind {
	FACT_CREATED,	 /* a NodeClaim was created: claim, pool, maker */
	FACT_LAUNCHED,	 /* the NodeClaim was launched: claim */
	FACT_REGISTERED, /* its Node has registered: claim, node */
	FACT_READY,	 /* the NodeClaim is Initialized: claim */
	FACT_DECIDED,	 /* Karpenter disrupts machines: nodes, reason, … */
	/* The Node is being deleted: node, perhaps claim; or claim and reason,
	 * if it is known that Karpenter did not decide it: "interrupted",
	 * "expired". */
	FACT_DELETING,
	FACT_NODE_GONE, /* the Node is gone: node, perhaps claim */
	FACT_GONE,	/* the NodeClaim is gone: claim */
	/* What a holder did (docs/what-if.md#what-a-holder-did): */
	/* A holder held a scope: pool, perhaps claim and reason. */
	FACT_HELD,
	/* A holder released a scope: the members of a FACT_HELD.  action is
	 * "cap" if the scope was released because of the cap. */
	FACT_RELEASED,
	/* Every hold and release between the first FACT_WATCHED and the last is
	 * known.  The fact has no members. */
	FACT_WATCHED,
	FACT_COUNT,
};

/* Who created a NodeClaim. */
enum fact_maker {
	MAKER_UNKNOWN,
	MAKER_PROVISIONER, /* it was created for pods that wait: a scale-up */
	MAKER_DISRUPTION,  /* it was created to replace others */
	MAKER_STATIC,	   /* it was created for a NodePool with
			      spec.replicas */
	MAKER_COUNT,
};

/* One machine of a decision.  One of the two names may be "". */
struct fact_node {
	const char *node, *claim;
};

struct fact {
	int64_t at_ms; /* ms since 1970, UTC */
	enum fact_kind kind;
	enum fact_maker maker;
	const char *claim, *node, *pool;

	/* A FACT_DECIDED has all of the following members.  A FACT_HELD or
	 * FACT_RELEASED may have action and reason, and a FACT_DELETING may
	 * have reason.  Other kinds have none. */
	/* "delete", "replace", from Karpenter 1.15 on "reboot" and
	 * "terminate-first" */
	const char *action;
	const char *reason; /* "drifted", "empty", "underutilized",
				   "unhealthy", …: lower case */
	long long pods;	    /* how many pods have to move, or -1 if unknown */
	/* What the decision saves, in millionths of a dollar an hour, or -1 if
	 * unknown. */
	int64_t savings;
	/* The price of one of the machines, in millionths of a dollar an hour,
	 * or -1 if unknown. */
	int64_t price;
	const struct fact_node *nodes;
	size_t nodes_n;
};

/* Makes *f a fact whose texts are "" and whose numbers are unknown. */
void fact_init(struct fact *f, enum fact_kind kind, int64_t at_ms);

/* Returns the fact and all that it points to in one piece of memory, which the
 * caller frees with free(3), or NULL if there is no memory. */
struct fact *fact_copy(const struct fact *f);
/* Returns the size of the memory that fact_copy allocates. */
size_t fact_bytes(const struct fact *f);

/* Compares facts for sorting: first by time, then by kind (in the order in
 * which these things happen to one machine), then by all other members.
 * Returns 0 only if all members are equal. */
int fact_compare(const struct fact *a, const struct fact *b);
/* Returns whether the facts are equal in all but their times, which differ by
 * at most within_ms. */
bool fact_repeats(const struct fact *a, const struct fact *b,
		  int64_t within_ms);

/* Returns the name of the kind in the record: "created", "launched", ….
 * Static. */
const char *fact_name(enum fact_kind kind);
/* Returns "provisioner", "disruption", "static", or "" for MAKER_UNKNOWN.
 * Static. */
const char *fact_maker_name(enum fact_maker maker);

/* Returns whether the fact has all the names that its kind needs. */
bool fact_whole(const struct fact *f);

/* Returns whether a hold stops this decision.  Karpenter repairs an unhealthy
 * Node even if it has karpenter.sh/do-not-disrupt. */
bool fact_heeds_hold(const struct fact *f);

/* Parses the n bytes at s, which are dollars such as "0.11" or "-1.5", into
 * millionths, and truncates smaller fractions.  Returns -1, with *out
 * untouched, if s is not in that form or the amount is too large. */
int fact_dollars_parse(const char *s, size_t n, int64_t *out);

#endif
