/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/doctor/judge.h"
#include "suite.h"

/*
 * A cluster in which nothing is wrong, and changes to it.  Each change brings
 * the findings that its row names, and no others.
 */
struct cluster {
	struct webhook_facts hooks[2];
	unsigned hooks_n;
	bool policy, binding;
	struct bundle_facts bundle;
	enum served served;
	bool in_cluster;
	struct dry_run_facts dry_run;
	struct version kubernetes;
	struct karpenter_facts karpenter;
	bool allowed[RIGHTS_N];
	struct nodepool_facts pool;
	struct holder_facts holder;
	struct pod_facts pods[2];
	unsigned pods_n;
	struct leftover_facts left;
	struct rules rules;
	struct doctor_place place;
	struct deployment_facts holder_at, renewer;
	struct leader_facts leader;
	struct service_facts service;
	struct policy_facts bounds;
	struct budget_facts budget;
	enum tickets_place tickets;
	struct policy_facts tickets_policy;
	const char *tickets_in;
	const char *asked, *other;
	bool silent;
};

#define NOW_MS 1000000000
static struct cluster c;
static struct findings found;
static const char nodepools[2][NODEPOOL_BYTES] = {"web", "batch"};

/* Two replicas behind a Service, and a renewer. */
static void
begin_installation(void)
{
	c.holder_at = (struct deployment_facts){.name = "holder",
						.component = "controller",
						.generation = 3,
						.observed = 3,
						.replicas = 2,
						.updated = 2,
						.ready = 2,
						.available = 2};
	c.renewer = c.holder_at;
	strcpy(c.renewer.name, "holder-renewer");
	strcpy(c.renewer.component, "renewer");
	c.renewer.replicas = c.renewer.updated = c.renewer.ready = 1;
	for (int i = 0; i < 2; i++) {
		strcpy(c.pods[i].component, "controller");
		strcpy(c.pods[i].ports, " webhook 9443 metrics 8080 ");
		c.pods[i].ready = true;
		strcpy(c.hooks[i].service, "h");
		strcpy(c.hooks[i].namespace_, "ns");
		c.hooks[i].port = 443;
	}
	strcpy(c.leader.replica, "pod-0_12");
	c.leader.valid = true;
	c.leader.not_after_ms = NOW_MS + 15 * INT64_C(86400000);
	c.service = (struct service_facts){.there = true,
					   .port = true,
					   .first_port = 443,
					   .target = "webhook",
					   .slices_known = true,
					   .ready = 2};
	c.bounds = (struct policy_facts){.name = "bounds",
					 .policy = true,
					 .binding = true,
					 .denies = true,
					 .here = true,
					 .key = true,
					 .holds = "['a/b']"};
	c.budget = (struct budget_facts){.known = true, .first = "pdb"};
	c.tickets_policy = c.bounds;
	c.tickets_policy.name = "tickets";
	strcpy(c.tickets_policy.selects, "karpenter-node-holder-tickets");
	strcpy(c.place.tickets, "karpenter-node-holder-tickets");
	c.tickets_in = "karpenter-node-holder-tickets";
	c.karpenter.available = c.karpenter.replicas = 1;
}

static void
begin(void)
{
	memset(&c, 0, sizeof(c));
	c.hooks_n = 1;
	for (int i = 0; i < 2; i++) {
		struct webhook_facts *w = &c.hooks[i];

		strcpy(w->configuration, i == 0 ? "ours" : "second");
		strcpy(w->url, "https://h.ns.svc:443/mutate");
		strcpy(w->condition,
		       "request.resource.resource != 'nodes' || "
		       "'karpenter.sh/nodepool' in "
		       "object.metadata.?labels.orValue({}) || "
		       "object.?spec.?taints.orValue([]).exists(t, t.key == "
		       "'karpenter.sh/unregistered')");
		w->nodes = w->claims = true;
		w->conditions = 1;
		w->timeout_s = 2;
	}
	c.bundle = (struct bundle_facts){true, true, 1, NOW_MS + 1};
	strcpy(c.dry_run.nodepool, "web");
	c.dry_run.result[KIND_NODE] = DRY_RUN_HELD;
	c.dry_run.result[KIND_NODECLAIM] = DRY_RUN_HELD;
	judge_version_parse("v1.30.0", &c.kubernetes);
	c.karpenter = (struct karpenter_facts){.served = true,
					       .v1 = true,
					       .claims = true,
					       .pools = true,
					       .deployments = 1};
	judge_version_parse("1.2.0", &c.karpenter.version);
	for (int i = 0; i < RIGHTS_N; i++)
		c.allowed[i] = true;
	nodepool_init(&c.pool.pool);
	strcpy(c.pool.pool.name, "web");
	c.pool.expire_ms = -1;
	c.holder = (struct holder_facts){.deployments_known = true,
					 .lease_known = true,
					 .marks_known = true,
					 .available = 2,
					 .elects = true,
					 .lease_live = true,
					 .rolled_ms = STAMP_NONE,
					 .marks = {3, 3},
					 .marked = "node-1"};
	c.pods_n = 2;
	for (int i = 0; i < 2; i++) {
		(void)sprintf(c.pods[i].name, "pod-%d", i);
		(void)sprintf(c.pods[i].node, "node-%d", i);
		strcpy(c.pods[i].nodepool, "web");
		c.pods[i].kept = c.pods[i].grace = true;
	}
	strcpy(c.rules.include.at[0], "*");
	c.rules.include.n = 1;
	c.rules.hold_ms = 600000;
	c.rules.scope = SCOPE_CLUSTER;
	strcpy(c.rules.hold.key, DEFAULT_HOLD_KEY);
	strcpy(c.place.namespace_, "ns");
	strcpy(c.place.account, "account");
	strcpy(c.place.renewer_account, "renewer");
	strcpy(c.place.lease, "lease");
	strcpy(c.place.config_map, "config");
	strcpy(c.place.deployment, "holder");
	strcpy(c.place.renewer_deployment, "holder-renewer");
	strcpy(c.place.secret, "pair");
	c.place.replicas = 3;
	begin_installation();
}

static void
judge(void)
{
	findings_init(&found);
	judge_admission(c.hooks, c.hooks_n, c.policy, c.binding, &c.place,
			&found);
	judge_bundle(&c.hooks[0], &c.bundle, &c.place, NOW_MS, &found);
	judge_served(&c.hooks[0], c.served, "because", c.in_cluster, &c.place,
		     &found);
	judge_dry_run(&c.dry_run, &c.rules, &c.place, &found);
	judge_kubernetes(&c.kubernetes, &found);
	judge_karpenter(&c.karpenter, &c.rules, &c.place, &found);
	judge_rights(c.allowed, &c.rules, &c.place, &found);
	judge_nodepool(&c.pool, &c.rules, NOW_MS, &found);
	judge_holder(&c.holder, &c.place, NOW_MS, &found);
	judge_placement(c.pods, c.pods_n, &c.place, &found);
	judge_leftovers(&c.left, c.rules.hold.key, &found);
	judge_rollout(&c.holder_at, c.pods, c.pods_n, &c.place, &found);
	judge_rollout(&c.renewer, c.pods, c.pods_n, &c.place, &found);
	judge_leader(&c.leader, c.hooks_n > 0 ? &c.hooks[0] : NULL, &c.place,
		     NOW_MS, &found);
	judge_service(&c.service, &c.hooks[0], c.pods, c.pods_n, &c.place,
		      &found);
	judge_policy(&c.bounds, c.rules.hold.key, &c.place, &found);
	judge_tickets(c.tickets_in, c.tickets, &c.place, &found);
	judge_tickets_policy(&c.tickets_policy, &c.place, &found);
	judge_redundancy(&c.holder_at, &c.budget, &c.place, &found);
	judge_patterns(&c.rules, nodepools, 2, &c.place, &found);
	if (c.silent)
		judge_unanswered(&c.pods[0], "503", &c.place, &found);
	if (c.asked != NULL)
		judge_elsewhere(c.asked, &c.place, &found);
	if (c.other != NULL)
		judge_second(c.other, "other", &c.place, &found);
}

/* A key of the NodePool that nobody reads. */
static void
strange(int i, enum strange_where where, const char *key)
{
	struct strange_key *s = &c.pool.strange[i];

	strcpy(s->key, key);
	s->meant = "karpenter-node-holder.io/enabled";
	s->where = where;
}

/* Mode observe, and dry runs that come back unchanged. */
static void
observe(void)
{
	c.rules.mode = MODE_OBSERVE;
	c.dry_run.result[KIND_NODE] = DRY_RUN_UNHELD;
	c.dry_run.result[KIND_NODECLAIM] = DRY_RUN_UNHELD;
}

/* Pods that cannot be created, for this reason. */
static void
unmade(const char *why)
{
	c.holder_at.ready = c.holder_at.updated = 0;
	strcpy(c.holder_at.failure, why);
}

/* No pod of the holder, while its renewer's is there. */
static void
leave_the_renewer(void)
{
	for (int i = 0; i < 2; i++) {
		strcpy(c.pods[i].component, "renewer");
		strcpy(c.pods[i].ports, " ");
	}
}

/* Each row: a change of `c`, and the findings that it brings. */
#define ROWS(ROW)                                                              \
	ROW(, "")                                                              \
	/* what is registered */                                               \
	ROW(c.hooks_n = 0, "webhook-missing")                                  \
	ROW(c.hooks_n = 0; c.policy = c.binding = true, "")                    \
	ROW(c.hooks_n = 0; c.policy = true, "policy-unbound")                  \
	ROW(c.hooks_n = 0; c.binding = true, "policy-unbound")                 \
	ROW(c.hooks_n = 2, "webhook-twice")                                    \
	ROW(c.policy = c.binding = true, "webhook-twice")                      \
	ROW(c.policy = true, "")                                               \
	ROW(c.hooks_n = 2; c.hooks[1].fails = true,                            \
			   "webhook-twice webhook-failure-policy")             \
	ROW(c.hooks[0].nodes = false, "webhook-rules")                         \
	ROW(c.hooks[0].claims = false, "webhook-rules")                        \
	ROW(c.hooks[0].others = true, "webhook-rules-wide")                    \
	ROW(c.hooks[0].conditions = 0, "webhook-match-conditions")             \
	ROW(c.hooks[0].conditions = 2, "webhook-match-conditions")             \
	ROW(c.hooks[0].condition[0] = 'R', "webhook-match-conditions")         \
	ROW(c.hooks[0].narrowed = true, "webhook-selector")                    \
	ROW(c.hooks[0].fails = true, "webhook-failure-policy")                 \
	ROW(c.hooks[0].exact = true, "webhook-settings")                       \
	ROW(c.hooks[0].once = true, "webhook-settings")                        \
	ROW(c.hooks[0].timeout_s = 11, "webhook-settings")                     \
	ROW(c.hooks[0].timeout_s = 10, "")                                     \
	ROW(c.hooks[0].timeout_s = 1, "webhook-settings")                      \
	/* caBundle */                                                         \
	ROW(c.bundle.present = false, "bundle-missing")                        \
	ROW(c.bundle.readable = false, "bundle-unreadable")                    \
	ROW(c.bundle.certificates = 0, "bundle-unreadable")                    \
	ROW(c.bundle.latest_ms = NOW_MS, "bundle-expired")                     \
	ROW(c.served = SERVED_REFUSED, "bundle-other-ca")                      \
	ROW(c.served = SERVED_UNREACHED, "")                                   \
	ROW(c.served = SERVED_UNREACHED; c.in_cluster = true,                  \
					 "webhook-unreached")                  \
	/* the dry run */                                                      \
	ROW(c.dry_run.result[KIND_NODE] = DRY_RUN_UNHELD, "dry-run-unheld")    \
	ROW(c.dry_run.result[KIND_NODECLAIM] = DRY_RUN_UNHELD,                 \
	    "dry-run-unheld")                                                  \
	ROW(c.dry_run.result[KIND_NODE] = DRY_RUN_FAILED, "dry-run-unknown")   \
	ROW(c.dry_run.result[KIND_NODECLAIM] = DRY_RUN_FAILED,                 \
	    "dry-run-unknown")                                                 \
	ROW(c.rules.mode = MODE_OBSERVE, "dry-run-held dry-run-held")          \
	ROW(observe(), "")                                                     \
	/* versions */                                                         \
	ROW(judge_version_parse("v1.29.9", &c.kubernetes), "kubernetes-version")     \
	ROW(judge_version_parse("?", &c.kubernetes), "")                             \
	ROW(judge_version_parse("v1.999.0", &c.kubernetes),                          \
	    "kubernetes-version-newer")                                        \
	ROW(c.karpenter.v1 = false, "karpenter-crds")                          \
	ROW(c.karpenter.claims = false, "karpenter-crds")                      \
	ROW(c.karpenter.pools = false, "karpenter-crds")                       \
	ROW(judge_version_parse("0.37.0", &c.karpenter.version),                     \
	    "karpenter-version")                                               \
	ROW(judge_version_parse("1.1.9", &c.karpenter.version),                      \
	    "karpenter-replacements")                                          \
	ROW(judge_version_parse("1.1.9", &c.karpenter.version);                      \
	    c.rules.replacements = REPLACEMENTS_COUNT, "")                     \
	ROW(judge_version_parse("1.14.99", &c.karpenter.version), "")                \
	ROW(judge_version_parse("1.999.0", &c.karpenter.version),                    \
	    "karpenter-version-newer")                                         \
	ROW(judge_version_parse("2.0.0", &c.karpenter.version),                      \
	    "karpenter-version-newer")                                         \
	ROW(c.karpenter.deployments = 0; c.karpenter.version.known = false, "") \
	/* rights */                                                           \
	ROW(c.allowed[0] = false, "right-missing")                             \
	ROW(c.allowed[12] = false, "right-missing")                            \
	ROW(observe(); c.allowed[3] = c.allowed[7] = false, "")                           \
	ROW(observe(); c.allowed[12] = false, "right-missing")                            \
	ROW(c.allowed[7] = false, "right-missing")                             \
	ROW(c.allowed[13] = c.allowed[14] = false, "right-missing")            \
	ROW(observe(); c.allowed[13] = false, "right-missing")                 \
	ROW(c.allowed[15] = false, "right-events")                             \
	ROW(c.allowed[18] = false, "right-events")                             \
	ROW(memset(c.allowed, 0, sizeof(c.allowed)),                           \
	    "right-missing right-missing right-events "\
	    "right-renewer")                        \
	ROW(c.allowed[20] = false, "right-renewer")                            \
	ROW(observe(); c.allowed[23] = false, "right-renewer")                 \
	/* NodePools */                                                        \
	ROW(c.pool.template_holds = true, "nodepool-template-hold")            \
	ROW(c.pool.fixed = true, "nodepool-static")                            \
	ROW(c.pool.fixed = c.pool.blocked = true; c.pool.expire_ms = 1,        \
					  "nodepool-static")                   \
	ROW(c.pool.never = true, "nodepool-never-consolidates")                \
	ROW(c.pool.never = c.pool.pool.disabled = true, "")                    \
	ROW(c.pool.blocked = true, "nodepool-budget")                          \
	ROW(c.pool.blocked = true; strcpy(c.rules.exclude.at[0], "w*");        \
	    c.rules.exclude.n = 1, "")                                         \
	ROW(c.pool.expire_ms = 600000, "nodepool-expires")                     \
	ROW(c.pool.expire_ms = 600001, "")                                     \
	ROW(c.pool.expire_ms = 600000; c.pool.pool.hold_ms = 60000, "")        \
	ROW(c.pool.expire_ms = 700000; c.pool.pool.hold_ms = 700000,           \
				       "nodepool-expires")                     \
	ROW(nodepool_set(&c.pool.pool, NODEPOOL_HOLD_DURATION, "ten"),         \
	    "nodepool-annotation")                                             \
	ROW(strange(0, STRANGE_ANNOTATION, "hold-untill"),             \
	    "nodepool-annotation-unknown")                                     \
	ROW(strange(0, STRANGE_LABEL, "hold-untill");                  \
	    strange(1, STRANGE_TEMPLATE, "enable");                    \
	    c.pool.pool.disabled = true,                                       \
				      "nodepool-annotation-unknown "           \
				      "nodepool-annotation-unknown")           \
	ROW(c.pool.pool.hold_until_ms = NOW_MS + DOCTOR_FAR_MS, "")            \
	ROW(c.pool.pool.hold_until_ms = NOW_MS + DOCTOR_FAR_MS + 1,            \
	    "nodepool-held-for-long")                                          \
	ROW(c.pool.pool.hold_until_ms = INT64_MAX;                             \
	    c.pool.pool.disabled = true, "")                                   \
	/* the holder */                                                       \
	ROW(c.holder.lease_live = false, "leader-missing")                     \
	ROW(c.holder.lease_live = c.holder.elects = false, "")                 \
	ROW(c.holder.lease_live = false; c.holder.lease_silent = true,         \
	    "leader-silent")                                                   \
	ROW(c.holder.lease_live = false; c.holder.available = 0,               \
					 "marks-without-holder")               \
	ROW(c.holder.lease_live = false; c.holder.available = 0;               \
	    c.holder.marks[KIND_NODE] = 0, "marks-without-holder")             \
	ROW(c.holder.lease_live = false; c.holder.available = 0;               \
	    memset(c.holder.marks, 0, sizeof(c.holder.marks)),                 \
	    "holder-missing")                                                  \
	ROW(c.holder.available = 0, "")                                        \
	ROW(c.holder.others[KIND_NODECLAIM] = 1, "")                           \
	ROW(c.holder.others[KIND_NODECLAIM] = 1;                               \
	    strcpy(c.holder.hold.key, "a.com/b"), "marks-for-another-hold")    \
	ROW(c.holder.others[KIND_NODE] = 1;                                    \
	    strcpy(c.holder.hold.key, "a.com/b");                              \
	    c.holder.lease_live = false; c.holder.available = 0,               \
	    "marks-without-holder")                                            \
	ROW(c.holder.lease_live = c.holder.lease_known = false;                \
	    c.holder.available = 0, "")                                        \
	ROW(c.holder.lease_live = c.holder.deployments_known = false;          \
	    c.holder.available = 0, "leader-missing")                          \
	ROW(c.holder.observes = true, "marks-while-observing")                 \
	ROW(c.holder.observes = true; c.holder.marks[KIND_NODE] = 0,           \
				      "marks-while-observing")                 \
	ROW(c.holder.observes = true;                                          \
	    memset(c.holder.marks, 0, sizeof(c.holder.marks)), "")             \
	ROW(c.holder.rolled_ms = 0, "")                                        \
	ROW(c.holder.observes = true; c.holder.rolled_ms = NOW_MS -            \
							   DOCTOR_OBSERVED_MS; \
	    memset(c.holder.marks, 0, sizeof(c.holder.marks)), "")             \
	ROW(c.holder.observes = true; c.holder.rolled_ms = NOW_MS -            \
							   DOCTOR_OBSERVED_MS - \
							   1;                  \
	    memset(c.holder.marks, 0, sizeof(c.holder.marks)),                 \
	    "observing-for-long")                                              \
	/* where it runs */                                                    \
	ROW(strcpy(c.pods[1].node, "node-0"), "placement-one-node")            \
	ROW(c.pods_n = 1, "")                                                  \
	ROW(c.pods[0].node[0] = c.pods[1].node[0] = '\0', "")                  \
	ROW(c.pods[1].kept = false, "placement-movable")                       \
	ROW(c.pods[1].grace = false, "placement-no-grace")                     \
	ROW(c.pods[1].kept = c.pods[1].grace = false;                          \
	    c.pods[1].nodepool[0] = '\0', "")                                  \
	/* the Go program */                                                   \
	ROW(strcpy(c.left.deployment, "old"), "go-program")                    \
	ROW(c.left.role = true, "go-rights")                                   \
	ROW(c.left.binding = true, "go-rights")                                \
	ROW(c.left.nodes[LEFT_CONSOLIDATE] = 1, "go-annotations")              \
	ROW(c.left.nodes[LEFT_EVICT] = 1, "go-annotations")                    \
	ROW(c.left.nodes[LEFT_HOLD] = 1, "go-holds")                           \
	/* what is served */                                                   \
	ROW(c.served = SERVED_UNSIGNED, "bundle-other-ca")                     \
	ROW(c.served = SERVED_DATES, "served-expired")                         \
	ROW(c.served = SERVED_NAME, "served-other-name")                       \
	ROW(c.served = SERVED_CUT, "handshake-cut")                            \
	/* Deployments */                                                      \
	ROW(c.holder_at.ready = 0, "pods-not-ready")                           \
	ROW(c.holder_at.ready = 1, "pods-some-not-ready")                      \
	ROW(c.holder_at.updated = 1, "rollout-unfinished")                     \
	ROW(c.holder_at.observed = 2, "rollout-unfinished")                    \
	ROW(c.holder_at.replicas = c.holder_at.ready = 0, "pods-not-ready")    \
	ROW(c.holder_at.ready = 3, "")                                         \
	ROW(c.renewer.ready = 0, "renewer-down")                               \
	ROW(c.renewer.replicas = c.renewer.ready = 0, "renewer-down")          \
	ROW(c.renewer.observed = 2, "renewer-down")                            \
	ROW(c.holder_at.replicas = c.holder_at.ready = 1, "one-replica")       \
	ROW(c.tickets = TICKETS_GONE, "tickets-namespace-missing")             \
	ROW(c.tickets = TICKETS_ENDING, "tickets-namespace-missing")           \
	ROW(c.tickets_policy.policy = false, "tickets-policy-missing")         \
	ROW(c.tickets_policy.binding = false, "tickets-policy-unbound")        \
	ROW(c.tickets_policy.denies = false, "tickets-policy-unbound")         \
	ROW(strcpy(c.tickets_policy.selects, "other"),                         \
	    "tickets-policy-unbound")                                          \
	ROW(c.tickets_policy.selects[0] = '\0', "")                            \
	ROW(c.leader.stale = true, "configuration-stale")                      \
	ROW(strcpy(c.budget.second, "other"); strcpy(c.budget.blocks, "pdb"),  \
	    "budget-blocks")                                                   \
	ROW(strcpy(c.budget.blocks, "pdb"), "budget-blocks")                   \
	ROW(strcpy(c.budget.blocks, "pdb");                                    \
	    c.holder_at.replicas = c.holder_at.ready = 1,                      \
				   "one-replica budget-blocks")                \
	ROW(c.budget.first[0] = 0, "budget-missing")                                \
	ROW(c.budget = (struct budget_facts){.known = false}, "")               \
	ROW(c.budget.first[0] = 0; c.holder_at.replicas = c.holder_at.ready = 0,    \
			      "pods-not-ready")                                \
	ROW(c.budget.first[0] = 0; c.holder_at.replicas = c.holder_at.ready = 1,    \
			      "one-replica")                                   \
	/* /status */                                                          \
	ROW(c.leader.valid = false, "certificate-expired")                     \
	ROW(c.leader.not_after_ms = STAMP_NONE, "certificate-missing")         \
	ROW(c.leader.not_after_ms -= 2 * INT64_C(86400000),                    \
	    "certificate-ends")                                                \
	ROW(c.leader.not_after_ms = NOW_MS + 1; c.place.renewer = true, "")    \
	ROW(c.leader.not_after_ms = NOW_MS + 1; c.place.injected = true, "")   \
	ROW(c.leader.valid = false; c.place.renewer = true,                    \
				    "certificate-expired")                     \
	ROW(c.leader.not_after_ms = STAMP_NONE; c.hooks_n = 0;                 \
	    c.policy = c.binding = true, "")                                   \
	ROW(c.leader.waiting = 1, "writes-refused")                            \
	ROW(strcpy(c.leader.unseen, "nodes"), "leader-blind")                  \
	ROW(strcpy(c.leader.unread, "NodeClaim x"), "object-unread")           \
	/* the Service */                                                      \
	ROW(c.service.there = false, "service-missing")                        \
	ROW(c.service.port = false, "service-port")                            \
	ROW(strcpy(c.service.target, "web"), "service-target")                 \
	ROW(leave_the_renewer(), "")                                           \
	ROW(strcpy(c.service.target, "9443"), "")                              \
	ROW(strcpy(c.service.target, "443"), "service-target")                 \
	ROW(strcpy(c.service.selector, "a=b"); c.service.ready = 0,            \
					       "service-selector")             \
	ROW(c.service.ready = 0, "endpoints-missing")                          \
	ROW(c.service.ready = 0; c.service.slices_known = false, "")           \
	ROW(c.service.ready = 0; c.pods[0].ready = c.pods[1].ready = false, "") \
	/* what bounds it */                                                   \
	ROW(c.bounds.policy = c.bounds.binding = c.bounds.denies = false,      \
	    "write-policy-missing")                                            \
	ROW(c.bounds.binding = c.bounds.denies = false,                        \
	    "write-policy-unbound")                                            \
	ROW(c.bounds.denies = false, "write-policy-unbound")                   \
	ROW(c.bounds.here = false, "write-policy-elsewhere")                   \
	ROW(c.bounds.key = false, "write-policy-key")                          \
	/* other holders, Karpenter, patterns */                               \
	ROW(c.asked = "there", "holder-elsewhere")                             \
	ROW(c.silent = true, "leader-unanswered")                              \
	ROW(c.other = "there", "holder-twice")                                 \
	ROW(c.karpenter.available = 0, "karpenter-down")                       \
	ROW(c.karpenter.deployments = 0; c.karpenter.available = 0, "")        \
	ROW(c.karpenter.deployments = 0;                                       \
	    strcpy(c.karpenter.lease_namespace, "ks"), "karpenter-down")       \
	ROW(c.karpenter.deployments = 0; c.karpenter.lease_live = true;        \
	    strcpy(c.karpenter.lease_namespace, "ks"), "")                     \
	ROW(c.karpenter.deployments = 0; c.karpenter.lease_left = true;        \
	    strcpy(c.karpenter.lease_namespace, "ks"), "")                     \
	ROW(strcpy(c.rules.include.at[0], "w?b"), "")                          \
	ROW(strcpy(c.rules.include.at[0], "wbe"),                              \
	    "nodepools-excluded pattern-unmatched")                            \
	ROW(strcpy(c.rules.exclude.at[0], "btach"); c.rules.exclude.n = 1,     \
						    "pattern-unmatched")       \
	ROW(strcpy(c.rules.exclude.at[0], "*"); c.rules.exclude.n = 1,         \
						"nodepools-excluded")

#define COUNT_ROW(change, ids) +1
#define ROWS_N (0 ROWS(COUNT_ROW))

static const char *
change_row(int row)
{
	int at = 0;

#define DO_ROW(change, ids)                                                    \
	if (at++ == row) {                                                     \
		change;                                                        \
		return ids;                                                    \
	}
	ROWS(DO_ROW)
	return NULL;
}

/* A shell takes it as it is: quotes are closed, and nothing stands there for
 * people.  Nothing that is quoted from the cluster can begin a command. */
static bool
is_pasteable(const char *fix)
{
	static const char *const programs[] = {
		"kubectl ", "helm ", "ls ", "if ", "echo '", "grep -q ",
		"holderctl ", "karpenter-node-holder "};
	bool quoted = false, known = false;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		known = known || strncmp(fix, programs[i],
					 strlen(programs[i])) == 0;
	for (const char *s = fix; *s != '\0'; s++) {
		if (*s == '\'')
			quoted = !quoted;
		else if (!quoted && strchr("()`$\\*?\"", *s) != NULL)
			return false;
	}
	return known && !quoted && strlen(fix) + 1 < FINDING_FIX_BYTES;
}

START_TEST(test_each_fact)
{
	char ids[200] = "";
	const char *want;
	unsigned errors = 0;

	begin();
	want = change_row(_i);
	judge();
	for (unsigned i = 0; i < found.n; i++) {
		const struct finding *x = &found.at[i];

		(void)snprintf(ids + strlen(ids), sizeof(ids) - strlen(ids),
			       "%s%s", i == 0 ? "" : " ", x->kind->id);
		ck_assert_str_ne(x->what, "");
		ck_assert_msg(is_pasteable(x->fix), "%s", x->fix);
		ck_assert_str_ne(x->kind->why, "");
		ck_assert(found.of[x->kind->check].worst >= x->kind->level);
		errors += x->kind->level == FINDING_ERROR;
	}
	ck_assert_msg(strcmp(ids, want) == 0, "row %d: \"%s\", not \"%s\"", _i,
		      ids, want);
	ck_assert_uint_eq(found.errors, errors);
	ck_assert_uint_eq(found.errors + found.warnings, found.n);
	for (int i = 0; i < DOCTOR_CHECKS; i++)
		ck_assert(found.of[i].looked || i == DOCTOR_NODEPOOLS);
}
END_TEST

/* Which of the findings end the command with 1. */
START_TEST(test_levels)
{
	static const char errors[] =
		" webhook-missing policy-unbound webhook-rules "
		"webhook-failure-policy bundle-missing bundle-unreadable "
		"bundle-expired bundle-other-ca dry-run-unheld dry-run-unknown "
		"kubernetes-version karpenter-crds karpenter-version "
		"right-missing marks-without-holder holder-missing "
		"leader-missing leader-silent go-program served-expired served-other-name "
		"handshake-cut pods-not-ready certificate-expired "
		"certificate-missing service-missing service-port "
		"service-target service-selector endpoints-missing "
		"write-policy-key holder-elsewhere holder-twice "
		"nodepools-excluded tickets-namespace-missing ";
	char id[64];

	for (int row = 0; row < ROWS_N; row++) {
		begin();
		(void)change_row(row);
		judge();
		for (unsigned i = 0; i < found.n; i++) {
			const struct finding_kind *k = found.at[i].kind;

			(void)snprintf(id, sizeof(id), " %s ", k->id);
			ck_assert_msg((strstr(errors, id) != NULL) ==
					      (k->level == FINDING_ERROR),
				      "%s", id);
		}
	}
}
END_TEST

START_TEST(test_commands_name_what_is_meant)
{
	begin();
	c.pool.fixed = true;
	strcpy(c.left.deployment, "old");
	strcpy(c.left.namespace_, "there; reboot");
	judge();
	ck_assert_uint_eq(found.n, 2);
	ck_assert_str_eq(found.at[0].fix,
			 "kubectl annotate nodepool web "
			 "karpenter-node-holder.io/enabled=false");
	ck_assert_ptr_ne(strstr(found.at[1].fix, "-n NAME delete deployment "
						  "old"),
			 NULL);
	ck_assert_ptr_eq(strstr(found.at[1].fix, "reboot"), NULL);
	begin();
	judge_version_parse("v1.999.0", &c.kubernetes);
	judge_version_parse("1.999.0", &c.karpenter.version);
	judge();
	ck_assert_uint_eq(found.n, 2);
	ck_assert_str_eq(found.at[0].fix, "holderctl version");
	ck_assert_str_eq(found.at[1].fix, "holderctl version");
	ck_assert_str_eq(finding_name("a-b.c:d/E_9"), "a-b.c:d/E_9");
	ck_assert_str_eq(finding_name(""), "NAME");
	ck_assert_str_eq(finding_name("-f"), "NAME");
	ck_assert_str_eq(finding_name("$(id)"), "NAME");
	ck_assert_str_eq(finding_name("a b"), "NAME");
}
END_TEST

/* Whoever may annotate a NodePool writes nothing into a terminal. */
START_TEST(test_what_is_quoted)
{
	begin();
	nodepool_set(&c.pool.pool, NODEPOOL_HOLD_DURATION,
		     "\x1b]0;x\a\xc2\x9b" "31m\xe2\x80\xae\xc3\xa9");
	judge();
	ck_assert_uint_eq(found.n, 1);
	ck_assert_ptr_ne(strstr(found.at[0].what, "\"?]0;x??31m?\xc3\xa9\""),
			 NULL);
}
END_TEST

/* deploy/base/rbac.yaml, in its order. */
START_TEST(test_rights)
{
	begin();
	memset(c.allowed, 0, sizeof(c.allowed));
	strcpy(c.place.tickets, "their-place");
	c.tickets_policy.selects[0] = '\0';
	judge();
	ck_assert_uint_eq(found.n, 4);
	ck_assert_str_eq(
		found.at[0].what,
		"ServiceAccount ns/account may not get nodes, list nodes, watch "
		"nodes, patch nodes, get nodeclaims.karpenter.sh, list "
		"nodeclaims.karpenter.sh, watch nodeclaims.karpenter.sh, patch "
		"nodeclaims.karpenter.sh, list nodepools.karpenter.sh, watch "
		"nodepools.karpenter.sh, create leases.coordination.k8s.io, get "
		"leases.coordination.k8s.io, patch leases.coordination.k8s.io");
	ck_assert_str_eq(found.at[1].what,
			 "ServiceAccount ns/account may not list "
			 "leases.coordination.k8s.io, watch "
			 "leases.coordination.k8s.io in namespace their-place");
	ck_assert_ptr_nonnull(strstr(
		found.at[1].fix,
		"kubectl kustomize deploy/components/tickets | sed -E "
		"'/-tickets/!s/"));
	ck_assert_ptr_nonnull(strstr(
		found.at[1].fix,
		";/^- apiVersion: v1$/,/ name: /d;"
		"s/(namespace|metadata\\.name): karpenter-node-holder-tickets/"
		"\\1: their-place/;' | kubectl apply -f -"));
	ck_assert_str_eq(found.at[2].what,
			 "ServiceAccount ns/account may not list events, watch "
			 "events, create events.events.k8s.io, patch "
			 "events.events.k8s.io");
	ck_assert_str_eq(found.at[3].what,
			 "ServiceAccount ns/renewer may not create secrets, "
			 "get secrets, patch secrets, get "
			 "mutatingwebhookconfigurations."
			 "admissionregistration.k8s.io, patch "
			 "mutatingwebhookconfigurations."
			 "admissionregistration.k8s.io");
	for (int i = 0; i < RIGHTS_N; i++) {
		const struct right *r = &rights[i];
		bool own = strcmp(r->resource, "leases") == 0 ||
			   strcmp(r->resource, "secrets") == 0;

		ck_assert((r->name == RIGHT_ANY) ==
			  (strcmp(r->verb, "create") == 0 ||
			   r->use == RIGHT_TICKETS ||
			   (!own && r->use != RIGHT_RENEWS)));
		ck_assert_int_eq(r->where, r->use == RIGHT_TICKETS
						   ? RIGHT_OF_TICKETS
					   : own ? RIGHT_OWN
					   : r->use == RIGHT_EVENTS
						   ? RIGHT_DEFAULT
						   : RIGHT_CLUSTER);
	}
}
END_TEST

/* What distinguishes findings of one kind: a part of what they say or of what
 * fixes them. */
#define WORDS(ROW)                                                             \
	ROW(c.holder.observes = c.place.observes = true;                       \
	    memset(c.holder.marks, 0, sizeof(c.holder.marks));                 \
	    c.holder.rolled_ms = 0,                                            \
	    "rbac.yaml | kubectl auth reconcile -f - && kubectl -n ns patch deployment holder --type=json -p '[")   \
	ROW(c.holder.observes = true; c.holder.rolled_ms = 0;                  \
	    memset(c.holder.marks, 0, sizeof(c.holder.marks));                 \
	    strcpy(c.place.release, "r"),                                      \
	    "upgrade r deploy/helm --reuse-values --force-conflicts --set config.mode=enforce")  \
	ROW(c.tickets = TICKETS_GONE, "karpenter-node-holder-tickets of the "  \
				      "tickets is not there")                  \
	ROW(c.tickets = TICKETS_GONE,                                          \
	    "kubectl kustomize deploy/components/tickets | sed")               \
	ROW(c.tickets = TICKETS_GONE; c.tickets_in = "other",                  \
				      "kubectl create namespace other")        \
	ROW(c.tickets = TICKETS_ENDING, "is being deleted")                    \
	ROW(c.allowed[19] = false, "/\\1ns/;' deploy/components/self-signed/"      \
				   "rbac.yaml | kubectl auth reconcile -f -")                        \
	ROW(strcpy(c.tickets_policy.selects, "other"),                         \
	    "tickets: its binding is for namespace other, and the tickets are" \
	    " in karpenter-node-holder-tickets")                               \
	ROW(c.tickets_policy.denies = false,                                   \
	    "kubectl kustomize deploy/components/tickets | sed")               \
	ROW(strcpy(c.budget.second, "other"), "pdb and other select the same") \
	ROW(strcpy(c.budget.first, "all-of-karpenter-node-holder");            \
	    strcpy(c.budget.second, "other"),                                  \
	    "kubectl -n ns describe poddisruptionbudgets")                   \
	ROW(strcpy(c.budget.first, "all-of-karpenter-node-holder");            \
	    strcpy(c.budget.second, "holder"),                                 \
	    "kubectl -n ns delete poddisruptionbudget holder")               \
	ROW(strcpy(c.budget.first, "holder");                                  \
	    strcpy(c.budget.second, "other"),                                  \
	    "kubectl -n ns delete poddisruptionbudget holder")               \
	ROW(strcpy(c.budget.blocks, "pdb"),                                    \
	    "patch poddisruptionbudget pdb --type=merge -p '{\"spec\":"         \
	    "{\"minAvailable\":null,\"maxUnavailable\":1}}'")                    \
	ROW(strange(0, STRANGE_ANNOTATION, "a/enable"),                        \
	    "NodePool web: there is no annotation a/enable; did you mean "     \
	    "karpenter-node-holder.io/enabled?")                               \
	ROW(strange(0, STRANGE_ANNOTATION, "a/enable"),                        \
	    "kubectl patch nodepool web --type=json -p '[{\"op\":\"test\",\"path\""  \
	    ":\"/metadata/annotations/karpenter-node-holder.io~1enabled\","    \
	    "\"value\":null},{\"op\":\"move\",\"from\":\"/metadata/annotations/"  \
	    "a~1enable\",\"path\":\"/metadata/annotations/"                     \
	    "karpenter-node-holder.io~1enabled\"}]'")                          \
	ROW(strange(0, STRANGE_ANNOTATION, "enable");                          \
	    c.pool.strange[0].beside = true,                                   \
	    "did you mean karpenter-node-holder.io/enabled, which it has, too?") \
	ROW(strange(0, STRANGE_ANNOTATION, "enable");                          \
	    c.pool.strange[0].beside = true,                                   \
	    "[{\"op\":\"remove\",\"path\":\"/metadata/annotations/enable\"}]'")    \
	ROW(strange(0, STRANGE_LABEL, "enabled"),                              \
	    "web: enabled is a label and no annotation; did you mean")         \
	ROW(strange(0, STRANGE_LABEL, "enabled"),                              \
	    "\"op\":\"move\",\"from\":\"/metadata/labels/enabled\",")              \
	ROW(strange(0, STRANGE_LABEL, "enabled");                              \
	    c.pool.strange[0].bare = true,                                     \
	    "'[{\"op\":\"test\",\"path\":\"/metadata/annotations\",\"value\":"  \
	    "null},{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":" \
	    "{}},{\"op\":\"move\",")                                             \
	ROW(strange(0, STRANGE_ANNOTATION, "a/disabled");                      \
	    c.pool.strange[0].meant = "",                                      \
	    "NodePool web: there is no annotation a/disabled")               \
	ROW(strange(0, STRANGE_ANNOTATION, "a/disabled");                      \
	    c.pool.strange[0].meant = "",                                      \
	    "kubectl get nodepool web -o yaml")                              \
	ROW(strange(0, STRANGE_TEMPLATE, "enabled"),                           \
	    "web: its template has the annotation enabled; did you mean")      \
	ROW(strange(0, STRANGE_TEMPLATE, "enabled"),                           \
	    "kubectl get nodepool web -o yaml")                              \
	ROW(c.pool.expire_ms = 600000, "--overwrite karpenter-node-holder.io/" \
				       "hold-duration=5m")                     \
	ROW(c.pool.expire_ms = 1, "karpenter-node-holder.io/enabled=false")    \
	ROW(c.pool.pool.hold_until_ms = NOW_MS + 2 * DOCTOR_FAR_MS,            \
	    "for another 60 days")                                             \
	ROW(c.hooks[0].conditions = 0, "ours: without the matchConditions")    \
	ROW(c.hooks[0].conditions = 2,                                         \
	    "-p '[{\"op\":\"add\",\"path\":\"/webhooks/0/matchConditions\","     \
	    "\"value\":[{\"name\":\"karpenter\",\"expression\":\"request."        \
	    "resource.resource != \\u0027nodes\\u0027 || ")                    \
	ROW(c.hooks[0].others = true, "/webhooks/0/rules\",\"value\":[{\"api")  \
	ROW(c.hooks[0].conditions = 2, "ours: not the matchConditions")        \
	ROW(c.hooks[0].claims = false, "creation of NodeClaims")               \
	ROW(c.hooks[0].nodes = false, "creation of Nodes")                     \
	ROW(c.hooks[0].claims = c.hooks[0].nodes = false,                      \
	    "creation of Nodes and NodeClaims")                                \
	ROW(c.hooks[0].exact = true; c.hooks[0].timeout_s = 10,                \
				     "ours: matchPolicy Exact, timeout 10 s")      \
	ROW(c.hooks[0].timeout_s = 11, "ours: timeout 11 s, expected")       \
	ROW(c.hooks_n = 2, "registered twice: ours and second")                \
	ROW(c.hooks_n = 2, "mutatingwebhookconfiguration second")              \
	ROW(c.policy = c.binding = true, "ours and a MutatingAdmissionPolicy") \
	ROW(c.hooks_n = 0; c.policy = true, "its binding is missing")          \
	ROW(c.hooks_n = 0; c.policy = true,                                    \
	    "\"spec\":{\"policyName\":\"karpenter-node-holder\"}}' | ")           \
	ROW(c.hooks_n = 0; c.binding = true, "it is missing")                  \
	ROW(c.bundle.present = false,                                          \
	    "grep -q CERTIFICATE certs/ca.crt && base64 <certs/ca.crt")        \
	ROW(c.hooks_n = 0,                                                     \
	    "if kubectl -n ns get certificates.cert-manager.io "               \
	    "karpenter-node-holder; then kubectl kustomize "                   \
	    "deploy/overlays/default | sed -E '")                              \
	ROW(c.hooks_n = 0,                                                     \
	    "webhook -f -; else kubectl kustomize deploy/base | ")             \
	ROW(c.hooks_n = 0; c.place.renewer = c.place.observes = true,          \
			   "kubectl kustomize deploy/overlays/self-signed ")   \
	ROW(c.bundle.present = false; c.place.renewer = true,                  \
				      "restart deployment holder-renewer")     \
	ROW(c.hooks[1].fails = true; c.hooks[1].index = 2;                     \
	    c.hooks[0] = c.hooks[1], "second --type=json -p '[{\"op\":\"add\","   \
				     "\"path\":\"/webhooks/2/failurePolicy\""  \
				     ",\"value\":\"Ignore\"}]'")                \
	ROW(c.bounds.policy = false,                                           \
	    "sed -E '/-tickets/!s/(namespace: |serviceaccount:|"               \
	    "inject-ca-from: |- karpenter-node-holder\\.)"                     \
	    "karpenter-node-holder/\\1ns/;' deploy/base/policy.yaml | "        \
	    "kubectl apply -f -")                                              \
	ROW(c.bounds.policy = false;                                           \
	    strcpy(c.place.namespace_, "karpenter-node-holder");               \
	    strcpy(c.hooks[0].namespace_, "karpenter-node-holder"),            \
	    "kubectl apply -f deploy/base/policy.yaml")                        \
	ROW(c.bounds.policy = false; strcpy(c.rules.hold.key, "a/b"),          \
	    "-f - && kubectl patch validatingadmissionpolicy bounds -p "       \
	    "'{\"spec\":{\"variables\":[{\"name\":\"holds\",\"expression\":\"" \
	    "[\\u0027karpenter.sh/do-not-disrupt\\u0027] + "                   \
	    "[\\u0027a/b\\u0027]\"}]}}'")                                      \
	ROW(c.bounds.binding = c.bounds.denies = false,                        \
	    "\"spec\":{\"policyName\":\"bounds\",\"validationActions\":"       \
	    "[\"Deny\"]}}' | kubectl apply -f -")                              \
	ROW(c.bounds.denies = false,                                           \
	    "kubectl patch validatingadmissionpolicybinding bounds ")          \
	ROW(c.bounds.here = false, "\\u0027system:serviceaccount:ns:\\u0027) ") \
	ROW(c.bounds.key = false; c.bounds.holds[0] = '\0',                    \
	    "kubectl edit validatingadmissionpolicy bounds")                   \
	ROW(c.bounds.key = false;                                              \
	    memset(c.bounds.holds, '\'', sizeof(c.bounds.holds) - 1),          \
	    "kubectl edit validatingadmissionpolicy bounds")                   \
	ROW(c.bounds.key = false; strcpy(c.bounds.holds, "['a/b', \"c\"]"),     \
	    "\"expression\":\"[\\u0027a/b\\u0027, \\\"c\\\"] + "                   \
	    "[\\u0027karpenter.sh/do-not-disrupt\\u0027]\"}]}}'")               \
	ROW(c.bounds.policy = false; strcpy(c.place.release, "hold"),          \
	    "helm -n ns upgrade hold deploy/helm --reuse-values "              \
	    "--force-conflicts")                                               \
	ROW(c.allowed[0] = false,                                              \
	    "ls deploy/base/rbac.yaml && sed -E '/-tickets/!s/(")                    \
	ROW(c.allowed[0] = false,                                              \
	    "/\\1ns/;' deploy/base/rbac.yaml | kubectl auth reconcile -f -")            \
	ROW(c.allowed[0] = false; c.place.observes = true,                     \
	    "sed -E 's/(get, list, watch), patch/\\1/;/-tickets/!s/(")         \
	ROW(c.holder_at.ready = 0; c.pods[1].ready = false;                    \
	    strcpy(c.pods[1].trouble, "because"), "logs pod-1")                \
	ROW(c.holder_at.ready = 0; c.pods[1].ready = false;                    \
	    strcpy(c.pods[1].trouble, "because"), "version: pod-1: because")   \
	ROW(c.holder_at.ready = 0; c.pods[1].ready = false,                    \
				   "version, such as pod-1")                   \
	ROW(c.holder_at.ready = 0; c.pods[0].ready = c.pods[1].ready = false;  \
	    strcpy(c.pods[1].trouble, "because"), "version: pod-1: because")   \
	ROW(c.holder_at.ready = 0, "version: there is no pod for it")          \
	ROW(unmade("exceeded quota: q"), "cannot be created: exceeded quota: q") \
	ROW(unmade("exceeded quota: q"), "-n ns describe resourcequotas")      \
	ROW(unmade("maximum cpu usage per Container"), "describe limitranges") \
	ROW(unmade("<= cpu limit of 1m"), "describe limitranges")              \
	ROW(unmade("violates PodSecurity \"restricted\"");                      \
	    c.holder_at.rolled_ms = STAMP_NONE,                                \
	    "kubectl -n ns rollout undo deployment holder")                    \
	ROW(unmade("violates PodSecurity \"restricted\""),                      \
	    "kubectl get namespace ns --show-labels")                          \
	ROW(unmade("no PriorityClass with name x"), "deployment holder -p '{") \
	ROW(unmade("error looking up service account"),                        \
	    "serviceaccount.yaml | kubectl apply -f - && kubectl -n ns roll")  \
	ROW(unmade("error looking up service account"),                        \
	    "apply -f - && kubectl -n ns rollout restart deployment holder")   \
	ROW(unmade("for a reason of its own"), "deployment,replicasets,pods")  \
	ROW(unmade("x"); c.holder_at.replicas = 0, "--replicas=2")             \
	ROW(c.holder_at.replicas = c.holder_at.ready = 0, "--replicas=2")      \
	ROW(c.renewer.replicas = c.renewer.ready = 0, "--replicas=1")          \
	ROW(c.karpenter.available = c.karpenter.replicas = 0, "--replicas=2")  \
	ROW(c.service.there = false, "which is not there")                     \
	ROW(c.service.there = false; strcpy(c.hooks[0].namespace_, "x"),       \
				     "service/namespace\",\"value\":\"ns\"}]'") \
	ROW(c.service.port = false, "service/port\",\"value\":443}]'")        \
	ROW(strcpy(c.rules.exclude.at[0], "btach"); c.rules.exclude.n = 1,     \
						    "edit configmap config ")  \
	ROW(c.leader.valid = false, "certs --dns h.ns.svc && ")                \
	ROW(c.leader.valid = false, "create secret tls pair --cert ")          \
	ROW(c.other = "there", "-n there scale deployment other --replicas=0") \
	ROW(c.leader.stale = true, "rollout restart deployment holder")        \
	ROW(c.holder.observes = true,                                          \
	    "yaml >webhook-was.yaml && kubectl -n ns scale deployment holder " \
	    "--replicas=0 && if holderctl uninstall --remove-webhook "         \
	    "--namespace ns --leader-election-name=lease; then kubectl -n ns " \
	    "scale deployment holder --replicas=3; sed '/^  resourceVersion:"  \
	    "/d' webhook-was.yaml | kubectl create -f - && rm "                \
	    "webhook-was.yaml; else kubectl -n ns scale deployment holder "    \
	    "--replicas=3; ")                                                  \
	ROW(c.holder.lease_live = false; c.holder.available = 0,               \
	    "holderctl uninstall --remove-webhook --namespace ns")             \
	ROW(c.holder.lease_live = false; c.holder.available = 0;               \
	    c.holder.deployed = true, "describe deployment,pods")              \
	ROW(c.pods[1].grace = false,                                           \
	    "kubectl get nodeclaims -l karpenter.sh/nodepool=web")             \
	ROW(c.leader.valid = false; c.place.injected = true,                   \
				    "describe certificates")                   \
	ROW(c.leader.waiting = 1, "logs pod-0 | grep")                         \
	ROW(strcpy(c.leader.unheld, "web"); c.leader.bare = 7,                 \
	    "NodePool web is held, and none of its 7 machines has a hold")     \
	ROW(c.bundle.present = false; c.hooks[0].injected = true,              \
				      "app=cainjector")                        \
	ROW(c.bundle.latest_ms = 0, "valid until 1970-01-01T00:00:00Z")        \
	ROW(c.served = SERVED_REFUSED, "mutate serves: because")               \
	ROW(c.dry_run.result[KIND_NODE] = DRY_RUN_UNHELD, "a Node of")         \
	ROW(c.dry_run.result[KIND_NODECLAIM] = DRY_RUN_UNHELD,                 \
	    "a NodeClaim of")                                                  \
	ROW(c.dry_run.result[KIND_NODE] = DRY_RUN_FAILED, "create a Node as")  \
	ROW(c.dry_run.result[KIND_NODECLAIM] = DRY_RUN_FAILED,                 \
	    "create a NodeClaim as")                                           \
	ROW(c.karpenter.v1 = c.karpenter.served = false,                       \
	    "karpenter.sh/v1 is not served")                                   \
	ROW(c.karpenter.v1 = false, "but not in version v1")                   \
	ROW(c.karpenter.claims = false, "without nodeclaims")                  \
	ROW(c.karpenter.pools = false, "without nodepools")                    \
	ROW(c.holder.lease_live = false; c.holder.available = 0,               \
					 "Nodes: 3, NodeClaims: 3, such as "   \
					 "node-1")                             \
	ROW(c.left.nodes[LEFT_HOLD] = 2,                                       \
	    "karpenter.sh/do-not-disrupt, which no person is on record as "    \
	    "having set, without our mark on Nodes: 2")                        \
	ROW(c.left.nodes[LEFT_EVICT] = 2,                                      \
	    "karpenter.sh/do-not-evict on Nodes: 2")                           \
	ROW(c.left.nodes[LEFT_CONSOLIDATE] = 2,                                \
	    "karpenter.sh/do-not-consolidate on Nodes: 2")

#define WORDS_N (0 WORDS(COUNT_ROW))

static const char *
change_words(int row)
{
	int at = 0;

	WORDS(DO_ROW)
	return NULL;
}

START_TEST(test_words)
{
	const char *want;

	begin();
	want = change_words(_i);
	judge();
	ck_assert_uint_eq(found.n, 1);
	ck_assert_msg(strstr(found.at[0].what, want) != NULL ||
			      strstr(found.at[0].fix, want) != NULL,
		      "\"%s\" is not in \"%s\", \"%s\"", want,
		      found.at[0].what, found.at[0].fix);
}
END_TEST

/* What a check says that has found nothing. */
START_TEST(test_notes)
{
	begin();
	judge();
	ck_assert_str_eq(found.of[DOCTOR_HOLDER].note, " leads");
	ck_assert_str_eq(found.of[DOCTOR_KARPENTER].note, "Karpenter 1.2.0");
	ck_assert_str_eq(found.of[DOCTOR_PLACEMENT].note,
			 "2 pods, 2 on nodes of Karpenter's");
	ck_assert_str_eq(found.of[DOCTOR_API].note, "Kubernetes v1.30.0");
	c.holder.lease_live = c.holder.elects = false;
	c.karpenter.deployments = 0;
	c.pods_n = 1;
	c.pods[0].nodepool[0] = '\0';
	c.hooks_n = 0;
	c.policy = c.binding = true;
	judge();
	ck_assert_str_eq(found.of[DOCTOR_HOLDER].note, "2 pods are available");
	ck_assert_ptr_ne(strstr(found.of[DOCTOR_KARPENTER].note, "without"),
			 NULL);
	ck_assert_str_eq(found.of[DOCTOR_PLACEMENT].note,
			 "1 pod, 0 on nodes of Karpenter's");
	ck_assert_ptr_ne(strstr(found.of[DOCTOR_ADMISSION].note,
				"MutatingAdmissionPolicy"),
			 NULL);
}
END_TEST

static const struct finding_kind some = {DOCTOR_RIGHTS, FINDING_WARNING, "some",
					 "Because."};

static const struct finding_kind worse = {DOCTOR_RIGHTS, FINDING_ERROR, "worse",
					  "Because."};

START_TEST(test_more_than_fit)
{
	findings_init(&found);
	for (unsigned i = 0; i < FINDINGS_MAX + 5; i++)
		finding_fix(findings_add(&found, &some, "number %u", i), "do");
	ck_assert_uint_eq(found.n, FINDINGS_MAX);
	ck_assert_uint_eq(found.warnings, FINDINGS_MAX + 5);
	ck_assert_uint_eq(found.errors, 0);
	for (unsigned i = 0; i < FINDINGS_MAX; i++)
		ck_assert_int_eq(atoi(found.at[i].what + 7), (int)i);
	/* What makes the command fail is said, however many warnings came
	 * before. */
	for (unsigned i = 0; i < FINDINGS_MAX + 5; i++)
		finding_fix(findings_add(&found, &worse, "number %u", i),
			     "do %u", i);
	ck_assert_uint_eq(found.n, FINDINGS_MAX);
	ck_assert_uint_eq(found.errors, FINDINGS_MAX + 5);
	for (unsigned i = 0; i < FINDINGS_MAX; i++) {
		unsigned number = FINDINGS_MAX - 1 - i;

		ck_assert_ptr_eq(found.at[i].kind, &worse);
		ck_assert_int_eq(atoi(found.at[i].what + 7), (int)number);
		ck_assert_int_eq(atoi(found.at[i].fix + 3), (int)number);
	}
}
END_TEST

static void
add_kind(enum finding_level level, const char *id)
{
	static struct finding_kind kinds[8];
	struct finding_kind *k = &kinds[found.n];

	*k = (struct finding_kind){DOCTOR_API, level, id, "Because."};
	(void)findings_add(&found, k, "%s", id);
}

/* The report begins with an error or with what brought one about.  A cause
 * stands before what follows from it, whatever their levels. */
START_TEST(test_causes_first)
{
	static const char *const want[][2] = {
		{"pods-not-ready", NULL},
		{"webhook-selector", NULL},
		{"dry-run-unheld", "pods-not-ready"},
		{"leader-missing", "pods-not-ready"},
		{"webhook-rules-wide", NULL},
		{"placement-unknown", NULL},
		{"of-no-row", NULL}};

	findings_init(&found);
	add_kind(FINDING_WARNING, "of-no-row");
	add_kind(FINDING_WARNING, "placement-unknown");
	add_kind(FINDING_ERROR, "leader-missing");
	add_kind(FINDING_ERROR, "dry-run-unheld");
	add_kind(FINDING_WARNING, "webhook-selector");
	add_kind(FINDING_WARNING, "webhook-rules-wide");
	add_kind(FINDING_ERROR, "pods-not-ready");
	findings_sort(&found);
	ck_assert_uint_eq(found.n, 7);
	for (unsigned i = 0; i < found.n; i++) {
		const struct finding_kind *cause = found.at[i].cause;

		ck_assert_str_eq(found.at[i].kind->id, want[i][0]);
		ck_assert_str_eq(found.at[i].what, want[i][0]);
		ck_assert_pstr_eq(cause == NULL ? NULL : cause->id, want[i][1]);
	}
}
END_TEST

/* A NodePool that the holder leaves alone has no row. */
/* What others have registered matters unless an error explains what is wrong. */
START_TEST(test_what_is_wanted)
{
	static const struct {
		const char *id, *warning, *error;
		bool want;
	} at[] = {
		{"dry-run-unheld", NULL, NULL, true},
		{"dry-run-unheld", "pods-some-not-ready", NULL, true},
		{"dry-run-unheld", "renewer-down", "leader-missing", true},
		{"dry-run-unheld", "pods-some-not-ready", "webhook-missing",
		 false},
		{"holds-missing", "writes-refused", NULL, true},
		{"holds-missing", "writes-refused", "right-missing", false},
		{"leader-missing", NULL, NULL, false},
	};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		findings_init(&found);
		add_kind(FINDING_ERROR, at[i].id);
		if (at[i].warning != NULL)
			add_kind(FINDING_WARNING, at[i].warning);
		if (at[i].error != NULL)
			add_kind(FINDING_ERROR, at[i].error);
		findings_sort(&found);
		ck_assert_msg(findings_want(&found, "admission-foreign") ==
				      at[i].want,
			      "%s %zu", at[i].id, i);
	}
}
END_TEST

START_TEST(test_rows_of_the_study)
{
	begin();
	c.pool.consolidate_ms = -1;
	ck_assert_int_eq(judge_consolidation(&c.pool, &c.rules), STUDY_SILENT);
	c.pool.consolidate_ms = 299999;
	ck_assert_int_eq(judge_consolidation(&c.pool, &c.rules), STUDY_SILENT);
	c.pool.consolidate_ms = 300000;
	ck_assert_int_eq(judge_consolidation(&c.pool, &c.rules), STUDY_PATIENT);
	c.pool.consolidate_ms = 0;
	ck_assert_int_eq(judge_consolidation(&c.pool, &c.rules), STUDY_EAGER);
	c.pool.only_empty = true;
	ck_assert_int_eq(judge_consolidation(&c.pool, &c.rules), STUDY_EMPTY);
	c.pool.pool.disabled = true;
	ck_assert_int_eq(judge_consolidation(&c.pool, &c.rules), STUDY_SILENT);
	c.pool.pool.disabled = false;
	c.pool.pool.inert = true;
	ck_assert_int_eq(judge_consolidation(&c.pool, &c.rules), STUDY_SILENT);
	c.pool.pool.inert = false;
	strcpy(c.rules.include.at[0], "other");
	ck_assert_int_eq(judge_consolidation(&c.pool, &c.rules), STUDY_SILENT);
}
END_TEST

START_TEST(test_said_once)
{
	findings_init(&found);
	(void)findings_add(&found, &some, "a\nb%s", "\x1b[1m");
	(void)findings_add(&found, &some, "a\nb%s", "\x1b[1m");
	(void)findings_add(&found, &some, "another");
	ck_assert_uint_eq(found.n, 2);
	ck_assert_uint_eq(found.warnings, 2);
	ck_assert_str_eq(found.at[0].what, "a?b?[1m");
}
END_TEST

START_TEST(test_unknown)
{
	for (int i = 0; i < DOCTOR_CHECKS; i++) {
		bool error = i == DOCTOR_API || i == DOCTOR_DRY_RUN;

		findings_init(&found);
		findings_unknown(&found, (enum doctor_check)i, "list it",
				 "403: you cannot list", "/api/v1/nodes");
		ck_assert_str_eq(found.at[0].what,
				 "list it: 403: you cannot list");
		ck_assert_int_eq(found.at[0].kind->check, i);
		ck_assert_uint_eq(found.errors, error);
		ck_assert_uint_eq(found.warnings, !error);
	}
}
END_TEST

/* What could not be examined, and the command about it. */
static const char *const unknown_fixes[][2] = {
	{"403: nodes is forbidden: User \"system:serviceaccount:ns:node-holder-"
	 "check\" cannot list resource \"nodes\"",
	 "kustomize deploy/check | sed 's|namespace: karpenter-node-holder$|"
	 "namespace: ns|' | kubectl auth reconcile -f -"},
	{"403: nodes is forbidden: User \"joe@x.org\" cannot list resource "
	 "\"nodes\" in API group \"\" at the cluster scope",
	 "kubectl create clusterrolebinding karpenter-node-holder-checker:"
	 "joe@x.org --clusterrole=karpenter-node-holder-checker "
	 "--user=joe@x.org"},
	{"403: pods is forbidden: User \"$(x)\" cannot list resource \"pods\" in "
	 "API group \"\" in the namespace \"ns\"",
	 "kubectl -n ns create rolebinding karpenter-node-holder-checker:NAME "
	 "--role=karpenter-node-holder-checker --user=NAME"},
	{"403: ValidatingAdmissionPolicy 'deny' with binding 'x' denied request",
	 "kubectl get validatingadmissionpolicy deny -o yaml"},
	{"403: admission webhook \"a.b\" denied the request: nodes is forbidden: "
	 "User \"mallory\" cannot list",
	 "| grep a.b"},
	{"403: nodes \"n\" is forbidden: no, and nodes is forbidden: User "
	 "\"mallory\" cannot list",
	 "kubectl get --raw '/api/v1/nodes'"},
	{"500: Internal error occurred: failed calling webhook \"a.b\": away",
	 ".webhooks[*].failurePolicy' | grep a.b"},
	{"500: admission webhook \"a.b\" denied the request: no", "| grep a.b"},
	{"500: away", "kubectl get --raw '/api/v1/nodes'"}};

START_TEST(test_unknown_fixes)
{
	const char *const *want = unknown_fixes[_i];

	findings_init(&found);
	findings_unknown(&found, DOCTOR_HOLDER, "list", want[0],
			 "/api/v1/nodes");
	ck_assert_msg(strstr(found.at[0].fix, want[1]) != NULL, "%s",
		      found.at[0].fix);
}
END_TEST

/* What look_dry_run waits for. */
START_TEST(test_what_a_dry_run_is_to_bring)
{
	begin();
	ck_assert_int_eq(judge_dry_run_expected(&c.rules), DRY_RUN_HELD);
	observe();
	ck_assert_int_eq(judge_dry_run_expected(&c.rules), DRY_RUN_UNHELD);
}
END_TEST

static const struct {
	const char *text;
	bool known;
	unsigned major, minor;
} versions[] = {
	{"1.14.1", true, 1, 14},    {"v1.36.3+k3s1", true, 1, 36},
	{"v1.30.0-eks-1", true, 1, 30}, {"1.30", true, 1, 30},
	{"1.30-alpha.1", true, 1, 30}, {"1.30+k3s1", true, 1, 30},
	{"0.37.7", true, 0, 37},    {"", false, 0, 0},
	{"v", false, 0, 0},	    {"latest", false, 0, 0},
	{"1", false, 0, 0},	    {"1.", false, 0, 0},
	{"1.x", false, 0, 0},	    {"1.2x", false, 0, 0},
	{"99999999999.1", false, 0, 0},
};

START_TEST(test_versions)
{
	struct version v;

	judge_version_parse(versions[_i].text, &v);
	ck_assert_msg(v.known == versions[_i].known, "%s", versions[_i].text);
	if (!v.known)
		return;
	ck_assert_uint_eq(v.major, versions[_i].major);
	ck_assert_uint_eq(v.minor, versions[_i].minor);
	ck_assert_str_eq(v.text, versions[_i].text);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("core/doctor");
	TCase *tc = tcase_create("doctor");

	tcase_add_loop_test(tc, test_each_fact, 0, ROWS_N);
	tcase_add_test(tc, test_levels);
	tcase_add_test(tc, test_commands_name_what_is_meant);
	tcase_add_test(tc, test_what_is_quoted);
	tcase_add_loop_test(tc, test_words, 0, WORDS_N);
	tcase_add_test(tc, test_rights);
	tcase_add_test(tc, test_notes);
	tcase_add_test(tc, test_more_than_fit);
	tcase_add_test(tc, test_causes_first);
	tcase_add_test(tc, test_what_is_wanted);
	tcase_add_test(tc, test_rows_of_the_study);
	tcase_add_test(tc, test_said_once);
	tcase_add_test(tc, test_unknown);
	tcase_add_loop_test(tc, test_unknown_fixes, 0,
			    sizeof(unknown_fixes) / sizeof(unknown_fixes[0]));
	tcase_add_test(tc, test_what_a_dry_run_is_to_bring);
	tcase_add_loop_test(tc, test_versions, 0,
			    sizeof(versions) / sizeof(versions[0]));
	suite_add_tcase(s, tc);
	return suite_run(s);
}
