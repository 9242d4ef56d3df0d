/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "wire/base64.h"
#include "wire/api/secret.h"
#include "wire/api/webhook_config.h"
#include "wire/json/json.h"

/* The Secret and the webhook configuration for certificates of our own. */

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

/* --- base64 --------------------------------------------------------------- */

static const struct {
	const char *plain, *text;
} texts[] = {	/* RFC 4648 §10 */
	{"f", "Zg=="},	       {"fo", "Zm8="},	       {"foo", "Zm9v"},
	{"foob", "Zm9vYg=="},  {"fooba", "Zm9vYmE="},  {"foobar", "Zm9vYmFy"},
	{"\xff\xfe\xfd", "//79"}, {"\xfb\xef\xbe", "++++"},
};

START_TEST(test_base64)
{
	char storage[32], *back;
	struct buf b;

	buf_init(&b, storage, sizeof(storage));
	base64_encode(&b, texts[_i].plain, strlen(texts[_i].plain));
	ck_assert_str_eq(storage, texts[_i].text);
	ck_assert_uint_eq(b.len, BASE64_BYTES(strlen(texts[_i].plain)));
	ck_assert_int_eq(base64_decode(storage, &back), 0);
	ck_assert_str_eq(back, texts[_i].plain);
	free(back);
}
END_TEST

/* --- reading a Secret ----------------------------------------------------- */

#define S(meta, data)                                                          \
	"{\"kind\":\"Secret\",\"metadata\":" meta ",\"data\":" data "}"
#define RV "{\"resourceVersion\":\"7\"}"

static const struct {
	const char *name, *text, *error;
	const char *ca_cert, *key;	/* NULL: the Secret has none */
} secrets[] = {
	{"all", S(RV, "{\"ca.crt\":\"Zm9v\",\"tls.key\":\"Zm9vYg==\"}"), NULL,
	 "foo", "foob"},
	{"no data", S(RV, "null"), NULL, NULL, NULL},
	{"data of a wrong type", S(RV, "[\"ca.crt\"]"), NULL, NULL, NULL},
	{"empty", S(RV, "{\"ca.crt\":\"\",\"tls.key\":null}"), NULL, NULL,
	 NULL},
	{"no text", S(RV, "{\"ca.crt\":\"Zg=\",\"tls.key\":\"AAAA\"}"), NULL,
	 NULL, NULL},
	{"numbers", S(RV, "{\"ca.crt\":1,\"tls.key\":{}}"), NULL, NULL, NULL},
	{"no version", S("{}", "{}"),
	 "metadata.resourceVersion is missing or no short string", NULL, NULL},
	{"no metadata", S("null", "{}"),
	 "metadata.resourceVersion is missing or no short string", NULL, NULL},
	{"a version without an end",
	 S("{\"resourceVersion\":\"12345678901234567890123456789012\"}", "{}"),
	 "metadata.resourceVersion is missing or no short string", NULL, NULL},
	{"another kind", "{\"kind\":\"ConfigMap\",\"metadata\":" RV "}",
	 "not a Secret", NULL, NULL},
	{"no object", "[]", "not a Secret", NULL, NULL},
};

static void
assert_text(const char *got, const char *want)
{
	if (want == NULL)
		ck_assert_ptr_null(got);
	else
		ck_assert_str_eq(got, want);
}

START_TEST(test_read_secret)
{
	const char *text = secrets[_i].text;
	struct secret s = {.rv = "untouched"};
	struct err e = {0};
	int rc = secret_decode(text, strlen(text), &s, &e);

	if (secrets[_i].error != NULL) {
		ck_assert_int_eq(rc, -1);
		ck_assert_str_eq(e.text, secrets[_i].error);
		ck_assert_str_eq(s.rv, "untouched");
		return;
	}
	ck_assert_msg(rc == 0, "%s: %s", secrets[_i].name, e.text);
	ck_assert_str_eq(s.rv, "7");
	assert_text(s.ca_cert, secrets[_i].ca_cert);
	assert_text(s.key, secrets[_i].key);
	ck_assert_ptr_null(s.ca_key);
	ck_assert_ptr_null(s.cert);
	secret_done(&s);
	ck_assert_ptr_null(s.key);
}
END_TEST

/* The PEM has one byte more than allowed. */
START_TEST(test_long_secret)
{
	static char pem[SECRET_PEM_MAX + 2], text[2 * SECRET_PEM_MAX];
	struct secret s;
	struct err e = {0};
	struct buf b;

	for (size_t more = 0; more < 2; more++) {
		memset(pem, 'x', SECRET_PEM_MAX + more);
		buf_init(&b, text, sizeof(text));
		buf_puts(&b, "{\"kind\":\"Secret\",\"metadata\":" RV
			     ",\"data\":{\"ca.crt\":\"");
		base64_encode(&b, pem, SECRET_PEM_MAX + 2 * more);
		buf_puts(&b, "\"}}");
		ck_assert_int_eq(secret_decode(text, b.len, &s, &e), 0);
		ck_assert((s.ca_cert == NULL) == (more != 0));
		secret_done(&s);
	}
}
END_TEST

/* --- writing one ---------------------------------------------------------- */

static char body[SECRET_BODY_BYTES];

START_TEST(test_write_secret)
{
	struct secret_pair p = secret_ca;
	struct buf b;

	p.cert = "foo";
	p.key = "foob";
	buf_init(&b, body, sizeof(body));
	secret_update(&b, "7", &p);
	ck_assert_str_eq(body, "{\"metadata\":{\"resourceVersion\":\"7\"},"
			       "\"data\":{\"ca.crt\":\"Zm9v\","
			       "\"ca.key\":\"Zm9vYg==\"}}");
	p = secret_tls;
	p.cert = p.key = "f";
	buf_init(&b, body, sizeof(body));
	secret_create(&b, "ns", "name", &p);
	ck_assert_str_eq(
		body,
		"{\"apiVersion\":\"v1\",\"kind\":\"Secret\","
		"\"type\":\"kubernetes.io/tls\","
		"\"metadata\":{\"namespace\":\"ns\","
		"\"name\":\"name\",\"labels\":{\"app.kubernetes.io/name\":"
		"\"karpenter-node-holder\",\"app.kubernetes.io/managed-by\":"
		"\"karpenter-node-holder\"}},\"data\":{\"tls.crt\":\"Zg==\","
		"\"tls.key\":\"Zg==\"}}");

	/* The type needs the keys of a pair, which comes later. */
	p = secret_ca;
	p.cert = p.key = "f";
	buf_init(&b, body, sizeof(body));
	secret_create(&b, "ns", "name", &p);
	ck_assert_ptr_nonnull(strstr(
		body, ",\"data\":{\"tls.crt\":\"\",\"tls.key\":\"\","
		      "\"ca.crt\":\"Zg==\",\"ca.key\":\"Zg==\"}}"));
}
END_TEST

/* The longest possible Secret fits. */
START_TEST(test_write_long_secret)
{
	static char pem[SECRET_PEM_MAX + 1], name[NAME_BYTES], ns[64];
	struct secret_pair p = secret_ca;
	struct buf b;

	memset(pem, 'x', SECRET_PEM_MAX);
	memset(name, 'n', sizeof(name) - 1);
	memset(ns, 'n', sizeof(ns) - 1);
	p.cert = p.key = pem;
	buf_init(&b, body, sizeof(body));
	secret_create(&b, ns, name, &p);
	ck_assert(!b.full);
}
END_TEST

/* --- the webhook configuration -------------------------------------------- */

#define W(meta, list)                                                          \
	"{\"kind\":\"MutatingWebhookConfiguration\",\"metadata\":" meta        \
	",\"webhooks\":" list "}"
#define HOOK(bundle) "{\"clientConfig\":{\"caBundle\":" bundle "}}"

static const struct {
	const char *name, *text, *error;
	unsigned n;
	const char *first, *second;
} configurations[] = {
	{"one", W(RV, "[" HOOK("\"Zm9v\"") "]"), NULL, 1, "foo", NULL},
	{"two", W(RV, "[" HOOK("null") "," HOOK("\"Zg==\"") "]"), NULL, 2, NULL,
	 "f"},
	{"none", W(RV, "null"), NULL, 0, NULL, NULL},
	{"without clientConfig, and odd ones", W(RV, "[{}," HOOK("7") "]"),
	 NULL, 2, NULL, NULL},
	{"of a wrong type", W(RV, "{}"), NULL, 0, NULL, NULL},
	{"nine", W(RV, "[{},{},{},{},{},{},{}," HOOK("\"Zm9v\"") ",{}]"),
	 "more than 8 webhooks", 0, NULL, NULL},
	{"no version", W("{}", "[]"),
	 "metadata.resourceVersion is missing or no short string", 0, NULL,
	 NULL},
	{"another kind",
	 "{\"kind\":\"ValidatingWebhookConfiguration\",\"metadata\":" RV "}",
	 "not a MutatingWebhookConfiguration", 0, NULL, NULL},
};

START_TEST(test_read_webhooks)
{
	const char *text = configurations[_i].text;
	struct webhooks w = {.rv = "untouched"};
	struct err e = {0};
	int rc = webhook_config_decode(text, strlen(text), &w, &e);

	if (configurations[_i].error != NULL) {
		ck_assert_int_eq(rc, -1);
		ck_assert_str_eq(e.text, configurations[_i].error);
		ck_assert_str_eq(w.rv, "untouched");
		return;
	}
	ck_assert_msg(rc == 0, "%s: %s", configurations[_i].name, e.text);
	ck_assert_str_eq(w.rv, "7");
	ck_assert_uint_eq(w.n, configurations[_i].n);
	assert_text(w.bundle[0], configurations[_i].first);
	assert_text(w.bundle[1], configurations[_i].second);
	webhook_config_done(&w);
	ck_assert_uint_eq(w.n, 0);
}
END_TEST

/* The patch has one field of each webhook, and no more. */
START_TEST(test_patch_webhooks)
{
	static char patch[WEBHOOKS_BODY_BYTES];
	struct webhooks w = {.rv = "7", .n = 2};
	struct err e = {0};
	struct json *root;
	struct buf b;

	buf_init(&b, patch, sizeof(patch));
	webhook_config_patch(&b, &w, "foo");
	ck_assert_str_eq(
		patch,
		"[{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\","
		"\"value\":\"7\"},"
		"{\"op\":\"add\",\"path\":\"/webhooks/0/clientConfig/caBundle\""
		",\"value\":\"Zm9v\"},"
		"{\"op\":\"add\",\"path\":\"/webhooks/1/clientConfig/caBundle\""
		",\"value\":\"Zm9v\"}]");
	root = json_parse(patch, b.len, &json_bounds_default, &e);
	ck_assert_msg(root != NULL, "%s", e.text);
	json_free(root);
}
END_TEST

START_TEST(test_patch_long)
{
	static char patch[WEBHOOKS_BODY_BYTES], pem[WEBHOOKS_BUNDLE_MAX];
	struct webhooks w = {.n = WEBHOOKS_MAX};
	struct buf b;

	memset(w.rv, '7', sizeof(w.rv) - 1);
	memset(pem, 'x', sizeof(pem) - 1);
	buf_init(&b, patch, sizeof(patch));
	webhook_config_patch(&b, &w, pem);
	ck_assert(!b.full);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/secret");
	TCase *tc = tcase_create("secret");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, test_base64, 0, ROWS(texts));
	tcase_add_loop_test(tc, test_read_secret, 0, ROWS(secrets));
	tcase_add_test(tc, test_long_secret);
	tcase_add_test(tc, test_write_secret);
	tcase_add_test(tc, test_write_long_secret);
	tcase_add_loop_test(tc, test_read_webhooks, 0, ROWS(configurations));
	tcase_add_test(tc, test_patch_webhooks);
	tcase_add_test(tc, test_patch_long);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
