/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "wire/doctor/facts.h"
#include "wire/doctor/findings.h"

/* One input to every decoder of `holderctl check`.  The judges may be given
 * whatever these make of it, and what they say can be printed. */

static struct findings found;
static const struct doctor_place place = {
	.namespace_ = "ns", .account = "account", .lease = "lease"};

static void
one_webhook(const char *text, size_t n)
{
	struct webhook_facts w;
	struct bundle_facts b = {.present = true};
	struct err e = {0};
	char *bundle = NULL, name[NAME_BYTES];
	int rc = facts_foreign_decode(text, n, name, &e);

	if (rc < 0)
		promise_refused(&e);
	else if (rc > 0)
		judge_foreign(finding_name(name), &found);
	rc = facts_webhook_decode(text, n, &w, &bundle, &e);

	if (rc < 0)
		promise_refused(&e);
	PROMISE(rc > 0 || bundle == NULL);
	if (rc > 0) {
		PROMISE(w.configuration[0] != '\0');
		judge_admission(&w, 1, false, false, &place, &found);
		judge_bundle(&w, &b, &place, 0, &found);
		judge_served(&w, SERVED_REFUSED, w.condition, true, &place,
			     &found);
	}
	free(bundle);
}

static void
one_nodepool(const char *text, size_t n, const struct rules *rules)
{
	static char body[DRY_RUN_BYTES];
	static struct nodepool_facts p;
	struct err e = {0};
	struct buf b;

	if (facts_nodepool_decode(text, n, &rules->hold, &p, &e)) {
		promise_refused(&e);
		return;
	}
	PROMISE(p.pool.name[0] != '\0' && p.expire_ms >= -1);
	judge_nodepool(&p, rules, 0, &found);
	for (int k = 0; k < KIND_COUNT; k++) {
		buf_init(&b, body, sizeof(body));
		facts_dry_run_body(&b, (enum kind)k, &p);
		PROMISE(!b.full);
		promise_json(body, b.len);
	}
}

static void
one_object(const char *text, size_t n, const struct rules *rules)
{
	struct deployment_facts d;
	struct pod_facts p;
	struct carried c;
	struct leftover_facts l = {.role = false};
	struct err e = {0};

	if (facts_deployment_decode(text, n, &d, &e))
		promise_refused(&e);
	else
		PROMISE(d.name[0] != '\0' && d.namespace_[0] != '\0');
	if (facts_pod_decode(text, n, &p, &e) < 0) {
		promise_refused(&e);
	} else {
		memcpy(p.nodepool, "web", 4);
		judge_placement(&p, 1, &place, &found);
	}
	if (facts_carried_decode(text, n, &rules->hold, &c, &e)) {
		promise_refused(&e);
		return;
	}
	PROMISE(!c.marked || !c.left[LEFT_HOLD]);
	for (int i = 0; i < LEFT_COUNT; i++) {
		l.nodes[i] = c.left[i];
		memcpy(l.node[i], c.name, sizeof(c.name));
	}
	judge_leftovers(&l, rules->hold.key, &found);
}

static void
one_answer(const char *text, size_t n, const struct rules *rules)
{
	struct karpenter_facts k = {.served = false};
	struct version v = {.known = false};
	struct err e = {0};
	bool yes;

	if (facts_kubernetes_decode(text, n, &v, &e) ||
	    facts_group_decode(text, n, &k, &e) ||
	    facts_group_resources_decode(text, n, &k, &e) ||
	    facts_access_decode(text, n, &yes, &e) ||
	    facts_dry_run_decode(text, n, &yes, &e))
		promise_refused(&e);
	k.version = v;
	judge_kubernetes(&v, &found);
	judge_karpenter(&k, rules, &place, &found);
}

static void
one_installation(const char *text, size_t n, const struct rules *rules)
{
	static struct leader_facts l;
	static const struct webhook_facts w = {
		.configuration = "w", .service = "s", .namespace_ = "ns"};
	const char *key = rules->hold.key;
	struct policy_facts bounds = {.name = "bounds"};
	struct deployment_facts d;
	struct service_facts s = {.there = false};
	struct ticket_facts t;
	struct pod_facts p;
	struct err e = {0};
	struct budget_facts b = {.known = true};
	enum tickets_place in = TICKETS_GONE;

	if (facts_namespace_decode(text, n, &in, &e) ||
	    facts_slice_decode(text, n, &s.ready, &e) ||
	    facts_budget_decode(text, n, "\na=b\n", &b, &e) ||
	    facts_policy_decode(text, n, "ns", key, &bounds, &e) ||
	    facts_policy_binding_decode(text, n, &bounds, &e))
		promise_refused(&e);
	judge_tickets("t", in, &place, &found);
	judge_policy(&bounds, key, &place, &found);
	if (facts_leader_decode(text, n, &l, &e) == 0) {
		judge_leader(&l, &w, &place, 0, &found);
		PROMISE(l.include.n <= NODEPOOL_PATTERNS_MAX);
	}
	if (facts_ticket_decode(text, n, "ci", &t, &e) == 0)
		PROMISE(t.listed || (t.until_ms == STAMP_NONE &&
				     t.nodepools == 0 && t.problem[0] == 0));
	if (facts_pod_decode(text, n, &p, &e) < 0)
		memset(&p, 0, sizeof(p));
	if (facts_service_decode(text, n, &w, &s, &e) == 0)
		judge_service(&s, &w, &p, 1, &place, &found);
	if (facts_deployment_decode(text, n, &d, &e) == 0) {
		judge_rollout(&d, &p, 1, &place, &found);
		judge_redundancy(&d, &b, &place, &found);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct rules rules = {
		.hold_ms = 600000,
		.hold = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE},
		.include = {.n = 1, .at = {"*"}}};
	static char text[REPORT_BYTES];
	const char *bytes = (const char *)data;
	struct buf b;

	findings_init(&found);
	one_webhook(bytes, n);
	one_nodepool(bytes, n, &rules);
	one_object(bytes, n, &rules);
	one_answer(bytes, n, &rules);
	one_installation(bytes, n, &rules);
	findings_sort(&found);
	for (unsigned i = 0; i < found.n; i++) {
		PROMISE(strpbrk(found.at[i].what, "\n\r\x1b") == NULL);
		PROMISE(strpbrk(found.at[i].fix, "\n\r\x1b`$") == NULL);
	}
	buf_init(&b, text, sizeof(text));
	findings_json(&b, &found, "1");
	PROMISE(!b.full);
	promise_json(text, b.len);
	buf_init(&b, text, sizeof(text));
	findings_text(&b, &found);
	PROMISE(!b.full);
	return 0;
}
