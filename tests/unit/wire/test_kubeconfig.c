/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/kubeconfig/kubeconfig.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

/* base64 of "-----BEGIN CA-----\n" and so on */
#define CA64 "LS0tLS1CRUdJTiBDQS0tLS0tCg=="
#define CERT64 "LS0tLS1CRUdJTiBDRVJULS0tLS0K"
#define KEY64 "LS0tLS1CRUdJTiBLRVktLS0tLQo="

static int
parse(const char *text, const char *dir, const char *context,
      struct kubeconfig *k, struct err *e)
{
	return kubeconfig_parse("kc", dir, text, strlen(text), context, k, e);
}

static void
assert_text(const char *what, const char *got, const char *want)
{
	if (want == NULL)
		ck_assert_msg(got == NULL, "%s: %s", what, got);
	else
		ck_assert_msg(got != NULL && strcmp(got, want) == 0,
			      "%s: %s, expected %s", what, got ? got : "-",
			      want);
}

static const char full[] =
	"apiVersion: v1\n"
	"kind: Config\n"
	"preferences: {}\n"
	"current-context: one\n"
	"clusters:\n"
	"- name: c1\n"
	"  cluster:\n"
	"    server: https://one:6443/\n"
	"    certificate-authority-data: " CA64 "\n"
	"    certificate-authority: ignored.crt\n"
	"    tls-server-name: kubernetes\n"
	"    disable-compression: true\n"
	"- name: c2\n"
	"  cluster: {server: \"http://[::1]:8080/k8s/c-1\", "
	"certificate-authority: pki/ca.crt}\n"
	"- name: c3\n"
	"  cluster: {server: 'https://three', insecure-skip-tls-verify: true}\n"
	"- name: proxied\n"
	"  cluster: {server: 'https://p', proxy-url: 'http://proxy'}\n"
	"users:\n"
	"- name: u1\n"
	"  user:\n"
	"    client-certificate-data: " CERT64 "\n"
	"    client-key-data: " KEY64 "\n"
	"- name: u2\n"
	"  user: {client-certificate: c.pem, client-key: /abs/k.pem}\n"
	"- name: u3\n"
	"  user: {token: abc.def-_~, tokenFile: tok}\n"
	"- name: nobody\n"
	"  user: {}\n"
	"- name: plugin\n"
	"  user: {auth-provider: {name: gcp}}\n"
	"contexts:\n"
	"- {name: one, context: {cluster: c1, user: u1}}\n"
	"- {name: two, context: {cluster: c2, user: u2, namespace: ns}}\n"
	"- {name: three, context: {cluster: c3, user: u3, namespace: \"\"}}\n"
	"- {name: anonymous, context: {cluster: c3}}\n"
	"- {name: nobody, context: {cluster: c3, user: nobody}}\n"
	"- {name: plugin, context: {cluster: c3, user: plugin}}\n"
	"- {name: proxied, context: {cluster: proxied, user: u3}}\n";

static const struct {
	const char *context, *dir;
	struct kubeconfig want;
} accepted[] = {
	{NULL,
	 "/d",
	 {.server = "https://one:6443",
	  .tls_server_name = "kubernetes",
	  .ca_pem = "-----BEGIN CA-----\n",
	  .cert_pem = "-----BEGIN CERT-----\n",
	  .key_pem = "-----BEGIN KEY-----\n"}},
	{"two",
	 "/d",
	 {.server = "http://[::1]:8080/k8s/c-1",
	  .ca_file = "/d/pki/ca.crt",
	  .cert_file = "/d/c.pem",
	  .key_file = "/abs/k.pem",
	  .namespace_ = "ns"}},
	{"two",
	 NULL,
	 {.server = "http://[::1]:8080/k8s/c-1",
	  .ca_file = "pki/ca.crt",
	  .cert_file = "c.pem",
	  .key_file = "/abs/k.pem",
	  .namespace_ = "ns"}},
	{"three",
	 "/d",
	 {.server = "https://three",
	  .insecure = true,
	  .token = "abc.def-_~",
	  .token_file = "/d/tok"}},
	{"anonymous", "", {.server = "https://three", .insecure = true}},
	{"nobody", "", {.server = "https://three", .insecure = true}},
};

START_TEST(test_accepted)
{
	const struct kubeconfig *w = &accepted[_i].want;
	struct kubeconfig k;
	struct err e = {0};

	ck_assert_msg(parse(full, accepted[_i].dir, accepted[_i].context, &k,
			    &e) == 0,
		      "%s", e.text);
	assert_text("server", k.server, w->server);
	assert_text("tls-server-name", k.tls_server_name, w->tls_server_name);
	assert_text("ca data", k.ca_pem, w->ca_pem);
	assert_text("ca", k.ca_file, w->ca_file);
	ck_assert_int_eq(k.insecure, w->insecure);
	assert_text("certificate data", k.cert_pem, w->cert_pem);
	assert_text("key data", k.key_pem, w->key_pem);
	assert_text("certificate", k.cert_file, w->cert_file);
	assert_text("key", k.key_file, w->key_file);
	assert_text("token", k.token, w->token);
	assert_text("tokenFile", k.token_file, w->token_file);
	assert_text("namespace", k.namespace_, w->namespace_);
	kubeconfig_done(&k);
	ck_assert(k.server == NULL);
	kubeconfig_done(&k);
}
END_TEST

/* Context, cluster and user stand in lines of their own, so that places are
 * easy to see. */
#define CTX(context, cluster, user)                                            \
	"current-context: x\n"                                                 \
	"contexts: [{name: x, context: {" context "}}]\n"                      \
	"clusters: [{name: c, cluster: {" cluster "}}]\n"                      \
	"users: [{name: u, user: {" user "}}]\n"
#define CU "cluster: c, user: u"
#define SERVER "server: 'https://h'"

static const struct {
	const char *name, *text, *error;
} refused[] = {
	{"list", "[]", "kc:1:1: expected a kubeconfig"},
	{"other kind", "kind: Pod\n", "kc:1:7: kind: expected Config"},
	{"no context", "clusters: []\n",
	 "kc:1:1: current-context: missing, expected the name of a context"},
	{"empty context", "current-context: ''\n",
	 "kc:1:1: current-context: missing, expected the name of a context"},
	{"context that is not there", "current-context: z\n",
	 "kc:1:18: context \"z\" is not there, expected one"},
	{"contexts that is no list", "current-context: z\ncontexts: {}\n",
	 "kc:2:11: contexts: expected a list"},
	{"context without a name", "current-context: z\ncontexts: [{a: b}]\n",
	 "kc:2:12: contexts: an entry without a name, expected one"},
	{"context that is a string", "current-context: z\ncontexts: [z]\n",
	 "kc:2:12: contexts: expected entries with a name"},
	{"context twice",
	 "current-context: z\ncontexts:\n- {name: z}\n- {name: z}\n",
	 "kc:4:3: contexts: \"z\" stands twice, expected it once"},
	{"context without content",
	 "current-context: z\ncontexts:\n- {name: z}\n",
	 "kc:3:3: context: expected a mapping"},
	{"no cluster named", CTX("user: u", SERVER, ""),
	 "kc:2:31: cluster: missing, expected a name"},
	{"cluster that is not there", CTX("cluster: d, user: u", SERVER, ""),
	 "kc:2:41: cluster \"d\" is not there, expected one of \"c\""},
	{"user that is not there", CTX("cluster: c, user: v", SERVER, ""),
	 "kc:2:50: user \"v\" is not there, expected one of \"u\""},
	{"name that is a number", CTX("cluster: 1", SERVER, ""),
	 "kc:2:41: cluster: expected a string, put quotes around it"},
	{"no server", CTX(CU, "", ""),
	 "kc:3:31: server: missing, expected an http(s) URL"},
	{"server without a scheme", CTX(CU, "server: 'h:6443'", ""),
	 "kc:3:40: server: \"h:6443\", expected a URL such as "
	 "https://host:6443"},
	{"other scheme", CTX(CU, "server: 'ftp://h'", ""),
	 "kc:3:40: server: \"ftp://h\", expected a URL such as "
	 "https://host:6443"},
	{"no host", CTX(CU, "server: 'https://'", ""),
	 "kc:3:40: server: \"https://\", expected a URL such as "
	 "https://host:6443"},
	{"server with a query", CTX(CU, "server: 'https://h?x'", ""),
	 "kc:3:40: server: \"https://h?x\", expected a URL such as "
	 "https://host:6443"},
	{"server with a password", CTX(CU, "server: 'https://u:p@h'", ""),
	 "kc:3:40: server: a user is in it, expected a URL such as "
	 "https://host:6443"},
	{"server with a line break", CTX(CU, "server: \"https://h\\r\\nX\"", ""),
	 "kc:3:40: server: a control character, expected a string on one "
	 "line"},
	{"CA that is no base64",
	 CTX(CU, SERVER ", certificate-authority-data: '###'", ""),
	 "kc:3:81: certificate-authority-data: not base64, expected base64 of "
	 "PEM"},
	{"CA that is no PEM",
	 CTX(CU, SERVER ", certificate-authority-data: bm8gcGVt", ""),
	 "kc:3:81: certificate-authority-data: no PEM in it, expected base64 "
	 "of PEM"},
	{"CA with a NUL",
	 CTX(CU,
	     SERVER ", certificate-authority-data: LS0tLS1CRUdJTiBBAA==", ""),
	 "kc:3:81: certificate-authority-data: not base64, expected base64 of "
	 "PEM"},
	{"CA that is a list",
	 CTX(CU, SERVER ", certificate-authority-data: [a]", ""),
	 "kc:3:81: certificate-authority-data: expected base64 of PEM"},
	{"insecure with a CA",
	 CTX(CU,
	     SERVER ", insecure-skip-tls-verify: true, "
		    "certificate-authority: f",
	     ""),
	 "kc:3:53: insecure-skip-tls-verify with a certificate authority, "
	 "expected one of the two"},
	{"insecure that is a string",
	 CTX(CU, SERVER ", insecure-skip-tls-verify: 'true'", ""),
	 "kc:3:79: insecure-skip-tls-verify: expected true or false"},
	{"proxy", CTX(CU, SERVER ", proxy-url: 'http://p'", ""),
	 "kc:3:53: proxy-url is not in this version, expected a server reached "
	 "directly"},
	{"auth-provider", CTX(CU, SERVER, "auth-provider: {name: gcp}"),
	 "kc:4:26: auth-provider is not in this version, expected a client "
	 "certificate or a token"},
	{"username", CTX(CU, SERVER, "username: a, password: b"),
	 "kc:4:26: username is not in this version, expected a client "
	 "certificate or a token"},
	{"impersonation", CTX(CU, SERVER, "token: t, as: me"),
	 "kc:4:36: as is not in this version, expected a client certificate or "
	 "a token"},
	{"impersonated groups", CTX(CU, SERVER, "token: t, as-groups: [g]"),
	 "kc:4:36: as-groups is not in this version, expected a client "
	 "certificate or a token"},
	{"certificate without a key",
	 CTX(CU, SERVER, "client-certificate: c"),
	 "kc:4:25: client-certificate without client-key, expected both or "
	 "neither"},
	{"key without a certificate", CTX(CU, SERVER, "client-key-data: " KEY64),
	 "kc:4:25: client-key without client-certificate, expected both or "
	 "neither"},
	{"token that is a number", CTX(CU, SERVER, "token: 123"),
	 "kc:4:33: token: expected a string, put quotes around it"},
	{"token with a space", CTX(CU, SERVER, "token: a b"),
	 "kc:4:33: token: expected printable ASCII without spaces"},
	{"token with a line break", CTX(CU, SERVER, "token: \"a\\nb\""),
	 "kc:4:33: token: a control character, expected a string on one line"},
	{"alias", "a: &x 1\nb: *x\n",
	 "kc:1:4: an anchor (&), expected plain values"},
	{"duplicate key", "kind: Config\nkind: Config\n",
	 "kc:2:1: \"kind\" stands twice, expected it once"},
};

START_TEST(test_refused)
{
	struct kubeconfig k = {.server = "untouched"};
	struct err e = {0};

	ck_assert_msg(parse(refused[_i].text, "/d", NULL, &k, &e) == -1,
		      "%s: accepted", refused[_i].name);
	ck_assert_msg(strcmp(e.text, refused[_i].error) == 0,
		      "%s:\n got %s\nwant %s", refused[_i].name, e.text,
		      refused[_i].error);
	ck_assert_int_eq(e.code, ERR_INPUT);
	ck_assert_str_eq(k.server, "untouched");
}
END_TEST

/* A context that cannot be used does not affect another. */
START_TEST(test_only_the_chosen)
{
	struct kubeconfig k;
	struct err e = {0};

	ck_assert_int_eq(parse(full, "", "plugin", &k, &e), -1);
	ck_assert_str_eq(e.text, "kc:31:10: auth-provider is not in this version, "
				 "expected a client certificate or a token");
	ck_assert_int_eq(parse(full, "", "proxied", &k, &e), -1);
	ck_assert(strstr(e.text, "proxy-url is not in this version") != NULL);
	ck_assert_int_eq(parse(full, "", "four", &k, &e), -1);
	ck_assert_str_eq(e.text,
			 "kc:1:1: context \"four\" is not there, expected one of "
			 "\"one\", \"two\", \"three\", \"anonymous\", "
			 "\"nobody\", \"plugin\", \"proxied\"");
}
END_TEST

/* As `kubectl config view --raw -o json` writes it.  Empty values and null
 * count as missing. */
START_TEST(test_json)
{
	static const char text[] =
		"{\"kind\":\"Config\",\"apiVersion\":\"v1\","
		"\"current-context\":\"x\",\n\t\"clusters\":[{\"name\":\"c\","
		"\"cluster\":{\"server\":\"https:\\/\\/h\","
		"\"proxy-url\":\"\",\"certificate-authority-data\":\"" CA64
		"\"}}],\"users\":[{\"name\":\"u\",\"user\":{\"token\":\"t\","
		"\"exec\":null,\"username\":\"\"}}],\"contexts\":[{\"name\":"
		"\"x\",\"context\":{\"cluster\":\"c\",\"user\":\"u\"}}]}";
	struct kubeconfig k;
	struct err e = {0};

	ck_assert_msg(parse(text, "", NULL, &k, &e) == 0, "%s", e.text);
	ck_assert_str_eq(k.server, "https://h");
	ck_assert_str_eq(k.ca_pem, "-----BEGIN CA-----\n");
	ck_assert_str_eq(k.token, "t");
	kubeconfig_done(&k);
}
END_TEST

static const struct {
	const char *name, *data;
	bool ok;
} base64[] = {
	{"as it is", CA64, true},
	{"in lines", "\"LS0tLS1CRUdJTi\\nBDQS0tLS0tCg==\\n\"", true},
	{"in a block", "|\n        LS0tLS1CRUdJTiBD\n        QS0tLS0tCg==", true},
	{"no padding", "LS0tLS1CRUdJTiBDQS0tLS0tCg", false},
	{"half a padding", "LS0tLS1CRUdJTiBDQS0tLS0tCg=", false},
	{"more behind the padding", CA64 "LS0t", false},
	{"padding in the middle", "LS==LS1CRUdJTiBDQS0tLS0t", false},
	{"padding first", "====", false},
	{"of URLs", "LS0tLS1CRUdJTiBD_-0tLS0t", false},
};

START_TEST(test_base64)
{
	char text[512];
	struct kubeconfig k;
	struct err e = {0};
	int rc;

	(void)snprintf(text, sizeof(text),
		       "current-context: x\n"
		       "contexts: [{name: x, context: {cluster: c}}]\n"
		       "clusters:\n- name: c\n  cluster:\n"
		       "    server: https://h\n"
		       "    certificate-authority-data: %s\n",
		       base64[_i].data);
	rc = parse(text, "", NULL, &k, &e);
	ck_assert_msg(rc == (base64[_i].ok ? 0 : -1), "%s: %s",
		      base64[_i].name, e.text);
	if (rc == 0) {
		ck_assert_str_eq(k.ca_pem, "-----BEGIN CA-----\n");
		kubeconfig_done(&k);
	}
}
END_TEST

#define LOOP(t, test, table)                                                   \
	tcase_add_loop_test(t, test, 0, sizeof(table) / sizeof((table)[0]))

int
main(void)
{
	Suite *s = suite_create("wire/kubeconfig");
	TCase *t = tcase_create("kubeconfig");

	tcase_set_timeout(t, 60);
	LOOP(t, test_accepted, accepted);
	LOOP(t, test_refused, refused);
	tcase_add_test(t, test_only_the_chosen);
	tcase_add_test(t, test_json);
	LOOP(t, test_base64, base64);
	suite_add_tcase(s, t);
	return suite_run(s);
}
