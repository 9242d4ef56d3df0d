/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/doctor/judge.h"

/* Where the parts stand in the repository, and the label of those that an
 * overlay changes (cert-manager's annotation, the namespace in a policy). */
static const struct {
	const char *component;
	const char *file;
} parts[] = {
	[MEND_WEBHOOK] = {"webhook", NULL},
	[MEND_POLICY] = {"policy", NULL},
	[MEND_RBAC] = {NULL, "rbac"},
	[MEND_SERVICE] = {NULL, "service"},
};

static const char *
overlay(const struct doctor_place *p)
{
	if (p->observes && !p->injected)
		return "trial";
	return p->renewer || !p->injected ? "self-signed" : "default";
}

void
mend_apply(struct finding *x, const struct doctor_place *p, enum mend_part part)
{
	const char *component = parts[part].component;
	char from[80], move[160] = "", only[60] = "";

	if (p->release[0] != '\0') {
		finding_mend(x, "helm -n %s upgrade %s deploy/helm "
				"--reuse-values",
			     finding_name(p->namespace_),
			     finding_name(p->release));
		return;
	}
	if (component != NULL) {
		(void)snprintf(from, sizeof(from),
			       "kubectl kustomize deploy/overlays/%s",
			       overlay(p));
		(void)snprintf(only, sizeof(only),
			       " -l app.kubernetes.io/component=%s", component);
	} else {
		(void)snprintf(from, sizeof(from), "cat deploy/base/%s.yaml",
			       parts[part].file);
	}
	if (strcmp(p->namespace_, "karpenter-node-holder") != 0)
		(void)snprintf(move, sizeof(move),
			       " | sed -E 's/(namespace: |serviceaccount:|"
			       "inject-ca-from: )karpenter-node-holder/\\1%s/'",
			       finding_name(p->namespace_));
	finding_mend(x, "%s%s | kubectl apply%s -f -", from, move, only);
}

void
mend_configuration(struct finding *x, const struct doctor_place *p)
{
	const char *ns = finding_name(p->namespace_);

	if (p->config_map[0] == '\0')
		finding_mend(x, "kubectl -n %s get configmaps", ns);
	else
		finding_mend(x,
			     "kubectl -n %s edit configmap %s && kubectl -n %s "
			     "rollout restart deployment karpenter-node-holder",
			     ns, finding_name(p->config_map), ns);
}
