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

enum replacements {
	REPLACEMENTS_IGNORE,	/* replacements keep no scope held */
	REPLACEMENTS_COUNT,
};

/* Shell patterns on NodePool names, as in fnmatch(3) without flags. */
struct patterns {
	size_t n;
	char at[POOL_PATTERNS_MAX][POOL_PATTERN_BYTES];
};

/* The part of the configuration that decides.  It is immutable after start. */
struct rules {
	enum scope_kind scope;
	int64_t hold_ms;
	int64_t startup_ms;
	enum replacements replacements;
	uint32_t min_scale_up;	/* fewer new machines hold only themselves */
	struct cap_rules cap;
	struct hold_key hold;
	struct patterns include, exclude;
};

/* Does it matter which machine replaces which?  Not where replacements count,
 * and not in scope `node`, where nothing spreads. */
bool rules_tell_replacements(const struct rules *r);

/* Does the configuration include this pool?  Only the pattern "*" matches the
 * pool "". */
bool rules_pool_included(const struct rules *r, const char *pool);

/* Is this hold the one that needs no held-key beside the mark? */
bool hold_key_is_default(const struct hold_key *k);

/* What policy needs of an AdmissionReview's request. */
struct review {
	bool create;		/* operation CREATE and no subresource */
	bool kind_known;	/* nodes, nodeclaims.karpenter.sh */
	enum kind kind;
	bool dry_run;
	bool malformed;		/* object, metadata, labels, annotations */
	bool karpenter;		/* label or taint; true for every NodeClaim */
	char pool[POOL_BYTES];
	bool disabled;		/* the pool is, by its annotation */
	bool has_annotations;	/* a map, not missing and not null */
	enum hold hold;		/* of the hold that counts: the mark's, if its
				   held-key names another */
	bool has_mark;
	bool full;		/* no room for ours beside its annotations */
	bool has_held_key;
};

enum reason {
	REASON_QUIET_PERIOD,	/* held: new, or our own answer seen again */
	REASON_USER_HOLD,	/* a person's annotation */
	REASON_NOT_KARPENTER,
	REASON_POOL_EXCLUDED,
	REASON_POOL_DISABLED,
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

struct verdict admit_decide(const struct rules *r, const struct review *v);

/* The reason as text, for the audit annotation and the log: "quiet-period",
 * "user-hold", …. */
const char *reason_name(enum reason reason);

#endif
