/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include "core/base/limits.h"
#include "core/base/str.h"
#include "controller_parts.h"

/*
 * This file finds the next action for one machine.  controller_goal returns the
 * goal: the machine is to be held, cleared or left alone.  controller_act_on
 * describes the present state of the machine's two halves, its NodeClaim and
 * its Node.  It asks core/rules/decide what to write, and describes the action.
 * A machine that has to be released waits for the fresh lists (release.h),
 * which controller_start_fresh begins.
 */

bool
controller_drifts(const struct controller *s, uint32_t head)
{
	const struct entry *claim = machines_claim(&s->machines, head);

	return s->rules.drift == DRIFT_ALLOW && claim != NULL && claim->drifted;
}

enum goal
controller_goal(const struct controller *s, uint32_t head, struct now now,
		const char **why)
{
	const struct entry *claim = machines_claim(&s->machines, head);
	struct nodepool_terms terms = controller_terms(s, head, now.server_ms);

	*why = "quiet";
	if (machines_deleting(&s->machines, head))
		return GOAL_LEAVE;
	if (terms.out) {
		*why = nodepools_out_name(terms.uncounted);
		return GOAL_CLEAR;
	}
	if (timers_own(&s->timers, head, now.server_ms)) {
		*why = "machine-settling";
		return GOAL_HOLD;
	}
	if (terms.until_ms == STAMP_NONE &&
	    !timers_scope_held(&s->timers, head))
		return GOAL_CLEAR;
	/* A drifted machine is cleared although its scope is held.  It stays
	 * held if a hold-until or a ticket holds its NodePool. */
	if (terms.until_ms == STAMP_NONE && controller_drifts(s, head)) {
		*why = "drifted";
		return GOAL_CLEAR;
	}
	*why = terms.until_ms == STAMP_NONE ? "scale-up"
	       : terms.by_ticket	    ? "ticket"
					    : "hold-until";
	/* Karpenter does not disrupt a Node without a NodeClaim.  So such a
	 * Node needs no hold, and nothing has to be removed from it while other
	 * machines are held. */
	return claim != NULL || views_claimless(&s->views) ? GOAL_HOLD
							   : GOAL_LEAVE;
}

static const struct write *
write_of(const struct controller *s, const struct entry *e)
{
	return &s->writes.at[machines_id(&s->machines, e)];
}

static struct half
half_of(const struct controller *s, const struct entry *e)
{
	struct half h = machines_half(e);
	const struct write *w;

	if (e == NULL)
		return h;
	w = write_of(s, e);
	h.busy = writes_busy(&s->writes, machines_id(&s->machines, e));
	h.spent = w->reholds >= REHOLDS_MAX;
	return h;
}

/* Returns the half of the claim.  If the table has no room for the claim, the
 * claim may have been read for its Node (ACT_READ_CLAIM).  If that read found a
 * hold like ours, the half describes what was read, because the Node's hold
 * beside our mark may be a copy of the claim's hold. */
static struct half
claim_half(const struct controller *s, const struct entry *claim,
	   const struct entry *node)
{
	const struct write *w;

	if (claim != NULL || node == NULL)
		return half_of(s, claim);
	w = write_of(s, node);
	if (!w->owner_kept)
		return half_of(s, claim);
	return (struct half){.present = true,
			     .tenure = TENURE_PERSON,
			     .hold = HOLD_SAME,
			     .registered = true};
}

/* Returns whether holds and marks may be removed from the machine now.  Nothing
 * is removed while part of the cluster is not seen.  A release also needs fresh
 * lists that were made after it became due.  A claim that is about to count may
 * hold the machine's scope in a moment, so the release waits for that. */
static bool
may_remove(struct controller *s, uint32_t head, bool release, struct now now)
{
	return views_all_synced(&s->views) &&
	       (!release || release_may(&s->release, head,
					timers_scope_may_turn(&s->timers, head),
					now.boot_ms));
}

/* Returns whether the Node's ownerReference names a claim that is not in the
 * table and has not been read yet.  If the claim is in the table but has
 * another Node as its peer, no read is needed. */
static bool
owner_unseen(const struct controller *s, const struct entry *e)
{
	return e->kind == KIND_NODE && e->peer == NO_ID &&
	       !packed_uid_is_none(e->owner_uid) &&
	       machines_owner(&s->machines, e) == NO_ID &&
	       !write_of(s, e)->owner_gone;
}

/* Records for hold_latency_seconds whether a hold still has to be written for
 * the machine.  A write that is backing off still has to be made. */
static void
watch_latency(struct controller *s, uint32_t head, struct half c, struct half n,
	      enum goal goal)
{
	const struct entry *node = machines_node(&s->machines, head);
	struct decision d;

	c.busy = c.busy && !writes_backing_off(&s->writes, head);
	if (node != NULL)
		n.busy = n.busy &&
			 !writes_backing_off(&s->writes,
					     machines_id(&s->machines, node));
	d = decide(&c, &n, goal);
	writes_want_hold(&s->writes, head, d.act == ACT_HOLD);
}

/* If the machine has to be cleared, ends its period (docs/rules.md#words) and
 * marks its release as due.  The next period begins when the machine has to be
 * held again. */
static void
mark_period(struct controller *s, uint32_t head, enum goal goal, struct now now)
{
	const struct entry *halves[] = {machines_claim(&s->machines, head),
					machines_node(&s->machines, head)};

	if (goal == GOAL_CLEAR)
		release_due(&s->release, head, now.boot_ms);
	else
		release_not_due(&s->release, head);
	for (int i = 0; goal == GOAL_CLEAR && i < 2; i++)
		if (halves[i] != NULL)
			writes_period_ends(&s->writes, machines_id(&s->machines,
								   halves[i]));
}

static void
describe(struct controller *s, const struct entry *e, enum act act,
	 const char *reason, struct now now, struct action *out)
{
	*out = (struct action){
		.act = act,
		.kind = e->kind,
		.id = machines_id(&s->machines, e),
		.mark_exact = machines_entry_mark_exact(e),
		.mark_ms = act == ACT_HOLD ? now.server_ms : e->mark_ms,
		.has_held_key = e->has_held_key,
		.hold = s->rules.hold,
		.reason = reason,
		.forgotten = s->views.at[KIND_NODECLAIM].forgotten,
		.observed = act_writes(act) && s->rules.mode == MODE_OBSERVE,
		.fence_ms = INT64_MAX,
	};
	machines_uid(&s->machines, e, out->uid);
	machines_rv(&s->machines, e, out->rv);
	(void)str_copy(out->name, sizeof(out->name),
		       machines_name(&s->machines, e));
	(void)str_copy(out->nodepool, sizeof(out->nodepool),
		       machines_nodepool(&s->machines, e));
	out->seq = writes_start(&s->writes, out->id, act);
}

static void
describe_owner(struct controller *s, const struct entry *e, struct now now,
	       struct action *out)
{
	describe(s, e, ACT_READ_CLAIM, "owner-unseen", now, out);
	out->kind = KIND_NODECLAIM;
	(void)str_copy(out->name, sizeof(out->name),
		       machines_other_name(&s->machines, e));
	machines_owner_uid(&s->machines, e, out->uid);
}

static void
content(struct controller *s, const struct half *h, const struct entry *e)
{
	if (e != NULL && !h->busy)
		writes_content(&s->writes, machines_id(&s->machines, e));
}

/* Returns whether the claim's class still has to be written on the claim.
 * After the claim's own quiet time its class no longer matters. */
static bool
lacks_class(const struct controller *s, const struct entry *claim,
	    struct now now)
{
	return claim != NULL && !claim->classed &&
	       replacements_is_one(&s->replacements, claim) &&
	       timers_own(&s->timers, machines_id(&s->machines, claim),
			  now.server_ms);
}

/* Describes the action that writes the claim's class, or that reads the claim
 * if it has to be read first.  Returns false if the write has to wait.  Classes
 * are written last, because holds must not wait for them. */
static bool
classify(struct controller *s, const struct entry *claim, const struct half *c,
	 struct now now, struct action *out)
{
	uint32_t id = machines_id(&s->machines, claim);

	if (c->busy || writes_class_waits(&s->writes, id, now.boot_ms))
		return false;
	if (writes_must_read(&s->writes, id)) {
		describe(s, claim, ACT_READ, "changed", now, out);
		return true;
	}
	describe(s, claim, ACT_CLASSIFY, "replacement", now, out);
	(void)str_copy(out->replaces, sizeof(out->replaces),
		       machines_replaces(&s->machines, claim));
	return true;
}

bool
controller_act_on(struct controller *s, uint32_t head, struct now now,
		  struct action *out)
{
	struct entry *claim = machines_claim(&s->machines, head);
	struct entry *node = machines_node(&s->machines, head), *e;
	struct half c = claim_half(s, claim, node), n = half_of(s, node);
	const char *why;
	enum goal goal = controller_goal(s, head, now, &why);
	struct decision d = decide(&c, &n, goal);

	mark_period(s, head, goal, now);
	watch_latency(s, head, c, n, goal);
	if (d.act == ACT_NONE) {
		if (!lacks_class(s, claim, now))
			content(s, &c, claim);
		else if (classify(s, claim, &c, now, out))
			return true;
		content(s, &n, node);
		return false;
	}
	e = d.on == KIND_NODE ? node : claim;
	/* A Node is not held before the claims are listed, because a person's
	 * hold may be on its claim. */
	if (d.act == ACT_HOLD && e->kind == KIND_NODE &&
	    !s->views.at[KIND_NODECLAIM].listed)
		return false;
	if (d.act != ACT_HOLD && !may_remove(s, head, d.release, now))
		return false;
	if (writes_must_read(&s->writes, machines_id(&s->machines, e))) {
		describe(s, e, ACT_READ, "changed", now, out);
		return true;
	}
	if (d.act != ACT_HOLD && owner_unseen(s, e)) {
		describe_owner(s, e, now, out);
		return true;
	}
	writes_hold_or_clear(&s->writes, machines_id(&s->machines, e), d.act);
	describe(s, e, d.act,
		 d.act == ACT_UNMARK		  ? "taken-over"
		 : d.act == ACT_HOLD || d.release ? why
						  : "opted-out",
		 now, out);
	return true;
}

/* Starts the next of the fresh lists that a release waits for. */
bool
controller_start_fresh(struct controller *s, struct now now, struct action *out)
{
	enum kind kind;

	if (!views_all_synced(&s->views) ||
	    !release_start(&s->release, now.boot_ms, &kind))
		return false;
	controller_fresh_tickets(s);
	*out = (struct action){.act = kind == KIND_NODECLAIM ? ACT_LIST_CLAIMS
				      : kind == KIND_NODEPOOL
					      ? ACT_LIST_NODEPOOLS
					      : ACT_LIST_TICKETS,
			       .kind = kind,
			       .id = NO_ID,
			       .seq = writes_start_list(&s->writes),
			       .hold = s->rules.hold,
			       .reason = "release",
			       .page = release_page(&s->release),
			       .fence_ms = INT64_MAX};
	return true;
}
