/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "suite.h"
#include "wire/doctor/facts.h"

/* JSON, with ' for ". */
static const char *
json(const char *text)
{
	static char out[2000];

	ck_assert_uint_lt(strlen(text), sizeof(out));
	strcpy(out, text);
	for (char *s = out; *s != '\0'; s++)
		if (*s == '\'')
			*s = '"';
	return out;
}

/* --- Deployments and pods --------------------------------------------------- */

START_TEST(test_a_deployment)
{
	const char *text = json(
		"{'metadata':{'name':'d','namespace':'ns','generation':7,"
		"'annotations':{'meta.helm.sh/release-name':'hold'}},'spec':{"
		"'replicas':3,'template':{'metadata':{'labels':{'a/b':'c','d':"
		"'e','f':7}},'spec':{'volumes':[{'name':'a'},"
		"{'configMap':{'name':'c-1'}},{'secret':{'secretName':'s-1'}},"
		"{'configMap':{'name':'c-2'}}]}}},"
		"'status':{'observedGeneration':6,'updatedReplicas':1,"
		"'readyReplicas':2,'availableReplicas':4,'conditions':[{'type':"
		"'Available','status':'True','lastUpdateTime':"
		"'1970-01-01T00:00:09Z'},{'type':'Progressing','status':'True',"
		"'reason':'NewReplicaSetAvailable','lastUpdateTime':'1970-01-01T00:00:01Z'},{'type':"
		"'ReplicaFailure','status':'True','message':'exceeded quota'}]}}");
	struct deployment_facts d;
	struct err e = {0};

	ck_assert_int_eq(facts_deployment_decode(text, strlen(text), &d, &e),
			 0);
	ck_assert_str_eq(d.config_map, "c-1");
	ck_assert_str_eq(d.secret, "s-1");
	ck_assert_str_eq(d.release, "hold");
	ck_assert_str_eq(d.labels, "\na/b=c\nd=e\n");
	ck_assert_int_eq(d.generation, 7);
	ck_assert_int_eq(d.observed, 6);
	ck_assert_int_eq(d.replicas, 3);
	ck_assert_int_eq(d.updated, 1);
	ck_assert_int_eq(d.ready, 2);
	ck_assert_int_eq(d.available, 4);
	ck_assert_str_eq(d.failure, "exceeded quota");
	ck_assert_int_eq(d.rolled_ms, 1000);
	/* A version of which no pod has come to run. */
	text = json("{'metadata':{'name':'d','namespace':'ns'},'status':{"
		    "'conditions':[{'type':'Progressing','status':'True',"
		    "'reason':'ReplicaSetUpdated','lastUpdateTime':"
		    "'1970-01-01T00:00:01Z'}]}}");
	ck_assert_int_eq(facts_deployment_decode(text, strlen(text), &d, &e),
			 0);
	ck_assert_int_eq(d.rolled_ms, STAMP_NONE);
	text = json("{'metadata':{'name':'d','namespace':'ns'}}");
	ck_assert_int_eq(facts_deployment_decode(text, strlen(text), &d, &e),
			 0);
	ck_assert_int_eq(d.replicas, 1);
	ck_assert_int_eq(d.rolled_ms, STAMP_NONE);
	ck_assert_str_eq(d.release, "");
	ck_assert_str_eq(d.failure, "");
}
END_TEST

static const struct {
	const char *status;
	bool ready;
	const char *trouble;
} troubles[] = {
	{"{}", false, ""},
	{"{'conditions':[{'type':'Ready','status':'True'}]}", true, ""},
	{"{'conditions':[{'type':'Ready','status':'False'}]}", false, ""},
	{"{'conditions':[{'type':'PodScheduled','status':'False','message':"
	 "'0/3 nodes'}]}",
	 false, "not scheduled: 0/3 nodes"},
	{"{'containerStatuses':[{'state':{'waiting':{'reason':"
	 "'ErrImagePull','message':'no such'}}}]}",
	 false, "ErrImagePull: no such"},
	{"{'containerStatuses':[{'state':{'waiting':{'reason':'BackOff',"
	 "'message':'x'}},'lastState':{'terminated':{'reason':'Error',"
	 "'exitCode':2,'message':'{}\\nbad\\n'}}}]}",
	 false, "BackOff, Error with exit code 2: bad"},
	{"{'containerStatuses':[{'state':{'waiting':{}},'lastState':{"
	 "'terminated':{}}}]}",
	 false, "waiting, ended with exit code 0"},
	{"{'containerStatuses':[{'state':{'running':{}},'lastState':{"
	 "'terminated':{'exitCode':137}}}]}",
	 false, ""},
};

START_TEST(test_troubles)
{
	char text[600];
	struct pod_facts p;
	struct err e = {0};

	(void)snprintf(text, sizeof(text),
		       "{'metadata':{'name':'p','labels':{"
		       "'app.kubernetes.io/component':'renewer'}},'spec':{"
		       "'containers':[{'ports':[{'name':'webhook',"
		       "'containerPort':9443},{'containerPort':1},{'name':"
		       "'metrics','containerPort':8080},{'name':'metrics',"
		       "'containerPort':99999}]}]},'status':%s}",
		       troubles[_i].status);
	ck_assert_int_eq(facts_pod_decode(json(text), strlen(text), &p, &e),
			 0);
	ck_assert_str_eq(p.component, "renewer");
	ck_assert_str_eq(p.ports, " webhook 9443 - 1 metrics 8080 ");
	ck_assert_str_eq(p.metrics_port, "8080");
	ck_assert(p.ready == troubles[_i].ready);
	ck_assert_str_eq(p.trouble, troubles[_i].trouble);
}
END_TEST

/* --- the Service ------------------------------------------------------------- */

#define LABELS                                                                 \
	"'app.kubernetes.io/name':'karpenter-node-holder',"                    \
	"'app.kubernetes.io/component':'controller'"
static const struct {
	const char *spec;
	bool port;
	long long first;
	const char *target, *selector;
} services[] = {
	{"{'ports':[{'port':443,'targetPort':'webhook'}],'selector':{" LABELS
	 ",'app.kubernetes.io/instance':'x'}}",
	 true, 443, "webhook", ""},
	{"{'ports':[{'port':80},{'name':'webhook','port':8443}]}", false, 8443,
	 "", ""},
	{"{'ports':[{'port':443}],'selector':{'app':'b'}}", true, 443, "443",
	 "app=b"},
	{"{'ports':[{'port':443,'targetPort':9443}],'selector':{"
	 "'app.kubernetes.io/name':'x','app.kubernetes.io/component':'y'}}",
	 true, 443, "9443",
	 "app.kubernetes.io/name=x,app.kubernetes.io/component=y"},
	{"{}", false, 0, "", ""},
};

START_TEST(test_services)
{
	struct webhook_facts w = {.port = 443};
	struct service_facts s;
	char text[600];
	struct err e = {0};

	(void)snprintf(text, sizeof(text), "{'spec':%s}", services[_i].spec);
	ck_assert_int_eq(facts_service_decode(json(text), strlen(text), &w, &s,
					      &e),
			 0);
	ck_assert(s.there && s.port == services[_i].port);
	ck_assert_int_eq(s.first_port, services[_i].first);
	ck_assert_str_eq(s.target, services[_i].target);
	ck_assert_str_eq(s.selector, services[_i].selector);
}
END_TEST

START_TEST(test_slices)
{
	const char *text = json("{'endpoints':[{},{'conditions':{'ready':true}"
				"},{'conditions':{'ready':false}},{'conditions'"
				":{'ready':null}}]}");
	unsigned ready = 1;
	struct err e = {0};

	ck_assert_int_eq(facts_slice_decode(text, strlen(text), &ready, &e), 0);
	ck_assert_uint_eq(ready, 4);
}
END_TEST

#define POD_LABELS                                                             \
	"\napp.kubernetes.io/name=karpenter-node-holder\n"                     \
	"app.kubernetes.io/component=controller\nteam=a\n"
#define NAMED "'app.kubernetes.io/name':'karpenter-node-holder'"
#define EXPRESSION(key, operator, values)                                      \
	"{'matchExpressions':[{'key':'" key "','operator':'" operator          \
	"','values':[" values "]}]}"
static const struct {
	const char *selector;
	bool selects;
} selectors[] = {
	{"{'matchLabels':{" LABELS "}}", true},
	{"{'matchLabels':{" NAMED "}}", true},
	{"{'matchLabels':{'team':'a'}}", true},
	{"{}", true}, /* all pods */
	{"{'matchLabels':{}}", true},
	{"{'matchLabels':{" NAMED ",'app.kubernetes.io/component':'renewer'}}",
	 false},
	{"{'matchLabels':{'tea':'a'}}", false},
	{"{'matchLabels':{'team':'aa'}}", false},
	{"{'matchLabels':{'team':7}}", false},
	{"null", false},
	{EXPRESSION("team", "Exists", ""), true},
	{EXPRESSION("tier", "Exists", ""), false},
	{EXPRESSION("tier", "DoesNotExist", ""), true},
	{EXPRESSION("team", "DoesNotExist", ""), false},
	{EXPRESSION("team", "In", "'b','a'"), true},
	{EXPRESSION("team", "In", "'b'"), false},
	{EXPRESSION("tier", "In", "'b'"), false},
	{EXPRESSION("team", "NotIn", "'b'"), true},
	{EXPRESSION("tier", "NotIn", "'b'"), true},
	{EXPRESSION("team", "NotIn", "'a'"), false},
	{EXPRESSION("team", "Near", "'a'"), false},
	{"{'matchLabels':{'team':'a'},'matchExpressions':[{'key':'tier',"
	 "'operator':'Exists'}]}",
	 false},
};

START_TEST(test_budgets)
{
	struct budget_facts b = {.known = true};
	struct err e = {0};
	char text[600];

	for (int i = 0; i < 3; i++) {
		(void)snprintf(text, sizeof(text),
			       "{'metadata':{'name':'%c'},'spec':{'selector':"
			       "%s}}",
			       'a' + i, selectors[_i].selector);
		ck_assert_int_eq(facts_budget_decode(json(text), strlen(text),
						     POD_LABELS, &b, &e),
				 0);
	}
	ck_assert_str_eq(b.first, selectors[_i].selects ? "a" : "");
	ck_assert_str_eq(b.second, selectors[_i].selects ? "b" : "");
	ck_assert_str_eq(b.blocks, "");
}
END_TEST

static const struct {
	int allowed, healthy, expected;
	bool blocks;
} budgets[] = {
	{0, 2, 2, true},
	{0, 3, 2, true},
	{1, 2, 2, false},
	{0, 1, 2, false}, /* it protects the pod that is left */
	{0, 0, 0, false}, /* no controller has counted its pods */
};

START_TEST(test_a_budget_that_blocks)
{
	char status[400];
	struct budget_facts b = {.known = true};
	struct err e = {0};
	const char *text;

	(void)snprintf(status, sizeof(status),
		       "{'metadata':{'name':'pdb'},'spec':{'selector':"
		       "{'matchLabels':{" LABELS "}}},'status':{"
		       "'disruptionsAllowed':%d,'currentHealthy':%d,"
		       "'expectedPods':%d}}",
		       budgets[_i].allowed, budgets[_i].healthy,
		       budgets[_i].expected);
	text = json(status);
	ck_assert_int_eq(facts_budget_decode(text, strlen(text), POD_LABELS,
					     &b, &e), 0);
	ck_assert_str_eq(b.blocks, budgets[_i].blocks ? "pdb" : "");
}
END_TEST

/* --- policies ------------------------------------------------------------------ */

static const struct {
	const char *spec;
	bool here, key;
} policies[] = {
	{"{'matchConditions':[{'expression':'system:serviceaccount:ns:'}],"
	 "'variables':[{'name':'holds','expression':\"['a/b']\"}]}",
	 true, true},
	{"{'matchConditions':[{'expression':'system:serviceaccount:ns2:'}],"
	 "'variables':[{'name':'holds','expression':'[\\\"a/b\\\"]'}]}",
	 false, true},
	{"{'variables':[{'name':'holds','expression':\"['a/bc','xa/b']\"},"
	 "{'name':'own','expression':\"['a/b']\"}]}",
	 false, false},
	{"{'variables':[{'name':'own','expression':\"['a/b']\"},"
	 "{'name':'holds','expression':\"['c/d']\"}]}",
	 false, false},
	{"{}", false, false},
};

START_TEST(test_policies)
{
	struct policy_facts w = {.name = "n"};
	char text[600], out[600];
	struct err e = {0};
	char *s = out;

	/* ' for ", but within " it is itself. */
	(void)snprintf(text, sizeof(text), "{'spec':%s}", policies[_i].spec);
	for (const char *t = text, *in = NULL; *t != '\0'; t++) {
		if (*t == '"' && (t == text || t[-1] != '\\'))
			in = in == NULL ? t : NULL;
		*s++ = *t == '\'' && in == NULL ? '"' : *t;
	}
	*s = '\0';
	ck_assert_msg(facts_policy_decode(out, strlen(out), "ns", "a/b", &w,
					  &e) == 0,
		      "%s: %s", out, e.text);
	ck_assert(w.policy && !w.binding);
	ck_assert_msg(w.here == policies[_i].here, "%s", out);
	ck_assert_msg(w.key == policies[_i].key, "%s", out);
}
END_TEST

START_TEST(test_bindings)
{
	static const char *const at[] = {
		"{'spec':{'validationActions':['Audit','Deny'],"
		"'matchResources':{'namespaceSelector':{'matchLabels':{"
		"'kubernetes.io/metadata.name':'t'}}}}}",
		"{'spec':{'validationActions':['Audit',7]}}", "{}"};
	struct err e = {0};

	for (int i = 0; i < 3; i++) {
		struct policy_facts w = {.name = "n"};
		const char *text = json(at[i]);

		ck_assert_int_eq(facts_policy_binding_decode(text, strlen(text), &w,
						       &e),
				 0);
		ck_assert(w.binding && w.denies == (i == 0));
		ck_assert_str_eq(w.selects, i == 0 ? "t" : "");
	}
}
END_TEST

/* --- /status --------------------------------------------------------------------- */

START_TEST(test_a_leader)
{
	const char *text = json(
		"{'kind':'HolderStatus','mode':'observe','replica':'p_1',"
		"'leader':{'electing':true},'certificate':{'valid':true,"
		"'notAfter':'1970-01-01T00:00:01Z','authority':"
		"'00000000000000fe'},'configuration':{'scope':"
		"'node','holdDuration':'7m','startupTimeout':'8m',"
		"'replacements':'count','holdAnnotation':{'key':'a/b','value':"
		"'x'},'nodePools':{'include':['w*','b'],'exclude':[]},"
		"'tickets':{'namespace':'t'},'fileChanged':true},"
		"'views':[{'resource':'nodes','listed':true,'watching':true},"
		"{'resource':'nodeclaims','listed':false,'watching':true}],"
		"'nodePools':[{'name':'a','waiting':0},{'name':'web',"
		"'waiting':2},{'name':'x','waiting':3}]}");
	static const char *const told[TOLD_N] = {"observe", "node", "7m", "8m",
						 "count",   "a/b",  "x",
						 "t"};
	static struct leader_facts l;
	struct err e = {0};

	ck_assert_int_eq(facts_leader_decode(text, strlen(text), &l, &e), 0);
	ck_assert_str_eq(l.replica, "p_1");
	ck_assert(l.electing && l.valid && l.patterns_told && l.stale);
	ck_assert_int_eq(l.not_after_ms, 1000);
	ck_assert_uint_eq(l.authority, 254);
	for (int i = 0; i < TOLD_N; i++)
		ck_assert_str_eq(l.told[i], told[i]);
	ck_assert_uint_eq(l.include.n, 2);
	ck_assert_str_eq(l.include.at[1], "b");
	ck_assert_uint_eq(l.exclude.n, 0);
	ck_assert_uint_eq(l.waiting, 5);
	ck_assert_str_eq(l.waits, "web");
	ck_assert_str_eq(l.unseen, "nodeclaims");
	/* A holder of before tells less. */
	text = json("{'kind':'HolderStatus','certificate':{'valid':false,"
		    "'notAfter':null,'authority':'-0000000000000fe'},'configuration':{'nodePools':{'include':"
		    "[7],'exclude':[]}}}");
	ck_assert_int_eq(facts_leader_decode(text, strlen(text), &l, &e), 0);
	ck_assert(!l.patterns_told && !l.valid && !l.electing && !l.stale);
	ck_assert_int_eq(l.not_after_ms, STAMP_NONE);
	ck_assert_uint_eq(l.authority, 0);
	ck_assert_str_eq(l.told[0], "");
	text = json("{'kind':'MachineStatus'}");
	ck_assert_int_eq(facts_leader_decode(text, strlen(text), &l, &e), -1);
	ck_assert_int_eq(e.code, ERR_INPUT);
}
END_TEST

/* What is held, and of which machines none has a hold. */
static const struct {
	const char *rest, *unheld;
	long long bare;
} bare_cases[] = {
#define SCOPE "'scopes':[{'name':'cluster','state':'held'}],"
#define TEN "'name':'web','machines':10,'held':0,'unheld':7"
	{SCOPE "'nodePools':[{" TEN "}]", "web", 7},
	{SCOPE "'nodePools':[{'name':'a','machines':3,'held':3},{" TEN "}]",
	 "web", 7},
	{"'scopes':[{'name':'web','state':'held'}],'nodePools':[{" TEN "}]",
	 "web", 7},
	{"'scopes':[{'name':'a','state':'held'}],'nodePools':[{" TEN "}]", "",
	 0},
	{"'scopes':[{'name':'cluster','state':'quiet'}],'nodePools':[{" TEN
	 "}]",
	 "", 0},
	{SCOPE "'nodePools':[{'name':'web','held':1,'unheld':9}]", "", 0},
	{SCOPE "'nodePools':[{'name':'web','machines':3,'unheld':0}]", "", 0},
	{SCOPE "'nodePools':[{'name':'web','machines':3}]", "", 0},
	{SCOPE "'nodePools':[{" TEN ",'leftOut':'disabled'}]", "", 0},
	/* What was released may be held again. */
	{SCOPE "'nodePools':[{" TEN ",'annotations':{'karpenter-node-holder.io/"
	       "released-at':'1970-01-01T00:00:00Z'}}]",
	 "web", 7},
	{"'nodePools':[{" TEN ",'annotations':{'karpenter-node-holder.io/"
	 "released-at':'1970-01-01T00:00:01Z'},'ticketUntil':"
	 "'1970-01-01T00:00:02Z'}]",
	 "web", 7},
	{"'nodePools':[{" TEN ",'annotations':{'karpenter-node-holder.io/"
	 "hold-until':'1970-01-01T00:00:02Z'}}]",
	 "web", 7},
	{"'nodePools':[{" TEN ",'annotations':{'karpenter-node-holder.io/"
	 "hold-until':'1970-01-01T00:00:01Z'}}]",
	 "", 0},
	{"'nodePools':[{" TEN ",'ticketUntil':'1970-01-01T00:00:02Z'}]", "web",
	 7},
	{SCOPE "'nodePools':[{'name':7,'unheld':3}]", "", 0},
};

START_TEST(test_holds_that_are_missing)
{
	static struct leader_facts l;
	char text[900];
	struct err e = {0};

	for (int observes = 0; observes < 2; observes++) {
		(void)snprintf(text, sizeof(text),
			       "{'kind':'HolderStatus','mode':'%s','time':"
			       "'1970-01-01T00:00:01Z',%s}",
			       observes ? "observe" : "enforce",
			       bare_cases[_i].rest);
		ck_assert_int_eq(facts_leader_decode(json(text), strlen(text),
						     &l, &e),
				 0);
		ck_assert_str_eq(l.unheld,
				 observes ? "" : bare_cases[_i].unheld);
		ck_assert(l.unheld[0] == '\0' || l.bare == bare_cases[_i].bare);
	}
}
END_TEST

/* What others have registered for Nodes and NodeClaims. */
#define NODES "[{'apiGroups':[''],'operations':['UPDATE'],'resources':['nodes']}]"
static const struct {
	const char *rest;
	int found;
} foreign_cases[] = {
	{"'webhooks':[{'name':'a.b','rules':" NODES "}]", 1},
	{"'webhooks':[{'name':'hold.karpenter-node-holder.io','rules':" NODES
	 "}]",
	 0},
	{"'webhooks':[{'name':'hold.karpenter-node-holder.io'},{'name':'a.b',"
	 "'rules':" NODES "}]",
	 1},
	{"'spec':{'matchConstraints':{'resourceRules':" NODES "}}", 1},
	{"'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':['*'],"
	 "'operations':['*'],'resources':['*/*']}]}}",
	 1},
	{"'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':["
	 "'karpenter.sh'],'operations':['CREATE'],'resources':['nodeclaims']}"
	 "]}}",
	 1},
	{"'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
	 "'operations':['DELETE'],'resources':['nodes']}]}}",
	 0},
	{"'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
	 "'operations':['CREATE'],'resources':['pods','nodes/status']}]}}",
	 0},
	{"'spec':7,'webhooks':[7]", 0},
};

START_TEST(test_foreign)
{
	char text[600], name[NAME_BYTES];
	struct err e = {0};

	for (int ours = 0; ours < 2; ours++) {
		const char *rest = foreign_cases[_i].rest;
		bool policy = strncmp(rest, "'spec'", 6) == 0;

		(void)snprintf(text, sizeof(text),
			       "{'metadata':{'name':'n','labels':{"
			       "'app.kubernetes.io/name':'%s'}},%s}",
			       ours ? "karpenter-node-holder" : "x", rest);
		ck_assert_int_eq(facts_foreign_decode(json(text), strlen(text),
						      name, &e),
				 ours && policy ? 0 : foreign_cases[_i].found);
		ck_assert_str_eq(name, "n");
	}
	ck_assert_int_eq(facts_foreign_decode("{}", 2, name, &e), -1);
}
END_TEST

/* What it says of one ticket. */
START_TEST(test_a_ticket)
{
	const char *text = json(
		"{'kind':'HolderStatus','mode':'enforce','leader':{'identity':"
		"'p_1','thisReplica':true},'tickets':[{'name':'ci2','until':"
		"'1970-01-01T00:00:09Z'},{'name':'ci','holder':'a','reason':"
		"null,'until':'1970-01-01T00:00:01Z','nodePools':3,'problem':"
		"'too broad','renewed':'1970-01-01T00:00:02Z'},{'name':'ci','until':"
		"null,'nodePools':9}]}");
	struct ticket_facts t, before;
	struct err e = {0};

	ck_assert_int_eq(
		facts_ticket_decode(text, strlen(text), "ci", &t, &e), 0);
	ck_assert(t.leads && t.reads && t.listed && !t.observes);
	ck_assert_int_eq(t.until_ms, 1000);
	ck_assert_int_eq(t.renewed_ms, 2000);
	ck_assert_uint_eq(t.nodepools, 3);
	ck_assert_str_eq(t.problem, "too broad");
	ck_assert_int_eq(
		facts_ticket_decode(text, strlen(text), "c", &t, &e), 0);
	ck_assert(t.reads && !t.listed);
	ck_assert_int_eq(t.until_ms, STAMP_NONE);
	ck_assert_uint_eq(t.left_out, 0);
	text = json("{'kind':'HolderStatus','tickets':[],'leftOut':{'scopes':"
		    "1,'tickets':7}}");
	ck_assert_int_eq(
		facts_ticket_decode(text, strlen(text), "ci", &t, &e), 0);
	ck_assert(t.reads && !t.listed);
	ck_assert_uint_eq(t.left_out, 7);
	text = json("{'kind':'HolderStatus','mode':'observe','tickets':"
		    "[7,{'name':'ci','until':'soon','nodePools':-1,'problem':"
		    "7}],'leader':null}");
	ck_assert_int_eq(
		facts_ticket_decode(text, strlen(text), "ci", &t, &e), 0);
	ck_assert(t.listed && t.observes && !t.leads);
	ck_assert_int_eq(t.until_ms, STAMP_NONE);
	ck_assert_int_eq(t.renewed_ms, STAMP_NONE);
	ck_assert(t.nodepools == 0 && t.problem[0] == '\0');
	/* A holder of before has no tickets, and one without the key reads
	 * none. */
	text = json("{'kind':'HolderStatus','leader':{'thisReplica':true}}");
	ck_assert_int_eq(
		facts_ticket_decode(text, strlen(text), "ci", &t, &e), 0);
	ck_assert(t.leads && !t.reads && !t.listed);
	memset(&t, 'x', sizeof(t));
	before = t;
	text = json("{'kind':'Status'}");
	ck_assert_int_eq(
		facts_ticket_decode(text, strlen(text), "ci", &t, &e), -1);
	ck_assert_int_eq(e.code, ERR_INPUT);
	ck_assert(memcmp(&t, &before, sizeof(t)) == 0);
}
END_TEST

#define LOOP(test, table)                                                      \
	tcase_add_loop_test(tc, test, 0, sizeof(table) / sizeof(table[0]))

int
main(void)
{
	Suite *s = suite_create("wire/doctor: the installation");
	TCase *tc = tcase_create("install");

	tcase_add_test(tc, test_a_deployment);
	LOOP(test_troubles, troubles);
	LOOP(test_services, services);
	tcase_add_test(tc, test_slices);
	LOOP(test_budgets, selectors);
	LOOP(test_a_budget_that_blocks, budgets);
	LOOP(test_policies, policies);
	tcase_add_test(tc, test_bindings);
	tcase_add_test(tc, test_a_leader);
	LOOP(test_holds_that_are_missing, bare_cases);
	LOOP(test_foreign, foreign_cases);
	tcase_add_test(tc, test_a_ticket);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
