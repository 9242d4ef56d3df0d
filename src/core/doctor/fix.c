/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/doctor/judge.h"

#define TICKETS_NAMESPACE "karpenter-node-holder-tickets"

/* Indexed by part: the kubectl command that builds the manifests, and the
 * kubectl command that applies them.  `auth reconcile` applies only roles and
 * their bindings. */
static const struct {
	const char *from; /* NULL for the installation's overlay */
	const char *apply;
} parts[] = {
	[FIX_WEBHOOK] = {NULL, "apply -l app.kubernetes.io/component=webhook"},
	[FIX_POLICY] = {NULL, "apply -l app.kubernetes.io/component=policy"},
	[FIX_RBAC] = {"kustomize deploy/base", "auth reconcile"},
	[FIX_RENEWER_RBAC] = {"kustomize deploy/components/self-signed",
			      "auth reconcile"},
	[FIX_SERVICE] = {"create --dry-run=client -o yaml -f "
			 "deploy/base/service.yaml",
			 "apply"},
	[FIX_ACCOUNT] = {"create --dry-run=client -o yaml -f "
			 "deploy/base/serviceaccount.yaml",
			 "apply"},
	[FIX_TICKETS] = {"kustomize deploy/components/tickets", "apply"},
};

static const char *
overlay(const struct doctor_place *p)
{
	if (p->observes && !p->injected)
		return "trial";
	return p->renewer ? "self-signed" : "default";
}

/* Returns false, with *x untouched, if the installation is not Helm's. */
static bool
fix_by_helm(struct finding *x, const struct doctor_place *p, const char *first,
	    const char *values)
{
	if (p->release[0] == '\0')
		return false;
	finding_fix(x, "%shelm -n %s upgrade %s deploy/helm --reuse-values%s",
		    first, finding_name(p->namespace_),
		    finding_name(p->release), values);
	return true;
}

void
fix_apply(struct finding *x, const struct doctor_place *p, enum fix_part part,
	  const char *first)
{
	char from[80], move[400] = "";

	if (fix_by_helm(x, p, first, ""))
		return;
	/* With mode observe, take the roles from the overlay.  The roles of
	 * deploy/base allow writes. */
	if (parts[part].from == NULL || (part == FIX_RBAC && p->observes))
		(void)snprintf(from, sizeof(from),
			       "kustomize deploy/overlays/%s", overlay(p));
	else
		(void)snprintf(from, sizeof(from), "%s", parts[part].from);
	if (strcmp(p->namespace_, "karpenter-node-holder") != 0)
		(void)snprintf(move, sizeof(move),
			       " | sed -E '/-tickets/!s/(namespace: |"
			       "serviceaccount:|inject-ca-from: |"
			       "- karpenter-node-holder\\.)"
			       "karpenter-node-holder/\\1%s/'",
			       finding_name(p->namespace_));
	if (part == FIX_TICKETS && p->tickets[0] != '\0' &&
	    strcmp(p->tickets, TICKETS_NAMESPACE) != 0)
		(void)snprintf(
			move + strlen(move), sizeof(move) - strlen(move),
			" | sed -E 's/(namespace|metadata\\.name): " TICKETS_NAMESPACE
			"/\\1: %s/'",
			finding_name(p->tickets));
	finding_fix(x, "%skubectl %s%s | kubectl %s -f -", first, from, move,
		    parts[part].apply);
}

void
fix_enforce(struct finding *x, const struct doctor_place *p)
{
	struct doctor_place enforces = *p;
	char roles[FINDING_FIX_BYTES];

	if (fix_by_helm(x, p, "", " --set config.mode=enforce"))
		return;
	enforces.observes = false;
	fix_apply(x, &enforces, FIX_RBAC, "");
	memcpy(roles, x->fix, sizeof(roles));
	/* The last of several flags counts, and a flag overrides the file. */
	finding_fix(x,
		    "%s && kubectl -n %s patch deployment "
		    "karpenter-node-holder --type=json -p '[{\"op\":\"add\","
		    "\"path\":\"/spec/template/spec/containers/0/args/-\","
		    "\"value\":\"--mode=enforce\"}]'",
		    roles, finding_name(p->namespace_));
}

void
fix_configuration(struct finding *x, const struct doctor_place *p)
{
	const char *ns = finding_name(p->namespace_);

	if (p->config_map[0] == '\0')
		finding_fix(x, "kubectl -n %s get configmaps", ns);
	else
		finding_fix(x,
			    "kubectl -n %s edit configmap %s && kubectl -n %s "
			    "rollout restart deployment karpenter-node-holder",
			    ns, finding_name(p->config_map), ns);
}
