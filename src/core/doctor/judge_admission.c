/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/duration.h"
#include "core/doctor/judge.h"

/*
 * Judges what makes the hold at admission work: the webhook's configuration or
 * the policy that takes its place, the CA in caBundle against the certificate
 * that is served, and the dry run of a creation.
 *
 * Each section begins with its table of findings.  A finding has its check, its
 * level, an id for programs, and the reason why it matters.  The function below
 * the table adds a finding for each fact that is wrong, with the command that
 * fixes it.  fix_hook and fix_bundle write some of these commands.
 */

/* The rules and the matchCondition of deploy/base/webhook.yaml, which
 * tests/e2e/test_check.py compares.  Within a command a quotation mark of CEL
 * is \u0027, because the command has the JSON between such marks. */
#define CONDITION(q)                                                           \
	"request.resource.resource != " q "nodes" q " || " q                   \
	"karpenter.sh/nodepool" q                                              \
	" in object.metadata.?labels.orValue({}) || "                          \
	"object.?spec.?taints.orValue([]).exists(t, t.key == " q               \
	"karpenter.sh/unregistered" q ")"
#define RULE(group, version, resource)                                         \
	"{\"apiGroups\":[\"" group "\"],\"apiVersions\":[\"" version           \
	"\"],\"operations\":[\"CREATE\"],\"resources\":[\"" resource           \
	"\"],\"scope\":\"Cluster\"}"
/* The timeouts without a finding; deploy/base has the shortest. */
#define QUICK_S 2
#define SLOW_S 10

static const struct finding_kind
	missing = {DOCTOR_ADMISSION, FINDING_ERROR, "webhook-missing",
		   "New machines come up without a hold. The leader holds them "
		   "a moment later, when Karpenter may have chosen them."},
	unbound =
		{DOCTOR_ADMISSION, FINDING_ERROR, "policy-unbound",
		 "A policy without its binding has no effect, so new machines "
		 "come up without a hold."},
	twice = {DOCTOR_ADMISSION, FINDING_WARNING, "webhook-twice",
		 "Each creation is reviewed twice, and uninstall has to find "
		 "both."},
	no_rule = {DOCTOR_ADMISSION, FINDING_ERROR, "webhook-rules",
		   "What no rule names is created without a hold."},
	wide = {DOCTOR_ADMISSION, FINDING_WARNING, "webhook-rules-wide",
		"Requests that the holder has no answer to wait for it all the "
		"same."},
	condition = {DOCTOR_ADMISSION, FINDING_WARNING,
		     "webhook-match-conditions",
		     "With none, each Node waits for the holder. With others, "
		     "some of Karpenter's Nodes may come up without a hold."},
	narrowed = {DOCTOR_ADMISSION, FINDING_WARNING, "webhook-selector",
		    "Machines that a selector leaves out come up without a "
		    "hold."},
	fails = {DOCTOR_ADMISSION, FINDING_ERROR, "webhook-failure-policy",
		 "While no replica answers, no Node can join and Karpenter "
		 "cannot make machines."},
	settings = {DOCTOR_ADMISSION, FINDING_WARNING, "webhook-settings",
		    "A long timeout delays Nodes while no replica answers. The "
		    "others let machines pass without a hold."};

/* A field of the webhook, and its value in deploy/base as JSON. */
struct setting {
	const char *key, *value;
};
static const struct setting rules[] = {
	{"rules", "[" RULE("", "v1", "nodes") "," RULE("karpenter.sh", "*",
						       "nodeclaims") "]"},
	{NULL, NULL}};
static const struct setting conditions[] = {
	{"matchConditions", "[{\"name\":\"karpenter\",\"expression\":"
			    "\"" CONDITION("\\u0027") "\"}]"},
	{NULL, NULL}};
static const struct setting selectors[] = {
	{"objectSelector", "{}"}, {"namespaceSelector", "{}"}, {NULL, NULL}};
static const struct setting policies[] = {{"failurePolicy", "\"Ignore\""},
					  {NULL, NULL}};
static const struct setting defaults[] = {
	{"matchPolicy", "\"Equivalent\""},
	{"reinvocationPolicy", "\"IfNeeded\""},
	{"timeoutSeconds", "2"},
	{NULL, NULL}};

/* Sets the finding's `fix` to a command that sets these fields of the webhook.
 * A NULL key ends the list of fields.  `kubectl apply` and `helm upgrade` would
 * not take away what somebody has added to a field, and to replace the object
 * would take away caBundle. */
static void
fix_hook(struct finding *x, const struct webhook_facts *w,
	 const struct setting *at)
{
	char text[FINDING_FIX_BYTES];
	struct buf b;

	buf_init(&b, text, sizeof(text));
	for (const struct setting *s = at; s->key != NULL; s++)
		buf_printf(&b,
			   "%s{\"op\":\"add\",\"path\":\"/webhooks/%u/%s\","
			   "\"value\":%s}",
			   s == at ? "" : ",", w->index, s->key, s->value);
	finding_fix(x,
		    "kubectl patch mutatingwebhookconfiguration %s "
		    "--type=json -p '[%s]'",
		    finding_name(w->configuration), text);
}

static void
judge_webhook(const struct webhook_facts *w, struct findings *f)
{
	const char *name = w->configuration;

	if (!w->nodes || !w->claims)
		fix_hook(findings_add(f, &no_rule,
				      "webhook of %s: no rule for the creation "
				      "of %s",
				      name,
				      w->nodes	  ? "NodeClaims"
				      : w->claims ? "Nodes"
						  : "Nodes and NodeClaims"),
			 w, rules);
	if (w->others)
		fix_hook(findings_add(f, &wide,
				      "webhook of %s: its rules name more "
				      "than creations of Nodes and "
				      "NodeClaims",
				      name),
			 w, rules);
	if (w->conditions != 1 || strcmp(w->condition, CONDITION("'")) != 0)
		fix_hook(findings_add(f, &condition,
				      "webhook of %s: %s matchConditions of "
				      "this version",
				      name,
				      w->conditions == 0 ? "without the"
							 : "not the"),
			 w, conditions);
	if (w->narrowed)
		fix_hook(findings_add(f, &narrowed,
				      "webhook of %s: a namespaceSelector or "
				      "objectSelector narrows it",
				      name),
			 w, selectors);
	if (w->fails)
		fix_hook(findings_add(f, &fails,
				      "webhook of %s: failurePolicy Fail, "
				      "expected Ignore",
				      name),
			 w, policies);
	if (w->exact || w->once || w->timeout_s < QUICK_S ||
	    w->timeout_s > SLOW_S)
		fix_hook(findings_add(
				 f, &settings,
				 "webhook of %s:%s%s timeout %lld s, "
				 "expected matchPolicy Equivalent, "
				 "reinvocationPolicy IfNeeded and a "
				 "timeout of %d to %d s",
				 name, w->exact ? " matchPolicy Exact," : "",
				 w->once ? " reinvocationPolicy Never," : "",
				 w->timeout_s, QUICK_S, SLOW_S),
			 w, defaults);
}

void
judge_admission(const struct webhook_facts *at, unsigned n, bool policy,
		bool binding, const struct doctor_place *p, struct findings *f)
{
	struct finding *x;

	if (n > 0)
		findings_looked(f, DOCTOR_ADMISSION,
				"MutatingWebhookConfiguration %s",
				at[0].configuration);
	else if (policy && binding)
		findings_looked(f, DOCTOR_ADMISSION,
				"MutatingAdmissionPolicy karpenter-node-holder "
				"with its binding");
	if (n == 0 && policy != binding) {
		x = findings_add(f, &unbound,
				 "MutatingAdmissionPolicy "
				 "karpenter-node-holder: %s is missing",
				 policy ? "its binding" : "it");
		if (policy)
			fix_binding(x, p, "karpenter-node-holder", true);
		else
			finding_fix(x, "kubectl apply -f deploy/components/"
				       "admission-policy/policy.yaml");
	} else if (n == 0 && !policy) {
		x = findings_add(f, &missing,
				 "no MutatingWebhookConfiguration has the "
				 "webhook hold.karpenter-node-holder.io, and "
				 "there is no MutatingAdmissionPolicy "
				 "karpenter-node-holder");
		fix_apply(x, p, FIX_WEBHOOK);
	}
	if (n > 1 || (n > 0 && policy && binding)) {
		x = findings_add(f, &twice, "registered twice: %s and %s",
				 at[0].configuration,
				 n > 1 ? at[1].configuration
				       : "a MutatingAdmissionPolicy");
		finding_fix(x,
			    "kubectl delete "
			    "mutatingwebhookconfiguration %s",
			    finding_name(at[n > 1 ? 1 : 0].configuration));
	}
	for (unsigned i = 0; i < n; i++)
		judge_webhook(&at[i], f);
}

/* --- caBundle ------------------------------------------------------------- */

#define BUNDLE_WHY                                                             \
	"The API server cannot call the webhook. Because of failurePolicy "    \
	"Ignore nothing is refused, but new machines come up without a hold."
static const struct finding_kind
	bundle_missing = {DOCTOR_BUNDLE, FINDING_ERROR, "bundle-missing",
			  BUNDLE_WHY},
	bundle_unreadable = {DOCTOR_BUNDLE, FINDING_ERROR, "bundle-unreadable",
			     BUNDLE_WHY},
	bundle_expired = {DOCTOR_BUNDLE, FINDING_ERROR, "bundle-expired",
			  BUNDLE_WHY},
	unverified = {DOCTOR_BUNDLE, FINDING_ERROR, "bundle-other-ca",
		      BUNDLE_WHY},
	dates = {DOCTOR_BUNDLE, FINDING_ERROR, "served-expired", BUNDLE_WHY},
	other_name = {DOCTOR_BUNDLE, FINDING_ERROR, "served-other-name",
		      BUNDLE_WHY},
	cut = {DOCTOR_BUNDLE, FINDING_ERROR, "handshake-cut",
	       "No certificate was seen, so this is not about caBundle: what "
	       "listens there ends the connection. That is a proxy, a mesh or "
	       "a load balancer in between, or a holder that has no "
	       "certificate yet."},
	unreached = {DOCTOR_BUNDLE, FINDING_WARNING, "webhook-unreached",
		     "What answers there could not be compared with caBundle. "
		     "If the API server cannot reach it either, new machines "
		     "come up without a hold."};

static void
fix_bundle(struct finding *x, const struct webhook_facts *w,
	   const struct doctor_place *p)
{
	if (w->injected)
		finding_fix(x,
			    "kubectl -n %s get certificates && kubectl -n "
			    "cert-manager logs -l app=cainjector",
			    finding_name(p->namespace_));
	else if (p->renewer)
		finding_fix(x, "kubectl -n %s rollout restart deployment %s",
			    finding_name(p->namespace_),
			    finding_name(p->renewer_deployment));
	else
		finding_fix(x,
			    "grep -q CERTIFICATE certs/ca.crt && "
			    "base64 <certs/ca.crt | tr -d '\\n' | sed 's#.*#"
			    "[{\"op\":\"add\",\"path\":\"/webhooks/%u/"
			    "clientConfig/caBundle\",\"value\":\"&\"}]#' | "
			    "kubectl patch mutatingwebhookconfiguration %s "
			    "--type=json --patch-file=/dev/stdin",
			    w->index, finding_name(w->configuration));
}

void
judge_bundle(const struct webhook_facts *w, const struct bundle_facts *b,
	     const struct doctor_place *p, int64_t now_ms, struct findings *f)
{
	const char *name = w->configuration;
	char until[STAMP_BYTES];

	findings_looked(f, DOCTOR_BUNDLE, "%u certificate%s", b->certificates,
			b->certificates == 1 ? "" : "s");
	if (!b->present) {
		fix_bundle(findings_add(f, &bundle_missing,
					"webhook of %s: no caBundle", name),
			   w, p);
	} else if (b->certificates == 0 || !b->readable) {
		fix_bundle(findings_add(f, &bundle_unreadable,
					"webhook of %s: caBundle is not PEM "
					"certificates, each once",
					name),
			   w, p);
	} else if (b->latest_ms <= now_ms) {
		stamp_format(b->latest_ms, until);
		fix_bundle(findings_add(f, &bundle_expired,
					"webhook of %s: caBundle was valid "
					"until %s",
					name, until),
			   w, p);
	}
}

void
judge_served(const struct webhook_facts *w, enum served served, const char *why,
	     bool in_cluster, const struct doctor_place *p, struct findings *f)
{
	static const struct finding_kind *const refused[] = {
		[SERVED_REFUSED] = &unverified,
		[SERVED_DATES] = &dates,
		[SERVED_NAME] = &other_name,
	};

	if (served == SERVED_VERIFIED)
		findings_looked(f, DOCTOR_BUNDLE, "verifies what %s serves",
				w->url);
	else if (served == SERVED_CUT)
		finding_fix(findings_add(f, &cut, "%s: %s", w->url, why),
			    "kubectl -n %s get pods,services,endpointslices",
			    finding_name(p->namespace_));
	else if (served == SERVED_UNSIGNED)
		fix_bundle(findings_add(f, &unverified,
					"caBundle of %s has not the CA that "
					"signed what %s serves, as its /status "
					"says",
					w->configuration, w->url),
			   w, p);
	else if (served != SERVED_UNREACHED)
		fix_bundle(findings_add(f, refused[served],
					"caBundle of %s does not verify what "
					"%s serves: %s",
					w->configuration, w->url, why),
			   w, p);
	else if (in_cluster)
		finding_fix(findings_add(f, &unreached, "%s: %s", w->url, why),
			    "kubectl -n %s get pods,endpointslices",
			    finding_name(p->namespace_));
	else
		findings_partly(f, DOCTOR_BUNDLE,
				"caBundle was read, but not compared with what "
				"is served: only a Pod reaches %s, such as the "
				"Job in deploy/check",
				w->url);
}

/* --- the dry run ---------------------------------------------------------- */

static const struct finding_kind
	unheld = {DOCTOR_DRY_RUN, FINDING_ERROR, "dry-run-unheld",
		  "So would a real machine be, until the leader has seen it. "
		  "Karpenter may choose it before."},
	observed = {DOCTOR_DRY_RUN, FINDING_WARNING, "dry-run-held",
		    "Some replica does not observe. While the leader does, "
		    "nobody releases what that replica holds."};

enum dry_run
judge_dry_run_expected(const struct rules *r)
{
	return r->mode == MODE_OBSERVE ? DRY_RUN_UNHELD : DRY_RUN_HELD;
}

void
judge_dry_run(const struct dry_run_facts *d, const struct rules *r,
	      const struct doctor_place *p, struct findings *f)
{
	bool observes = r->mode == MODE_OBSERVE;
	char waited[DURATION_BYTES];
	struct finding *x;

	duration_format(d->waited_ms, waited);
	findings_looked(f, DOCTOR_DRY_RUN,
			"a Node and a NodeClaim of NodePool %s came back %s",
			d->nodepool,
			observes ? "unchanged (mode: observe)" : "held");
	for (int k = 0; k < KIND_COUNT; k++) {
		if (observes && d->result[k] == DRY_RUN_HELD) {
			x = findings_add(
				f, &observed,
				"a %s of NodePool %s, created as a dry "
				"run, came back held although the "
				"mode is observe",
				object_kind_name((enum kind)k), d->nodepool);
			fix_restart(x, p);
		} else if (!observes && d->result[k] == DRY_RUN_UNHELD) {
			x = findings_add(
				f, &unheld,
				"a %s of NodePool %s, created as a dry "
				"run, came back without a hold after "
				"%s",
				object_kind_name((enum kind)k), d->nodepool,
				waited);
			finding_fix(x,
				    "kubectl -n %s get pods && kubectl get "
				    "--raw /metrics | grep "
				    "webhook_fail_open_count",
				    finding_name(p->namespace_));
		} else if (d->result[k] == DRY_RUN_FAILED) {
			findings_unknown(f, DOCTOR_DRY_RUN,
					 k == KIND_NODE
						 ? "create a Node as a dry run"
						 : "create a NodeClaim as a "
						   "dry run",
					 d->why[k], READY_PATH);
		}
	}
}
