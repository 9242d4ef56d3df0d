/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules/admit.h"

static struct verdict
left_alone(enum reason reason)
{
	return (struct verdict){.reason = reason};
}

/* Returns whether the object is Karpenter's.  Every NodeClaim is Karpenter's.
 * A Node is Karpenter's if it has the label, or the taint that a Node carries
 * until it is registered. */
static bool
is_karpenter(const struct review *v)
{
	return v->kind == KIND_NODECLAIM || v->has_nodepool || v->unregistered;
}

/* Returns whether our annotations could exceed Kubernetes' limit for the total
 * size of an object's annotations, keys and values together.  The API server
 * would then refuse the whole object. */
static bool
is_full(const struct review *v)
{
	return v->annotations_bytes > ANNOTATIONS_BYTES_MAX - ANNOTATIONS_ROOM;
}

struct verdict
admit_decide(const struct rules *r, const struct review *v)
{
	bool patch = !v->has_mark || v->hold == HOLD_ABSENT;

	if (!v->create || !v->kind_known)
		return left_alone(REASON_NOT_HANDLED);
	if (v->malformed)
		return left_alone(REASON_MALFORMED);
	if (!is_karpenter(v))
		return left_alone(REASON_NOT_KARPENTER);

	if (!rules_nodepool_included(r, v->nodepool))
		return left_alone(REASON_NODEPOOL_EXCLUDED);
	if (v->disabled)
		return left_alone(REASON_NODEPOOL_DISABLED);

	if (!v->has_mark && v->hold != HOLD_ABSENT)
		return left_alone(REASON_USER_HOLD);
	if (patch && is_full(v))
		return left_alone(REASON_NO_ROOM);
	if (patch && r->mode == MODE_OBSERVE)
		return left_alone(REASON_OBSERVED);

	/* The API server may call again about the same object, and audit
	 * annotations cannot be overwritten.  An object that we have patched
	 * therefore gets the same answer as before. */
	return (struct verdict){
		.held = true,
		.patch = patch,
		.reason = REASON_QUIET_PERIOD,
	};
}

const char *
admit_reason_name(enum reason reason)
{
	static const char *const names[REASON_COUNT] = {
		[REASON_QUIET_PERIOD] = "quiet-period",
		[REASON_USER_HOLD] = "user-hold",
		[REASON_NOT_KARPENTER] = "not-karpenter",
		[REASON_NODEPOOL_EXCLUDED] = "pool-excluded",
		[REASON_NODEPOOL_DISABLED] = "pool-disabled",
		[REASON_NOT_HANDLED] = "not-handled",
		[REASON_MALFORMED] = "malformed-object",
		[REASON_NO_ROOM] = "no-room",
		[REASON_OBSERVED] = "observed",
	};

	return names[reason];
}
