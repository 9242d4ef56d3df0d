/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/doctor/judge.h"

/*
 * Judges what runs and what it has left behind: whether a holder runs and
 * leads, and what is marked; the namespace of its tickets; on which nodes its
 * pods are; and what is left of the Go program.  A holder that elects no leader
 * has no Lease.  What could not be read is not judged: it was reported before.
 */

/* --- who runs, and what is marked ----------------------------------------- */

static const struct finding_kind
	no_holder = {DOCTOR_HOLDER, FINDING_ERROR, "holder-missing",
		     "Nothing is held and nothing is released."},
	orphans = {DOCTOR_HOLDER, FINDING_ERROR, "marks-without-holder",
		   "Karpenter leaves marked machines alone for ever: only a "
		   "holder that leads, or uninstall, releases them."},
	others = {DOCTOR_HOLDER, FINDING_WARNING, "marks-for-another-hold",
		  "The holder neither holds nor releases these machines, and "
		  "Karpenter may leave them alone for ever. Only uninstall "
		  "removes such marks, and the holder has to be stopped "
		  "first."},
	kept = {DOCTOR_HOLDER, FINDING_WARNING, "marks-while-observing",
		"A holder with mode: observe releases nothing, so Karpenter "
		"leaves these machines alone until it enforces."},
	forgotten = {DOCTOR_HOLDER, FINDING_WARNING, "observing-for-long",
		     "Nothing is held and nothing is released, though a holder "
		     "runs. If the trial goes on, leave it; if it has ended, "
		     "take mode: observe out of what you apply as well "
		     "(docs/operations.md, A trial without risk)."},
	silent = {DOCTOR_HOLDER, FINDING_ERROR, "leader-silent",
		  "Nobody leads until the replicas no longer wait for this "
		  "holder, so nobody holds the machines that the webhook "
		  "missed, and nobody releases any."},
	no_leader = {DOCTOR_HOLDER, FINDING_ERROR, "leader-missing",
		     "New machines come held, but nobody holds those that the "
		     "webhook missed, and nobody releases any."};

static void
judge_absent(const struct holder_facts *h, const struct doctor_place *p,
	     struct findings *f)
{
	struct finding *x;

	if (h->marks[KIND_NODE] + h->marks[KIND_NODECLAIM] == 0) {
		x = findings_add(f, &no_holder,
				 "no holder runs in namespace "
				 "%s",
				 p->namespace_);
		finding_fix(x, "kubectl -n %s describe deployment,pods",
			    finding_name(p->namespace_));
		return;
	}
	x = findings_add(f, &orphans,
			 "no holder runs, and our mark is on Nodes: %u, "
			 "NodeClaims: %u, such as %s",
			 h->marks[KIND_NODE], h->marks[KIND_NODECLAIM],
			 h->marked);
	if (!h->deployed) {
		fix_clear(x, p, false);
		return;
	}
	/* The holder that comes back releases them. */
	finding_fix(x, "kubectl -n %s describe deployment,pods",
		    finding_name(p->namespace_));
	for (unsigned i = 0; i < f->n; i++)
		if (strcmp(f->at[i].kind->id, "pods-not-ready") == 0)
			memcpy(x->fix, f->at[i].fix, sizeof(x->fix));
}

static void
judge_marks(const struct holder_facts *h, const struct doctor_place *p,
	    struct findings *f)
{
	if (h->hold.key[0] != '\0' &&
	    h->others[KIND_NODE] + h->others[KIND_NODECLAIM] > 0)
		fix_clear(findings_add(f, &others,
				       "the Lease's holdAnnotation is %s=%s, "
				       "and marks for another are on Nodes: "
				       "%u, NodeClaims: %u, such as %s",
				       h->hold.key, h->hold.value,
				       h->others[KIND_NODE],
				       h->others[KIND_NODECLAIM], h->other),
			  p, true);
	if (h->observes && h->marks[KIND_NODE] + h->marks[KIND_NODECLAIM] > 0)
		fix_clear(findings_add(f, &kept,
				       "the mode is observe, and our mark is "
				       "on Nodes: %u, NodeClaims: %u, such as "
				       "%s",
				       h->marks[KIND_NODE],
				       h->marks[KIND_NODECLAIM], h->marked),
			  p, true);
}

void
judge_holder(const struct holder_facts *h, const struct doctor_place *p,
	     int64_t now_ms, struct findings *f)
{
	bool runs = h->available > 0 || h->lease_live;

	if (!h->deployments_known && !h->lease_known)
		return; /* Both have been reported as unknown. */
	if (h->lease_live)
		findings_looked(f, DOCTOR_HOLDER, "%s leads", h->leader);
	else
		findings_looked(f, DOCTOR_HOLDER, "%lld pods are available",
				h->available);
	if (runs)
		judge_marks(h, p, f);
	if (runs && h->observes && h->rolled_ms != STAMP_NONE &&
	    now_ms - h->rolled_ms > DOCTOR_OBSERVED_MS)
		fix_enforce(
			findings_add(f, &forgotten,
				     "the mode is observe, and the holder's "
				     "Deployment has not changed for %lld "
				     "days",
				     (long long)(now_ms - h->rolled_ms) /
					     86400000),
			p);
	if (!runs && h->deployments_known && (h->lease_known || !h->elects))
		judge_absent(h, p, f);
	else if (h->elects && h->lease_silent)
		finding_fix(
			findings_add(f, &silent,
				     "Lease %s/%s names %s, which %sdoes "
				     "not renew it",
				     p->namespace_, p->lease, h->leader,
				     h->leader_is_pod ? "" : "is no pod and "),
			"kubectl -n %s delete lease %s",
			finding_name(p->namespace_), finding_name(p->lease));
	else if (h->elects && h->lease_known && !h->lease_live)
		finding_fix(findings_add(f, &no_leader,
					 "nobody has renewed Lease %s/%s in "
					 "time",
					 p->namespace_, p->lease),
			    "kubectl -n %s logs -l app.kubernetes.io/"
			    "component=controller --prefix --tail=50",
			    finding_name(p->namespace_));
}

/* --- tickets -------------------------------------------------------------- */

static const struct finding_kind no_tickets = {
	DOCTOR_HOLDER, FINDING_ERROR, "tickets-namespace-missing",
	"Nobody can write a ticket, and what tickets held is not held any "
	"more. The leader cannot tell, because a list of what is not there is "
	"empty."};

void
judge_tickets(const char *namespace_name, enum tickets_place t,
	      const struct doctor_place *p, struct findings *f)
{
	const char *ns = finding_name(namespace_name);
	struct finding *x;

	if (t == TICKETS_THERE)
		return;
	x = findings_add(f, &no_tickets, "namespace %s of the tickets %s",
			 namespace_name,
			 t == TICKETS_GONE ? "is not there"
					   : "is being deleted");
	if (t == TICKETS_ENDING)
		finding_fix(x, "kubectl describe namespace %s", ns);
	else if (strcmp(ns, "karpenter-node-holder-tickets") == 0)
		fix_apply(x, p, FIX_TICKETS);
	else
		finding_fix(x, "kubectl create namespace %s", ns);
}

static const struct finding_kind
	free_tickets = {DOCTOR_RIGHTS, FINDING_WARNING,
			"tickets-policy-missing",
			"A ticket that holds nothing, or less than it asks "
			"for, is stored all the same, and whoever may create "
			"tickets may give them any name."},
	unbound_tickets = {DOCTOR_RIGHTS, FINDING_WARNING,
			   "tickets-policy-unbound",
			   "The policy refuses no ticket. One that holds "
			   "nothing, or less than it asks for, is stored all "
			   "the same."};

void
judge_tickets_policy(const struct policy_facts *w, const struct doctor_place *p,
		     struct findings *f)
{
	if (!w->policy)
		fix_apply(findings_add(f, &free_tickets,
				       "there is no ValidatingAdmissionPolicy "
				       "%s",
				       w->name),
			  p, FIX_TICKETS);
	else if (!w->binding || !w->denies)
		fix_apply(findings_add(f, &unbound_tickets,
				       "ValidatingAdmissionPolicy %s: its "
				       "binding %s",
				       w->name,
				       w->binding ? "does not deny"
						  : "is missing"),
			  p, FIX_TICKETS);
	else if (w->selects[0] != '\0' && strcmp(w->selects, p->tickets) != 0)
		fix_apply(findings_add(f, &unbound_tickets,
				       "ValidatingAdmissionPolicy %s: its "
				       "binding is for namespace %s, and the "
				       "tickets are in %s",
				       w->name, w->selects, p->tickets),
			  p, FIX_TICKETS);
}

/* --- where it runs -------------------------------------------------------- */

static const struct finding_kind
	together = {DOCTOR_PLACEMENT, FINDING_WARNING, "placement-one-node",
		    "When this machine goes, no replica answers until another "
		    "one has started, and Nodes that join meanwhile come up "
		    "without a hold."},
	movable = {DOCTOR_PLACEMENT, FINDING_WARNING, "placement-movable",
		   "Karpenter may consolidate this node, and moves the leader "
		   "just when a quiet period ends."},
	stuck = {DOCTOR_PLACEMENT, FINDING_WARNING, "placement-no-grace",
		 "When the node expires or is deleted, it stays until somebody "
		 "deletes the pod, because the pod's annotation keeps "
		 "Karpenter from doing so. Set terminationGracePeriod (24h, "
		 "say) in the NodePool when all its nodes may be replaced: it "
		 "makes them drift. The command shows which these are."};

static bool
all_on_one_node(const struct pod_facts *at, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (at[i].node[0] == '\0' ||
		    strcmp(at[i].node, at[0].node) != 0)
			return false;
	return n > 1;
}

void
judge_placement(const struct pod_facts *at, unsigned n,
		const struct doctor_place *p, struct findings *f)
{
	unsigned on_karpenter = 0;

	for (unsigned i = 0; i < n; i++)
		on_karpenter += at[i].nodepool[0] != '\0';
	findings_looked(f, DOCTOR_PLACEMENT,
			"%u pod%s, %u on nodes of Karpenter's", n,
			n == 1 ? "" : "s", on_karpenter);
	if (all_on_one_node(at, n))
		fix_restart(findings_add(f, &together,
					 "all %u pods of the holder are on "
					 "node %s",
					 n, at[0].node),
			    p);
	for (unsigned i = 0; i < n; i++) {
		if (at[i].nodepool[0] == '\0')
			continue;
		if (!at[i].kept)
			finding_fix(findings_add(f, &movable,
						 "pod %s is on node %s of "
						 "NodePool %s, without the "
						 "annotation "
						 "karpenter.sh/do-not-disrupt",
						 at[i].name, at[i].node,
						 at[i].nodepool),
				    "kubectl -n %s patch deployment %s -p "
				    "'{\"spec\":"
				    "{\"template\":{\"metadata\":"
				    "{\"annotations\":{\"karpenter.sh/"
				    "do-not-disrupt\":\"true\"}}}}}'",
				    finding_name(p->namespace_),
				    finding_name(p->deployment));
		else if (!at[i].grace)
			finding_fix(findings_add(f, &stuck,
						 "pod %s is on node %s of "
						 "NodePool %s, which has no "
						 "terminationGracePeriod",
						 at[i].name, at[i].node,
						 at[i].nodepool),
				    "kubectl get nodeclaims -l "
				    "karpenter.sh/nodepool=%s",
				    finding_name(at[i].nodepool));
	}
}

/* --- the Go program ------------------------------------------------------- */

static const struct finding_kind
	go_runs = {DOCTOR_LEFTOVERS, FINDING_ERROR, "go-program",
		   "It sets and removes holds of its own, people's included, "
		   "and two programs undo each other's work."},
	go_rights = {DOCTOR_LEFTOVERS, FINDING_WARNING, "go-rights",
		     "Nobody uses these rights any more, and whoever gets that "
		     "account may write to Nodes."},
	go_dead = {DOCTOR_LEFTOVERS, FINDING_WARNING, "go-annotations",
		   "Karpenter 1 ignores this annotation. It shows a hold that "
		   "is none. For all Nodes: docs/migration.md, steps 3 and 4."},
	go_holds = {DOCTOR_LEFTOVERS, FINDING_WARNING, "go-holds",
		    "Karpenter never disrupts such a Node. The Go program left "
		    "it, or a person has taken it over from this holder by "
		    "removing the mark; or somebody has who had the holder's "
		    "token, and nobody wants it. For all Nodes: "
		    "docs/migration.md, steps 3 and 4."};

static void
judge_annotated(const struct leftover_facts *l, const char *hold_key,
		struct findings *f)
{
	const char *const keys[LEFT_COUNT] = {
		[LEFT_CONSOLIDATE] = "karpenter.sh/do-not-consolidate",
		[LEFT_EVICT] = "karpenter.sh/do-not-evict",
		[LEFT_HOLD] = hold_key,
	};

	for (int i = 0; i < LEFT_COUNT; i++) {
		if (l->nodes[i] == 0)
			continue;
		finding_fix(
			findings_add(f, i == LEFT_HOLD ? &go_holds : &go_dead,
				     i == LEFT_HOLD
					     ? "%s, which no person is on "
					       "record as having set, without "
					       "our mark on Nodes: %u, such as "
					       "%s"
					     : "%s on Nodes: %u, such as %s",
				     keys[i], l->nodes[i], l->node[i]),
			"kubectl annotate node %s %s-",
			i == LEFT_HOLD ? finding_name(l->node[i]) : "--all",
			finding_name(keys[i]));
	}
}

void
judge_leftovers(const struct leftover_facts *l, const char *hold_key,
		struct findings *f)
{
	findings_looked(f, DOCTOR_LEFTOVERS, "none of the Go program");
	if (l->deployment[0] != '\0')
		finding_fix(findings_add(f, &go_runs,
					 "the Go program runs: Deployment "
					 "%s/%s",
					 l->namespace_, l->deployment),
			    "kubectl delete --ignore-not-found "
			    "clusterrolebinding karpenter-node-holder-"
			    "rolebinding && kubectl -n %s "
			    "delete deployment %s",
			    finding_name(l->namespace_),
			    finding_name(l->deployment));
	if (l->role || l->binding)
		finding_fix(findings_add(f, &go_rights,
					 "the Go program's rights are still "
					 "there:%s%s",
					 l->role ? " ClusterRole "
						   "karpenter-node-holder-role"
						 : "",
					 l->binding ? " ClusterRoleBinding "
						      "karpenter-node-holder-"
						      "rolebinding"
						    : ""),
			    "kubectl delete --ignore-not-found clusterrole/"
			    "karpenter-node-holder-role clusterrolebinding/"
			    "karpenter-node-holder-rolebinding");
	judge_annotated(l, hold_key, f);
}
