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
 * The rules are the part of the configuration on which all decisions depend.
 * The functions are pure; any thread may call them.
 */

/* How wide a scope is.  The machines of a scope become busy and quiet together
 * (docs/rules.md#scopes). */
enum scope_kind {
	SCOPE_CLUSTER,
	SCOPE_NODEPOOL,
	SCOPE_NODE,
};

enum mode {
	MODE_ENFORCE,
	/* Make all decisions, but write nothing on Nodes and NodeClaims
	 * (docs/rules.md#mode-observe). */
	MODE_OBSERVE,
};

enum replacement_rule {
	REPLACEMENTS_IGNORE, /* replacements do not make a scope busy */
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

/* The rules.  They are immutable after the start. */
struct rules {
	enum mode mode;
	enum scope_kind scope;
	int64_t hold_ms;    /* holdDuration, above 0 */
	int64_t startup_ms; /* startupTimeout */
	enum replacement_rule replacements;
	enum drift_rule drift;
	/* minScaleUp: how many new machines it takes to hold the whole scope.
	 * If the percentage is above 0, the number is this share of the scope's
	 * machines, rounded up, but no less than min_scale_up.  min_scale_up is
	 * at least 1. */
	uint32_t min_scale_up, min_scale_up_percent;
	struct cap_rules cap; /* maxHoldDuration and releaseWindow */
	struct hold_key hold; /* today's hold: holdAnnotation */
	/* nodePools.include and nodePools.exclude */
	struct patterns include, exclude;
	/* tickets.namespace, or "" if tickets hold nothing */
	char tickets[NODEPOOL_BYTES];
};

/* Returns whether decisions depend on which machine replaces which.  They do
 * not if replacements count.  They do not in scope `node` either, because no
 * hold spreads there (docs/rules.md#words). */
bool rules_tell_replacements(const struct rules *r);

/* Returns whether tickets hold NodePools. */
bool rules_tickets(const struct rules *r);

/* Returns whether nodePools.include matches this NodePool and nodePools.exclude
 * does not.  Only the pattern "*" matches the name "", which stands for
 * machines without the label. */
bool rules_nodepool_included(const struct rules *r, const char *nodepool);

/* Returns whether this is the default hold.  A mark for the default hold needs
 * no held-key annotation beside it. */
bool rules_hold_is_default(const struct hold_key *k);

#endif
