/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_OBJECT_H
#define CORE_BASE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"

/*
 * The facts that we keep about a Node (v1) or a NodeClaim (karpenter.sh/v1).
 * wire/api/object decodes each list item and watch line into a struct object.
 * It is a plain value that owns nothing and is copied with `=`.  Times are
 * server_ms (core/base/stamp).
 */

/* Our annotations: docs/rules.md#our-annotations. */
#define OWN_PREFIX "karpenter-node-holder.io/"
#define MARK_KEY OWN_PREFIX "held-since"
#define HELD_KEY_KEY OWN_PREFIX "held-key"
#define CLASS_KEY OWN_PREFIX "replacement"
#define CLASS_UID_KEY OWN_PREFIX "replacement-uid"
/* The beginning of a class.  The uid of the deleted claim follows it. */
#define CLASS_SUBSTITUTE "substitute/"

/* Karpenter's names: sigs.k8s.io/karpenter pkg/apis/v1/{labels,taints}.go */
#define NODEPOOL_LABEL "karpenter.sh/nodepool"
#define CAPACITY_LABEL "karpenter.sh/capacity-type"
#define REGISTERED_LABEL "karpenter.sh/registered"
#define UNREGISTERED_TAINT "karpenter.sh/unregistered"
#define DEFAULT_HOLD_KEY "karpenter.sh/do-not-disrupt"
#define DEFAULT_HOLD_VALUE "true"

enum kind {
	KIND_NODE,
	KIND_NODECLAIM,
	KIND_COUNT, /* number of kinds that make up a machine */
	KIND_NODEPOOL = KIND_COUNT,
	KIND_EVENT,  /* an Event by Karpenter about a NodeClaim */
	KIND_TICKET, /* a Lease in tickets.namespace */
	VIEW_COUNT,  /* number of kinds that are listed and watched */
};

/* The state of a hold annotation on an object. */
enum hold {
	HOLD_ABSENT,
	HOLD_SAME,  /* with the value that we write */
	HOLD_OTHER, /* with any other value */
};

/* The state of our mark, the annotation MARK_KEY, on an object. */
enum mark {
	MARK_ABSENT,
	MARK_TIME, /* a time in the format that we write (mark_ms) */
	MARK_ODD,  /* any other value, which counts as the creation time */
};

/* A hold annotation: its key and its value. */
struct hold_key {
	char key[KEY_BYTES];
	char value[VALUE_BYTES];
};

/* Compares key and value as strcmp does. */
int object_hold_compare(const struct hold_key *a, const struct hold_key *b);

struct object {
	enum kind kind;
	char name[NAME_BYTES];
	char uid[UID_BYTES];
	char rv[RV_BYTES];	       /* metadata.resourceVersion, opaque */
	char nodepool[NODEPOOL_BYTES]; /* "" without the label */
	int64_t created_ms;
	/* NodeClaim only: it is too large or cannot be decoded, and *o has only
	 * its metadata (docs/rules.md#objects-that-are-too-large). */
	bool unread;
	bool deleting;	    /* it has a deletionTimestamp */
	int64_t deleted_ms; /* the deletionTimestamp, or STAMP_NONE */
	/* Whether it belongs to Karpenter, as far as the object shows
	 * (docs/rules.md#which-objects-are-karpenters). */
	bool karpenter;

	/* Our annotations, and the hold that the holder sets. */
	enum hold hold;
	enum mark mark;
	int64_t mark_ms;   /* MARK_TIME: the time in the mark */
	bool has_held_key; /* it has the annotation HELD_KEY_KEY */
	/* The mark stands for another hold, so it is not ours: only `uninstall`
	 * removes it.  `mark` is then MARK_ABSENT, and `hold` HOLD_OTHER, as if
	 * a person had set it.  other_hold is that hold.  Its key is "" if the
	 * annotation HELD_KEY_KEY is unreadable. */
	bool is_other;
	struct hold_key other_hold;
	/* The class, that is, the value of CLASS_KEY, which says what this
	 * NodeClaim replaces.  "" if there is none, or if CLASS_UID_KEY has the
	 * uid of another object: the annotations were then copied from that
	 * object.  A Node never has a class. */
	char replaces[CLASS_BYTES];

	bool has_class; /* it has the annotation CLASS_KEY or CLASS_UID_KEY */

	/* NodeClaim only. */
	char node_name[NAME_BYTES]; /* status.nodeName */
	/* The condition Launched is True, or status.providerID is set. */
	bool launched;
	/* It has the condition Launched, whatever its status. */
	bool launch_known;
	/* When the condition Initialized became True, or STAMP_NONE. */
	int64_t ready_ms;
	/* Karpenter has rebooted the machine.  If ready_ms is STAMP_NONE, the
	 * machine had been ready before the reboot.  Otherwise it became ready
	 * after the reboot, and the object does not show whether it had been
	 * ready before. */
	bool rebooted;
	/* The condition DisruptionReason is True, so the deletion of this claim
	 * has no substitute (docs/rules.md#substitutes).  There are two
	 * exceptions.  The member is false if `repaired` is true.  It is also
	 * false if the reason is Drifted or Unhealthy and the capacity is
	 * reserved. */
	bool disrupted;
	/* DisruptionReason is True with the reason Unhealthy, but the machine
	 * was never ready: its boot has failed. */
	bool repaired;
	/* When DisruptionReason became True with a reason other than Empty, or
	 * STAMP_NONE. */
	int64_t disrupted_ms;
	/* The condition Consolidatable or Drifted is True, so Karpenter could
	 * disrupt the machine now. */
	bool exposed;
	bool drifted; /* the condition Drifted is True */

	/* For a Node, whether it has the label karpenter.sh/registered=true.
	 * For a NodeClaim, whether it has status.nodeName. */
	bool registered;

	/* Node only: its ownerReference of kind NodeClaim.  Both are "" if it
	 * has none. */
	char owner_name[NAME_BYTES];
	char owner_uid[UID_BYTES];
};

/* Who owns the hold on an object, according to its annotations. */
enum tenure {
	TENURE_FREE,	/* neither hold nor mark */
	TENURE_PERSON,	/* a hold with any value, without our mark */
	TENURE_OURS,	/* hold and mark */
	TENURE_YIELDED, /* our mark, but the hold was removed or changed */
};

/* Returns the tenure of an object with these members of struct object. */
enum tenure object_tenure(enum hold hold, enum mark mark);

const char *object_kind_name(enum kind kind); /* "Node", "NodeClaim", … */

#endif
