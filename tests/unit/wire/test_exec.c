/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/kubeconfig/exec.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/stamp.h"
#include "golden/golden.h"
#include "suite.h"
#include "wire/kubeconfig/kubeconfig.h"

/* Credential plugins: how the kubeconfig names them, what they are told, and
 * what they answer. */

#define V1 "client.authentication.k8s.io/v1"
#define BETA V1 "beta1"
#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

static void
assert_texts(const char *what, char *const *got, const char *const *want)
{
	for (; *want != NULL && *got != NULL; got++, want++)
		ck_assert_msg(strcmp(*got, *want) == 0, "%s: %s, expected %s",
			      what, *got, *want);
	ck_assert_msg(*got == NULL && *want == NULL, "%s: %s and %s", what,
		      *got ? *got : "end", *want ? *want : "end");
}

/* --- as the clouds write them --------------------------------------------- */

#define TOLD(more) "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" BETA       \
	"\",\"spec\":{" more "\"interactive\":false}}"

static const struct {
	const char *file, *command, *hint, *info;
	const char *args[10], *env[3];
} clouds[] = {
	{"eks", "aws", NULL, TOLD(""),
	 {"--region", "eu-west-1", "eks", "get-token", "--cluster-name",
	  "example", "--output", "json"},
	 {"AWS_PROFILE=production"}},
	{"gke", "gke-gcloud-auth-plugin",
	 "Install gke-gcloud-auth-plugin for use with kubectl by following "
	 "https://cloud.google.com/kubernetes-engine/docs/how-to/"
	 "cluster-access-for-kubectl#install_plugin",
	 TOLD("\"cluster\":{\"server\":\"https://203.0.113.7\","
	      "\"certificate-authority-data\":\"LS0tLS1CRUdJTiBDQS0tLS0tCg==\""
	      ",\"config\":null},"),
	 {NULL}, {NULL}},
	{"aks", "kubelogin",
	 "kubelogin is not installed which is required to connect to AAD "
	 "enabled cluster. To learn more, please go to "
	 "https://aka.ms/aks/kubelogin",
	 TOLD(""),
	 {"get-token", "--login", "azurecli", "--server-id",
	  "6dae42f8-4368-4678-94ff-3960e28e3630"},
	 {NULL}},
};

START_TEST(test_clouds)
{
	char path[128], info[1024];
	struct kubeconfig k;
	struct err e = {0};
	struct buf b;
	char *text;
	size_t n;

	(void)snprintf(path, sizeof(path), "tests/golden/kubeconfigs/%s.yaml",
		       clouds[_i].file);
	text = golden_read(path, &n);
	ck_assert_msg(kubeconfig_parse(path, "/d", text, n, NULL, &k, &e) == 0,
		      "%s", e.text);
	free(text);
	ck_assert_ptr_nonnull(k.exec);
	ck_assert_str_eq(k.exec->command, clouds[_i].command);
	ck_assert_str_eq(k.exec->api_version, BETA);
	ck_assert_str_eq(k.exec->install_hint ? k.exec->install_hint : "-",
			 clouds[_i].hint ? clouds[_i].hint : "-");
	assert_texts("args", k.exec->args, clouds[_i].args);
	assert_texts("env", k.exec->env, clouds[_i].env);
	buf_init(&b, info, sizeof(info));
	exec_info(&b, k.exec,
		  &(struct exec_cluster){.server = k.server,
					 .ca_pem = k.ca_pem});
	ck_assert(!b.full);
	ck_assert_str_eq(info, clouds[_i].info);
	kubeconfig_done(&k);
}
END_TEST

/* --- other kubeconfigs ---------------------------------------------------- */

static int
parse(const char *exec, const char *cluster, struct kubeconfig *k,
      struct err *e)
{
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "current-context: x\n"
		       "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
		       "clusters: [{name: c, cluster: {server: 'https://h'%s}}]\n"
		       "users:\n- name: u\n  user:\n    exec:\n      %s\n",
		       cluster, exec);
	return kubeconfig_parse("kc", "/d", text, strlen(text), NULL, k, e);
}

static const struct {
	const char *name, *exec, *command;
	const char *args[3], *env[3];
} good[] = {
	{"unknown keys", "{apiVersion: " BETA ", command: a, later: [1]}", "a",
	 {NULL}, {NULL}},
	{"v1", "{apiVersion: " V1 ", command: a, interactiveMode: Never}", "a",
	 {NULL}, {NULL}},
	{"in the folder", "{apiVersion: " BETA ", command: ./bin/a}",
	 "/d/./bin/a", {NULL}, {NULL}},
	{"in a folder of it", "{apiVersion: " BETA ", command: bin/a}",
	 "/d/bin/a", {NULL}, {NULL}},
	{"from the root", "{apiVersion: " BETA ", command: /bin/a}", "/bin/a",
	 {NULL}, {NULL}},
	{"empty ones",
	 "{apiVersion: " BETA ", command: a, args: ['', \"a\\nb\"], "
	 "env: [{name: A}, {name: B, value: 'c=d'}]}",
	 "a", {"", "a\nb"}, {"A=", "B=c=d"}},
};

START_TEST(test_good)
{
	struct kubeconfig k;
	struct err e = {0};

	ck_assert_msg(parse(good[_i].exec, "", &k, &e) == 0, "%s: %s",
		      good[_i].name, e.text);
	ck_assert_str_eq(k.exec->command, good[_i].command);
	ck_assert_str_eq(k.exec->place, "kc:8:7: user \"u\"");
	assert_texts("args", k.exec->args, good[_i].args);
	assert_texts("env", k.exec->env, good[_i].env);
	kubeconfig_done(&k);
}
END_TEST

#define EXT ", extensions: [{name: client.authentication.k8s.io/exec}]"

static const struct {
	const char *name, *exec, *error, *cluster;
} bad[] = {
	{"a string", "x", "kc:8:7: exec: expected a mapping", ""},
	{"no version", "command: a",
	 "kc:8:7: apiVersion: missing, expected " V1 " or " BETA, ""},
	{"an old version",
	 "apiVersion: client.authentication.k8s.io/v1alpha1\n      command: a",
	 "kc:8:19: apiVersion: \"client.authentication.k8s.io/v1alpha1\", "
	 "expected " V1 " or v1beta1", ""},
	{"a version that is a list", "{apiVersion: [a], command: a}",
	 "kc:8:20: apiVersion: no string, expected " V1 " or v1beta1", ""},
	{"no command", "apiVersion: " BETA,
	 "kc:8:7: command: missing, expected a program", ""},
	{"args that are none", "{apiVersion: " BETA ", command: a, args: b}",
	 "kc:8:76: args: expected a list", ""},
	{"a number", "{apiVersion: " BETA ", command: a, args: [1]}",
	 "kc:8:77: args: expected a string, put quotes around it", ""},
	{"env without a name",
	 "{apiVersion: " BETA ", command: a, env: [{value: b}]}",
	 "kc:8:76: env: expected entries with a name and a value", ""},
	{"env of strings", "{apiVersion: " BETA ", command: a, env: [A=b]}",
	 "kc:8:76: env: expected entries with a name and a value", ""},
	{"env with a =",
	 "{apiVersion: " BETA ", command: a, env: [{name: A=b}]}",
	 "kc:8:83: env: name: expected none with a \"=\"", ""},
	{"v1 without a mode", "{apiVersion: " V1 ", command: a}",
	 "kc:8:7: interactiveMode: missing, expected Never or IfAvailable",
	 ""},
	{"always", "{apiVersion: " V1 ", command: a, interactiveMode: Always}",
	 "kc:8:82: interactiveMode: Always needs a terminal, which is not in "
	 "this version, expected Never or IfAvailable", ""},
	{"another mode",
	 "{apiVersion: " BETA ", command: a, interactiveMode: Often}",
	 "kc:8:87: interactiveMode: expected Never or IfAvailable", ""},
	{"a configuration for the plugin",
	 "{apiVersion: " BETA ", command: a, provideClusterInfo: true}",
	 "kc:3:66: extensions: client.authentication.k8s.io/exec is not in "
	 "this version, expected none", EXT},
};

START_TEST(test_bad)
{
	struct kubeconfig k = {.server = "untouched"};
	struct err e = {0};

	ck_assert_msg(parse(bad[_i].exec, bad[_i].cluster, &k, &e) == -1,
		      "%s: accepted", bad[_i].name);
	ck_assert_msg(strcmp(e.text, bad[_i].error) == 0,
		      "%s:\n got %s\nwant %s", bad[_i].name, e.text,
		      bad[_i].error);
	ck_assert_str_eq(k.server, "untouched");
}
END_TEST

/* The extension does not matter to a plugin that is not told of it. */
START_TEST(test_extension_unwanted)
{
	struct kubeconfig k;
	struct err e = {0};

	ck_assert_msg(parse("{apiVersion: " BETA ", command: a}", EXT, &k,
			    &e) == 0,
		      "%s", e.text);
	kubeconfig_done(&k);
}
END_TEST

/* Each value is first at its bound and then beyond it. */
START_TEST(test_bounds)
{
	static char text[EXEC_TEXT_MAX + 4096];
	const bool over = _i % 2, is_args = _i < 2, is_env = !is_args && _i < 4;
	struct kubeconfig k;
	struct err e = {0};
	struct buf b;

	buf_init(&b, text, sizeof(text));
	buf_puts(&b, "current-context: x\n"
		     "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
		     "clusters: [{name: c, cluster: {server: 'https://h'}}]\n"
		     "users:\n- name: u\n  user:\n    exec:\n"
		     "      apiVersion: " BETA "\n      command: a\n");
	buf_puts(&b, is_env ? "      env:\n" : "      args:\n");
	for (int i = 0; i < EXEC_ARGS_MAX + over && is_args; i++)
		buf_puts(&b, "      - a\n");
	for (int i = 0; i < EXEC_ENV_MAX + over && is_env; i++)
		buf_puts(&b, "      - {name: A}\n");
	if (!is_args && !is_env) {
		buf_puts(&b, "      - ");
		for (int i = 0; i < EXEC_TEXT_MAX + over; i++)
			buf_puts(&b, "a");
		buf_puts(&b, "\n");
	}
	ck_assert(!b.full);
	ck_assert_msg(kubeconfig_parse("kc", "", text, b.len, NULL, &k, &e) ==
			      (over ? -1 : 0),
		      "%d: %s", _i, e.text);
	if (over)
		ck_assert_ptr_nonnull(strstr(e.text, "expected at most "));
	else
		kubeconfig_done(&k);
}
END_TEST

/* The whole cluster fits in exec_info_bytes, whatever is in it. */
START_TEST(test_info)
{
	struct exec x = {.api_version = V1, .cluster_info = true};
	struct exec_cluster c = {.server = "https://\x01\x01\x01\x01\x01",
				 .tls_server_name = "\x01\x01\x01\x01\x01",
				 .ca_pem = "foo",
				 .insecure = true};
	size_t n = exec_info_bytes(&c);
	char *text = malloc(n);
	struct buf b;

	buf_init(&b, text, n);
	exec_info(&b, &x, &c);
	ck_assert(!b.full);
	ck_assert_ptr_nonnull(strstr(
		text, "\"insecure-skip-tls-verify\":true,"
		      "\"certificate-authority-data\":\"Zm9v\""));
	ck_assert_ptr_nonnull(strstr(text, "\"tls-server-name\":\"\\u0001"));
	free(text);
}
END_TEST

/* --- what it prints ------------------------------------------------------- */

#define SAYS(version, status)                                                  \
	"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" version               \
	"\",\"spec\":{},\"status\":" status "}\n"
#define UNTIL "\"expirationTimestamp\":"

static const struct {
	const char *name, *text;
	const char *token;	/* NULL: refused */
	int64_t expires_ms;
	const char *error;
} said[] = {
	{"aws", SAYS(V1, "{" UNTIL "\"2026-01-02T03:04:05Z\",\"token\":\"k8s-aws-v1.a_b-c\"}"),
	 "k8s-aws-v1.a_b-c", 1767323045000, NULL},
	{"gke", "{\n    \"kind\": \"ExecCredential\",\n    \"apiVersion\": \"" V1
		"\",\n    \"spec\": {\n        \"interactive\": false\n    },\n"
		"    \"status\": {\n        " UNTIL " \"2026-01-02T04:04:05+01:00\",\n"
		"        \"token\": \"ya29.a\"\n    }\n}",
	 "ya29.a", 1767323045000, NULL},
	{"for ever", SAYS(V1, "{\"token\":\"t\"," UNTIL "null}"), "t",
	 STAMP_NONE, NULL},
	{"no certificate", SAYS(V1, "{\"token\":\"t\",\"clientKeyData\":\"\"}"),
	 "t", STAMP_NONE, NULL},
	{"nothing", "", NULL, 0, "not JSON"},
	{"rubbish", "Welcome!\n", NULL, 0, "not JSON"},
	{"something before", "Hello\n" SAYS(V1, "{\"token\":\"t\"}"), NULL, 0,
	 "not JSON"},
	{"a list", "[]", NULL, 0, "kind: expected ExecCredential"},
	{"another kind", "{\"kind\":\"Pod\"}", NULL, 0,
	 "kind: expected ExecCredential"},
	{"another version", SAYS(BETA, "{\"token\":\"t\"}"), NULL, 0,
	 "apiVersion: \"" BETA "\", but the kubeconfig asks for " V1},
	{"no status", "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\"}",
	 NULL, 0, "status: missing"},
	{"no token", SAYS(V1, "{}"), NULL, 0, "status.token: missing"},
	{"an empty one", SAYS(V1, "{\"token\":\"\"}"), NULL, 0,
	 "status.token: missing"},
	{"a number", SAYS(V1, "{\"token\":1}"), NULL, 0,
	 "status.token: missing"},
	{"another header", SAYS(V1, "{\"token\":\"SECRET\\r\\nX: y\"}"), NULL,
	 0, "status.token: expected printable ASCII without spaces"},
	{"no time", SAYS(V1, "{\"token\":\"SECRET\"," UNTIL "\"soon\"}"), NULL,
	 0, "status.expirationTimestamp: expected a time of RFC 3339"},
	{"a number for a time", SAYS(V1, "{\"token\":\"SECRET\"," UNTIL "1}"),
	 NULL, 0, "status.expirationTimestamp: expected a time of RFC 3339"},
	{"a certificate",
	 SAYS(V1, "{\"clientCertificateData\":\"C\",\"clientKeyData\":\"SECRET\"}"),
	 NULL, 0, "client certificates from exec are not in this version"},
	{"a certificate, too",
	 SAYS(V1, "{\"token\":\"SECRET\",\"clientCertificateData\":\"C\"}"),
	 NULL, 0, "client certificates from exec are not in this version"},
};

START_TEST(test_said)
{
	struct exec_credential c = {.token = "untouched"};
	struct err e = {0};
	size_t n = strlen(said[_i].text);
	char *bytes = malloc(n + 1);
	int rc;

	memcpy(bytes, said[_i].text, n);
	bytes = realloc(bytes, n > 0 ? n : 1);	/* no NUL follows the bytes */
	rc = exec_credential_decode(bytes, n, V1, &c, &e);
	free(bytes);
	ck_assert_msg(rc == (said[_i].token ? 0 : -1), "%s: %s", said[_i].name,
		      e.text);
	if (rc == 0) {
		ck_assert_str_eq(c.token, said[_i].token);
		ck_assert_int_eq(c.expires_ms, said[_i].expires_ms);
		exec_credential_done(&c);
		ck_assert_ptr_null(c.token);
		return;
	}
	ck_assert_str_eq(c.token, "untouched");
	ck_assert_int_eq(e.code, ERR_INPUT);
	ck_assert_msg(strstr(e.text, said[_i].error) != NULL, "%s: %s",
		      said[_i].name, e.text);
	ck_assert_ptr_null(strstr(e.text, "SECRET"));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/exec");
	TCase *t = tcase_create("exec");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, test_clouds, 0, ROWS(clouds));
	tcase_add_loop_test(t, test_good, 0, ROWS(good));
	tcase_add_loop_test(t, test_bad, 0, ROWS(bad));
	tcase_add_test(t, test_extension_unwanted);
	tcase_add_loop_test(t, test_bounds, 0, 6);
	tcase_add_test(t, test_info);
	tcase_add_loop_test(t, test_said, 0, ROWS(said));
	suite_add_tcase(s, t);
	return suite_run(s);
}
