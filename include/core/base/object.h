/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_OBJECT_H
#define CORE_BASE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"

/*
 * What we keep of a Node or a NodeClaim: a plain struct, copied with `=`.
 * wire/api/object makes one of each watch line, and the rest of the program
 * reads it.
 */

/* Our annotations: docs/rules.md#our-annotations. */
#define OWN_PREFIX "karpenter-node-holder.io/"
#define MARK_KEY OWN_PREFIX "held-since"
#define HELD_KEY_KEY OWN_PREFIX "held-key"
#define CLASS_KEY OWN_PREFIX "replacement"
#define CLASS_UID_KEY OWN_PREFIX "replacement-uid"
#define CLASS_SUBSTITUTE "substitute/"	/* followed by the uid of the deleted
					   claim */

/* Karpenter's names: sigs.k8s.io/karpenter pkg/apis/v1/{labels,taints}.go */
#define NODEPOOL_LABEL "karpenter.sh/nodepool"
#define REGISTERED_LABEL "karpenter.sh/registered"
#define UNREGISTERED_TAINT "karpenter.sh/unregistered"
#define DEFAULT_HOLD_KEY "karpenter.sh/do-not-disrupt"
#define DEFAULT_HOLD_VALUE "true"

enum kind {
	KIND_NODE,
	KIND_NODECLAIM,
	KIND_COUNT,		/* the kinds that machines are made of */
	KIND_NODEPOOL = KIND_COUNT,
	KIND_EVENT,		/* Karpenter's, about NodeClaims */
	VIEW_COUNT,		/* the kinds that are listed and watched */
};

enum hold {
	HOLD_ABSENT,
	HOLD_SAME,	/* the value we would write */
	HOLD_OTHER,	/* any other value */
};

enum mark {
	MARK_ABSENT,
	MARK_TIME,	/* in the form that we write; mark_ms has the moment */
	MARK_ODD,	/* there, but not in our form: counts as `created` */
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
	char rv[RV_BYTES];	/* metadata.resourceVersion, opaque */
	char nodepool[NODEPOOL_BYTES];	/* "" without the label */
	int64_t created_ms;
	bool deleting;		/* it has a deletionTimestamp */
	int64_t deleted_ms;	/* … which is this; STAMP_NONE without */
	bool karpenter;		/* as far as the watch can see it:
				   docs/rules.md#which-objects-are-karpenters */

	/* Our annotations.  `hold` is about today's hold.  The mark may stand
	 * for a previous hold, which is then named in `previous_key`. */
	enum hold hold;
	enum hold default_hold;	/* of the default hold, today's or not */
	enum mark mark;
	int64_t mark_ms;
	bool has_held_key;	/* the held-key annotation is there */
	bool has_previous;
	enum hold previous_hold;
	struct hold_key previous_key;
	char replaces[CLASS_BYTES];	/* our class; "" without one, and where
					   CLASS_UID_KEY is not this object's
					   uid, because a copy says nothing.  So
					   a Node never has one */

	bool has_class;		/* CLASS_KEY or CLASS_UID_KEY is there */

	/* NodeClaim only. */
	char node_name[NAME_BYTES];	/* status.nodeName */
	bool launched;		/* condition Launched, or status.providerID */
	bool launch_known;	/* it has a Launched condition */
	int64_t ready_ms;	/* when Initialized became True; STAMP_NONE
				   before */
	bool disrupted;		/* DisruptionReason is True, with any reason:
				   Karpenter deletes the claim by choice */
	int64_t disrupted_ms;	/* when DisruptionReason, other than Empty,
				   became True; STAMP_NONE before */

	/* Node only. */
	bool registered;	/* Node: label karpenter.sh/registered=true;
				   NodeClaim: status.nodeName is set */
	char owner_name[NAME_BYTES];	/* ownerReference of kind NodeClaim */
	char owner_uid[UID_BYTES];
};

/* Who put the hold on an object. */
enum tenure {
	TENURE_FREE,	/* neither hold nor mark */
	TENURE_PERSON,	/* a hold in any value, without our mark */
	TENURE_OURS,	/* hold and mark */
	TENURE_YIELDED,	/* our mark, but the hold was removed or changed */
};

enum tenure object_tenure(enum hold hold, enum mark mark, bool has_previous,
			  enum hold previous_hold);

const char *kind_name(enum kind kind);	/* "Node", "NodeClaim", … */

#endif
