/* SPDX-License-Identifier: Apache-2.0 */
#include "kube_fixture.h"
#include "scripted_tls.h"

/* TLS: which servers the client believes, and which certificate it shows. */

static char dir[] = "/tmp/test_kube_tls.XXXXXX";
static struct tls_pair ca, other_ca, leaf, elsewhere, expired, client;

static char *
in_dir(const char *name)
{
	char *s = NULL;

	return asprintf(&s, "%s/%s", dir, name) < 0 ? NULL : s;
}

static char *
file(const char *name, const char *text)
{
	char *path = in_dir(name);
	FILE *f = fopen(path, "we");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
	return path;
}

static void
mint_all(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ca = tls_mint(NULL, "ca", NULL, 3600);
	other_ca = tls_mint(NULL, "other ca", NULL, 3600);
	leaf = tls_mint(&ca, "api", "IP:127.0.0.1,DNS:kubernetes", 3600);
	elsewhere = tls_mint(&ca, "x", "DNS:elsewhere.example", 3600);
	expired = tls_mint(&ca, "api", "IP:127.0.0.1", -3600);
	client = tls_mint(&ca, "holder", NULL, 3600);
}

static void
drop_all(void)
{
	static const char *const files[] = {"ca.crt", "client.crt",
					    "client.key"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *path = in_dir(files[i]);

		(void)unlink(path);
		free(path);
	}
	(void)rmdir(dir);
	tls_pair_free(&ca);
	tls_pair_free(&other_ca);
	tls_pair_free(&leaf);
	tls_pair_free(&elsewhere);
	tls_pair_free(&expired);
	tls_pair_free(&client);
}

/* Answers with the client's name, its TLS version and the Host that it asked
 * for. */
static bool
who(struct scripted_peer *p, void *ctx)
{
	X509 *cert = SSL_get1_peer_certificate(p->ssl);
	char cn[64] = "nobody", host[64], body[256];

	(void)ctx;
	if (cert != NULL)
		X509_NAME_get_text_by_NID(X509_get_subject_name(cert),
					  NID_commonName, cn, sizeof(cn));
	X509_free(cert);
	scripted_header(p, "Host", host, sizeof(host));
	(void)snprintf(body, sizeof(body), "%s %.9s", cn, host);
	return scripted_reply(p, "200 OK", "", body);
}

enum trust { TRUST_PEM, TRUST_FILE, TRUST_OTHER, TRUST_SYSTEM, TRUST_NONE };
enum id { ID_NONE, ID_PEM, ID_FILES, ID_KEY_WRONG };

static const struct {
	const char *name;
	const struct tls_pair *serves;
	enum trust trust;
	enum id id;
	bool wants_client, tls11;
	const char *server_name;
	enum err_code code;
	const char *text; /* expected in the error, or as the body */
} meetings[] = {
	{"a CA in memory", &leaf, .text = "nobody 127.0.0.1"},
	{"a CA file", &leaf, TRUST_FILE, .text = "nobody"},
	{"another CA", &leaf, TRUST_OTHER, .code = ERR_TLS,
	 .text = "not from the CA we trust"},
	{"the system's CAs", &leaf, TRUST_SYSTEM, .code = ERR_TLS,
	 .text = "not from the CA we trust"},
	{"insecure", &elsewhere, TRUST_NONE, .text = "nobody"},
	{"another name", &elsewhere, .code = ERR_TLS,
	 .text = "for another name"},
	{"tls-server-name", &elsewhere, .server_name = "elsewhere.example",
	 .text = "nobody 127.0.0.1"},
	{"a wrong tls-server-name", &leaf, .server_name = "wrong.example",
	 .code = ERR_TLS, .text = "for another name"},
	{"expired", &expired, .code = ERR_TLS, .text = "renew its"},
	{"a client certificate in memory", &leaf, .id = ID_PEM,
	 .wants_client = true, .text = "holder"},
	{"a client certificate in files", &leaf, .id = ID_FILES,
	 .wants_client = true, .text = "holder"},
	{"no client certificate", &leaf, .wants_client = true, .code = ERR_TLS,
	 .text = "client certificate?"},
	{"a key of another certificate", &leaf, .id = ID_KEY_WRONG,
	 .wants_client = true, .code = ERR_TLS, .text = "client-key"},
	{"TLS 1.1", &leaf, .tls11 = true, .code = ERR_TLS,
	 .text = "https port"},
};

static void
set_trust(struct kubeconfig *a, enum trust trust)
{
	if (trust == TRUST_PEM)
		a->ca_pem = strdup(ca.cert_pem);
	else if (trust == TRUST_OTHER)
		a->ca_pem = strdup(other_ca.cert_pem);
	else if (trust == TRUST_FILE)
		a->ca_file = file("ca.crt", ca.cert_pem);
	a->insecure = trust == TRUST_NONE;
}

static void
set_id(struct kubeconfig *a, enum id id)
{
	if (id == ID_PEM || id == ID_KEY_WRONG) {
		a->cert_pem = strdup(client.cert_pem);
		a->key_pem =
			strdup(id == ID_PEM ? client.key_pem : leaf.key_pem);
	} else if (id == ID_FILES) {
		a->cert_file = file("client.crt", client.cert_pem);
		a->key_file = file("client.key", client.key_pem);
	}
}

START_TEST(test_tls)
{
	SSL_CTX *tls = tls_server(meetings[_i].serves,
				  meetings[_i].wants_client ? &ca : NULL);
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct fixture f;
	struct err e = {0};
	int rc;

	if (meetings[_i].tls11) {
		SSL_CTX_set_cipher_list(tls, "ALL:@SECLEVEL=0");
		SSL_CTX_set_min_proto_version(tls, TLS1_VERSION);
		SSL_CTX_set_max_proto_version(tls, TLS1_1_VERSION);
	}
	fixture_server(&f, tls, who, NULL);
	set_trust(&f.options.access, meetings[_i].trust);
	set_id(&f.options.access, meetings[_i].id);
	if (meetings[_i].server_name != NULL)
		f.options.access.tls_server_name =
			strdup(meetings[_i].server_name);
	fixture_kube(&f);
	rc = kube_stream_run(f.stream, &q, NULL, NULL, NULL, &reply, &e);
	ck_assert_msg(rc == (meetings[_i].code == ERR_NONE ? 0 : -1) &&
			      e.code == meetings[_i].code &&
			      strstr(rc == 0 ? reply.body : e.text,
				     meetings[_i].text) != NULL,
		      "%s: %d %d \"%s\" \"%s\"", meetings[_i].name, rc, e.code,
		      reply.body, e.text);
	fixture_done(&f);
	SSL_CTX_free(tls);
}
END_TEST

/* A server without TLS waits for more bytes while the client waits for its
 * hello. */
static bool
never(struct scripted_peer *p, void *ctx)
{
	(void)ctx;
	return scripted_hang(p);
}

START_TEST(test_handshake_hangs)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct fixture f;
	struct err e = {0};

	fixture_server(&f, NULL, never, NULL);
	free(f.options.access.server);
	ck_assert_int_gt(asprintf(&f.options.access.server,
				  "https://127.0.0.1:%u", f.server.port),
			 0);
	f.options.connect_ms = 150;
	fixture_kube(&f);
	ck_assert_int_eq(
		kube_stream_run(f.stream, &q, NULL, NULL, NULL, &reply, &e),
		-1);
	ck_assert_msg(e.code == ERR_TIMEOUT, "%d %s", e.code, e.text);
	fixture_done(&f);
}
END_TEST

/* Calls over TLS that time out do not harm the other lanes. */
static bool
hang_once(struct scripted_peer *p, void *ctx)
{
	(void)ctx;
	if (p->server->accepted == 1)
		return scripted_hang(p);
	return scripted_reply(p, "200 OK", "", "{}");
}

START_TEST(test_pool)
{
	SSL_CTX *tls = tls_server(&leaf, NULL);
	struct kube_request q = get(200);
	struct kube_reply reply;
	struct kube_lanes *p;
	struct fixture f;
	struct err e = {0};

	fixture_server(&f, tls, hang_once, NULL);
	set_trust(&f.options.access, TRUST_PEM);
	fixture_kube(&f);
	p = kube_lanes_new(f.kube, 4, &e);
	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(lanes_call(p, &q, &reply).code, ERR_TIMEOUT);
	q.timeout_ms = PATIENT_MS;
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(lanes_call(p, &q, &reply).code, ERR_NONE);
	ck_assert_uint_eq(f.server.accepted, 2);
	kube_lanes_free(p);
	fixture_done(&f);
	SSL_CTX_free(tls);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/kube_tls");
	TCase *t = tcase_create("tls");

	tcase_add_unchecked_fixture(t, mint_all, drop_all);
	tcase_add_loop_test(t, test_tls, 0,
			    sizeof(meetings) / sizeof(meetings[0]));
	tcase_add_test(t, test_handshake_hangs);
	tcase_add_test(t, test_pool);
	suite_add_tcase(s, t);
	return suite_run(s);
}
