/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config.h"

#include <check.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

#define HEAD "apiVersion: karpenter-node-holder.io/v1\nkind: HolderConfig\n"
#define MINUTE ((int64_t)60000)

static int
read_text(struct config *c, const char *text, struct err *e)
{
	return config_file(c, "c.yaml", text, strlen(text), NULL, e);
}

/* --- the file --------------------------------------------------------- */

static const char every_key[] =
	HEAD "scope: nodepool\n"
	     "holdDuration: 7m\n"
	     "maxHoldDuration: 0\n"
	     "releaseWindow: 8m30s\n"
	     "startupTimeout: 9m\n"
	     "replacements: count\n"
	     "minScaleUp: 100000\n"
	     "holdAnnotation: {key: example.com/keep, value: \"yes\"}\n"
	     "nodePools: {include: [\"a*\", b], exclude: [\"?c\"]}\n"
	     "tickets: {namespace: hold-tickets}\n"
	     "webhook: {address: \"127.0.0.1:1\", certFile: /a/c, keyFile: k,\n"
	     "  clientCAFile: \"\", allowedClients: [], drainTimeout: 91s}\n"
	     "metrics: {address: \"[::1]:2\"}\n"
	     "leaderElection: {enabled: false, namespace: ns, name: a.b,\n"
	     "  leaseDuration: 30s, renewDeadline: 20s, retryPeriod: 3s}\n"
	     "selfSigned: {enabled: true, secret: s.t, configuration: m.w,\n"
	     "  service: web, caDuration: 100h, duration: 10h}\n"
	     "patchConcurrency: 100\n"
	     "logging: {format: text, level: debug}\n";

static void
assert_every_key(const struct config *c)
{
	ck_assert_int_eq(c->rules.scope, SCOPE_NODEPOOL);
	ck_assert_int_eq(c->rules.hold_ms, 7 * MINUTE);
	ck_assert_int_eq(c->rules.cap.max_ms, 0);
	ck_assert_int_eq(c->rules.cap.window_ms, 8 * MINUTE + 30000);
	ck_assert_int_eq(c->rules.startup_ms, 9 * MINUTE);
	ck_assert_uint_eq(c->rules.min_scale_up, 100000);
	ck_assert_str_eq(c->rules.hold.key, "example.com/keep");
	ck_assert_str_eq(c->rules.hold.value, "yes");
	ck_assert_uint_eq(c->rules.include.n, 2);
	ck_assert_str_eq(c->rules.include.at[0], "a*");
	ck_assert_str_eq(c->rules.include.at[1], "b");
	ck_assert_uint_eq(c->rules.exclude.n, 1);
	ck_assert_str_eq(c->rules.exclude.at[0], "?c");
	ck_assert_str_eq(c->rules.tickets, "hold-tickets");
	ck_assert(rules_tickets(&c->rules));
	ck_assert_str_eq(c->webhook.address, "127.0.0.1:1");
	ck_assert_str_eq(c->webhook.cert_file, "/a/c");
	ck_assert_str_eq(c->webhook.key_file, "k");
	ck_assert_int_eq(c->webhook.drain_ms, 91000);
	ck_assert_str_eq(c->metrics_address, "[::1]:2");
	ck_assert_str_eq(c->leader.namespace_, "ns");
	ck_assert_str_eq(c->leader.name, "a.b");
	ck_assert_int_eq(c->leader.lease_ms, 30000);
	ck_assert_int_eq(c->leader.renew_ms, 20000);
	ck_assert_int_eq(c->leader.retry_ms, 3000);
	ck_assert(c->self_signed.enabled);
	ck_assert_str_eq(c->self_signed.secret, "s.t");
	ck_assert_str_eq(c->self_signed.configuration, "m.w");
	ck_assert_str_eq(c->self_signed.service, "web");
	ck_assert_int_eq(c->self_signed.ca_ms, 6000 * MINUTE);
	ck_assert_int_eq(c->self_signed.leaf_ms, 600 * MINUTE);
	ck_assert_uint_eq(c->patch_concurrency, 100);
	ck_assert(c->log_text);
	ck_assert_int_eq(c->log_level, 3);
}

START_TEST(test_every_key)
{
	struct config c;
	struct err e = {0};

	config_defaults(&c);
	ck_assert_msg(read_text(&c, every_key, &e) == 0, "%s", e.text);
	assert_every_key(&c);
}
END_TEST

START_TEST(test_defaults)
{
	struct config c, empty;
	struct err e = {0};

	config_defaults(&c);
	ck_assert_int_eq(c.rules.scope, SCOPE_CLUSTER);
	ck_assert_int_eq(c.rules.hold_ms, 10 * MINUTE);
	ck_assert_int_eq(c.rules.cap.max_ms, 60 * MINUTE);
	ck_assert_int_eq(c.rules.cap.window_ms, 10 * MINUTE);
	ck_assert_int_eq(c.rules.startup_ms, 15 * MINUTE);
	ck_assert_uint_eq(c.rules.min_scale_up, 1);
	ck_assert(rules_hold_is_default(&c.rules.hold));
	ck_assert(rules_nodepool_included(&c.rules, "any"));
	ck_assert(rules_nodepool_included(&c.rules, ""));
	ck_assert_str_eq(c.rules.tickets, "");
	ck_assert(!rules_tickets(&c.rules));
	ck_assert_str_eq(c.webhook.address, ":9443");
	ck_assert_str_eq(c.webhook.cert_file, "/tls/tls.crt");
	ck_assert_str_eq(c.webhook.key_file, "/tls/tls.key");
	ck_assert_int_eq(c.webhook.drain_ms, 95000);
	ck_assert_str_eq(c.metrics_address, ":8080");
	ck_assert_str_eq(c.leader.name, "karpenter-node-holder");
	ck_assert_int_eq(c.leader.lease_ms, 15000);
	ck_assert_int_eq(c.leader.renew_ms, 10000);
	ck_assert_int_eq(c.leader.retry_ms, 2000);
	ck_assert(!c.self_signed.enabled);
	ck_assert_str_eq(c.self_signed.secret, "karpenter-node-holder-tls");
	ck_assert_str_eq(c.self_signed.configuration, "karpenter-node-holder");
	ck_assert_str_eq(c.self_signed.service, "karpenter-node-holder");
	ck_assert_int_eq(c.self_signed.ca_ms, 365 * 24 * 60 * MINUTE);
	ck_assert_int_eq(c.self_signed.leaf_ms, 90 * 24 * 60 * MINUTE);
	ck_assert_uint_eq(c.patch_concurrency, 64);
	ck_assert(!c.log_text);
	ck_assert_int_eq(c.log_level, 2);
	ck_assert_int_eq(config_validate(&c, NULL, &e), 0);
	config_defaults(&empty);
	ck_assert_int_eq(read_text(&empty, HEAD, &e), 0);
	ck_assert_mem_eq(&c, &empty, sizeof(c));
}
END_TEST

/* As long as the name of a namespace may be. */
#define N63 "n12345678901234567890123456789012345678901234567890123456789012"

/* Each text comes after the two lines of HEAD, so its places begin on line
 * 3. */
static const struct {
	const char *name, *text, *error;
} refused[] = {
	{"unknown key", "hodlDuration: 10m\n",
	 "3:1: \"hodlDuration\": unknown key, expected one such as "
	 "holdDuration"},
	{"key of a section on top", "certFile: x\n",
	 "3:1: \"certFile\": unknown key, expected one such as "
	 "webhook.certFile"},
	{"unknown key in a section", "webhook:\n  adress: \":1\"\n",
	 "4:3: \"webhook.adress\": unknown key, expected one such as "
	 "webhook.address"},
	{"duplicate key", "scope: node\nscope: node\n",
	 "4:1: \"scope\" stands twice, expected it once"},
	{"alias", "scope: &a node\n",
	 "3:8: an anchor (&), expected plain values"},
	{"section that is no mapping", "webhook: 1\n",
	 "3:10: webhook: a single value, expected a mapping"},
	{"empty section", "logging:\n",
	 "3:9: logging: nothing, expected a mapping"},
	{"scalar that is a list", "scope: [node]\n",
	 "3:8: scope: a list, expected cluster|nodepool|node"},
	{"scalar that is a mapping", "holdDuration: {a: 1}\n",
	 "3:15: holdDuration: a mapping, expected a duration above 0 such as "
	 "10m"},
	{"unknown word", "scope: Cluster\n",
	 "3:8: scope: \"Cluster\", expected cluster|nodepool|node"},
	{"bad duration", "holdDuration: 10x\n",
	 "3:15: holdDuration: \"10x\", expected a duration above 0 such as "
	 "10m"},
	{"number as a duration", "startupTimeout: 10\n",
	 "3:17: startupTimeout: \"10\", expected a duration such as 10m or "
	 "1h30m"},
	{"negative duration", "releaseWindow: -1m\n",
	 "3:16: releaseWindow: \"-1m\", expected a duration above 0 such as "
	 "10m"},
	{"a leaseDuration above a minute",
	 "leaderElection: {leaseDuration: 60001ms}\n",
	 "3:33: leaderElection.leaseDuration: \"60001ms\", expected a duration "
	 "above 0 and up to 1m"},
	{"hold of 0", "holdDuration: 0\n",
	 "3:15: holdDuration: \"0\", expected a duration above 0 such as 10m"},
	{"over ten years", "holdDuration: 87601h\n",
	 "3:15: holdDuration: \"87601h\", expected a duration above 0 such as "
	 "10m"},
	{"no number", "patchConcurrency: many\n",
	 "3:19: patchConcurrency: \"many\", expected a number from 1 to 100"},
	{"0 patches", "patchConcurrency: 0\n",
	 "3:19: patchConcurrency: \"0\", expected a number from 1 to 100"},
	{"101 patches", "patchConcurrency: 101\n",
	 "3:19: patchConcurrency: \"101\", expected a number from 1 to 100"},
	{"no machine", "minScaleUp: 0\n",
	 "3:13: minScaleUp: \"0\", expected a number from 1 to 100000, or a share "
	 "from 1% to 100%"},
	{"more machines than there are", "minScaleUp: 100001\n",
	 "3:13: minScaleUp: \"100001\", expected a number from 1 to 100000, or a "
	 "share from 1% to 100%"},
	{"no share", "minScaleUp: 0%\n",
	 "3:13: minScaleUp: \"0%\", expected a number from 1 to 100000, or a share "
	 "from 1% to 100%"},
	{"more than all", "minScaleUp: \"101%\"\n",
	 "3:13: minScaleUp: \"101%\", expected a number from 1 to 100000, or a "
	 "share from 1% to 100%"},
	{"half a percent", "minScaleUp: 0.5%\n",
	 "3:13: minScaleUp: \"0.5%\", expected a number from 1 to 100000, or a "
	 "share from 1% to 100%"},
	{"machines in quotes", "minScaleUp: \"2\"\n",
	 "3:13: minScaleUp: \"2\" in quotes, expected a number from 1 to "
	 "100000, or a share from 1% to 100%"},
	{"huge number", "patchConcurrency: 4294967297\n",
	 "3:19: patchConcurrency: \"4294967297\", expected a number from 1 to "
	 "100"},
	{"number in quotes", "patchConcurrency: \"32\"\n",
	 "3:19: patchConcurrency: \"32\" in quotes, expected a number from 1 "
	 "to 100"},
	{"true for a string", "holdAnnotation: {value: true}\n",
	 "3:25: holdAnnotation.value: expected a string, quote it: \"true\""},
	{"yes for a string", "holdAnnotation: {value: yes}\n",
	 "3:25: holdAnnotation.value: expected a string, quote it: \"yes\""},
	{"number for a string", "holdAnnotation: {value: 1}\n",
	 "3:25: holdAnnotation.value: expected a string, quote it: \"1\""},
	{"nothing for a string", "holdAnnotation:\n  value:\n",
	 "4:9: holdAnnotation.value: nothing, expected a string"},
	{"control character", "holdAnnotation: {value: \"a\\tb\"}\n",
	 "3:25: holdAnnotation.value: \"a\\u0009b\", expected a string of "
	 "printable characters"},
	{"no annotation key", "holdAnnotation: {key: \"a b\"}\n",
	 "3:23: holdAnnotation.key: \"a b\", expected an annotation key such "
	 "as karpenter.sh/do-not-disrupt"},
	{"key of capital prefix", "holdAnnotation: {key: A.io/x}\n",
	 "3:23: holdAnnotation.key: \"A.io/x\", expected an annotation key "
	 "such as karpenter.sh/do-not-disrupt"},
	{"key without a name", "holdAnnotation: {key: a.io/}\n",
	 "3:23: holdAnnotation.key: \"a.io/\", expected an annotation key "
	 "such as karpenter.sh/do-not-disrupt"},
	{"our own key",
	 "holdAnnotation: {key: karpenter-node-holder.io/held-since}\n",
	 "3:23: holdAnnotation.key: "
	 "\"karpenter-node-holder.io/held-since\" is ours, expected a key that "
	 "Karpenter reads"},
	{"pattern list that is none", "nodePools: {include: a}\n",
	 "3:22: nodePools.include: a single value, expected a list of shell "
	 "patterns such as [\"*\"]"},
	{"pattern that is a list", "nodePools: {exclude: [[a]]}\n",
	 "3:23: nodePools.exclude: a list, expected a pattern"},
	{"empty pattern", "nodePools: {include: [\"\"]}\n",
	 "3:23: nodePools.include: expected a shell pattern of 1 to 127 "
	 "bytes"},
	{"pattern that matches nothing",
	 "nodePools:\n  include: [\"*\"]\n  exclude: [a, Spot-*]\n",
	 "5:16: nodePools.exclude: \"Spot-*\" can match no NodePool, expected "
	 "a shell pattern for DNS names of lower case such as \"spot-*\""},
	{"pattern that is a number", "nodePools: {include: [1]}\n",
	 "3:23: nodePools.include: expected a string, quote it: \"1\""},
	{"a namespace with a dot", "tickets: {namespace: a.b}\n",
	 "3:22: tickets.namespace: \"a.b\", expected a namespace or \"\""},
	{"a namespace with a slash", "tickets: {namespace: a/leases}\n",
	 "3:22: tickets.namespace: \"a/leases\", expected a namespace or "
	 "\"\""},
	{"a query for a namespace", "tickets: {namespace: \"a?watch=1\"}\n",
	 "3:22: tickets.namespace: \"a?watch=1\", expected a namespace or "
	 "\"\""},
	{"a namespace of 64 bytes",
	 "tickets: {namespace: " N63 "4}\n",
	 "3:22: tickets.namespace: \"n123456789012345678901234567890123456789"
	 "…\", expected a namespace or \"\""},
	{"several namespaces", "tickets: {namespace: [a, b]}\n",
	 "3:22: tickets.namespace: a list, expected a namespace or \"\""},
	{"a namespace that is a number", "tickets: {namespace: 7}\n",
	 "3:22: tickets.namespace: expected a string, quote it: \"7\""},
	{"address without a port", "metrics: {address: localhost}\n",
	 "3:20: metrics.address: \"localhost\", expected host:port, :port or "
	 "[v6]:port"},
	{"port alone", "metrics: {address: 8080}\n",
	 "3:20: metrics.address: \"8080\", expected host:port, :port or "
	 "[v6]:port"},
	{"port too high", "metrics: {address: \":65536\"}\n",
	 "3:20: metrics.address: \":65536\", expected host:port, :port or "
	 "[v6]:port"},
	{"v6 without brackets", "metrics: {address: \"::1:80\"}\n",
	 "3:20: metrics.address: \"::1:80\", expected host:port, :port or "
	 "[v6]:port"},
	{"no file", "webhook: {certFile: \"\"}\n",
	 "3:21: webhook.certFile: \"\", expected the name of a file"},
	{"bad namespace", "leaderElection: {namespace: Kube_System}\n",
	 "3:29: leaderElection.namespace: \"Kube_System\", expected a "
	 "namespace or \"\""},
	{"bad name", "leaderElection: {name: \"\"}\n",
	 "3:24: leaderElection.name: \"\", expected a DNS name of lower "
	 "case"},
	{"leader election", "leaderElection: {enabled: yes}\n",
	 "3:27: leaderElection.enabled: \"yes\", expected true or false"},
	{"leader election in quotes", "leaderElection: {enabled: \"false\"}\n",
	 "3:27: leaderElection.enabled: \"false\" in quotes, expected true or "
	 "false"},
	{"cap", "maxHoldDuration: never\n",
	 "3:18: maxHoldDuration: \"never\", expected a duration such as 10m "
	 "or 1h30m"},
	{"window", "releaseWindow: 0s\n",
	 "3:16: releaseWindow: \"0s\", expected a duration above 0 such as "
	 "10m"},
	{"mode", "mode: watch\n",
	 "3:7: mode: \"watch\", expected enforce|observe"},
	{"replacements", "replacements: never\n",
	 "3:15: replacements: \"never\", expected ignore|count"},
	{"drift", "drift: yes\n", "3:8: drift: \"yes\", expected hold|allow"},
	{"client CA", "webhook: {clientCAFile: /ca}\n",
	 "3:25: webhook.clientCAFile: \"/ca\" is not in this version, expected "
	 "\"\""},
	{"allowed clients", "webhook:\n  allowedClients:\n    - me\n",
	 "5:7: webhook.allowedClients: \"me\" is not in this version, expected "
	 "[]"},
};

START_TEST(test_refused)
{
	struct config c, before;
	char text[512], want[512];
	struct err e = {0};

	config_defaults(&c);
	before = c;
	(void)snprintf(text, sizeof(text), HEAD "%s", refused[_i].text);
	(void)snprintf(want, sizeof(want), "c.yaml:%s", refused[_i].error);
	ck_assert_msg(read_text(&c, text, &e) == -1, "%s: accepted",
		      refused[_i].name);
	ck_assert_msg(strcmp(e.text, want) == 0, "%s:\n got %s\nwant %s",
		      refused[_i].name, e.text, want);
	ck_assert_int_eq(e.code, ERR_INPUT);
	ck_assert_mem_eq(&c, &before, sizeof(c));
}
END_TEST

static const struct {
	const char *name, *text, *error;
} no_config[] = {
	{"no apiVersion", "kind: HolderConfig\n",
	 "c.yaml:1:1: apiVersion: missing, expected "
	 "karpenter-node-holder.io/v1"},
	{"no kind", "apiVersion: karpenter-node-holder.io/v1\n",
	 "c.yaml:1:1: kind: missing, expected HolderConfig"},
	{"other apiVersion", "apiVersion: v1\nkind: HolderConfig\n",
	 "c.yaml:1:13: apiVersion: \"v1\", expected "
	 "karpenter-node-holder.io/v1"},
	{"other kind", "apiVersion: karpenter-node-holder.io/v1\nkind: Pod\n",
	 "c.yaml:2:7: kind: \"Pod\", expected HolderConfig"},
	{"kind that is a list",
	 "apiVersion: karpenter-node-holder.io/v1\nkind: []\n",
	 "c.yaml:2:7: kind: a list, expected HolderConfig"},
	{"a list", "- a\n",
	 "c.yaml:1:1: a list, expected a mapping of keys"},
	{"empty", "", "c.yaml:1:1: nothing in it, expected a mapping"},
};

START_TEST(test_no_config)
{
	struct config c;
	struct err e = {0};

	config_defaults(&c);
	ck_assert_int_eq(read_text(&c, no_config[_i].text, &e), -1);
	ck_assert_msg(strcmp(e.text, no_config[_i].error) == 0,
		      "%s:\n got %s\nwant %s", no_config[_i].name, e.text,
		      no_config[_i].error);
}
END_TEST

START_TEST(test_lengths)
{
	char text[2048], value[VALUE_BYTES + 1];
	struct config c;
	struct err e = {0};

	memset(value, 'v', sizeof(value));
	value[VALUE_BYTES - 1] = '\0';
	config_defaults(&c);
	(void)snprintf(text, sizeof(text), HEAD "holdAnnotation: {value: %s}\n",
		       value);
	ck_assert_int_eq(read_text(&c, text, &e), 0);
	ck_assert_str_eq(c.rules.hold.value, value);
	value[VALUE_BYTES - 1] = 'v';
	value[VALUE_BYTES] = '\0';
	(void)snprintf(text, sizeof(text), HEAD "holdAnnotation: {value: %s}\n",
		       value);
	ck_assert_int_eq(read_text(&c, text, &e), -1);
	ck_assert_str_eq(e.text, "c.yaml:3:25: holdAnnotation.value: 254 bytes "
				 "long, expected at most 253");
}
END_TEST

START_TEST(test_longest_namespace)
{
	struct config c;
	struct err e = {0};

	config_defaults(&c);
	ck_assert_msg(read_text(&c, HEAD "tickets: {namespace: " N63 "}\n",
				&e) == 0,
		      "%s", e.text);
	ck_assert_uint_eq(strlen(c.rules.tickets), 63);
	ck_assert_str_eq(c.rules.tickets, N63);
}
END_TEST

START_TEST(test_patterns_bounded)
{
	char text[4096];
	struct config c;
	struct err e = {0};

	for (size_t n = NODEPOOL_PATTERNS_MAX; n <= NODEPOOL_PATTERNS_MAX + 1;
	     n++) {
		(void)strcpy(text, HEAD "nodePools:\n  include:\n");
		for (size_t i = 0; i < n; i++)
			(void)strcat(text, "    - a\n");
		config_defaults(&c);
		ck_assert_int_eq(read_text(&c, text, &e),
				 n > NODEPOOL_PATTERNS_MAX ? -1 : 0);
	}
	ck_assert_str_eq(e.text, "c.yaml:69:7: nodePools.include: too many, "
				 "expected at most 64");
}
END_TEST

/* --- patterns --------------------------------------------------------- */

static const struct {
	const char *text;
	bool some;	/* can match a name */
} pattern[] = {
	{"*", true},	     {"a", true},	   {"?", true},
	{"spot-*", true},    {"*-spot", true},	   {"*.*", true},
	{"a.b-c", true},     {"[a-z]*", true},	   {"[!a]", true},
	{"[^a]", true},	     {"[]a]", true},	   {"[[:alpha:]]", true},
	{"[A-z]", true},     {"\\a", true},	   {"a\\-b", true},
	{"-*", false},	     {"*-", false},	   {"a.", false},
	{".a", false},	     {"a..b", false},	   {"a-.b", false},
	{"a.-b", false},     {"A", false},	   {"spot_*", false},
	{"*Spot*", false},   {"a b", false},	   {" a", false},
	{"karpenter.sh/nodepool", false},	   {"[", false},
	{"[a", false},	     {"spot-[ab", false},  {"[A-Z]*", false},
	{"[[:upper:]]", false}, {"[]]", false},	   {"[z-a]", false},
	{"a\\", false},      {"\\*", false},	   {"{a,b}", false},
	{"a,b", false},	     {"\xc3\xa4", false},
	/* Libraries do not agree where these end. */
	{"[\\]A]", true},    {"[[:up:]]", true},   {"[[.A.]]", true},
	{"[A-[:upper:]]", true},
};

START_TEST(test_pattern)
{
	ck_assert_msg(config_pattern_can_match(pattern[_i].text) == pattern[_i].some,
		      "%s", pattern[_i].text);
}
END_TEST

/* Writes the n-th text over these characters, in the order of length.  n 0 is
 * the first of one character. */
static void
write_text(const char *chars, size_t n, char out[16])
{
	size_t base = strlen(chars), len = 1, of_len = base;

	for (; n >= of_len; of_len *= base, len++)
		n -= of_len;
	for (size_t i = 0; i < len; i++, n /= base)
		out[i] = chars[n % base];
	out[len] = '\0';
}

/* Kubernetes' own rule. */
static bool
is_name(const char *s)
{
	char before = '.';

	for (; *s != '\0'; before = *s++)
		if ((*s == '.' && (before == '.' || before == '-')) ||
		    (*s == '-' && before == '.'))
			return false;
	return before != '.' && before != '-';
}

#define NAME_CHARS "az0-."
#define NAMES 780	/* of up to 4 characters */

static bool
matches_some(const char *text)
{
	char name[16];

	for (size_t i = 0; i < NAMES; i++) {
		write_text(NAME_CHARS, i, name);
		if (is_name(name) && fnmatch(text, name, 0) == 0)
			return true;
	}
	return false;
}

/* A pattern matches some name if and only if it matches one of four characters
 * at most. */
START_TEST(test_every_short_pattern)
{
	static const char chars[] = "a-.*?[]!A";
	char text[16];

	for (size_t i = 0; i < 9 + 81 + 729 + 6561; i++) {
		write_text(chars, i, text);
		if (strstr(text, "[.") != NULL)
			continue;	/* may begin a collating symbol */
		ck_assert_msg(config_pattern_can_match(text) == matches_some(text), "%s",
			      text);
	}
}
END_TEST

START_TEST(test_no_pattern_that_matches_is_refused)
{
	static const char chars[] = "az-.*?[[]]!^\\:=A[";
	uint32_t dice = 1;
	char text[16];

	for (int i = 0; i < 4000; i++) {
		size_t n = 1 + (size_t)i % 9;

		for (size_t k = 0; k < n; k++) {
			dice = dice * 1664525 + 1013904223;
			text[k] = chars[(dice >> 16) % (sizeof(chars) - 1)];
		}
		text[n] = '\0';
		ck_assert_msg(config_pattern_can_match(text) || !matches_some(text), "%s",
			      text);
	}
}
END_TEST

/* --- flags ------------------------------------------------------------ */

static const struct {
	const char *flag, *value;
} every_flag[] = {
	{"mode", "observe"},
	{"scope", "nodepool"},
	{"hold-duration", "7m"},
	{"max-hold-duration", "0s"},
	{"release-window", "8m30s"},
	{"startup-timeout", "9m"},
	{"replacements", "count"},
	{"drift", "allow"},
	{"min-scale-up", "100000"},
	{"hold-annotation-key", "example.com/keep"},
	{"hold-annotation-value", "yes"},
	{"tickets-namespace", "hold-tickets"},
	{"webhook-address", "127.0.0.1:1"},
	{"webhook-cert-file", "/a/c"},
	{"webhook-key-file", "k"},
	{"webhook-client-ca-file", ""},
	{"webhook-drain-timeout", "91s"},
	{"metrics-address", "[::1]:2"},
	{"leader-election-enabled", "false"},
	{"leader-election-namespace", "ns"},
	{"leader-election-name", "a.b"},
	{"leader-election-lease-duration", "30s"},
	{"leader-election-renew-deadline", "20s"},
	{"leader-election-retry-period", "3s"},
	{"self-signed-enabled", "true"},
	{"self-signed-secret", "s.t"},
	{"self-signed-configuration", "m.w"},
	{"self-signed-service", "web"},
	{"self-signed-ca-duration", "100h"},
	{"self-signed-duration", "10h"},
	{"patch-concurrency", "100"},
	{"memory-limit", "256Mi"},
	{"logging-format", "text"},
	{"logging-level", "debug"},
};
#define FLAGS_N (sizeof(every_flag) / sizeof(every_flag[0]))

START_TEST(test_every_flag)
{
	const char *name, *help;
	char def[64];
	struct config c;
	struct err e = {0};
	bool known;

	config_defaults(&c);
	for (size_t i = 0; i < FLAGS_N; i++) {
		ck_assert_msg(config_flag(&c, every_flag[i].flag,
					  every_flag[i].value, NULL, &known,
					  &e) == 0,
			      "%s", e.text);
		ck_assert(known);
		ck_assert(config_flag_help(i, &name, &help, def));
		ck_assert_str_eq(name, every_flag[i].flag);
		ck_assert(help[0] != '\0');
	}
	ck_assert(!config_flag_help(FLAGS_N, &name, &help, def));
	/* There are no flags for lists. */
	ck_assert_int_eq(read_text(&c,
				   HEAD "nodePools: {include: [\"a*\", b], "
					"exclude: [\"?c\"]}\n",
				   &e),
			 0);
	assert_every_key(&c);
}
END_TEST

/* Each default that --help shows is what the flag would set. */
START_TEST(test_flag_defaults)
{
	const char *name, *help;
	char def[64];
	struct config c, defaults;
	struct err e = {0};
	bool known;

	config_defaults(&defaults);
	c = defaults;
	for (size_t i = 0; config_flag_help(i, &name, &help, def); i++)
		ck_assert_msg(config_flag(&c, name, def, NULL, &known, &e) == 0, "%s",
			      e.text);
	ck_assert_mem_eq(&c, &defaults, sizeof(c));
}
END_TEST

static const struct {
	const char *flag, *value, *error;
	bool known;
} bad_flags[] = {
	{"hold-duration", "10x",
	 "--hold-duration: \"10x\", expected a duration above 0 such as 10m",
	 true},
	{"webhook-address", "x",
	 "--webhook-address: \"x\", expected host:port, :port or [v6]:port",
	 true},
	{"leader-election-enabled", "1",
	 "--leader-election-enabled: \"1\", expected true or false",
	 true},
	{"hold-annotation-value", "\xc2\x80",
	 "--hold-annotation-value: \"\\u0080\", expected a string of printable "
	 "characters",
	 true},
	{"hold-annotation-value", "\xff",
	 "--hold-annotation-value: \"\xef\xbf\xbd\", expected a string of "
	 "printable characters",
	 true},
	{"tickets-namespace", "Hold",
	 "--tickets-namespace: \"Hold\", expected a namespace or \"\"", true},
	{"holdDuration", "10m", "unknown flag --holdDuration", false},
	{"node-pools-include", "a", "unknown flag --node-pools-include", false},
};

START_TEST(test_bad_flags)
{
	struct config c;
	struct err e = {0};
	bool known;

	config_defaults(&c);
	ck_assert_int_eq(config_flag(&c, bad_flags[_i].flag,
				     bad_flags[_i].value, NULL, &known, &e),
			 -1);
	ck_assert_str_eq(e.text, bad_flags[_i].error);
	ck_assert_int_eq(e.code, ERR_INPUT);
	ck_assert_int_eq(known, bad_flags[_i].known);
}
END_TEST

/* --- the environment -------------------------------------------------- */

static const char *env_duration, *env_annotation, *env_delay, *env_memory;
static int warned;

static char *
fake_env(const char *name)
{
	const char *s = strcmp(name, "HOLD_DURATION") == 0     ? env_duration
			: strcmp(name, "HOLD_ANNOTATION") == 0 ? env_annotation
			: strcmp(name, "INITIAL_DELAY") == 0   ? env_delay
			: strcmp(name, "MEMORY_LIMIT") == 0    ? env_memory
							       : NULL;

	return (char *)(uintptr_t)s;
}

static void
count_warning(void *ctx, const char *sentence)
{
	const char *want = ctx;
	size_t n = strlen(sentence);

	ck_assert_msg(n > 0 && n < 240 && sentence[n - 1] == '.', "%s",
		      sentence);
	if (want == NULL || strstr(sentence, want) != NULL)
		warned++;
}

static const struct {
	const char *name, *duration, *annotation, *delay;
	int64_t hold_ms;
	const char *key;
	int warnings;
} envs[] = {
	{"nothing", NULL, NULL, NULL, 10 * MINUTE, DEFAULT_HOLD_KEY, 0},
	{"empty", "", "", "", 10 * MINUTE, DEFAULT_HOLD_KEY, 0},
	{"minutes", "20", NULL, NULL, 20 * MINUTE, DEFAULT_HOLD_KEY, 0},
	{"duration", "90s", NULL, NULL, 90000, DEFAULT_HOLD_KEY, 0},
	{"key", NULL, "a.io/b", NULL, 10 * MINUTE, "a.io/b", 0},
	{"delay", NULL, NULL, "60", 10 * MINUTE, DEFAULT_HOLD_KEY, 1},
	{"all", "1", "karpenter.sh/do-not-consolidate", "x", MINUTE,
	 "karpenter.sh/do-not-consolidate", 1},
};

START_TEST(test_env)
{
	struct config c;
	struct err e = {0};

	config_defaults(&c);
	env_duration = envs[_i].duration;
	env_annotation = envs[_i].annotation;
	env_delay = envs[_i].delay;
	warned = 0;
	ck_assert_int_eq(config_env(&c, fake_env, count_warning, NULL, &e), 0);
	ck_assert_int_eq(c.rules.hold_ms, envs[_i].hold_ms);
	ck_assert_str_eq(c.rules.hold.key, envs[_i].key);
	ck_assert_int_eq(warned, envs[_i].warnings);
}
END_TEST

static const struct {
	int64_t file, limit;
	int warnings;
} overridden[] = {
	{512 << 20, 128 << 20, 1},
	{512 << 20, 512 << 20, 0},
	{128 << 20, 512 << 20, 0},	/* as without a file */
};

START_TEST(test_memory_limit_overridden)
{
	struct config c;
	struct err e = {0};
	char text[24];

	config_defaults(&c);
	c.memory_limit = overridden[_i].file;
	env_duration = env_annotation = env_delay = NULL;
	(void)snprintf(text, sizeof(text), "%lld",
		       (long long)overridden[_i].limit);
	env_memory = text;
	warned = 0;
	ck_assert_int_eq(config_env(&c, fake_env, count_warning, "has no effect", &e),
			 0);
	env_memory = NULL;
	ck_assert_int_eq(c.memory_limit, overridden[_i].limit);
	ck_assert_int_eq(warned, overridden[_i].warnings);
}
END_TEST

static const struct {
	const char *text;
	int64_t bytes;	/* 0: an error */
	int warnings;
} memories[] = {
	{"134217728", 128 << 20, 0},
	{"67108864", 64 << 20, 0},
	{"67108863", 64 << 20, 1},
	{"1", 64 << 20, 1},
	{"200M", 200000000, 0},
	{"256Mi", 256 << 20, 0},
	{"1Gi", 1 << 30, 0},
	{"65536Ki", 64 << 20, 0},
	{"70000k", 70000000, 0},
	{"999999999999999999", 999999999999999999, 0},
	{"1Ti", (int64_t)1 << 40, 0},
	{"2T", 2000000000000, 0},
	{"1.5Gi", 0, 0},
	{"9999999999Gi", 0, 0},
	{"9999999Ti", 0, 0},
	{"1000000000000000000", 0, 0},
	{"63Mi", 0, 0},
	{"128mi", 0, 0},
	{"128 Mi", 0, 0},
	{"Mi", 0, 0},
	{"-1", 0, 0},
	{"1e9", 0, 0},
};

START_TEST(test_memory_limit)
{
	struct config c;
	struct err e = {0};
	char want[160];
	int rc;

	config_defaults(&c);
	env_duration = env_annotation = env_delay = NULL;
	env_memory = memories[_i].text;
	warned = 0;
	rc = config_env(&c, fake_env, count_warning, "memory limit", &e);
	env_memory = NULL;
	ck_assert_int_eq(warned, memories[_i].warnings);
	ck_assert_int_eq(rc, memories[_i].bytes > 0 ? 0 : -1);
	ck_assert_int_eq(c.memory_limit, memories[_i].bytes > 0
						 ? memories[_i].bytes
						 : 128 << 20);
	(void)snprintf(want, sizeof(want),
		       "MEMORY_LIMIT: \"%s\", expected a whole number of k, M, "
		       "G, T, Ki, Mi, Gi or Ti, at least 64Mi, such as 256Mi",
		       memories[_i].text);
	if (rc != 0)
		ck_assert_str_eq(e.text, want);
}
END_TEST

static const struct {
	const char *duration, *annotation, *error;
} bad_envs[] = {
	{"0", NULL,
	 "HOLD_DURATION: \"0\", expected minutes or a duration above 0 such as "
	 "10m"},
	{"-5", NULL,
	 "HOLD_DURATION: \"-5\", expected minutes or a duration above 0 such "
	 "as 10m"},
	{"99999999999999999999", NULL,
	 "HOLD_DURATION: \"99999999999999999999\", expected minutes or a "
	 "duration above 0 such as 10m"},
	{"5", "a b",
	 "HOLD_ANNOTATION: \"a b\", expected an annotation key such as "
	 "karpenter.sh/do-not-disrupt"},
};

START_TEST(test_bad_env)
{
	struct config c, before;
	struct err e = {0};

	config_defaults(&c);
	before = c;
	env_duration = bad_envs[_i].duration;
	env_annotation = bad_envs[_i].annotation;
	env_delay = NULL;
	ck_assert_int_eq(config_env(&c, fake_env, count_warning, NULL, &e), -1);
	ck_assert_str_eq(e.text, bad_envs[_i].error);
	ck_assert_mem_eq(&c, &before, sizeof(c));
}
END_TEST

/* Flags come before the environment, then the file, then the defaults. */
START_TEST(test_precedence)
{
	struct config c;
	struct err e = {0};
	bool known;

	config_defaults(&c);
	env_duration = "20";
	env_annotation = env_delay = NULL;
	ck_assert_int_eq(read_text(&c, HEAD "holdDuration: 5m\nscope: node\n",
				   &e),
			 0);
	ck_assert_int_eq(c.rules.hold_ms, 5 * MINUTE);
	ck_assert_int_eq(config_env(&c, fake_env, NULL, NULL, &e), 0);
	ck_assert_int_eq(c.rules.hold_ms, 20 * MINUTE);
	ck_assert_int_eq(c.rules.scope, SCOPE_NODE);
	ck_assert_int_eq(config_flag(&c, "hold-duration", "3m", NULL, &known, &e), 0);
	ck_assert_int_eq(c.rules.hold_ms, 3 * MINUTE);
}
END_TEST

/* --- rules and advice ------------------------------------------------- */

static const struct {
	const char *name, *text, *error;	/* NULL: the text is valid */
} validated[] = {
	{"lease = renew",
	 "leaderElection: {leaseDuration: 10s, renewDeadline: 10s}\n",
	 "c.yaml:3:33: leaderElection.leaseDuration: 10s, expected more than "
	 "leaderElection.renewDeadline (10s)"},
	{"renew = 1.2 retry",
	 "leaderElection: {renewDeadline: 12s, retryPeriod: 10s}\n",
	 "c.yaml:3:33: leaderElection.renewDeadline: 12s, expected more than 1.2 "
	 "times "
	 "leaderElection.retryPeriod (12s)"},
	{"the longest lease", "leaderElection: {leaseDuration: 1m}\n", NULL},
	{"renew just above",
	 "leaderElection: {renewDeadline: 12001ms, retryPeriod: 10s}\n", NULL},
	{"a certificate of a second", "selfSigned: {duration: 1s}\n",
	 "c.yaml:3:24: selfSigned.duration: 1s, expected more than a second "
	 "(1s)"},
	{"a CA that lives no longer",
	 "selfSigned: {duration: 2s, caDuration: 2s}\n",
	 "c.yaml:3:40: selfSigned.caDuration: 2s, expected more than "
	 "selfSigned.duration "
	 "(2s)"},
	{"a CA that lives longer",
	 "selfSigned: {duration: 2s, caDuration: 2001ms}\n", NULL},
	{"one address for both",
	 "webhook: {address: \":1\"}\nmetrics: {address: \":1\"}\n",
	 "c.yaml:4:20: metrics.address: :1, expected another than "
	 "webhook.address"},
	{"only the smaller key is in the file",
	 "leaderElection:\n  retryPeriod: 9s\n",
	 "c.yaml:4:16: leaderElection.renewDeadline: 10s, expected more than "
	 "1.2 times leaderElection.retryPeriod (10s800ms)"},
	{"tickets beside the holder's own Lease",
	 "tickets: {namespace: ns}\nleaderElection: {namespace: ns}\n",
	 "c.yaml:3:22: tickets.namespace: expected another than "
	 "leaderElection.namespace, because the holder's own Lease there would "
	 "hold every NodePool"},
	{"tickets elsewhere",
	 "tickets: {namespace: ns}\nleaderElection: {namespace: ns2}\n", NULL},
	{"no tickets, and no namespace",
	 "tickets: {namespace: \"\"}\nleaderElection: {namespace: \"\"}\n",
	 NULL},
	{"any free port for both",
	 "webhook: {address: \":0\"}\nmetrics: {address: \":0\"}\n", NULL},
};

START_TEST(test_validate)
{
	struct config_places places = {.file = NULL};
	char text[512];
	struct config c;
	struct err e = {0};

	config_defaults(&c);
	(void)snprintf(text, sizeof(text), HEAD "%s", validated[_i].text);
	ck_assert_int_eq(config_file(&c, "c.yaml", text, strlen(text), &places,
				     &e),
			 0);
	ck_assert_int_eq(config_validate(&c, &places, &e),
			 validated[_i].error ? -1 : 0);
	if (validated[_i].error)
		ck_assert_str_eq(e.text, validated[_i].error);
}
END_TEST

/* The place is that of the flag, which counts more than the file, and of what
 * somebody has set instead of a default. */
START_TEST(test_validate_flags)
{
	static const char text[] =
		HEAD "leaderElection: {renewDeadline: 12s}\n";
	struct config_places places = {.file = NULL};
	struct config c;
	struct err e = {0};
	bool known;

	config_defaults(&c);
	ck_assert_int_eq(config_file(&c, "c.yaml", text, sizeof(text) - 1,
				     &places, &e),
			 0);
	ck_assert_int_eq(config_flag(&c, "leader-election-retry-period", "10s",
				     &places, &known, &e),
			 0);
	ck_assert_int_eq(config_validate(&c, &places, &e), -1);
	ck_assert_str_eq(e.text,
			 "c.yaml:3:33: leaderElection.renewDeadline: 12s, "
			 "expected more than 1.2 times "
			 "leaderElection.retryPeriod (12s)");
	ck_assert_int_eq(config_flag(&c, "leader-election-renew-deadline",
				     "11s", &places, &known, &e),
			 0);
	ck_assert_int_eq(config_validate(&c, &places, &e), -1);
	ck_assert_str_eq(e.text,
			 "--leader-election-renew-deadline: "
			 "leaderElection.renewDeadline: 11s, expected more than "
			 "1.2 times leaderElection.retryPeriod (12s)");
	ck_assert_int_eq(config_validate(&c, NULL, &e), -1);
	ck_assert_int_eq(strncmp(e.text, "leaderElection.renewDeadline", 28),
			 0);
	ck_assert_int_eq(config_validate(&c, NULL, NULL), -1);
}
END_TEST

static const struct {
	const char *name, *text, *warning;	/* NULL: there is no warning */
} advised[] = {
	{"defaults", "", NULL},
	{"short window", "releaseWindow: 359s\n", "releaseWindow is under 6m"},
	{"window of 6m", "releaseWindow: 6m\n", NULL},
	{"old annotation",
	 "holdAnnotation: {key: karpenter.sh/do-not-consolidate}\n",
	 "which Karpenter 1 and later ignores"},
	{"other annotation", "holdAnnotation: {key: a/b}\n",
	 "the only one that Karpenter 1"},
	{"other value", "holdAnnotation: {value: \"false\"}\n",
	 "holdAnnotation.value is not \"true\""},
	{"no pool included", "nodePools: {include: []}\n",
	 "leaves no NodePool"},
	{"all pools excluded", "nodePools: {exclude: [a, \"*\"]}\n",
	 "leaves no NodePool"},
	{"what is included is excluded",
	 "nodePools: {include: [a, a, b], exclude: [b, a]}\n",
	 "leaves no NodePool"},
	{"something is left", "nodePools: {include: [a, b], exclude: [b]}\n",
	 NULL},
	{"short hold", "holdDuration: 20s\n", "holdDuration is under 25s"},
	{"short startup", "startupTimeout: 59s\n",
	 "startupTimeout is under 1m"},
	{"a share of one", "scope: node\nminScaleUp: 2%\n",
	 "minScaleUp has no effect in scope node"},
	{"a threshold for nobody", "scope: node\nminScaleUp: 2\n",
	 "minScaleUp has no effect in scope node"},
	{"little memory and tickets",
	 "memoryLimit: 71Mi\ntickets: {namespace: t}\n",
	 "memoryLimit is under 72Mi"},
	{"enough memory and tickets",
	 "memoryLimit: 72Mi\ntickets: {namespace: t}\n", NULL},
	{"little memory", "memoryLimit: 64Mi\n", NULL},
	{"short drain", "webhook: {drainTimeout: 90s}\n",
	 "webhook.drainTimeout is not above 90s"},
};

START_TEST(test_advise)
{
	char text[512];
	struct config c;
	struct err e = {0};

	config_defaults(&c);
	(void)snprintf(text, sizeof(text), HEAD "%s", advised[_i].text);
	ck_assert_msg(read_text(&c, text, &e) == 0, "%s", e.text);
	warned = 0;
	config_advise(&c, count_warning,
		      (void *)(uintptr_t)advised[_i].warning);
	ck_assert_msg(warned == (advised[_i].warning ? 1 : 0), "%s: %d",
		      advised[_i].name, warned);
}
END_TEST

/* --- print ------------------------------------------------------------ */

static void
assert_reads_back(const struct config *c)
{
	char text[CONFIG_PRINT_BYTES];
	struct config again;
	struct buf out;
	struct err e = {0};

	buf_init(&out, text, sizeof(text));
	config_print(c, &out);
	ck_assert(!out.full);
	config_defaults(&again);
	ck_assert_msg(read_text(&again, text, &e) == 0, "%s\n%s", e.text, text);
	/* Old list elements beyond n and bytes behind a NUL do not count: a
	 * second print must show the same. */
	char second[CONFIG_PRINT_BYTES];
	buf_init(&out, second, sizeof(second));
	config_print(&again, &out);
	ck_assert_str_eq(text, second);
	ck_assert_str_eq(again.rules.hold.value, c->rules.hold.value);
	ck_assert_int_eq(again.rules.hold_ms, c->rules.hold_ms);
	ck_assert_uint_eq(again.rules.include.n, c->rules.include.n);
}

/* A number after a share is a number again. */
START_TEST(test_share)
{
	static const char *const shares[] = {"minScaleUp: 100%\n",
					     "minScaleUp: \"100%\"\n"};
	char text[CONFIG_PRINT_BYTES];
	struct config c;
	struct buf out;
	struct err e = {0};
	bool known;

	config_defaults(&c);
	(void)snprintf(text, sizeof(text), HEAD "%s", shares[_i]);
	ck_assert_msg(read_text(&c, text, &e) == 0, "%s", e.text);
	ck_assert_uint_eq(c.rules.min_scale_up, 1);
	ck_assert_uint_eq(c.rules.min_scale_up_percent, 100);
	buf_init(&out, text, sizeof(text));
	config_print(&c, &out);
	ck_assert_ptr_nonnull(strstr(text, "\nminScaleUp: 100%\n"));
	assert_reads_back(&c);
	ck_assert_int_eq(config_flag(&c, "min-scale-up", "3", NULL, &known, &e),
			 0);
	ck_assert_uint_eq(c.rules.min_scale_up, 3);
	ck_assert_uint_eq(c.rules.min_scale_up_percent, 0);
}
END_TEST

START_TEST(test_print)
{
	struct config c, again;
	char text[CONFIG_PRINT_BYTES];
	struct buf out;
	struct err e = {0};

	config_defaults(&c);
	assert_reads_back(&c);
	ck_assert_int_eq(read_text(&c, every_key, &e), 0);
	assert_reads_back(&c);
	buf_init(&out, text, sizeof(text));
	config_print(&c, &out);
	config_defaults(&again);
	ck_assert_int_eq(read_text(&again, text, &e), 0);
	assert_every_key(&again);
}
END_TEST

START_TEST(test_print_odd_values)
{
	struct config c;
	struct err e = {0};
	bool known;

	config_defaults(&c);
	ck_assert_int_eq(config_flag(&c, "hold-annotation-value",
				     "\"\\ # : {}*&!%@` '\xc3\xa9\xf0\x9f\x98"
				     "\x80",
				     NULL, &known, &e),
			 0);
	ck_assert_int_eq(config_flag(&c, "webhook-cert-file", "- a: b #c",
				     NULL, &known, &e),
			 0);
	ck_assert_int_eq(config_flag(&c, "hold-duration", "1h0m1.5s", NULL,
				     &known, &e),
			 0);
	assert_reads_back(&c);
}
END_TEST

/* Writes the longest bracket expression that excludes this character. */
static void
set_bracket(char to[NODEPOOL_PATTERN_BYTES], char c)
{
	memset(to, c, NODEPOOL_PATTERN_BYTES - 1);
	memcpy(to, "[!", 2);
	to[NODEPOOL_PATTERN_BYTES - 2] = ']';
}

/* Whatever fits in a configuration fits in CONFIG_PRINT_BYTES. */
START_TEST(test_print_largest)
{
	struct config c;

	config_defaults(&c);
	c.rules.include.n = c.rules.exclude.n = NODEPOOL_PATTERNS_MAX;
	for (size_t i = 0; i < NODEPOOL_PATTERNS_MAX; i++) {
		set_bracket(c.rules.include.at[i], '"');
		set_bracket(c.rules.exclude.at[i], '\\');
	}
	memset(c.rules.hold.value, '"', VALUE_BYTES - 1);
	memset(c.webhook.cert_file, '"', CONFIG_PATH_BYTES - 1);
	memset(c.webhook.key_file, '"', CONFIG_PATH_BYTES - 1);
	assert_reads_back(&c);
}
END_TEST

#define LOOP(t, test, table)                                                   \
	tcase_add_loop_test(t, test, 0, sizeof(table) / sizeof((table)[0]))

int
main(void)
{
	Suite *s = suite_create("wire/config");
	TCase *t = tcase_create("config");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_every_key);
	tcase_add_test(t, test_defaults);
	LOOP(t, test_refused, refused);
	LOOP(t, test_no_config, no_config);
	tcase_add_test(t, test_lengths);
	tcase_add_test(t, test_longest_namespace);
	tcase_add_test(t, test_patterns_bounded);
	tcase_add_test(t, test_every_flag);
	tcase_add_test(t, test_flag_defaults);
	LOOP(t, test_bad_flags, bad_flags);
	LOOP(t, test_env, envs);
	LOOP(t, test_memory_limit, memories);
	LOOP(t, test_memory_limit_overridden, overridden);
	LOOP(t, test_bad_env, bad_envs);
	tcase_add_test(t, test_precedence);
	LOOP(t, test_validate, validated);
	tcase_add_test(t, test_validate_flags);
	LOOP(t, test_pattern, pattern);
	tcase_add_test(t, test_every_short_pattern);
	tcase_add_test(t, test_no_pattern_that_matches_is_refused);
	LOOP(t, test_advise, advised);
	tcase_add_loop_test(t, test_share, 0, 2);
	tcase_add_test(t, test_print);
	tcase_add_test(t, test_print_odd_values);
	tcase_add_test(t, test_print_largest);
	suite_add_tcase(s, t);
	return suite_run(s);
}
