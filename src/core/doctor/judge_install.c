/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/doctor/judge.h"

/*
 * Judges what was installed: the Deployments and their pods, what the leader
 * says of itself, the webhook's Service, the policies that bound our accounts,
 * other installations in the cluster, and the lists of NodePools in the
 * configuration.
 *
 * Each section begins with its table of findings.  A finding has its check, its
 * level, an id for programs, and the reason why it matters.  The function below
 * the table adds a finding for each fact that is wrong, with the command that
 * fixes it.  src/tools/doctor calls each function once per check, after it has
 * read the facts.
 */

#define UNHELD                                                                  \
	"Because of failurePolicy Ignore nothing is refused, but new machines " \
	"come up without a hold."
#define CONTROLLERS                                                            \
	"app.kubernetes.io/name=karpenter-node-holder,"                        \
	"app.kubernetes.io/component=controller"

/* --- Deployments and their pods ------------------------------------------- */

static const struct finding_kind
	not_ready = {DOCTOR_HOLDER, FINDING_ERROR, "pods-not-ready",
		     "No replica answers reviews. " UNHELD},
	some_ready = {DOCTOR_HOLDER, FINDING_WARNING, "pods-some-not-ready",
		      "The other replicas do its work. When they go, nobody "
		      "does."},
	unrolled = {DOCTOR_HOLDER, FINDING_WARNING, "rollout-unfinished",
		    "The pods that run are those of before: what was changed "
		    "last, such as the configuration, is not in force."},
	renewer = {DOCTOR_HOLDER, FINDING_WARNING, "renewer-down",
		   "Nobody renews the certificate or maintains caBundle. When "
		   "the certificate ends, the API server cannot call the "
		   "webhook."};

/* Returns the first pod of this component that is not ready and whose `trouble`
 * is known, or else the first that is not ready, or else NULL. */
static const struct pod_facts *
worst_pod(const struct pod_facts *at, unsigned n, const char *component)
{
	const struct pod_facts *worst = NULL;

	for (unsigned i = 0; i < n; i++) {
		if (at[i].ready || strcmp(at[i].component, component) != 0)
			continue;
		if (worst == NULL ||
		    (worst->trouble[0] == '\0' && at[i].trouble[0] != '\0'))
			worst = &at[i];
	}
	return worst;
}

/* What the condition ReplicaFailure of a Deployment says, and the command about
 * it: "kubectl -n NAMESPACE BEFORE NAME AFTER". */
static const struct {
	const char *words, *before, *after;
} failures[] = {
	{"exceeded quota", "describe resourcequotas", NULL},
	{" usage per ", "describe limitranges", NULL},
	{" limit of ", "describe limitranges", NULL},
	{"PodSecurity", "rollout undo deployment ", ""},
	{"PriorityClass", "patch deployment ",
	 " -p '{\"spec\":{\"template\":{\"spec\":{\"priorityClassName\":"
	 "\"system-cluster-critical\"}}}}'"},
	{"", "describe deployment,replicasets,pods", NULL},
};

static void
fix_failure(struct finding *x, const struct deployment_facts *d,
	    const struct doctor_place *p)
{
	const char *ns = finding_name(p->namespace_);
	const char *name = finding_name(d->name);
	size_t i = 0;

	if (strstr(d->failure, "service account") != NULL) {
		if (strcmp(d->component, "renewer") == 0 &&
		    p->release[0] == '\0')
			finding_fix(x, "kubectl -n %s create serviceaccount %s",
				    ns, finding_name(d->account));
		else
			fix_apply(x, p, FIX_ACCOUNT);
		/* The controller would try again later and later. */
		fix_then(x, "kubectl -n %s rollout restart deployment %s", ns,
			 name);
		return;
	}
	/* If the newest version has run before, it is the namespace that has
	 * changed. */
	if (strstr(d->failure, "PodSecurity") != NULL &&
	    d->rolled_ms != STAMP_NONE) {
		finding_fix(x, "kubectl get namespace %s --show-labels", ns);
		return;
	}
	while (strstr(d->failure, failures[i].words) == NULL)
		i++;
	finding_fix(x, "kubectl -n %s %s%s%s", ns, failures[i].before,
		    failures[i].after == NULL ? "" : name,
		    failures[i].after == NULL ? "" : failures[i].after);
}

static void
fix_pods(struct finding *x, const struct deployment_facts *d,
	 const struct pod_facts *worst, const struct doctor_place *p)
{
	const char *ns = finding_name(p->namespace_);

	if (d->replicas == 0)
		finding_fix(x,
			    "kubectl -n %s scale deployment %s "
			    "--replicas=%d",
			    ns, finding_name(d->name),
			    strcmp(d->component, "renewer") == 0 ? 1 : 2);
	else if (d->failure[0] != '\0')
		fix_failure(x, d, p);
	else if (worst == NULL || worst->trouble[0] == '\0')
		finding_fix(x, "kubectl -n %s describe deployment,pods", ns);
	else
		finding_fix(x, "kubectl -n %s logs %s", ns,
			    finding_name(worst->name));
}

/* Writes why the Deployment's pods are not ready, as the end of a sentence. */
static void
put_reason(struct buf *b, const struct deployment_facts *d,
	   const struct pod_facts *worst)
{
	if (d->replicas == 0)
		return;
	if (d->failure[0] != '\0')
		buf_printf(b, ": its pods cannot be created: %s", d->failure);
	else if (worst == NULL)
		buf_puts(b, ": there is no pod for it");
	else if (worst->trouble[0] != '\0')
		buf_printf(b, ": %s: %s", worst->name, worst->trouble);
	else
		buf_printf(b, ", such as %s", worst->name);
}

void
judge_rollout(const struct deployment_facts *d, const struct pod_facts *at,
	      unsigned n, const struct doctor_place *p, struct findings *f)
{
	bool renews = strcmp(d->component, "renewer") == 0;
	bool old = d->observed < d->generation || d->updated < d->replicas;
	const struct pod_facts *worst = worst_pod(at, n, d->component);
	const struct finding_kind *kind = renews		   ? &renewer
					  : d->ready == 0	   ? &not_ready
					  : d->ready < d->replicas ? &some_ready
								   : &unrolled;
	char reason[FINDING_WHAT_BYTES];
	struct buf b;

	if (d->replicas > 0 && d->ready >= d->replicas && !old)
		return;
	buf_init(&b, reason, sizeof(reason));
	put_reason(&b, d, worst);
	fix_pods(findings_add(f, kind,
			      "Deployment %s has %lld of %lld pods ready, "
			      "%lld of them of its newest version%s",
			      d->name, d->ready, d->replicas, d->updated,
			      reason),
		 d, worst, p);
}

/* --- what the leader says ------------------------------------------------- */

static const struct finding_kind
	no_cert = {DOCTOR_HOLDER, FINDING_ERROR, "certificate-missing",
		   "The API server cannot call the webhook. " UNHELD},
	expired = {DOCTOR_HOLDER, FINDING_ERROR, "certificate-expired",
		   "The API server cannot call the webhook. " UNHELD},
	ends = {DOCTOR_HOLDER, FINDING_WARNING, "certificate-ends",
		"Neither cert-manager nor the renewer maintains it, so it ends "
		"unless somebody replaces it."},
	waiting = {DOCTOR_HOLDER, FINDING_WARNING, "writes-refused",
		   "Machines are not held, or not released, until these writes "
		   "succeed. They are tried again, later and later."},
	unanswered = {DOCTOR_HOLDER, FINDING_WARNING, "leader-unanswered",
		      "Its certificate, its writes and its configuration are "
		      "not judged. The API server has to reach the pod's port "
		      "metrics, also through a NetworkPolicy."},
	foreign = {DOCTOR_ADMISSION, FINDING_WARNING, "admission-foreign",
		   "Each may take away the hold that the webhook or the leader "
		   "writes, or refuse it. Only its owner can say what it is "
		   "for."},
	unheld = {DOCTOR_HOLDER, FINDING_ERROR, "holds-missing",
		  "Karpenter may disrupt these machines, although the holder "
		  "counts their NodePool as held. The leader's writes are "
		  "refused, or something takes the holds away."},
	stale = {DOCTOR_HOLDER, FINDING_WARNING, "configuration-stale",
		 "A replica reads its configuration when it starts. What was "
		 "changed since is not in force, and comes into force without "
		 "notice when the pod is replaced."},
	blind = {DOCTOR_HOLDER, FINDING_WARNING, "leader-blind",
		 "While it cannot list or watch this, it releases nothing. "
		 "Without tickets it does, and new tickets hold nothing."},
	unread = {
		DOCTOR_HOLDER, FINDING_WARNING, "object-unread",
		"It is too large, or damaged. A NodeClaim counts as not ready "
		"until startupTimeout and holdDuration are over."};
/* A certificate that nobody renews is reported this long before it expires. */
#define ENDS_MS (14 * INT64_C(86400000))

static void
fix_certificate(struct finding *x, const struct webhook_facts *w,
		const struct doctor_place *p)
{
	const char *ns = finding_name(p->namespace_);

	if (p->injected)
		finding_fix(x,
			    "kubectl -n %s describe certificates,"
			    "certificaterequests",
			    ns);
	else if (p->renewer)
		finding_fix(x,
			    "kubectl -n %s logs -l app.kubernetes.io/"
			    "component=renewer --tail=50",
			    ns);
	else
		finding_fix(x,
			    "karpenter-node-holder certs --out certs --dns "
			    "%s.%s.svc && kubectl -n %s create secret tls "
			    "%s --cert certs/tls.crt --key certs/tls.key "
			    "--dry-run=client -o yaml | kubectl apply -f -",
			    w == NULL ? "karpenter-node-holder"
				      : finding_name(w->service),
			    ns, ns, finding_name(p->secret));
}

static void
judge_certificate(const struct leader_facts *l, const struct webhook_facts *w,
		  const struct doctor_place *p, int64_t now_ms,
		  struct findings *f)
{
	const struct finding_kind *kind = l->valid ? &ends : &expired;
	char until[STAMP_BYTES];

	if (l->not_after_ms == STAMP_NONE) {
		fix_certificate(findings_add(f, &no_cert,
					     "replica %s serves no "
					     "certificate: Secret %s is "
					     "missing or no usable pair",
					     l->replica, p->secret),
				w, p);
		return;
	}
	if (l->valid &&
	    (p->injected || p->renewer || l->not_after_ms - now_ms > ENDS_MS))
		return;
	stamp_format(l->not_after_ms, until);
	fix_certificate(findings_add(f, kind,
				     "the certificate that replica %s serves "
				     "%s valid until %s",
				     l->replica, l->valid ? "is" : "was",
				     until),
			w, p);
}

void
judge_foreign(const char *registered, struct findings *f)
{
	finding_fix(findings_add(f, &foreign,
				 "registered for Nodes or NodeClaims by "
				 "somebody else: %s",
				 registered),
		    "kubectl get %s -o yaml", registered);
}

void
judge_unanswered(const struct pod_facts *at, const char *why,
		 const struct doctor_place *p, struct findings *f)
{
	finding_fix(findings_add(f, &unanswered, "/status of pod %s: %s",
				 at->name, why),
		    "kubectl -n %s get pods,networkpolicies -o wide",
		    finding_name(p->namespace_));
}

void
judge_leader(const struct leader_facts *l, const struct webhook_facts *w,
	     const struct doctor_place *p, int64_t now_ms, struct findings *f)
{
	/* w is NULL if a policy takes the webhook's place.  A policy needs no
	 * certificate. */
	if (w != NULL)
		judge_certificate(l, w, p, now_ms, f);
	if (l->waiting > 0)
		finding_fix(findings_add(f, &waiting,
					 "writes on machines of NodePool %s "
					 "were refused or failed, %llu in all",
					 l->waits,
					 (unsigned long long)l->waiting),
			    "kubectl -n %s logs %.*s | grep -i refused",
			    finding_name(p->namespace_),
			    (int)strcspn(finding_name(l->replica), "_"),
			    finding_name(l->replica));
	if (l->unheld[0] != '\0')
		finding_fix(findings_add(f, &unheld,
					 "NodePool %s is held, and none of its "
					 "%lld machines has a hold",
					 l->unheld, l->bare),
			    "kubectl -n %s logs %.*s | grep 'write refused'",
			    finding_name(p->namespace_),
			    (int)strcspn(finding_name(l->replica), "_"),
			    finding_name(l->replica));
	if (l->stale)
		fix_restart(findings_add(f, &stale,
					 "the configuration file has changed "
					 "since replica %s read it",
					 l->replica),
			    p);
	if (l->unread[0] != '\0')
		finding_fix(findings_add(f, &unread, "%s", l->unread),
			    "kubectl -n %s logs %.*s | grep 'object left out'",
			    finding_name(p->namespace_),
			    (int)strcspn(finding_name(l->replica), "_"),
			    finding_name(l->replica));
	if (l->unseen[0] != '\0')
		finding_fix(findings_add(f, &blind,
					 "the leader cannot list or watch %s",
					 l->unseen),
			    "kubectl -n %s logs %.*s --tail=50",
			    finding_name(p->namespace_),
			    (int)strcspn(finding_name(l->replica), "_"),
			    finding_name(l->replica));
}

/* --- the Service ---------------------------------------------------------- */

static const struct finding_kind
	no_service = {DOCTOR_ADMISSION, FINDING_ERROR, "service-missing",
		      "The API server cannot call the webhook. " UNHELD},
	other_port = {DOCTOR_ADMISSION, FINDING_ERROR, "service-port",
		      "The API server cannot call the webhook. " UNHELD},
	other_target = {DOCTOR_ADMISSION, FINDING_ERROR, "service-target",
			"The API server cannot call the webhook. " UNHELD},
	no_selector = {DOCTOR_ADMISSION, FINDING_ERROR, "service-selector",
		       "The Service leads to no pod of the holder. " UNHELD},
	no_endpoints = {DOCTOR_ADMISSION, FINDING_ERROR, "endpoints-missing",
			"The Service leads to no pod of the holder. " UNHELD};

static bool
any_pod_has(const struct pod_facts *at, unsigned n, const char *port)
{
	char word[NODEPOOL_BYTES + 3] = " ";

	(void)strncat(word, port, NODEPOOL_BYTES);
	(void)strcat(word, " ");
	for (unsigned i = 0; i < n; i++)
		if (strcmp(at[i].component, "controller") == 0 &&
		    strstr(at[i].ports, word) != NULL)
			return true;
	return false;
}

/* Returns the number of the holder's pods, or of those that are ready. */
static unsigned
count_pods(const struct pod_facts *at, unsigned n, bool ready)
{
	unsigned count = 0;

	for (unsigned i = 0; i < n; i++)
		count += (at[i].ready || !ready) &&
			 strcmp(at[i].component, "controller") == 0;
	return count;
}

/* Sets the finding's `fix` to a command that sets one field of the webhook's
 * reference to its Service. */
static void
fix_address(struct finding *x, const struct webhook_facts *w, const char *key,
	    const char *value)
{
	finding_fix(x,
		    "kubectl patch mutatingwebhookconfiguration %s --type=json "
		    "-p '[{\"op\":\"add\",\"path\":\"/webhooks/%u/"
		    "clientConfig/service/%s\",\"value\":%s}]'",
		    finding_name(w->configuration), w->index, key, value);
}

static bool
judge_address(const struct service_facts *s, const struct webhook_facts *w,
	      const struct doctor_place *p, struct findings *f)
{
	char value[NODEPOOL_BYTES + 2];
	struct finding *x;

	if (s->there && s->port)
		return true;
	if (s->there) {
		x = findings_add(f, &other_port,
				 "webhook of %s: it calls port %lld of Service "
				 "%s/%s, which has port %lld",
				 w->configuration, w->port, w->namespace_,
				 w->service, s->first_port);
		(void)snprintf(value, sizeof(value), "%lld", s->first_port);
		fix_address(x, w, "port", value);
		return false;
	}
	if (strcmp(w->namespace_, p->namespace_) == 0) {
		fix_apply(findings_add(f, &no_service,
				       "webhook of %s: it calls Service "
				       "%s/%s, which is not there",
				       w->configuration, w->namespace_,
				       w->service),
			  p, FIX_SERVICE);
		return false;
	}
	x = findings_add(
		f, &no_service,
		"webhook of %s: it calls Service %s/%s, but the holder "
		"is in namespace %s",
		w->configuration, w->namespace_, w->service, p->namespace_);
	(void)snprintf(value, sizeof(value), "\"%.*s\"", NODEPOOL_BYTES - 1,
		       finding_name(p->namespace_));
	fix_address(x, w, "namespace", value);
	return false;
}

void
judge_service(const struct service_facts *s, const struct webhook_facts *w,
	      const struct pod_facts *at, unsigned n,
	      const struct doctor_place *p, struct findings *f)
{
	const char *ns = finding_name(w->namespace_);
	const char *name = finding_name(w->service);

	if (!judge_address(s, w, p, f))
		return;
	if (count_pods(at, n, false) > 0 && !any_pod_has(at, n, s->target))
		finding_fix(findings_add(f, &other_target,
					 "Service %s/%s leads to port %s, "
					 "which no pod of the holder has",
					 w->namespace_, w->service, s->target),
			    "kubectl -n %s patch service %s -p '{\"spec\":"
			    "{\"ports\":[{\"port\":%lld,\"targetPort\":"
			    "\"webhook\"}]}}'",
			    ns, name, w->port);
	else if (s->selector[0] != '\0')
		finding_fix(
			findings_add(f, &no_selector,
				     "Service %s/%s selects pods with %s, "
				     "which those of the holder do not have",
				     w->namespace_, w->service, s->selector),
			"kubectl -n %s set selector service %s " CONTROLLERS,
			ns, name);
	else if (s->slices_known && s->ready == 0 &&
		 count_pods(at, n, true) > 0)
		finding_fix(findings_add(f, &no_endpoints,
					 "Service %s/%s has no ready endpoint, "
					 "though pods of the holder are ready",
					 w->namespace_, w->service),
			    "kubectl -n %s delete endpointslices -l "
			    "kubernetes.io/service-name=%s",
			    ns, name);
}

/* --- what bounds our accounts --------------------------------------------- */

static const struct finding_kind
	no_policy = {DOCTOR_RIGHTS, FINDING_WARNING, "write-policy-missing",
		     "Whoever gets the account's token may change more than "
		     "the program ever does."},
	no_binding = {DOCTOR_RIGHTS, FINDING_WARNING, "write-policy-unbound",
		      "Without a binding that denies, the policy bounds "
		      "nothing. Whoever gets the account's token may change "
		      "more than the program ever does."},
	elsewhere = {DOCTOR_RIGHTS, FINDING_WARNING, "write-policy-elsewhere",
		     "It bounds nothing here. Whoever gets the account's token "
		     "may change more than the program ever does."},
	no_key = {DOCTOR_RIGHTS, FINDING_ERROR, "write-policy-key",
		  "The API server refuses each hold and each release."};

/* Returns a command that adds the hold annotation to the policy's variable
 * `holds`.  It never takes keys from that list: if the list is not known, it
 * opens the editor. */
static const char *
add_hold(const struct policy_facts *w, const char *hold_key,
	 char out[FINDING_FIX_BYTES])
{
	struct buf b;

	buf_init(&b, out, FINDING_FIX_BYTES);
	buf_printf(&b,
		   "kubectl patch validatingadmissionpolicy %s -p '{\"spec\":{"
		   "\"variables\":[{\"name\":\"holds\",\"expression\":\"",
		   w->name);
	for (const char *s = w->holds; *s != '\0'; s++)
		if (strchr("'`$", *s) != NULL)
			buf_printf(&b, "\\u%04x", *s);
		else if (*s == '"' || *s == '\\')
			buf_printf(&b, "\\%c", *s);
		else
			buf_printf(&b, "%c", *s < ' ' ? ' ' : *s);
	buf_printf(&b, " + [\\u0027%s\\u0027]\"}]}}'", finding_name(hold_key));
	if (w->holds[0] == '\0' || b.full)
		(void)snprintf(out, FINDING_FIX_BYTES,
			       "kubectl edit validatingadmissionpolicy %s",
			       w->name);
	return out;
}

/* The manifests' policy lists the default annotation only. */
static void
fix_policy(struct finding *x, const struct policy_facts *w,
	   const char *hold_key, const struct doctor_place *p)
{
	struct policy_facts made = {.name = w->name,
				    .holds = "['" DEFAULT_HOLD_KEY "']"};
	char command[FINDING_FIX_BYTES];

	fix_apply(x, p, hold_key == NULL ? FIX_RENEWER_POLICY : FIX_POLICY);
	if (hold_key != NULL && p->release[0] == '\0' &&
	    strcmp(hold_key, DEFAULT_HOLD_KEY) != 0)
		fix_then(x, "%s", add_hold(&made, hold_key, command));
}

/* The fixes leave the policy's variables as they are.  To apply the policy
 * again would take the configuration's hold annotation out of them. */
static void
judge_bounds(const struct policy_facts *w, const char *hold_key,
	     const struct doctor_place *p, struct findings *f)
{
	const char *ns = finding_name(p->namespace_);

	if (!w->binding)
		fix_binding(findings_add(f, &no_binding,
					 "ValidatingAdmissionPolicy %s: its "
					 "binding is missing",
					 w->name),
			    p, w->name, false);
	else if (!w->denies)
		finding_fix(
			findings_add(f, &no_binding,
				     "ValidatingAdmissionPolicy %s: its "
				     "binding does not deny",
				     w->name),
			"kubectl patch validatingadmissionpolicybinding %s "
			"--type=json -p '[{\"op\":\"replace\",\"path\":"
			"\"/spec/validationActions\",\"value\":[\"Deny\"]}]'",
			w->name);
	if (!w->here)
		finding_fix(findings_add(f, &elsewhere,
					 "ValidatingAdmissionPolicy %s: its "
					 "matchConditions do not name accounts "
					 "of namespace %s",
					 w->name, p->namespace_),
			    "kubectl patch validatingadmissionpolicy %s "
			    "--type=json -p '[{\"op\":\"add\",\"path\":"
			    "\"/spec/matchConditions\",\"value\":[{\"name\":"
			    "\"%s\",\"expression\":\"request.userInfo.username."
			    "startsWith(\\u0027system:serviceaccount:%s:"
			    "\\u0027) && request.userInfo.username.split("
			    "\\u0027:\\u0027)[3].contains(\\u0027%s\\u0027)"
			    "\"}]}]'",
			    w->name, hold_key == NULL ? "renewer" : "holder",
			    ns, w->name);
}

void
judge_policy(const struct policy_facts *w, const char *hold_key,
	     const struct doctor_place *p, struct findings *f)
{
	char command[FINDING_FIX_BYTES];

	if (!w->policy) {
		fix_policy(findings_add(f, &no_policy,
					"there is no ValidatingAdmissionPolicy "
					"%s",
					w->name),
			   w, hold_key, p);
		return;
	}
	judge_bounds(w, hold_key, p, f);
	if (hold_key != NULL && !w->key)
		finding_fix(findings_add(f, &no_key,
					 "ValidatingAdmissionPolicy %s does "
					 "not allow the holder's annotation %s "
					 "(holdAnnotation.key): its variable "
					 "holds has to list it",
					 w->name, hold_key),
			    "%s", add_hold(w, hold_key, command));
}

/* --- other installations -------------------------------------------------- */

static const struct finding_kind
	second =
		{DOCTOR_HOLDER, FINDING_ERROR, "holder-twice",
		 "Each has a Lease of its own, so both lead: one releases what "
		 "the other holds."},
	away = {DOCTOR_HOLDER, FINDING_ERROR, "holder-elsewhere",
		"What else is said here is about the namespace in which the "
		"holder is."};

void
judge_elsewhere(const char *asked, const struct doctor_place *p,
		struct findings *f)
{
	finding_fix(findings_add(f, &away,
				 "there is no holder in namespace %s: it is "
				 "in %s",
				 asked, p->namespace_),
		    "holderctl check --namespace %s",
		    finding_name(p->namespace_));
}

void
judge_second(const char *other, const char *deployment,
	     const struct doctor_place *p, struct findings *f)
{
	struct finding *x =
		findings_add(f, &second,
			     "a second holder runs in namespace %s, "
			     "beside that in %s",
			     other, p->namespace_);

	if (deployment != NULL)
		finding_fix(x, "kubectl -n %s scale deployment %s --replicas=0",
			    finding_name(other), finding_name(deployment));
	else
		finding_fix(x, "kubectl -n %s delete lease %s",
			    finding_name(other), finding_name(p->lease));
}

/* --- replicas ------------------------------------------------------------- */

static const struct finding_kind
	alone = {DOCTOR_PLACEMENT, FINDING_WARNING, "one-replica",
		 "While its pod moves, nobody answers reviews and nobody "
		 "releases."},
	no_budget = {DOCTOR_PLACEMENT, FINDING_WARNING, "budget-missing",
		     "Without a PodDisruptionBudget a drain may evict all "
		     "replicas at once."},
	tight = {DOCTOR_PLACEMENT, FINDING_WARNING, "budget-blocks",
		 "A drain waits for ever on a node with such a pod, also when "
		 "Karpenter or an upgrade drains it."};

/* The one that the manifests brought is deleted: it was there for these pods
 * alone, and has the Deployment's name. */
static void
fix_second(struct finding *x, const struct budget_facts *b, const char *name,
	   const char *ns)
{
	if (strcmp(b->first, name) == 0 || strcmp(b->second, name) == 0)
		finding_fix(x, "kubectl -n %s delete poddisruptionbudget %s",
			    ns, finding_name(name));
	else
		finding_fix(x, "kubectl -n %s describe poddisruptionbudgets",
			    ns);
}

void
judge_redundancy(const struct deployment_facts *d, const struct budget_facts *b,
		 const struct doctor_place *p, struct findings *f)
{
	const char *ns = finding_name(p->namespace_);

	if (d->replicas == 1)
		finding_fix(findings_add(f, &alone,
					 "Deployment %s has one replica",
					 d->name),
			    "kubectl -n %s scale deployment %s --replicas=2",
			    ns, finding_name(d->name));
	else if (d->replicas > 1 && b->known && b->first[0] == '\0')
		finding_fix(findings_add(f, &no_budget,
					 "no PodDisruptionBudget selects the "
					 "pods of Deployment %s",
					 d->name),
			    "kubectl -n %s create poddisruptionbudget %s "
			    "--max-unavailable=1 --selector=" CONTROLLERS,
			    ns, finding_name(d->name));
	if (b->second[0] != '\0')
		fix_second(findings_add(f, &tight,
					"PodDisruptionBudgets %s and %s select "
					"the same pods, so each eviction of "
					"one fails",
					b->first, b->second),
			   b, d->name, ns);
	else if (b->blocks[0] != '\0')
		finding_fix(findings_add(f, &tight,
					 "PodDisruptionBudget %s allows no "
					 "disruption, though all its pods are "
					 "healthy",
					 b->blocks),
			    "kubectl -n %s patch poddisruptionbudget %s "
			    "--type=merge -p '{\"spec\":{\"minAvailable\":null,"
			    "\"maxUnavailable\":1}}'",
			    ns, finding_name(b->blocks));
}

/* --- nodePools.include and nodePools.exclude ------------------------------ */

static const struct finding_kind
	unmatched = {DOCTOR_NODEPOOLS, FINDING_WARNING, "pattern-unmatched",
		     "A pattern that matches nothing is often a typo: what it "
		     "was to hold is not held, or what it was to leave alone "
		     "is."},
	none_included = {DOCTOR_NODEPOOLS, FINDING_ERROR, "nodepools-excluded",
			 "Nothing is held."};

static void
judge_list(const struct patterns *list, const char *key,
	   const char (*nodepools)[NODEPOOL_BYTES], unsigned n,
	   const struct doctor_place *p, struct findings *f)
{
	for (size_t i = 0; i < list->n; i++) {
		bool any = false;

		for (unsigned k = 0; k < n && !any; k++)
			any = fnmatch(list->at[i], nodepools[k], 0) == 0;
		if (!any)
			fix_configuration(
				findings_add(f, &unmatched,
					     "%s: \"%s\" matches none of the "
					     "%u NodePool%s, such as %s",
					     key, list->at[i], n,
					     n == 1 ? "" : "s", nodepools[0]),
				p);
	}
}

void
judge_patterns(const struct rules *r, const char (*nodepools)[NODEPOOL_BYTES],
	       unsigned n, const struct doctor_place *p, struct findings *f)
{
	bool any = false;

	if (n == 0)
		return;
	for (unsigned k = 0; k < n && !any; k++)
		any = rules_nodepool_included(r, nodepools[k]);
	if (!any)
		fix_configuration(findings_add(f, &none_included,
					       "the configuration includes "
					       "none of the %u NodePool%s, "
					       "such as %s",
					       n, n == 1 ? "" : "s",
					       nodepools[0]),
				  p);
	judge_list(&r->include, "nodePools.include", nodepools, n, p, f);
	judge_list(&r->exclude, "nodePools.exclude", nodepools, n, p, f);
}
