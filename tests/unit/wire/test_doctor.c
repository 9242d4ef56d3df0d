/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "wire/doctor/facts.h"
#include "wire/doctor/findings.h"
#include "wire/json/json.h"

/* --- the webhook ---------------------------------------------------------- */

#define HOOK_HEAD                                                              \
	"{\"metadata\":{\"name\":\"n\"},\"webhooks\":[{\"name\":\"a.b.c\"},"   \
	"{\"name\":\"hold.karpenter-node-holder.io\",\"failurePolicy\":"       \
	"\"Ignore\",\"reinvocationPolicy\":\"IfNeeded\",\"timeoutSeconds\":2"
#define SERVICE                                                                \
	",\"clientConfig\":{\"service\":{\"name\":\"s\",\"namespace\":\"ns\"," \
	"\"path\":\"/mutate\"},\"caBundle\":\"cGVt\"}"
#define RULE(group, version, operation, resource)                              \
	"{\"apiGroups\":[" group "],\"apiVersions\":[" version                 \
	"],\"operations\":[" operation "],\"resources\":[" resource "]}"
#define NODES_RULE RULE("\"\"", "\"v1\"", "\"CREATE\"", "\"nodes\"")
#define CLAIMS_RULE                                                            \
	RULE("\"karpenter.sh\"", "\"*\"", "\"CREATE\"", "\"nodeclaims\"")

static struct webhook_facts
hook(const char *json, char **bundle)
{
	struct webhook_facts w;
	struct err e = {0};
	int rc = facts_webhook_decode(json, strlen(json), &w, bundle, &e);

	ck_assert_msg(rc == 1, "%d %s: %s", rc, e.text, json);
	return w;
}

static const struct {
	const char *rules;
	bool nodes, claims, others;
} rules_cases[] = {
	{NODES_RULE "," CLAIMS_RULE, true, true, false},
	{NODES_RULE, true, false, false},
	{CLAIMS_RULE, false, true, false},
	{"", false, false, false},
	{RULE("\"*\"", "\"*\"", "\"*\"", "\"*\""), true, true, true},
	{RULE("\"*\"", "\"*\"", "\"*\"", "\"*/*\""), true, true, true},
	{NODES_RULE "," RULE("\"\"", "\"v1\"", "\"CREATE\"", "\"pods\""), true,
	 false, true},
	{RULE("\"\"", "\"v1\"", "\"CREATE\",\"UPDATE\"", "\"nodes\""), true,
	 false, true},
	{RULE("\"\"", "\"v1\"", "\"UPDATE\"", "\"nodes\""), false, false, true},
	{RULE("\"\"", "\"v2\"", "\"CREATE\"", "\"nodes\""), false, false,
	 false},
	{"{\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"operations\":["
	 "\"CREATE\"],\"resources\":[\"nodes\"],\"scope\":\"Namespaced\"}",
	 false, false, false},
	{"7,null,{\"apiGroups\":{}}", false, false, true},
};

START_TEST(test_rules)
{
	char json[2000], *bundle;
	struct webhook_facts w;

	(void)snprintf(json, sizeof(json), HOOK_HEAD ",\"rules\":[%s]}]}",
		       rules_cases[_i].rules);
	w = hook(json, &bundle);
	ck_assert_ptr_null(bundle);
	ck_assert(w.nodes == rules_cases[_i].nodes);
	ck_assert(w.claims == rules_cases[_i].claims);
	ck_assert(w.others == rules_cases[_i].others);
}
END_TEST

START_TEST(test_webhook)
{
	char *bundle;
	struct webhook_facts w = hook(
		HOOK_HEAD SERVICE
		",\"namespaceSelector\":{},\"objectSelector\":{},"
		"\"matchConditions\":[{\"name\":\"a\",\"expression\":\"  a ||\\n"
		"\\t b  \"},{\"expression\":\"c\"}]}]}",
		&bundle);

	ck_assert_str_eq(bundle, "pem");
	free(bundle);
	ck_assert_str_eq(w.configuration, "n");
	ck_assert_str_eq(w.url, "https://s.ns.svc:443/mutate");
	ck_assert_str_eq(w.namespace_, "ns");
	ck_assert_str_eq(w.condition, "a || b");
	ck_assert_uint_eq(w.conditions, 2);
	ck_assert_int_eq(w.timeout_s, 2);
	ck_assert(!w.narrowed && !w.fails && !w.exact && !w.once &&
		  !w.injected);

	w = hook("{\"metadata\":{\"name\":\"n\",\"annotations\":{"
		 "\"cert-manager.io/inject-ca-from\":\"a/b\"}},\"webhooks\":[{"
		 "\"name\":\"hold.karpenter-node-holder.io\",\"failurePolicy\":"
		 "\"Fail\",\"matchPolicy\":\"Exact\",\"reinvocationPolicy\":"
		 "\"Never\",\"objectSelector\":{\"matchLabels\":{\"a\":\"b\"}},"
		 "\"clientConfig\":{\"url\":\"https://h:1/p\",\"caBundle\":"
		 "\"!\"}}]}",
		 &bundle);
	ck_assert_ptr_null(bundle);
	ck_assert_str_eq(w.url, "https://h:1/p");
	ck_assert_str_eq(w.namespace_, "");
	ck_assert(w.narrowed && w.fails && w.exact && w.once && w.injected);
	ck_assert_int_eq(w.timeout_s, 10);

	/* The API server's defaults are Fail and Never. */
	w = hook("{\"metadata\":{\"name\":\"n\"},\"webhooks\":[{"
		 "\"name\":\"hold.karpenter-node-holder.io\"}]}",
		 &bundle);
	ck_assert(w.fails && w.once && !w.exact);
}
END_TEST

/* An expression that does not fit is none of ours. */
START_TEST(test_long_expression)
{
	char json[3 * WEBHOOK_CONDITION_BYTES], text[WEBHOOK_CONDITION_BYTES],
		*bundle;

	for (int over = 0; over < 2; over++) {
		memset(text, 'x', sizeof(text));
		text[WEBHOOK_CONDITION_BYTES - 1] = '\0';
		(void)snprintf(json, sizeof(json),
			       HOOK_HEAD ",\"matchConditions\":[{"
					 "\"expression\":\"%s%s\"}]}]}",
			       text, over ? "x" : "");
		ck_assert_str_eq(hook(json, &bundle).condition,
				 over ? "" : text);
	}
}
END_TEST

START_TEST(test_addresses)
{
	static char json[3 * WEBHOOK_URL_BYTES], path[WEBHOOK_URL_BYTES + 1];
	static const char *const says[][2] = {
		{"\"path\":\"p\",", "https://s.ns.svc:443/p"},
		{"", "https://s.ns.svc:443/"},
		{"\"port\":8443,", "https://s.ns.svc:8443/"},
	};
	char *bundle;

	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(json, sizeof(json),
			       HOOK_HEAD ",\"clientConfig\":{\"service\":{%s"
					 "\"name\":\"s\",\"namespace\":\"ns\"}}"
					 "}]}",
			       says[i][0]);
		ck_assert_str_eq(hook(json, &bundle).url, says[i][1]);
	}
	memset(path, 'p', sizeof(path) - 1);
	for (int url = 0; url < 2; url++) {
		(void)snprintf(json, sizeof(json),
			       HOOK_HEAD ",\"clientConfig\":{\"%s\":%s%s%s}}]}",
			       url ? "url" : "service",
			       url ? "\""
				   : "{\"name\":\"s\",\"namespace\":\"ns\","
				     "\"path\":\"",
			       path, url ? "\"" : "\"}");
		ck_assert_str_eq(hook(json, &bundle).url, "");
	}
}
END_TEST

START_TEST(test_no_webhook_of_ours)
{
	static const char *const other[] = {
		"{\"metadata\":{\"name\":\"n\"},\"webhooks\":[{\"name\":\"a\"}]"
		"}",
		"{\"metadata\":{\"name\":\"n\"},\"webhooks\":null}"};
	static const char *const bad[] = {
		"", "[]", "{", "{\"metadata\":{}}",
		"{\"metadata\":{\"name\":\"n\"},\"webhooks\":[{\"name\":"
		"\"hold.karpenter-node-holder.io\",\"clientConfig\":{"
		"\"service\":{\"name\":7}}}]}"};
	struct webhook_facts w;
	struct err e = {0};
	char *bundle;

	for (size_t i = 0; i < 2; i++)
		ck_assert_int_eq(facts_webhook_decode(other[i],
						      strlen(other[i]), &w,
						      &bundle, &e),
				 0);
	for (size_t i = 0; i < 5; i++)
		ck_assert_msg(facts_webhook_decode(bad[i], strlen(bad[i]), &w,
						   &bundle, &e) == -1,
			      "%s", bad[i]);
}
END_TEST

/* --- NodePools ------------------------------------------------------------ */

static const struct hold_key hold = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE};

#define POOL(spec)                                                             \
	"{\"metadata\":{\"name\":\"p\",\"uid\":\"u\",\"resourceVersion\":"     \
	"\"1\"},\"spec\":{" spec "}}"
#define BUDGET(budget) POOL("\"disruption\":{\"budgets\":[" budget "]}")
#define MACHINE(spec) POOL("\"template\":{\"spec\":{" spec "}}")

static const struct {
	const char *json;
	bool fixed, never, holds, blocked, grace;
	int64_t expire_ms;
} pool_cases[] = {
	{POOL(""), false, false, false, false, false, -1},
	{POOL("\"replicas\":0"), true, false, false, false, false, -1},
	{POOL("\"disruption\":{\"consolidateAfter\":\"Never\"}"), false, true,
	 false, false, false, -1},
	{POOL("\"template\":{\"metadata\":{\"annotations\":{"
	      "\"karpenter.sh/do-not-disrupt\":\"false\"}}}"),
	 false, false, true, false, false, -1},
	{POOL("\"template\":{\"metadata\":{\"annotations\":{\"a/b\":\"c\"}}}"),
	 false, false, false, false, false, -1},
	{BUDGET("{\"nodes\":\"10%\"},{\"nodes\":\"0\"}"), false, false, false,
	 true, false, -1},
	{BUDGET("{\"nodes\":\"0%\",\"reasons\":[]}"), false, false, false, true,
	 false, -1},
	{BUDGET("{\"nodes\":\"0\",\"reasons\":[\"Drifted\"]}"), false, false,
	 false, false, false, -1},
	{BUDGET("{\"nodes\":\"00%\",\"reasons\":[\"Drifted\",\"Empty\"]},"
		"{\"nodes\":\"000\",\"reasons\":[\"Underutilized\"]}"),
	 false, false, false, true, false, -1},
	{BUDGET("{\"nodes\":\"0\",\"reasons\":[\"Drifted\",\"Empty\"]},"
		"{\"nodes\":\"05\",\"reasons\":[\"Underutilized\"]}"),
	 false, false, false, false, false, -1},
	{BUDGET("{\"nodes\":\"0\",\"schedule\":\"@daily\",\"duration\":\"1h\"}"),
	 false, false, false, false, false, -1},
	{BUDGET("{\"nodes\":\"10\"},7"), false, false, false, false, false, -1},
	{MACHINE("\"expireAfter\":\"1h30m\",\"terminationGracePeriod\":\"1h\""),
	 false, false, false, false, true, 5400000},
	{MACHINE("\"expireAfter\":\"Never\",\"terminationGracePeriod\":null"),
	 false, false, false, false, false, -1},
};

START_TEST(test_pools)
{
	const char *json = pool_cases[_i].json;
	struct nodepool_facts p;
	struct err e = {0};

	ck_assert_msg(facts_nodepool_decode(json, strlen(json), &hold, &p,
					    &e) == 0,
		      "%s", e.text);
	ck_assert_str_eq(p.pool.name, "p");
	ck_assert_int_eq(p.consolidate_ms, -1);
	ck_assert_msg(p.fixed == pool_cases[_i].fixed &&
			      p.never == pool_cases[_i].never &&
			      p.template_holds == pool_cases[_i].holds &&
			      p.blocked == pool_cases[_i].blocked &&
			      p.grace == pool_cases[_i].grace &&
			      p.expire_ms == pool_cases[_i].expire_ms,
		      "%s", json);
}
END_TEST

/* Keys that were to be annotations of ours, and are none. */
#define OUR_KEY "karpenter-node-holder.io/"
static const struct {
	const char *key, *meant; /* NULL: it has nothing to do with us */
} strange_cases[] = {
	{OUR_KEY "hold-untill", OUR_KEY "hold-until"},
	{OUR_KEY "Enabled", OUR_KEY "enabled"},
	{OUR_KEY "a", ""},		/* nobody knows which */
	{OUR_KEY "disabled", ""},
	{OUR_KEY "disable", ""},
	{OUR_KEY "note", ""},
	{OUR_KEY "hold", ""},
	{OUR_KEY "no-hold-until", ""},
	{"karpenter-node-holder/hold-untill", OUR_KEY "hold-until"},
	{"karpenter-nodeholder.io/released-at", OUR_KEY "released-at"},
	{"karpenter-node-holder.iox/enable", OUR_KEY "enabled"},
	{"karpenter-node-holder.io.enabled", OUR_KEY "enabled"},
	{"karpenter-node-holder/enabled", ""},
	{"karpenter.sh/hold-until", NULL},
	{"node-holder.io/hold-duratio", NULL},
	{"karpenter.example.com/enabled", NULL},
	{"stakeholder.io/enabled", NULL},
	{"hold-until", OUR_KEY "hold-until"},
	{"hold-untill", OUR_KEY "hold-until"},
	{"enabled", NULL},
	{"enable", NULL},
	{"reason", NULL},
	{"karpenter.sh/reason", NULL},
	{"other/enabled", NULL},
	{"example.com/hold-until", NULL},
	{"karpenter.sh/nodepool-hash", NULL},
	{"karpenter.sh/do-not-disrupt", NULL},
	{"kubectl.kubernetes.io/last-applied-configuration", NULL},
	{OUR_KEY "enabled", NULL}, /* in a label or in the template it is */
};

static const char *
pool_with(const char *annotations, const char *labels, const char *template)
{
	static char json[4000];

	(void)snprintf(json, sizeof(json),
		       "{\"metadata\":{\"name\":\"p\",\"uid\":\"u\","
		       "\"resourceVersion\":\"1\",\"annotations\":{%s},"
		       "\"labels\":{%s}},\"spec\":{\"template\":{\"metadata\":{"
		       "\"annotations\":{%s}}}}}",
		       annotations, labels, template);
	return json;
}

static struct nodepool_facts
pool_facts(const char *json)
{
	struct nodepool_facts p;
	struct err e = {0};

	ck_assert_msg(facts_nodepool_decode(json, strlen(json), &hold, &p,
					    &e) == 0,
		      "%s", e.text);
	return p;
}

START_TEST(test_strange_keys)
{
	const char *key = strange_cases[_i].key;
	const char *meant = strange_cases[_i].meant;
	char map[200];

	(void)snprintf(map, sizeof(map), "\"%s\":\"v\"", key);
	for (int where = 0; where <= STRANGE_TEMPLATE; where++) {
		struct nodepool_facts p = pool_facts(pool_with(
			where == STRANGE_ANNOTATION ? map : "",
			where == STRANGE_LABEL ? map : "",
			where == STRANGE_TEMPLATE ? map : ""));
		const struct strange_key *s = &p.strange[0];

		if (where != STRANGE_ANNOTATION &&
		    strcmp(key, OUR_KEY "enabled") == 0)
			meant = key;
		if (meant == NULL) {
			ck_assert_str_eq(s->key, "");
			continue;
		}
		ck_assert_str_eq(s->key, key);
		ck_assert(!s->beside);
		ck_assert(s->bare == (where != STRANGE_ANNOTATION));
		ck_assert_int_eq(s->where, where);
		ck_assert_str_eq(s->meant, meant);
		ck_assert_str_eq(p.strange[1].key, "");
	}
}
END_TEST

/* A key may be there already. */
START_TEST(test_many_strange_keys)
{
	struct nodepool_facts p = pool_facts(pool_with(
		"\"" OUR_KEY "enabled\":\"true\",\"" OUR_KEY "enable\":\"false\",\"" OUR_KEY
		"reason\":\"r\"",
		"\"" OUR_KEY "hold-duration\":\"1h\"",
		"\"hold-until\":\"u\",\"" OUR_KEY "a\":\"\",\"" OUR_KEY "b\":\"\""));

	ck_assert_str_eq(p.strange[0].key, OUR_KEY "enable");
	ck_assert(p.strange[0].beside && !p.strange[0].bare);
	ck_assert_str_eq(p.strange[1].key, OUR_KEY "hold-duration");
	ck_assert(!p.strange[1].beside && !p.strange[1].bare);
	ck_assert_int_eq(p.strange[1].where, STRANGE_LABEL);
	ck_assert_str_eq(p.strange[2].key, "hold-until");
	ck_assert_int_eq(p.strange[2].where, STRANGE_TEMPLATE);
	ck_assert_str_eq(p.strange[3].key, OUR_KEY "a");
}
END_TEST

static const struct {
	const char *after;
	int64_t ms;
} quiet_cases[] = {
	{"\"0s\"", 0},	 {"\"30s\"", 30000}, {"\"1h30m\"", 5400000},
	{"\"Never\"", -1}, {"\"soon\"", -1},   {"30", -1},
};

START_TEST(test_consolidate_after)
{
	char json[200];
	struct nodepool_facts p;
	struct err e = {0};

	(void)snprintf(json, sizeof(json),
		       POOL("\"disruption\":{\"consolidateAfter\":%s}"),
		       quiet_cases[_i].after);
	ck_assert_msg(facts_nodepool_decode(json, strlen(json), &hold, &p,
					    &e) == 0,
		      "%s", e.text);
	ck_assert_int_eq(p.consolidate_ms, quiet_cases[_i].ms);
	ck_assert(!p.only_empty);
}
END_TEST

START_TEST(test_when_empty)
{
	static const char *const policies[] = {"WhenEmpty", "Balanced",
					       "WhenEmptyOrUnderutilized"};
	char json[200];
	struct nodepool_facts p;
	struct err e = {0};

	for (int i = 0; i < 3; i++) {
		(void)snprintf(json, sizeof(json),
			       POOL("\"disruption\":{\"consolidationPolicy\":"
				    "\"%s\"}"),
			       policies[i]);
		ck_assert_msg(facts_nodepool_decode(json, strlen(json), &hold,
						    &p, &e) == 0,
			      "%s", e.text);
		ck_assert_int_eq(p.only_empty, i == 0);
	}
}
END_TEST

/* --- other objects -------------------------------------------------------- */

#define DEPLOYMENT(labels, pod)                                                \
	"{\"metadata\":{\"name\":\"d\",\"namespace\":\"ns\",\"labels\":{"      \
	labels "}},\"spec\":{\"template\":{\"spec\":{" pod "}}},\"status\":{"  \
	"\"availableReplicas\":2}}"
#define IMAGE(image) "\"containers\":[{\"image\":\"" image "\"}]"

static const struct {
	const char *json, *version;
} images[] = {
	{DEPLOYMENT("\"app.kubernetes.io/version\":\"1.2.3\"", IMAGE("a:9.9")),
	 "1.2.3"},
	{DEPLOYMENT("\"app.kubernetes.io/version\":\"main\"",
		    IMAGE("r.io:5000/k/c:1.14.1@sha256:0000")),
	 "1.14.1"},
	{DEPLOYMENT("", IMAGE("controller:1.0.0")), "1.0.0"},
	{DEPLOYMENT("", IMAGE("r.io:5000/controller")), ""},
	{DEPLOYMENT("", IMAGE("r/c@sha256:00")), ""},
	{DEPLOYMENT("", ""), ""},
};

START_TEST(test_deployments)
{
	const char *json = images[_i].json;
	struct deployment_facts d;
	struct err e = {0};

	ck_assert_msg(facts_deployment_decode(json, strlen(json), &d, &e) == 0,
		      "%s", e.text);
	ck_assert_str_eq(d.version.text, images[_i].version);
	ck_assert_str_eq(d.name, "d");
	ck_assert_str_eq(d.namespace_, "ns");
	ck_assert_int_eq(d.available, 2);
}
END_TEST

static const struct {
	const char *json;
	int rc;
	bool kept;
} pods[] = {
	{"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\"}}", 0,
	 false},
	{"{\"metadata\":{\"name\":\"p\",\"annotations\":{"
	 "\"karpenter.sh/do-not-disrupt\":\"true\"}},\"spec\":{\"nodeName\":"
	 "\"n\"}}",
	 0, true},
	{"{\"metadata\":{\"name\":\"p\",\"annotations\":{"
	 "\"karpenter.sh/do-not-disrupt\":\"false\"}},\"spec\":{\"nodeName\":"
	 "\"n\"}}",
	 0, false},
	{"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\"},"
	 "\"status\":{\"phase\":\"Failed\"}}",
	 1, false},
	{"{\"metadata\":{\"name\":\"p\",\"deletionTimestamp\":\"x\"},\"spec\":{"
	 "\"nodeName\":\"n\"}}",
	 1, false},
	{"{\"metadata\":{}}", -1, false},
};

START_TEST(test_pods)
{
	struct pod_facts p;
	struct err e = {0};

	ck_assert_int_eq(facts_pod_decode(pods[_i].json, strlen(pods[_i].json),
					  &p, &e),
			 pods[_i].rc);
	if (pods[_i].rc < 0)
		return;
	ck_assert_str_eq(p.node, "n");
	ck_assert(p.kept == pods[_i].kept);
}
END_TEST

#define NODE(annotations, entries)                                             \
	"{\"metadata\":{\"name\":\"n\",\"labels\":{\"karpenter.sh/nodepool\":" \
	"\"web\"},\"annotations\":{" annotations "},\"managedFields\":["       \
	entries "]}}"
#define HELD "\"karpenter.sh/do-not-disrupt\":\"true\""
#define ENTRY(manager, operation)                                              \
	"{\"manager\":\"" manager "\",\"operation\":\"" operation              \
	"\",\"fieldsV1\":{\"f:metadata\":{\"f:annotations\":{"                 \
	"\"f:karpenter.sh/do-not-disrupt\":{}}}}}"
#define OURS ENTRY("karpenter-node-holder", "Update")

static const struct {
	const char *json;
	bool marked, consolidate, evict, held;
} nodes[] = {
	{NODE("", ""), false, false, false, false},
	{NODE("\"karpenter.sh/do-not-consolidate\":\"true\"", ""), false, true,
	 false, false},
	{NODE("\"karpenter.sh/do-not-evict\":\"x\"", ""), false, false, true,
	 false},
	{NODE(HELD, OURS), false, false, false, true},
	{NODE(HELD, ""), false, false, false, true},	/* at admission */
	{NODE(HELD, "{},7,null"), false, false, false, true},
	{NODE(HELD, ENTRY("karpenter", "Update")), false, false, false, true},
	{NODE(HELD, ENTRY("ancient-changes", "Update")), false, false, false,
	 true},
	{NODE(HELD, ENTRY("kubectl-annotate", "Update")), false, false, false,
	 false},
	{NODE(HELD, OURS "," ENTRY("kubectl-annotate", "Update")), false,
	 false, false, false},
	{NODE(HELD, OURS "," ENTRY("argocd", "Apply")), false, false, false,
	 false},
	{NODE(HELD, ENTRY("karpenter-node-holder", "Apply")), false, false,
	 false, false},
	{NODE(HELD, "{\"fieldsV1\":{\"f:metadata\":{\"f:annotations\":{"
		    "\"f:karpenter.sh/do-not-disrupt\":{}}}}}"),
	 false, false, false, false},
	{NODE(HELD, OURS ",{\"manager\":\"kubelet\",\"operation\":\"Update\"}"),
	 false, false, false, true},
	{NODE("\"karpenter.sh/do-not-disrupt\":\"no\"", OURS), false, false,
	 false, false},
	{NODE(HELD ",\"karpenter-node-holder.io/held-since\":\"x\"", OURS),
	 true, false, false, false},
};

START_TEST(test_nodes)
{
	struct carried n;
	struct err e = {0};

	ck_assert_msg(facts_carried_decode(nodes[_i].json, strlen(nodes[_i].json),
				     &hold, &n, &e) == 0,
		      "%s", e.text);
	ck_assert_str_eq(n.nodepool, "web");
	ck_assert_msg(n.marked == nodes[_i].marked &&
			      n.left[LEFT_CONSOLIDATE] ==
				      nodes[_i].consolidate &&
			      n.left[LEFT_EVICT] == nodes[_i].evict &&
			      n.left[LEFT_HOLD] == nodes[_i].held,
		      "%s", nodes[_i].json);
}
END_TEST

START_TEST(test_served)
{
	static const char group[] = "{\"versions\":[{\"version\":\"v1beta1\"},"
				    "{\"version\":\"v1\"}]}",
			  old[] = "{\"versions\":[{\"version\":\"v1beta1\"}]}",
			  list[] = "{\"resources\":[{\"name\":\"nodepools\"},{"
				   "\"name\":\"nodeclaims/status\"}]}",
			  version[] = "{\"gitVersion\":\"v1.36.3\"}";
	struct karpenter_facts k = {.served = false}, before = k;
	struct version v;
	struct err e = {0};

	ck_assert_int_eq(facts_group_decode(old, strlen(old), &before, &e), 0);
	ck_assert(before.served && !before.v1);
	ck_assert_int_eq(facts_group_decode(group, strlen(group), &k, &e), 0);
	ck_assert(k.served && k.v1);
	ck_assert_int_eq(facts_group_resources_decode(list, strlen(list), &k, &e), 0);
	ck_assert(k.pools && !k.claims);
	ck_assert_int_eq(facts_group_resources_decode(group, strlen(group), &k, &e),
			 0);
	ck_assert(k.pools && !k.claims);
	ck_assert_int_eq(facts_kubernetes_decode(version, strlen(version), &v, &e),
			 0);
	ck_assert(v.known && v.major == 1 && v.minor == 36);
	ck_assert_int_eq(facts_kubernetes_decode("{", 1, &v, &e), -1);
	ck_assert_int_eq(facts_group_decode("{", 1, &k, &e), -1);
	ck_assert_int_eq(facts_group_resources_decode("{", 1, &k, &e), -1);
}
END_TEST

/* --- requests ------------------------------------------------------------- */

static struct json *
parsed(const struct buf *b)
{
	struct err e = {0};
	struct json *root = json_parse(b->data, b->len, &json_bounds_default,
				       &e);

	ck_assert_msg(root != NULL && !b->full, "%s: %s", e.text, b->data);
	return root;
}

START_TEST(test_access_reviews)
{
	static const char yes[] = "{\"status\":{\"allowed\":true}}",
			  no[] = "{\"status\":{\"denied\":true}}";
	struct doctor_place place = {.namespace_ = "n\"s",
				     .account = "a",
				     .renewer_account = "r",
				     .lease = "l",
				     .secret = "s",
				     .configuration = "w",
				     .tickets = "t"};
	static const char *const names[] = {"", "l", "s", "w"};
	const char *const path[] = {"spec", "resourceAttributes"};
	char text[ACCESS_BYTES];
	struct err e = {0};
	struct buf b;
	bool allowed;

	for (unsigned i = 0; i < RIGHTS_N; i++) {
		buf_init(&b, text, sizeof(text));
		facts_access_body(&b, &rights[i], &place);
		AUTO_JSON root = parsed(&b);
		const struct json *a = json_path(root, path, 2);

		ck_assert(json_says(json_member(root, "spec"), "user",
				    rights[i].use == RIGHT_RENEWS
					    ? "system:serviceaccount:n\"s:r"
					    : "system:serviceaccount:n\"s:a"));
		ck_assert_ptr_nonnull(
			strstr(text, "\"groups\":[\"system:serviceaccounts\","
				     "\"system:authenticated\","
				     "\"system:serviceaccounts:n\\\"s\"]"));
		ck_assert(json_says(a, "verb", rights[i].verb));
		ck_assert(json_says(a, "group", rights[i].group));
		ck_assert(json_says(a, "resource", rights[i].resource));
		ck_assert(json_says(a, "name", names[rights[i].name]) ==
			  (rights[i].name != RIGHT_ANY));
		ck_assert(json_says(a, "namespace", "n\"s") ==
			  (rights[i].where == RIGHT_OWN));
		ck_assert(json_says(a, "namespace", "default") ==
			  (rights[i].where == RIGHT_DEFAULT));
		ck_assert(json_says(a, "namespace", "t") ==
			  (rights[i].where == RIGHT_OF_TICKETS));
	}
	ck_assert_int_eq(facts_access_decode(yes, strlen(yes), &allowed, &e),
			 0);
	ck_assert(allowed);
	ck_assert_int_eq(facts_access_decode(no, strlen(no), &allowed, &e), 0);
	ck_assert(!allowed);
	ck_assert_int_eq(facts_access_decode("", 0, &allowed, &e), -1);
}
END_TEST

START_TEST(test_dry_runs)
{
	static const char held[] = "{\"metadata\":{\"annotations\":{"
				   "\"karpenter-node-holder.io/held-since\":"
				   "\"x\"}}}",
			  clear[] = "{\"metadata\":{\"annotations\":{"
				    "\"karpenter.sh/do-not-disrupt\":\"true\"}}"
				    "}";
	struct nodepool_facts p = {.fixed = false};
	const char *const ref[] = {"spec", "nodeClassRef"};
	char text[DRY_RUN_BYTES];
	struct err e = {0};
	struct buf b;
	bool is_held;

	strcpy(p.pool.name, "web");
	for (int class = 0; class < 2; class++) {
		if (class)
			strcpy(p.class.kind, "EC2NodeClass");
		buf_init(&b, text, sizeof(text));
		facts_dry_run_body(&b, KIND_NODECLAIM, &p);
		AUTO_JSON root = parsed(&b);
		ck_assert(json_says(json_path(root, ref, 2), "kind",
				    class ? "EC2NodeClass" : "check"));
		ck_assert(json_says(root, "apiVersion", "karpenter.sh/v1"));
	}
	buf_init(&b, text, sizeof(text));
	facts_dry_run_body(&b, KIND_NODE, &p);
	json_free(parsed(&b));
	ck_assert_ptr_nonnull(
		strstr(text, "\"taints\":[{\"key\":\"karpenter.sh/unregistered\""));
	ck_assert_int_eq(facts_dry_run_decode(held, strlen(held), &is_held, &e), 0);
	ck_assert(is_held);
	ck_assert_int_eq(facts_dry_run_decode(clear, strlen(clear), &is_held, &e), 0);
	ck_assert(!is_held);
	ck_assert_int_eq(facts_dry_run_decode("", 0, &is_held, &e), -1);
}
END_TEST

/* --- the report ----------------------------------------------------------- */

static const struct finding_kind kinds[] = {
	{DOCTOR_RIGHTS, FINDING_ERROR, "an-error", "Why so."},
	{DOCTOR_RIGHTS, FINDING_WARNING, "a-warning", "Why not."}};

START_TEST(test_report)
{
	static struct findings f;
	static char text[REPORT_BYTES];
	struct buf b;

	findings_init(&f);
	findings_looked(&f, DOCTOR_API, "seen");
	findings_looked(&f, DOCTOR_RIGHTS, "not shown beside findings");
	finding_fix(findings_add(&f, &kinds[0], "one"), "fix %d", 1);
	finding_fix(findings_add(&f, &kinds[1], "two \"2\""), "fix 2");
	f.at[1].cause = f.at[0].kind;
	buf_init(&b, text, sizeof(text));
	findings_text(&b, &f);
	ck_assert_ptr_eq(strstr(text, "api        ok       seen\n"), text);
	ck_assert_ptr_ne(strstr(text, "\nadmission  skipped\n"), NULL);
	ck_assert_ptr_ne(strstr(text,
				"\nrights     error\n"
				"karpenter  skipped\n"),
			 NULL);
	ck_assert_ptr_ne(strstr(text,
				"\nerror an-error: one\n"
				"    why: Why so.\n"
				"    fix: fix 1\n"
				"warning a-warning (follows from an-error): "
				"two \"2\"\n"
				"    why: Why not.\n"
				"    fix: fix 2\n"
				"1 error, "),
			 NULL);
	ck_assert_ptr_ne(strstr(text, "\n1 error, 1 warning\n"), NULL);
	ck_assert_ptr_eq(strstr(text, "not shown"), NULL);

	buf_init(&b, text, sizeof(text));
	findings_json(&b, &f, "1.2.3");
	AUTO_JSON root = parsed(&b);
	long long n;

	ck_assert(json_integer(json_member(root, "errors"), &n) == 0 && n == 1);
	ck_assert(json_says(json_next(json_first(json_member(root, "findings"))),
			    "what", "two \"2\""));
	ck_assert(json_says(json_first(json_member(root, "findings")), "level",
			    "error"));
	ck_assert(json_says(json_next(json_first(json_member(root, "findings"))),
			    "level", "warning"));
	ck_assert(json_says(json_next(json_first(json_member(root, "findings"))),
			    "cause", "an-error"));
	for (const struct json *c = json_first(json_member(root, "checks")); c;
	     c = json_next(c)) {
		bool api = json_says(c, "check", "api");

		ck_assert(json_says(c, "outcome",
				    api ? "ok"
				    : json_says(c, "check", "rights")
					    ? "error"
					    : "skipped"));
		ck_assert(json_says(c, "saw", api ? "seen" : ""));
	}
}
END_TEST

/* The largest report fits, whatever is in it. */
START_TEST(test_largest_report)
{
	static struct findings f;
	static char text[REPORT_BYTES], quotes[FINDING_WHAT_BYTES];
	struct buf b;

	memset(quotes, '"', sizeof(quotes) - 10);
	findings_init(&f);
	for (int i = 0; i < DOCTOR_CHECKS; i++)
		findings_looked(&f, (enum doctor_check)i, "%s", quotes);
	for (unsigned i = 0; i < FINDINGS_MAX + 1; i++)
		finding_fix(findings_add(&f, &kinds[i % 2], "%3u%s", i,
					  quotes),
			     "%s", quotes);
	for (int json = 0; json < 2; json++) {
		buf_init(&b, text, sizeof(text));
		if (json)
			findings_json(&b, &f, "1");
		else
			findings_text(&b, &f);
		ck_assert(!b.full);
		ck_assert(json || strstr(text, "\n1 more not shown\n") != NULL);
	}
}
END_TEST

#define LOOP(test, table)                                                      \
	tcase_add_loop_test(tc, test, 0, sizeof(table) / sizeof((table)[0]))

int
main(void)
{
	Suite *s = suite_create("wire/doctor");
	TCase *tc = tcase_create("doctor");

	LOOP(test_rules, rules_cases);
	tcase_add_test(tc, test_webhook);
	tcase_add_test(tc, test_long_expression);
	tcase_add_test(tc, test_addresses);
	tcase_add_test(tc, test_no_webhook_of_ours);
	LOOP(test_pools, pool_cases);
	LOOP(test_consolidate_after, quiet_cases);
	tcase_add_test(tc, test_when_empty);
	LOOP(test_strange_keys, strange_cases);
	tcase_add_test(tc, test_many_strange_keys);
	LOOP(test_deployments, images);
	LOOP(test_pods, pods);
	LOOP(test_nodes, nodes);
	tcase_add_test(tc, test_served);
	tcase_add_test(tc, test_access_reviews);
	tcase_add_test(tc, test_dry_runs);
	tcase_add_test(tc, test_report);
	tcase_add_test(tc, test_largest_report);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
