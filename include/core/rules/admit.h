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
 * The facts on which the answer depends.  wire/admission reads all of them
 * except `disabled` from the request.  The caller of admit_decide sets
 * `disabled`.  If create or kind_known is false, or if malformed is true, the
 * members below that member need not be filled in.
 */
struct review {
	bool create;	 /* the operation is CREATE, without a subresource */
	bool kind_known; /* The resource is nodes or nodeclaims.karpenter.sh. */
	enum kind kind;
	/* The object, its metadata, its labels or its annotations have a wrong
	 * type. */
	bool malformed;
	bool has_nodepool; /* the object has the label NODEPOOL_LABEL */
	char nodepool[NODEPOOL_BYTES]; /* the label's value, or "" if none */
	bool unregistered; /* the object has the taint UNREGISTERED_TAINT */
	/* The NodePool is left alone: it is disabled, or a hold would have no
	 * effect on it. */
	bool disabled;
	/* State of the hold and of our mark, as in struct object. */
	enum hold hold;
	bool has_mark;
	size_t annotations_bytes; /* size of all keys and values */
};

enum reason {
	/* The object is held: our answer adds hold and mark, or the object has
	 * both already. */
	REASON_QUIET_PERIOD,
	REASON_USER_HOLD, /* a person has set the hold */
	REASON_NOT_KARPENTER,
	REASON_NODEPOOL_EXCLUDED,
	REASON_NODEPOOL_DISABLED,
	REASON_NOT_HANDLED, /* another kind, operation or subresource */
	REASON_MALFORMED,
	REASON_NO_ROOM,	 /* Our annotations would make the object invalid. */
	REASON_OBSERVED, /* with MODE_ENFORCE it would be held */
	REASON_COUNT,
};

struct verdict {
	bool held;  /* the object is held after our answer */
	bool patch; /* the answer adds hold and mark */
	enum reason reason;
};

/*
 * Returns the verdict on one review.  The verdict never refuses the object.
 */
struct verdict admit_decide(const struct rules *r, const struct review *v);

/* Returns the reason as text for the audit annotation and the log, such as
 * "quiet-period".  Static. */
const char *admit_reason_name(enum reason reason);

#endif
