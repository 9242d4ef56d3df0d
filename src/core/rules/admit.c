/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules/admit.h"

#include <fnmatch.h>
#include <string.h>

static bool
patterns_match(const struct patterns *p, const char *pool)
{
	for (size_t i = 0; i < p->n; i++) {
		if (pool[0] == '\0' ? strcmp(p->at[i], "*") == 0
				    : fnmatch(p->at[i], pool, 0) == 0)
			return true;
	}
	return false;
}

bool
rules_pool_included(const struct rules *r, const char *pool)
{
	return patterns_match(&r->include, pool) &&
	       !patterns_match(&r->exclude, pool);
}

bool
rules_tell_replacements(const struct rules *r)
{
	return r->replacements == REPLACEMENTS_IGNORE &&
	       r->scope != SCOPE_NODE;
}

bool
hold_key_is_default(const struct hold_key *k)
{
	return strcmp(k->key, DEFAULT_HOLD_KEY) == 0 &&
	       strcmp(k->value, DEFAULT_HOLD_VALUE) == 0;
}

static struct verdict
left_alone(enum reason reason)
{
	return (struct verdict){.reason = reason};
}

struct verdict
admit_decide(const struct rules *r, const struct review *v)
{
	if (!v->create || !v->kind_known)
		return left_alone(REASON_NOT_HANDLED);
	if (v->malformed)
		return left_alone(REASON_MALFORMED);
	if (!v->karpenter)
		return left_alone(REASON_NOT_KARPENTER);
	if (!rules_pool_included(r, v->pool))
		return left_alone(REASON_POOL_EXCLUDED);
	if (v->disabled)
		return left_alone(REASON_POOL_DISABLED);
	if (!v->has_mark && v->hold != HOLD_ABSENT)
		return left_alone(REASON_USER_HOLD);
	if (v->full && (!v->has_mark || v->hold == HOLD_ABSENT))
		return left_alone(REASON_NO_ROOM);
	/* Audit annotations cannot be overwritten when the API server calls
	 * again, so our own output gets the answer that made it. */
	return (struct verdict){
		.held = true,
		.patch = !v->has_mark || v->hold == HOLD_ABSENT,
		.reason = REASON_QUIET_PERIOD,
	};
}

const char *
reason_name(enum reason reason)
{
	static const char *const names[REASON_COUNT] = {
		[REASON_QUIET_PERIOD] = "quiet-period",
		[REASON_USER_HOLD] = "user-hold",
		[REASON_NOT_KARPENTER] = "not-karpenter",
		[REASON_POOL_EXCLUDED] = "pool-excluded",
		[REASON_POOL_DISABLED] = "pool-disabled",
		[REASON_NOT_HANDLED] = "not-handled",
		[REASON_MALFORMED] = "malformed-object",
		[REASON_NO_ROOM] = "no-room",
	};

	return names[reason];
}
