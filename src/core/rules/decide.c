/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules/decide.h"

static const struct decision nothing = {.act = ACT_NONE};

/* Returns whether a person has decided about this half. */
static bool
person(const struct half *h)
{
	return h->present &&
	       (h->tenure == TENURE_PERSON || h->tenure == TENURE_YIELDED);
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

/* A half has hold and mark.  Returns whether that hold belongs to a person,
 * because the other half has the same hold without our mark.  Karpenter
 * copies the claim's annotations to the Node at registration.  A hold from the
 * NodePool's template therefore ends up beside our mark on the Node.  Before
 * the registration, the copy would also put our mark back on a Node from which
 * a person has removed it to keep the hold.  So the mark has to be removed from
 * the claim as well. */
static bool
taken_over(enum kind on, const struct half *other)
{
	return other->present && !is_marked(other) &&
	       other->hold == HOLD_SAME &&
	       (on == KIND_NODE || !other->registered);
}

static struct decision
take_away(enum kind on, const struct half *mine, const struct half *other)
{
	struct decision d = {.act = ACT_CLEAR, .on = on, .release = true};

	if (mine->tenure == TENURE_YIELDED || taken_over(on, other))
		d = (struct decision){.act = ACT_UNMARK, .on = on};
	return d;
}

/* Clears the claim first, because Karpenter may copy the claim's annotations to
 * the Node until the Node is registered.  After the registration only the
 * Node's annotation stops Karpenter, so a claim that cannot be written does not
 * keep its Node held. */
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

/* Finds what has to be removed although the machine is held: our mark on a
 * person's hold, or our hold on a Node if a person has removed or changed the
 * hold on its claim.  A mark
 * whose hold was removed or changed stays until the release, because it shows
 * what the person has done. */
static struct decision
decide_removal(enum kind on, const struct half *mine, const struct half *other)
{
	bool released = on == KIND_NODE && other->present &&
			other->tenure == TENURE_YIELDED;

	if (mine->tenure != TENURE_OURS || !mine->present || mine->busy)
		return nothing;
	if (taken_over(on, other))
		return (struct decision){.act = ACT_UNMARK, .on = on};
	if (released)
		return (struct decision){.act = ACT_CLEAR, .on = on};
	return nothing;
}

static bool
can_hold(const struct half *h)
{
	return h->present && !h->busy && !h->spent && h->tenure == TENURE_FREE;
}

static struct decision
decide_hold(const struct half *claim, const struct half *node)
{
	struct decision d = decide_removal(KIND_NODECLAIM, claim, node);

	if (d.act == ACT_NONE)
		d = decide_removal(KIND_NODE, node, claim);
	if (d.act != ACT_NONE || decide_person(claim, node))
		return d;
	/* Either half may show the registration, because the Node may not be
	 * listed yet. */
	if (can_hold(claim) && !claim->registered &&
	    !(node->present && node->registered))
		return (struct decision){.act = ACT_HOLD, .on = KIND_NODECLAIM};
	if (can_hold(node))
		return (struct decision){.act = ACT_HOLD, .on = KIND_NODE};
	return nothing;
}

struct decision
decide(const struct half *claim, const struct half *node, enum goal goal)
{
	switch (goal) {
	case GOAL_HOLD:
		return decide_hold(claim, node);
	case GOAL_CLEAR:
		return decide_clear(claim, node);
	default:
		return nothing;
	}
}
