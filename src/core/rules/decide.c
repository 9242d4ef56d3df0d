/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules/decide.h"

static const struct decision nothing = {.act = ACT_NONE};

/* Where the mark stands for a former hold, today's is not ours. */
static bool
person(const struct half *h)
{
	return h->present && (h->tenure == TENURE_PERSON ||
			      h->tenure == TENURE_YIELDED ||
			      h->opted_out ||
			      (h->former && h->hold != HOLD_ABSENT));
}

bool
decide_person(const struct half *claim, const struct half *node)
{
	return person(claim) || person(node);
}

static bool
is_marked(const struct half *h)
{
	return h->present &&
	       (h->tenure == TENURE_OURS || h->tenure == TENURE_YIELDED);
}

/* A hold without mark on one half and ours on the other: is ours really the
 * person's, copied?  Karpenter copies claim to Node at registration, so a
 * template's hold ends up beside our mark; and what a person kept on the
 * unregistered Node would get our mark back from the claim. */
static bool
taken_over(enum kind on, const struct half *mine, const struct half *other)
{
	enum hold theirs = other->hold;

	if (mine->former)	/* of one that is not the default we know none */
		theirs = mine->former_default ? other->default_hold
					      : HOLD_ABSENT;
	if (!other->present || is_marked(other) || theirs != HOLD_SAME)
		return false;
	return on == KIND_NODE || !other->registered;
}

static struct decision
take_away(enum kind on, const struct half *mine, const struct half *other)
{
	struct decision d = {.act = ACT_CLEAR, .on = on, .release = true};

	if (mine->tenure == TENURE_YIELDED || taken_over(on, mine, other))
		d = (struct decision){.act = ACT_UNMARK, .on = on};
	return d;
}

/* The claim first: while the Node is not registered Karpenter may copy what
 * still stands on the claim.  Afterwards only the Node's annotation blocks, so
 * a claim that cannot be written to does not keep it. */
static struct decision
decide_clear(const struct half *claim, const struct half *node)
{
	bool registered = node->present && node->registered;

	if (claim->present && claim->busy && !registered)
		return nothing;
	if (is_marked(claim) && !claim->busy)
		return take_away(KIND_NODECLAIM, claim, node);
	if (is_marked(node) && !node->busy)
		return take_away(KIND_NODE, node, claim);
	return nothing;
}

/* What must go although the machine is held: a hold of an earlier
 * configuration (today's follows it), and our mark on a person's hold. */
static struct decision
decide_mend(enum kind on, const struct half *mine, const struct half *other)
{
	if (!is_marked(mine) || mine->busy)
		return nothing;
	if (mine->tenure == TENURE_OURS && taken_over(on, mine, other))
		return (struct decision){.act = ACT_UNMARK, .on = on};
	if (mine->tenure == TENURE_OURS && other->opted_out)
		return (struct decision){.act = ACT_CLEAR, .on = on};
	if (mine->former)
		return (struct decision){
			.act = mine->tenure == TENURE_OURS ? ACT_CLEAR
							   : ACT_UNMARK,
			.on = on};
	return nothing;
}

static bool
can_hold(const struct half *h)
{
	return h->present && !h->busy && !h->spent &&
	       h->tenure == TENURE_FREE;
}

static struct decision
decide_hold(const struct half *claim, const struct half *node)
{
	struct decision d = decide_mend(KIND_NODECLAIM, claim, node);

	if (d.act == ACT_NONE)
		d = decide_mend(KIND_NODE, node, claim);
	if (d.act != ACT_NONE || decide_person(claim, node))
		return d;
	/* Its Node may not be listed yet. */
	if (can_hold(claim) && !claim->registered &&
	    !(node->present && node->registered))
		return (struct decision){.act = ACT_HOLD, .on = KIND_NODECLAIM};
	if (can_hold(node))
		return (struct decision){.act = ACT_HOLD, .on = KIND_NODE};
	return nothing;
}

struct decision
decide(const struct half *claim, const struct half *node, enum goal wish)
{
	switch (wish) {
	case GOAL_HOLD:
		return decide_hold(claim, node);
	case GOAL_CLEAR:
		return decide_clear(claim, node);
	default:
		return nothing;
	}
}
