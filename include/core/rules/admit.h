/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RULES_ADMIT_H
#define CORE_RULES_ADMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/object.h"
#include "core/rules/cap.h"

/*
 * What to answer at admission (docs/rules.md#admission): a function of the
 * review and the rules.  No state, no clock; any thread.
 */

enum scope_kind {
	SCOPE_CLUSTER,
	SCOPE_NODEPOOL,
	SCOPE_NODE,
};

enum replacement_rule {
	REPLACEMENTS_IGNORE,	/* replacements keep no scope held */
	REPLACEMENTS_COUNT,
};

/* Shell patterns on NodePool names, as in fnmatch(3) without flags. */
struct patterns {
	size_t n;
	char at[NODEPOOL_PATTERNS_MAX][NODEPOOL_PATTERN_BYTES];
};

/* The part of the configuration that decides.  It is immutable after start. */
struct rules {
	enum scope_kind scope;
	int64_t hold_ms;
	int64_t startup_ms;
	enum replacement_rule replacements;
	uint32_t min_scale_up;	/* fewer new machines hold only themselves */
	struct cap_rules cap;
	struct hold_key hold;
	struct patterns include, exclude;
};

/* Does it matter which machine replaces which?  Not where replacements count,
 * and not in scope `node`, where nothing spreads. */
bool rules_tell_replacements(const struct rules *r);

/* Does the configuration include this NodePool?  Only the pattern "*" matches
 * the NodePool "". */
bool rules_nodepool_included(const struct rules *r, const char *nodepool);

/* Is this hold the one that needs no held-key beside the mark? */
bool hold_key_is_default(const struct hold_key *k);

/*
 * The facts on which the answer depends.  wire/admission reads all of them but
 * `disabled` from the request; the caller of admit_decide sets that one.  Where
 * create or kind_known is false, or malformed is true, the facts after them
 * need not be complete.
 */
struct review {
	bool create;		/* operation CREATE and no subresource */
	bool kind_known;	/* nodes, nodeclaims.karpenter.sh */
	enum kind kind;
	bool malformed;		/* object, metadata, labels or annotations do
				   not have their types */
	bool has_nodepool;	/* the label NODEPOOL_LABEL is there */
	char nodepool[NODEPOOL_BYTES]; /* its value; "" without it */
	bool unregistered;	/* the taint UNREGISTERED_TAINT is there */
	bool disabled;		/* an annotation disables the NodePool */
	enum hold hold;		/* today's hold */
	bool has_mark;
	enum hold mark_hold;	/* the hold that the mark stands for: its
				   held-key names it, and without a held-key
				   it is the default.  HOLD_ABSENT without a
				   mark, or where the held-key names none */
	size_t annotations_bytes;	/* keys and values together */
};

enum reason {
	REASON_QUIET_PERIOD,	/* held: new, or our own answer seen again */
	REASON_USER_HOLD,	/* a person's annotation */
	REASON_NOT_KARPENTER,
	REASON_NODEPOOL_EXCLUDED,
	REASON_NODEPOOL_DISABLED,
	REASON_NOT_HANDLED,	/* another kind, operation or subresource */
	REASON_MALFORMED,
	REASON_NO_ROOM,		/* our annotations would make the object
				   invalid */
	REASON_COUNT,
};

struct verdict {
	bool held;		/* is the object held once we have answered? */
	bool patch;		/* does the answer add hold and mark? */
	enum reason reason;
};

/*
 * The verdict on one review.  Beside a mark, the hold that counts is the one
 * that the mark stands for.  Where that one is gone, today's counts: it may be
 * a person's, and a patch would overwrite it.
 */
struct verdict admit_decide(const struct rules *r, const struct review *v);

/* The reason as text, for the audit annotation and the log: "quiet-period",
 * "user-hold", …. */
const char *reason_name(enum reason reason);

#endif
