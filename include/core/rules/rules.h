/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RULES_RULES_H
#define CORE_RULES_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/object.h"
#include "core/rules/cap.h"

/*
 * The rules: the part of the configuration that all decisions go by.  The
 * functions are pure; any thread may call them.
 */

/* How wide a scope is: the machines of a scope become busy and quiet together
 * (docs/rules.md#scopes). */
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

enum drift_rule {
	DRIFT_HOLD,
	DRIFT_ALLOW, /* a scope does not hold its drifted machines */
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
	enum drift_rule drift;
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
bool rules_hold_is_default(const struct hold_key *k);

#endif
