/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RULES_ADMIT_H
#define CORE_RULES_ADMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/object.h"
#include "core/rules/rules.h"

/*
 * Decides what to answer at admission (docs/rules.md#admission).
 * wire/admission fills in a struct review from the request, admit_decide
 * returns the verdict, and wire/admission encodes it.  All functions are pure;
 * any thread may call them.
 */

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
const char *admit_reason_name(enum reason reason);

#endif
