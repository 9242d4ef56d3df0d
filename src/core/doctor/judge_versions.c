/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/doctor/judge.h"
#include "tested.h"

/*
 * Judges the versions of Kubernetes and Karpenter, whether Karpenter is served
 * and runs, and the rights of the holder's account.  The oldest versions that
 * work are in the code.  The newest versions that were tested are in tested.h,
 * which a script writes.
 *
 * Versions are compared by their major and minor numbers alone, because a patch
 * release changes nothing that we use.  A version that cannot be read is not
 * judged.  The table of rights is that of deploy/base/rbac.yaml.  A right that
 * the configuration does not need is not reported.
 */

/* --- versions ------------------------------------------------------------- */

static const char *
number_read(const char *s, unsigned *out)
{
	unsigned n = 0;

	if (*s < '0' || *s > '9')
		return NULL;
	for (; *s >= '0' && *s <= '9'; s++) {
		if (n > 9999)
			return NULL;
		n = 10 * n + (unsigned)(*s - '0');
	}
	*out = n;
	return s;
}

void
judge_version_parse(const char *text, struct version *out)
{
	const char *s = text[0] == 'v' ? text + 1 : text;

	memset(out, 0, sizeof(*out));
	s = number_read(s, &out->major);
	if (s == NULL || *s != '.')
		return;
	s = number_read(s + 1, &out->minor);
	if (s == NULL || (*s != '\0' && *s != '.' && *s != '+' && *s != '-'))
		return;
	out->known = true;
	str_cut(out->text, sizeof(out->text), text);
}

static bool
before(const struct version *v, unsigned major, unsigned minor)
{
	return v->major < major || (v->major == major && v->minor < minor);
}

static const struct finding_kind
	old_kubernetes =
		{DOCTOR_API, FINDING_ERROR, "kubernetes-version",
		 "The webhook has matchConditions. Before 1.30 the "
		 "API server does not evaluate them unless told to, "
		 "and calls the webhook for each Node. Upgrade the control "
		 "plane."},
	new_kubernetes = {DOCTOR_API, FINDING_WARNING,
			  "kubernetes-version-newer",
			  "The holder was not tested with it. The API of "
			  "admission or of Nodes may have changed. "
			  "docs/compatibility.md of a newer holder may know "
			  "it."},
	no_crds = {DOCTOR_KARPENTER, FINDING_ERROR, "karpenter-crds",
		   "The holder lists and watches NodeClaims and NodePools of "
		   "karpenter.sh/v1. Until they are served, it holds no Node "
		   "that is there already, and releases nothing."},
	unsupported = {DOCTOR_KARPENTER, FINDING_ERROR, "karpenter-version",
		       "The holder knows Karpenter 1.x. Before it, other "
		       "annotations count, and NodeClaims have other "
		       "conditions."},
	newer = {DOCTOR_KARPENTER, FINDING_WARNING, "karpenter-version-newer",
		 "The holder was not tested with it. What it reads of "
		 "NodeClaims and Events may have changed. "
		 "docs/compatibility.md of a newer holder may know it."},
	down = {DOCTOR_KARPENTER, FINDING_WARNING, "karpenter-down",
		"Nobody makes machines and nobody disrupts any, so there is "
		"nothing to hold or to release."},
	early = {DOCTOR_KARPENTER, FINDING_WARNING, "karpenter-replacements",
		 "Karpenter before 1.2 does not mark the nodes that it is "
		 "going to disrupt, so the holder takes each node that it "
		 "consolidates for one that was deleted by hand."};

#define TESTED_N (sizeof(tested) / sizeof(tested[0]))

static unsigned
minor_of(const unsigned v[3])
{
	return 1000 * v[0] + v[1];
}

/* Returns the newest tested version if *v is of a later minor version than
 * that, or else NULL. */
static const unsigned *
beyond(const struct version *v, bool kubernetes)
{
	const unsigned *newest = NULL;

	for (size_t i = 0; i < TESTED_N; i++) {
		const unsigned *at =
			kubernetes ? tested[i].kubernetes : tested[i].karpenter;

		if (newest == NULL || minor_of(at) > minor_of(newest))
			newest = at;
	}
	return before(v, newest[0], newest[1] + 1) ? NULL : newest;
}

void
judge_kubernetes(const struct version *v, struct findings *f)
{
	const unsigned *newest = v->known ? beyond(v, true) : NULL;

	findings_looked(f, DOCTOR_API, "Kubernetes %s",
			v->known ? v->text : "of an unknown version");
	if (v->known && before(v, 1, 30))
		finding_fix(findings_add(f, &old_kubernetes,
					 "Kubernetes %s, expected 1.30 or "
					 "newer",
					 v->text),
			    "kubectl version");
	else if (newest != NULL)
		finding_fix(findings_add(f, &new_kubernetes,
					 "Kubernetes %s, tested up to "
					 "%u.%u.%u",
					 v->text, newest[0], newest[1],
					 newest[2]),
			    "holderctl version");
}

#define CRDS                                                                   \
	"helm upgrade --install karpenter-crd "                                \
	"oci://public.ecr.aws/karpenter/karpenter-crd"

static void
judge_served_group(const struct karpenter_facts *k, struct findings *f)
{
	if (!k->v1)
		finding_fix(findings_add(f, &no_crds,
					 k->served ? "karpenter.sh is served, "
						     "but not in version v1"
						   : "karpenter.sh/v1 is not "
						     "served"),
			    CRDS);
	else if (!k->claims || !k->pools)
		finding_fix(
			findings_add(f, &no_crds,
				     "karpenter.sh/v1 is served without "
				     "%s",
				     k->claims ? "nodepools" : "nodeclaims"),
			CRDS);
}

/* Judges whether Karpenter runs.  If the provider runs Karpenter, there is no
 * Deployment, and no Lease except one that an earlier Karpenter has left. */
static void
judge_running(const struct karpenter_facts *k, struct findings *f)
{
	const char *ns = finding_name(k->namespace_);
	const char *name = finding_name(k->name);
	struct finding *x;

	if (k->deployments > 0 && k->available <= 0) {
		x = findings_add(f, &down,
				 "Deployment %s/%s of Karpenter has 0 of %lld "
				 "pods available",
				 k->namespace_, k->name, k->replicas);
		if (k->replicas == 0)
			finding_fix(x,
				    "kubectl -n %s scale deployment %s "
				    "--replicas=2",
				    ns, name);
		else
			finding_fix(x, "kubectl -n %s describe deployment %s",
				    ns, name);
	} else if (k->deployments == 0 && k->lease_namespace[0] != '\0' &&
		   !k->lease_live && !k->lease_left) {
		finding_fix(findings_add(f, &down,
					 "there is no Deployment of "
					 "Karpenter, and nobody has renewed "
					 "Lease %s/" KARPENTER_LEASE " in time",
					 k->lease_namespace),
			    "kubectl -n %s get deployments,pods",
			    finding_name(k->lease_namespace));
	}
}

static void
judge_release(const struct karpenter_facts *k, const struct rules *r,
	      const struct doctor_place *p, struct findings *f)
{
	const struct version *v = &k->version;
	const unsigned *newest = beyond(v, false);

	if (before(v, 1, 0))
		finding_fix(findings_add(f, &unsupported,
					 "Karpenter %s, expected 1.x", v->text),
			    "helm -n %s upgrade karpenter oci://public.ecr.aws/"
			    "karpenter/karpenter --reuse-values",
			    finding_name(k->namespace_));
	else if (before(v, 1, 2) && rules_tell_replacements(r))
		fix_configuration(findings_add(f, &early,
					       "Karpenter %s without "
					       "`replacements: count` in the "
					       "configuration",
					       v->text),
				  p);
	else if (newest != NULL)
		finding_fix(findings_add(f, &newer,
					 "Karpenter %s, tested up to "
					 "%u.%u.%u",
					 v->text, newest[0], newest[1],
					 newest[2]),
			    "holderctl version");
}

void
judge_karpenter(const struct karpenter_facts *k, const struct rules *r,
		const struct doctor_place *p, struct findings *f)
{
	const struct version *v = &k->version;

	if (k->deployments == 0 && k->lease_left)
		findings_partly(f, DOCTOR_KARPENTER,
				"karpenter.sh/v1, without a Deployment of "
				"Karpenter; Lease %s/" KARPENTER_LEASE
				" is an old one, and whether the provider runs "
				"Karpenter cannot be seen from here",
				k->lease_namespace);
	else if (k->deployments == 0)
		findings_looked(f, DOCTOR_KARPENTER,
				"karpenter.sh/v1, without a Deployment of "
				"Karpenter (the provider runs it)");
	else
		findings_looked(f, DOCTOR_KARPENTER, "Karpenter %s",
				v->known ? v->text : "of an unknown version");
	judge_served_group(k, f);
	judge_running(k, f);
	if (v->known)
		judge_release(k, r, p, f);
}

/* --- rights --------------------------------------------------------------- */

/* The rights of deploy/base/rbac.yaml and deploy/components/tickets, and then
 * those of deploy/components/self-signed/rbac.yaml. */
const struct right rights[RIGHTS_N] = {
	{"", "nodes", "get", RIGHT_CLUSTER, RIGHT_ANY, RIGHT_NEEDED},
	{"", "nodes", "list", RIGHT_CLUSTER, RIGHT_ANY, RIGHT_NEEDED},
	{"", "nodes", "watch", RIGHT_CLUSTER, RIGHT_ANY, RIGHT_NEEDED},
	{"", "nodes", "patch", RIGHT_CLUSTER, RIGHT_ANY, RIGHT_NEEDED},
	{"karpenter.sh", "nodeclaims", "get", RIGHT_CLUSTER, RIGHT_ANY,
	 RIGHT_NEEDED},
	{"karpenter.sh", "nodeclaims", "list", RIGHT_CLUSTER, RIGHT_ANY,
	 RIGHT_NEEDED},
	{"karpenter.sh", "nodeclaims", "watch", RIGHT_CLUSTER, RIGHT_ANY,
	 RIGHT_NEEDED},
	{"karpenter.sh", "nodeclaims", "patch", RIGHT_CLUSTER, RIGHT_ANY,
	 RIGHT_NEEDED},
	{"karpenter.sh", "nodepools", "list", RIGHT_CLUSTER, RIGHT_ANY,
	 RIGHT_NEEDED},
	{"karpenter.sh", "nodepools", "watch", RIGHT_CLUSTER, RIGHT_ANY,
	 RIGHT_NEEDED},
	{"coordination.k8s.io", "leases", "create", RIGHT_OWN, RIGHT_ANY,
	 RIGHT_NEEDED},
	{"coordination.k8s.io", "leases", "get", RIGHT_OWN, RIGHT_LEASE,
	 RIGHT_NEEDED},
	{"coordination.k8s.io", "leases", "patch", RIGHT_OWN, RIGHT_LEASE,
	 RIGHT_NEEDED},
	{"coordination.k8s.io", "leases", "list", RIGHT_OF_TICKETS, RIGHT_ANY,
	 RIGHT_TICKETS},
	{"coordination.k8s.io", "leases", "watch", RIGHT_OF_TICKETS, RIGHT_ANY,
	 RIGHT_TICKETS},
	{"", "events", "list", RIGHT_DEFAULT, RIGHT_ANY, RIGHT_EVENTS},
	{"", "events", "watch", RIGHT_DEFAULT, RIGHT_ANY, RIGHT_EVENTS},
	{"events.k8s.io", "events", "create", RIGHT_DEFAULT, RIGHT_ANY,
	 RIGHT_EVENTS},
	{"events.k8s.io", "events", "patch", RIGHT_DEFAULT, RIGHT_ANY,
	 RIGHT_EVENTS},
	{"", "secrets", "create", RIGHT_OWN, RIGHT_ANY, RIGHT_RENEWS},
	{"", "secrets", "get", RIGHT_OWN, RIGHT_SECRET, RIGHT_RENEWS},
	{"", "secrets", "patch", RIGHT_OWN, RIGHT_SECRET, RIGHT_RENEWS},
	{"admissionregistration.k8s.io", "mutatingwebhookconfigurations", "get",
	 RIGHT_CLUSTER, RIGHT_WEBHOOK, RIGHT_RENEWS},
	{"admissionregistration.k8s.io", "mutatingwebhookconfigurations",
	 "patch", RIGHT_CLUSTER, RIGHT_WEBHOOK, RIGHT_RENEWS},
};

static const struct finding_kind right_kinds[RIGHT_USES] = {
	[RIGHT_NEEDED] = {DOCTOR_RIGHTS, FINDING_ERROR, "right-missing",
			  "Without it the holder cannot lead, hold or "
			  "release."},
	[RIGHT_TICKETS] = {DOCTOR_RIGHTS, FINDING_ERROR, "right-missing",
			   "Without it new tickets hold nothing."},
	[RIGHT_EVENTS] = {DOCTOR_RIGHTS, FINDING_WARNING, "right-events",
			  "Without Karpenter's Events a replacement counts as "
			  "a scale-up. Without its own, `kubectl describe "
			  "nodepool` does not say what is held."},
	[RIGHT_RENEWS] = {DOCTOR_RIGHTS, FINDING_WARNING, "right-renewer",
			  "The renewer cannot renew the certificate or "
			  "maintain caBundle. When the certificate ends, the "
			  "API server cannot call the webhook."},
};

/* Returns whether the holder does not need this right. */
static bool
needless(const struct right *right, const struct rules *r)
{
	return r->mode == MODE_OBSERVE && right->use == RIGHT_NEEDED &&
	       right->where == RIGHT_CLUSTER &&
	       strcmp(right->verb, "patch") == 0;
}

static void
list_missing(const bool allowed[RIGHTS_N], const struct rules *rules,
	     enum right_use use, struct buf *b)
{
	const struct right *last = NULL;

	for (unsigned i = 0; i < RIGHTS_N; i++) {
		const struct right *r = &rights[i];

		if (allowed[i] || r->use != use || needless(r, rules))
			continue;
		buf_printf(b, "%s%s %s", last == NULL ? "" : ", ", r->verb,
			   r->resource);
		if (r->group[0] != '\0')
			buf_printf(b, ".%s", r->group);
		last = r;
	}
}

void
judge_rights(const bool allowed[RIGHTS_N], const struct rules *r,
	     const struct doctor_place *p, struct findings *f)
{
	static const enum fix_part fixes[RIGHT_USES] = {
		[RIGHT_NEEDED] = FIX_RBAC,
		[RIGHT_TICKETS] = FIX_TICKETS,
		[RIGHT_EVENTS] = FIX_RBAC,
		[RIGHT_RENEWS] = FIX_RENEWER_RBAC,
	};
	char list[FINDING_WHAT_BYTES];
	struct buf b;

	findings_looked(f, DOCTOR_RIGHTS, "ServiceAccount %s/%s has them all",
			p->namespace_, p->account);
	for (int use = 0; use < RIGHT_USES; use++) {
		bool renews = use == RIGHT_RENEWS;
		bool tickets = use == RIGHT_TICKETS;

		buf_init(&b, list, sizeof(list));
		list_missing(allowed, r, (enum right_use)use, &b);
		if (b.len == 0)
			continue;
		fix_apply(findings_add(f, &right_kinds[use],
				       "ServiceAccount %s/%s may not %s%s%s",
				       p->namespace_,
				       renews ? p->renewer_account : p->account,
				       list, tickets ? " in namespace " : "",
				       tickets ? p->tickets : ""),
			  p, fixes[use]);
	}
}
