/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RULES_ADMIT_H
#define CORE_RULES_ADMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/object.h"
#include "core/rules/cap.h"

/*
 * Decides what to answer at admission (docs/rules.md#admission), and defines
 * the rules, the part of the configuration that all decisions go by.
 * wire/admission fills in a struct review from the request, admit_decide
 * returns the verdict, and wire/admission encodes it.  All functions are pure;
 * any thread may call them.
 */

/* What becomes busy and quiet together: docs/rules.md#scopes. */
enum scope_kind {
	SCOPE_CLUSTER,
	SCOPE_NODEPOOL,
	SCOPE_NODE,
};

enum mode {
	MODE_ENFORCE,
	MODE_OBSERVE, /* decide everything and write nothing on Nodes and
			   NodeClaims: docs/rules.md#mode-observe */
};

enum replacement_rule {
	REPLACEMENTS_IGNORE, /* replacements keep no scope held */
	REPLACEMENTS_COUNT,
};

/* Shell patterns on NodePool names, as in fnmatch(3) without flags. */
struct patterns {
	size_t n;
	char at[NODEPOOL_PATTERNS_MAX][NODEPOOL_PATTERN_BYTES];
};

/* The part of the configuration that decides.  It is immutable after start. */
struct rules {
	enum mode mode;
	enum scope_kind scope;
	int64_t hold_ms;    /* holdDuration, above 0 */
	int64_t startup_ms; /* startupTimeout */
	enum replacement_rule replacements;
	/* minScaleUp: how many new machines it takes to hold the whole scope.
	 * With a percentage above 0 that is this share of the scope's machines,
	 * rounded up, and at least min_scale_up, which is at least 1. */
	uint32_t min_scale_up, min_scale_up_percent;
	struct cap_rules cap;		  /* maxHoldDuration, releaseWindow */
	struct hold_key hold;		  /* today's hold: holdAnnotation */
	struct patterns include, exclude; /* nodePools */
};

/* Returns whether it matters which machine replaces which.  It does not if
 * replacements count, nor in scope `node`, where nothing spreads. */
bool rules_tell_replacements(const struct rules *r);

/* Returns whether nodePools.include matches this NodePool and nodePools.exclude
 * does not.  Only the pattern "*" matches the NodePool "", which is that of
 * machines without the label. */
bool rules_nodepool_included(const struct rules *r, const char *nodepool);

/* Returns whether this is the default hold.  Beside a mark for the default hold
 * no held-key annotation is needed. */
bool hold_key_is_default(const struct hold_key *k);

/*
 * The facts on which the answer depends.  wire/admission reads all of them but
 * `disabled` from the request; the caller of admit_decide sets that one.  If
 * create or kind_known is false, or malformed is true, the members after it
 * need not be filled in.
 */
struct review {
	bool create;	 /* operation CREATE and no subresource */
	bool kind_known; /* the resource is nodes or
				   nodeclaims.karpenter.sh */
	enum kind kind;
	bool malformed;	   /* object, metadata, labels or annotations do
				   not have their types */
	bool has_nodepool; /* the label NODEPOOL_LABEL is there */
	char nodepool[NODEPOOL_BYTES]; /* its value; "" without it */
	bool unregistered; /* the taint UNREGISTERED_TAINT is there */
	bool disabled;	   /* the NodePool is left alone: it is disabled,
				   or a hold can do nothing for it */
	enum hold hold;	   /* what the object has of today's hold */
	bool has_mark;
	/* What the object has of the hold that its mark stands for: the hold
	 * that its held-key names, or the default hold if it has no held-key.
	 * HOLD_ABSENT if it has no mark, or if the held-key cannot be read. */
	enum hold mark_hold;
	size_t annotations_bytes; /* all keys and values together */
};

enum reason {
	REASON_QUIET_PERIOD, /* it is held: it is new, or it carries our own
				   earlier answer */
	REASON_USER_HOLD,    /* a person has set the hold */
	REASON_NOT_KARPENTER,
	REASON_NODEPOOL_EXCLUDED,
	REASON_NODEPOOL_DISABLED,
	REASON_NOT_HANDLED, /* another kind, operation or subresource */
	REASON_MALFORMED,
	REASON_NO_ROOM,	 /* our annotations would make the object
				   invalid */
	REASON_OBSERVED, /* it would be held, with MODE_ENFORCE */
	REASON_COUNT,
};

struct verdict {
	bool held;  /* the object is held after our answer */
	bool patch; /* the answer adds hold and mark */
	enum reason reason;
};

/*
 * Returns the verdict on one review.  It never refuses the object.  If the
 * object has a mark, the hold that counts is the one that the mark stands for.
 * If that hold is gone, today's hold counts, because it may be a person's and a
 * patch would overwrite it.
 */
struct verdict admit_decide(const struct rules *r, const struct review *v);

/* Returns the reason as text for the audit annotation and the log, such as
 * "quiet-period".  Static. */
const char *reason_name(enum reason reason);

#endif
