/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_OBJECT_H
#define CORE_BASE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"

/*
 * What we keep of a Node (v1) or a NodeClaim (karpenter.sh/v1).
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
/* followed by the uid of the deleted claim */
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
	KIND_COUNT, /* how many kinds a machine is made of */
	KIND_NODEPOOL = KIND_COUNT,
	KIND_EVENT, /* an Event by Karpenter about a NodeClaim */
	VIEW_COUNT, /* how many kinds are listed and watched */
};

/* What an object says of a certain hold annotation. */
enum hold {
	HOLD_ABSENT,
	HOLD_SAME,  /* it has the value that we would write */
	HOLD_OTHER, /* it has any other value */
};

/* What an object says of our mark, the annotation MARK_KEY. */
enum mark {
	MARK_ABSENT,
	MARK_TIME, /* a time in the form that we write; see mark_ms */
	MARK_ODD,  /* any other value; it counts as the object's
			   creation */
};

/* A hold annotation: its key and its value. */
struct hold_key {
	char key[KEY_BYTES];
	char value[VALUE_BYTES];
};

struct object {
	enum kind kind;
	char name[NAME_BYTES];
	char uid[UID_BYTES];
	char rv[RV_BYTES];	       /* metadata.resourceVersion, opaque */
	char nodepool[NODEPOOL_BYTES]; /* "" without the label */
	int64_t created_ms;
	bool deleting;	    /* it has a deletionTimestamp */
	int64_t deleted_ms; /* the deletionTimestamp; STAMP_NONE if it has
				   none, or none that can be read */
	bool karpenter;	    /* it is Karpenter's, as far as the watch shows:
				   docs/rules.md#which-objects-are-karpenters */

	/* The hold and our annotations.  Today's hold is the one that the
	 * configuration names, and the default hold is DEFAULT_HOLD_KEY with
	 * DEFAULT_HOLD_VALUE.  The two may be the same.  If the configuration
	 * was changed, our mark may stand for a previous hold: has_previous is
	 * then set, and previous_key names that hold. */
	enum hold hold;		/* what the object has of today's hold */
	enum hold default_hold; /* what it has of the default hold */
	enum mark mark;
	int64_t mark_ms;	 /* the mark's time; only with MARK_TIME */
	bool has_held_key;	 /* it has the annotation HELD_KEY_KEY */
	bool has_previous;	 /* the mark does not stand for today's hold */
	enum hold previous_hold; /* what it has of the previous hold */
	struct hold_key previous_key; /* the previous hold; key "" if the
					   held-key cannot be read */
	/* The value of CLASS_KEY: what this NodeClaim replaces.  "" if it has
	 * none, or if CLASS_UID_KEY is not this object's own uid, because then
	 * the annotation was copied from another object.  A Node therefore
	 * never has one. */
	char replaces[CLASS_BYTES];

	bool has_class; /* it has the annotation CLASS_KEY or
				   CLASS_UID_KEY */

	/* NodeClaim only. */
	char node_name[NAME_BYTES]; /* status.nodeName */
	bool launched;	      /* the condition Launched is True, or there is a
				   status.providerID */
	bool launch_known;    /* it has a condition Launched, True or not */
	int64_t ready_ms;     /* when the condition Initialized became True;
				   STAMP_NONE if it is not True */
	bool rebooted;	      /* Karpenter has rebooted the machine, which was
				   ready before: ready_ms is of a later boot */
	bool disrupted;	      /* the condition DisruptionReason is True, so no
				   ordinary claim may take its place.  It is
				   false if the reason is Drifted or Unhealthy
				   and the capacity is reserved
				   (docs/rules.md#substitutes), and if
				   `repaired` */
	bool repaired;	      /* DisruptionReason is True with the reason
				   Unhealthy, and the machine was never ready:
				   its boot has failed */
	int64_t disrupted_ms; /* when DisruptionReason became True, for a
				   reason other than Empty; STAMP_NONE if it is
				   not True, or Empty */
	bool exposed;	      /* the condition Consolidatable or Drifted is
				   True: Karpenter could take the machine now */

	/* Both, each in its own way. */
	bool registered; /* Node: label karpenter.sh/registered=true;
				   NodeClaim: status.nodeName is set */

	/* Node only: its ownerReference of kind NodeClaim.  Both are "" if it
	 * has none. */
	char owner_name[NAME_BYTES];
	char owner_uid[UID_BYTES];
};

/* Whose the hold on an object is, as far as its annotations show. */
enum tenure {
	TENURE_FREE,	/* neither hold nor mark */
	TENURE_PERSON,	/* a hold in any value, without our mark */
	TENURE_OURS,	/* hold and mark */
	TENURE_YIELDED, /* our mark, but the hold was removed or changed */
};

/* Returns the tenure of an object with these facts, which are those of struct
 * object.  Beside a mark it looks at the hold that the mark stands for. */
enum tenure object_tenure(enum hold hold, enum mark mark, bool has_previous,
			  enum hold previous_hold);

const char *object_kind_name(enum kind kind); /* "Node", "NodeClaim", … */

#endif
