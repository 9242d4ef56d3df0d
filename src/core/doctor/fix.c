/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/doctor/judge.h"

/* Indexed by part: the file, or the folder for kustomize, that has its objects
 * (NULL for the installation's overlay), and the kubectl command that applies
 * them.  `auth reconcile` leaves the rights that an overlay has added. */
#define APPLY "apply"
#define RECONCILE "auth reconcile"
static const struct {
	const char *file, *folder, *apply;
} parts[] = {
	[FIX_WEBHOOK] = {NULL, NULL,
			 "apply -l app.kubernetes.io/component=webhook"},
	[FIX_POLICY] = {"base/policy.yaml", NULL, APPLY},
	[FIX_RENEWER_POLICY] = {"components/self-signed/policy.yaml", NULL,
				APPLY},
	[FIX_RBAC] = {"base/rbac.yaml", NULL, RECONCILE},
	[FIX_RENEWER_RBAC] = {"components/self-signed/rbac.yaml", NULL,
			      RECONCILE},
	[FIX_SERVICE] = {"base/service.yaml", NULL, APPLY},
	[FIX_ACCOUNT] = {"base/serviceaccount.yaml", NULL, APPLY},
	[FIX_TICKETS] = {NULL, "components/tickets", APPLY},
};

static const char *
overlay(const struct doctor_place *p)
{
	if (p->renewer)
		return "overlays/self-signed";
	return p->injected ? "overlays/default" : "base";
}

/* Returns false, with *x untouched, if the installation is not Helm's.  Without
 * --force-conflicts Helm would refuse to change what somebody else has set. */
static bool
fix_by_helm(struct finding *x, const struct doctor_place *p, const char *values)
{
	if (p->release[0] == '\0')
		return false;
	finding_fix(x,
		    "helm -n %s upgrade %s deploy/helm --reuse-values "
		    "--force-conflicts%s",
		    finding_name(p->namespace_), finding_name(p->release),
		    values);
	return true;
}

/* Writes the script of sed that makes the manifests those of the installation.
 * With mode observe the holder has no right to patch Nodes and NodeClaims. */
static void
put_script(struct buf *b, const struct doctor_place *p, enum fix_part part)
{
	if (part == FIX_RBAC && p->observes)
		buf_puts(b, "s/(get, list, watch), patch/\\1/;");
	if (strcmp(p->namespace_, "karpenter-node-holder") != 0)
		buf_printf(b,
			   "/-tickets/!s/(namespace: |serviceaccount:|"
			   "inject-ca-from: |- karpenter-node-holder\\.)"
			   "karpenter-node-holder/\\1%s/;",
			   finding_name(p->namespace_));
	if (part == FIX_TICKETS && p->tickets[0] != '\0' &&
	    strcmp(p->tickets, "karpenter-node-holder-tickets") != 0)
		buf_printf(b,
			   "s/(namespace|metadata\\.name): "
			   "karpenter-node-holder-tickets/\\1: %s/;",
			   finding_name(p->tickets));
}

/* A pipe fails if its last command does.  `kubectl apply` fails if it gets
 * nothing, but `kubectl auth reconcile` does not. */
void
fix_apply(struct finding *x, const struct doctor_place *p, enum fix_part part)
{
	const char *file = parts[part].file, *folder = parts[part].folder;
	const char *apply = parts[part].apply;
	char script[500];
	struct buf b;

	if (fix_by_helm(x, p, ""))
		return;
	buf_init(&b, script, sizeof(script));
	put_script(&b, p, part);
	if (file == NULL)
		finding_fix(x,
			    "kubectl kustomize deploy/%s%s%s%s | kubectl %s "
			    "-f -",
			    folder == NULL ? overlay(p) : folder,
			    b.len == 0 ? "" : " | sed -E '", script,
			    b.len == 0 ? "" : "'", apply);
	else if (b.len == 0)
		finding_fix(x, "kubectl %s -f deploy/%s", apply, file);
	else
		finding_fix(x,
			    "ls deploy/%s && sed -E '%s' deploy/%s | kubectl "
			    "%s -f -",
			    file, script, file, apply);
}

void
fix_then(struct finding *x, const char *fmt, ...)
{
	char then[FINDING_FIX_BYTES];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(then, sizeof(then), fmt, ap);
	va_end(ap);
	finding_fix(x, "%s && %s", x->fix, then);
}

void
fix_binding(struct finding *x, const struct doctor_place *p, const char *policy,
	    bool mutating)
{
	/* The chart has no MutatingAdmissionPolicy. */
	if (!mutating && fix_by_helm(x, p, ""))
		return;
	finding_fix(x,
		    "echo '{\"apiVersion\":\"admissionregistration.k8s.io/v1\","
		    "\"kind\":\"%sAdmissionPolicyBinding\",\"metadata\":{"
		    "\"name\":\"%s\",\"labels\":{\"app.kubernetes.io/name\":"
		    "\"karpenter-node-holder\",\"app.kubernetes.io/component\":"
		    "\"policy\"}},\"spec\":{\"policyName\":\"%s\"%s}}' | "
		    "kubectl apply -f -",
		    mutating ? "Mutating" : "Validating", policy, policy,
		    mutating ? "" : ",\"validationActions\":[\"Deny\"]");
}

void
fix_enforce(struct finding *x, const struct doctor_place *p)
{
	struct doctor_place enforces = *p;

	if (fix_by_helm(x, p, " --set config.mode=enforce"))
		return;
	enforces.observes = false;
	fix_apply(x, &enforces, FIX_RBAC);
	/* The last of several flags counts, and a flag overrides the file. */
	fix_then(x,
		 "kubectl -n %s patch deployment %s --type=json -p '[{\"op\":"
		 "\"add\",\"path\":\"/spec/template/spec/containers/0/args/-\","
		 "\"value\":\"--mode=enforce\"}]'",
		 finding_name(p->namespace_), finding_name(p->deployment));
}

void
fix_restart(struct finding *x, const struct doctor_place *p)
{
	finding_fix(x, "kubectl -n %s rollout restart deployment %s",
		    finding_name(p->namespace_), finding_name(p->deployment));
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
			    "rollout restart deployment %s",
			    ns, finding_name(p->config_map), ns,
			    finding_name(p->deployment));
}

/* A holder that leads would take the Lease from uninstall, so it is stopped
 * first and started last. */
void
fix_clear(struct finding *x, const struct doctor_place *p, bool runs)
{
	const char *ns = finding_name(p->namespace_);
	const char *name = finding_name(p->deployment);
	struct finding again;

	finding_fix(x,
		    "holderctl uninstall --remove-webhook --namespace %s "
		    "--leader-election-name=%s",
		    ns, finding_name(p->lease));
	if (!runs)
		return;
	fix_apply(&again, p, FIX_WEBHOOK);
	finding_fix(x,
		    "kubectl -n %s scale deployment %s --replicas=0 && %s && "
		    "kubectl -n %s scale deployment %s --replicas=%lld && %s",
		    ns, name, x->fix, ns, name, p->replicas, again.fix);
}
