/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/doctor/judge.h"

/* Indexed by part: the file with its objects; or the folder that kustomize
 * builds, and which of its objects are meant. */
static const struct {
	const char *file, *folder, *only;
} parts[] = {
	/* its folder is the installation's overlay */
	[FIX_WEBHOOK] = {NULL, NULL, "-l app.kubernetes.io/component=webhook "},
	[FIX_POLICY] = {"deploy/base/policy.yaml", NULL, NULL},
	[FIX_RENEWER_POLICY] = {"deploy/components/self-signed/policy.yaml",
				NULL, NULL},
	[FIX_RBAC] = {"deploy/base/rbac.yaml", NULL, NULL},
	[FIX_RENEWER_RBAC] = {"deploy/components/self-signed/rbac.yaml", NULL,
			      NULL},
	[FIX_SERVICE] = {"deploy/base/service.yaml", NULL, NULL},
	[FIX_ACCOUNT] = {"deploy/base/serviceaccount.yaml", NULL, NULL},
	[FIX_TICKETS] = {NULL, "deploy/components/tickets", ""},
};

static const char *
overlay(const struct doctor_place *p)
{
	if (p->renewer)
		return "deploy/overlays/self-signed";
	return p->injected ? "deploy/overlays/default" : "deploy/base";
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
}

/* A pipe fails if its last command does, and `kubectl apply` fails if it gets
 * nothing (`kubectl auth reconcile` does not). */
void
fix_apply(struct finding *x, const struct doctor_place *p, enum fix_part part)
{
	const char *file = parts[part].file, *folder = parts[part].folder;
	char script[300];
	struct buf b;

	if (fix_by_helm(x, p, ""))
		return;
	buf_init(&b, script, sizeof(script));
	put_script(&b, p, part);
	if (folder == NULL)
		folder = overlay(p);
	if (file == NULL)
		finding_fix(x,
			    "kubectl kustomize %s%s%s%s | kubectl apply %s-f -",
			    folder, b.len == 0 ? "" : " | sed -E '", script,
			    b.len == 0 ? "" : "'", parts[part].only);
	else if (b.len == 0)
		finding_fix(x, "kubectl apply -f %s", file);
	else
		finding_fix(x, "sed -E '%s' %s | kubectl apply -f -", script,
			    file);
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
fix_binding(struct finding *x, const struct doctor_place *p, const char *policy)
{
	if (fix_by_helm(x, p, ""))
		return;
	finding_fix(
		x,
		"echo '{\"apiVersion\":\"admissionregistration.k8s.io/v1\","
		"\"kind\":\"ValidatingAdmissionPolicyBinding\",\"metadata\":"
		"{\"name\":\"%s\",\"labels\":{\"app.kubernetes.io/name\":"
		"\"karpenter-node-holder\",\"app.kubernetes.io/component\":"
		"\"policy\"}},\"spec\":{\"policyName\":\"%s\","
		"\"validationActions\":[\"Deny\"]}}' | kubectl apply -f -",
		policy, policy);
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
