/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/doctor/judge.h"

/* Indexed by part: the file, or the folder for kustomize, that has its objects,
 * and the kubectl command that applies them.  `auth reconcile` leaves the
 * rights that an overlay has added. */
#define APPLY "apply"
#define RECONCILE "auth reconcile"
static const struct {
	const char *file, *folder, *apply;
} parts[] = {
	[FIX_WEBHOOK] = {NULL, "overlays/self-signed",
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

/* The objects of a folder, by a script of sed if there is one. */
#define PIPE "kubectl kustomize deploy/%s%s%s%s | "
#define SED(script)                                                            \
	(script)[0] == '\0' ? "" : " | sed -E '", script,                      \
		(script)[0] == '\0' ? "" : "'"

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
 * With mode observe the holder has no right to patch Nodes and NodeClaims.
 * Somebody's own namespace of tickets gets no labels of ours. */
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
			   "/^- apiVersion: v1$/,/ name: /d;"
			   "s/(namespace|metadata\\.name): "
			   "karpenter-node-holder-tickets/\\1: %s/;",
			   finding_name(p->tickets));
}

/* Without a webhook only a Certificate tells whether cert-manager made the
 * serving pair.  In another installation overlays/default would have it replace
 * the pair.  The check has no right to read Certificates. */
static void
fix_webhook(struct finding *x, const struct doctor_place *p, const char *script)
{
	const char *apply = parts[FIX_WEBHOOK].apply;

	finding_fix(x,
		    "if kubectl -n %s get certificates.cert-manager.io "
		    "karpenter-node-holder; then " PIPE
		    "kubectl %s -f -; else " PIPE "kubectl %s -f -; fi",
		    finding_name(p->namespace_), "overlays/default",
		    SED(script), apply, "base", SED(script), apply);
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
	if (part == FIX_WEBHOOK && !p->renewer)
		fix_webhook(x, p, script);
	else if (file == NULL)
		finding_fix(x, PIPE "kubectl %s -f -", folder, SED(script),
			    apply);
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
 * first.  It is started again, and has its webhook with the caBundle again,
 * also if uninstall fails. */
void
fix_clear(struct finding *x, const struct doctor_place *p, bool runs)
{
	const char *ns = finding_name(p->namespace_);
	const char *name = finding_name(p->deployment);
	char clear[FINDING_FIX_BYTES], again[FINDING_FIX_BYTES];
	struct buf b;

	finding_fix(x,
		    "holderctl uninstall --remove-webhook --namespace %s "
		    "--leader-election-name=%s",
		    ns, finding_name(p->lease));
	if (!runs)
		return;
	memcpy(clear, x->fix, sizeof(clear));
	buf_init(&b, again, sizeof(again));
	buf_printf(
		&b,
		"kubectl -n %s scale deployment %s --replicas=%lld; sed '/^  "
		"resourceVersion:/d' webhook-was.yaml | kubectl create -f -",
		ns, name, p->replicas);
	finding_fix(x,
		    "kubectl get mutatingwebhookconfiguration %s -o yaml "
		    ">webhook-was.yaml && kubectl -n %s scale deployment %s "
		    "--replicas=0 && if %s; then %s && rm webhook-was.yaml; "
		    "else %s; false; fi",
		    finding_name(p->configuration), ns, name, clear, again,
		    again);
}
