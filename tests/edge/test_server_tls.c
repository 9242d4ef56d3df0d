/* SPDX-License-Identifier: Apache-2.0 */
/* edge/server's certificates, TLS versions and addresses. */
#include "rig.h"

#include <check.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/err.h"
#include "suite.h"

static struct rig rig;

static void
setup(void)
{
	struct server_options o = rig_options();

	o.tls = true;
	rig_start(&rig, &o);
}

static void
teardown(void)
{
	server_free(rig.server);
}

static void
give_pair(long serial)
{
	struct err e = {0};
	struct pems p;

	pems_mint(&p, serial);
	ck_assert_msg(rotate(rig.server, &p, &e) == 0, "%s", e.text);
}

static long
peer_serial(const struct peer *p)
{
	X509 *x = SSL_get1_peer_certificate(p->ssl);
	long serial = ASN1_INTEGER_get(X509_get_serialNumber(x));

	X509_free(x);
	return serial;
}

START_TEST(pair_comes_later)
{
	struct peer p;
	struct answer a;

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(peer_open_tls(&p, rig.port, 0), -1);
	give_pair(7);
	ck_assert_int_eq(peer_open_tls(&p, rig.port, 0), 0);
	ck_assert_int_eq(peer_serial(&p), 7);
	ck_assert_int_eq(peer_post(&p, "/echo", "{}", 2, &a), 0);
	ck_assert_int_eq(a.status, 200);
	peer_close(&p);
}
END_TEST

START_TEST(pair_refused)
{
	struct pems good, bad;
	struct err e = {0};
	struct peer p;

	pems_mint(&good, 1);
	ck_assert_int_eq(rotate(rig.server, &good, &e), 0);
	bad = good;
	memset(bad.cert + 60, '!', 40);
	ck_assert_int_eq(rotate(rig.server, &bad, &e), -1);
	ck_assert_int_eq(e.code, ERR_TLS);
	bad = good;
	bad.key[0] = '\0';
	ck_assert_int_eq(rotate(rig.server, &bad, &e), -1);
	ck_assert_int_eq(peer_open_tls(&p, rig.port, 0), 0);
	ck_assert_int_eq(peer_serial(&p), 1);
	peer_close(&p);
}
END_TEST

/* TLS 1.2: no CBC, no SHA-1, and no exchange of keys without forward secrecy. */
static const struct {
	const char *names;
	bool rsa, accepted;
	const char *signatures;
} ciphers[] = {
	{"ECDHE-ECDSA-AES128-GCM-SHA256", false, true, NULL},
	{"ECDHE-ECDSA-AES256-GCM-SHA384", false, true, NULL},
	{"ECDHE-ECDSA-CHACHA20-POLY1305", false, true, NULL},
	{"ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0", false, false, NULL},
	{"ECDHE-ECDSA-AES256-SHA384:@SECLEVEL=0", false, false, NULL},
	{"ECDHE-RSA-AES128-GCM-SHA256", true, true, NULL},
	{"ECDHE-RSA-AES256-SHA:@SECLEVEL=0", true, false, NULL},
	{"AES128-GCM-SHA256:@SECLEVEL=0", true, false, NULL},
	{"AES256-SHA:@SECLEVEL=0", true, false, NULL},
	{"DHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0", true, false, NULL},
	{"ECDHE-RSA-AES128-GCM-SHA256", true, true, "RSA+SHA256"},
	{"ECDHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0", true, false, "RSA+SHA1"},
	{"ECDHE-ECDSA-AES128-GCM-SHA256:@SECLEVEL=0", false, false,
	 "ECDSA+SHA1"},
};

START_TEST(cipher)
{
	struct err e = {0};
	struct pems pair;
	struct answer a;
	struct peer p;
	int rc;

	if (ciphers[_i].rsa)
		pems_mint_rsa(&pair, 1);
	else
		pems_mint(&pair, 1);
	ck_assert_int_eq(rotate(rig.server, &pair, &e), 0);
	ERR_clear_error();
	rc = peer_open_ciphers(&p, rig.port, ciphers[_i].names,
			       ciphers[_i].signatures);
	ck_assert_msg((rc == 0) == ciphers[_i].accepted, "%s",
		      ciphers[_i].names);
	if (rc != 0) {
		/* The server refuses them: OpenSSL has offered them. */
		rc = ERR_GET_REASON(ERR_peek_error());
		ck_assert(rc == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE ||
			  rc == SSL_R_UNEXPECTED_EOF_WHILE_READING);
		return;
	}
	ck_assert_int_eq(peer_post(&p, "/echo", "{}", 2, &a), 0);
	ck_assert_int_eq(a.status, 200);
	peer_close(&p);
}
END_TEST

static const struct {
	const char *name;
	int version;
	bool accepted;
} versions[] = {
	{"1.0", TLS1_VERSION, false},
	{"1.1", TLS1_1_VERSION, false},
	{"1.2", TLS1_2_VERSION, true},
	{"1.3", TLS1_3_VERSION, true},
};

START_TEST(version)
{
	struct peer p;
	struct answer a;
	int rc;

	give_pair(1);
	ERR_clear_error();
	rc = peer_open_tls(&p, rig.port, versions[_i].version);
	ck_assert_msg((rc == 0) == versions[_i].accepted, "TLS %s",
		      versions[_i].name);
	if (rc != 0) {
		/* The server refuses the version: OpenSSL would have offered
		 * it. */
		rc = ERR_GET_REASON(ERR_peek_error());
		ck_assert(rc == SSL_R_TLSV1_ALERT_PROTOCOL_VERSION ||
			  rc == SSL_R_UNEXPECTED_EOF_WHILE_READING);
		return;
	}
	ck_assert_int_eq(SSL_version(p.ssl), versions[_i].version);
	ck_assert_int_eq(peer_post(&p, "/echo", "{}", 2, &a), 0);
	ck_assert_int_eq(a.status, 200);
	peer_close(&p);
}
END_TEST

/* --- sessions that are resumed ---------------------------------------------- */

static const int resumable[] = {TLS1_2_VERSION, TLS1_3_VERSION};

/* Opens a connection that offers the session (NULL: none), has it answered, and
 * returns the session that it ended with. */
static SSL_SESSION *
served_by(SSL_SESSION *offered, int tls, bool reused, long serial)
{
	SSL_SESSION *session;
	struct peer p;
	struct answer a;

	ck_assert_int_eq(peer_resume_tls(&p, rig.port, tls, offered), 0);
	ck_assert_int_eq(peer_post(&p, "/echo", "{}", 2, &a), 0);
	ck_assert_int_eq(a.status, 200);
	ck_assert_int_eq(SSL_session_reused(p.ssl), reused);
	/* It is that of the certificate with which the session began. */
	ck_assert_int_eq(peer_serial(&p), serial);
	session = peer_session(&p);
	peer_close(&p);
	return session;
}

START_TEST(session_resumed)
{
	int tls = resumable[_i];
	SSL_SESSION *first, *second;

	give_pair(1);
	first = served_by(NULL, tls, false, 1);
	for (int i = 0; i < 3; i++)
		SSL_SESSION_free(served_by(first, tls, true, 1));
	/* A ticket is as old as its pair at most. */
	give_pair(2);
	second = served_by(first, tls, false, 2);
	SSL_SESSION_free(served_by(second, tls, true, 2));
	SSL_SESSION_free(first);
	SSL_SESSION_free(second);
}
END_TEST

/* --- rotation under load -------------------------------------------------- */

#define SWAPS 40

static atomic_bool over;
static _Atomic unsigned served, failures;
static _Atomic unsigned char seen[SWAPS + 1];

static void *
load(void *arg)
{
	bool keep = arg != NULL;
	char body[2800];
	struct peer p = {.fd = -1};
	struct answer a;

	memset(body, ' ', sizeof(body));
	while (!over) {
		bool ok = p.fd >= 0 || peer_open_tls(&p, rig.port, 0) == 0;

		if (ok)
			seen[peer_serial(&p)] = 1;
		ok = ok &&
		     peer_post(&p, "/echo", body, sizeof(body), &a) == 0 &&
		     a.status == 200;
		served += ok;
		failures += !ok;
		if (!keep || !ok)
			peer_close(&p);
	}
	peer_close(&p);
	return NULL;
}

START_TEST(rotation_under_load)
{
	pthread_t t[4];
	unsigned sum = 0;
	struct peer old;
	struct answer a;

	give_pair(0);
	ck_assert_int_eq(peer_open_tls(&old, rig.port, 0), 0);
	for (size_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, load, i % 2 ? &rig : NULL);
	for (int i = 1; i <= SWAPS; i++) {
		give_pair(i);
		for (int w = 0; w < 10000 && !seen[i]; w++)
			poll(NULL, 0, 1);
	}
	over = true;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (int i = 1; i <= SWAPS; i++)
		sum += seen[i];
	ck_assert_uint_eq(failures, 0);
	ck_assert_uint_eq(sum, SWAPS);
	ck_assert_uint_gt(served, SWAPS);
	/* A connection keeps the pair that it began with. */
	ck_assert_int_eq(peer_post(&old, "/echo", "{}", 2, &a), 0);
	ck_assert_int_eq(a.status, 200);
	ck_assert_int_eq(peer_serial(&old), 0);
	peer_close(&old);
}
END_TEST

/* --- addresses ------------------------------------------------------------ */

static const struct {
	const char *text;
	bool good;
} addresses[] = {
	{":0", true},
	{"127.0.0.1:0", true},
	{"[127.0.0.1]:0", true},
	{"localhost:0", true},
	{"", false},
	{"9443", false},
	{":", false},
	{"127.0.0.1:", false},
	{":65536", false},
	{":-1", false},
	{":http", false},
	{"::1:0", false},
	{"[::1]", false},
	{"256.0.0.1:0", false},
	{":000000", false},
};

START_TEST(address)
{
	struct server_options o = rig_options();
	const char *text = addresses[_i].text;
	struct err e = {0};
	struct server *s;
	struct peer p;

	o.address = text;
	s = server_new(&o, &e);
	ck_assert_msg((s != NULL) == addresses[_i].good, "%s: %s", text,
		      e.text);
	if (s == NULL) {
		ck_assert_msg(strstr(e.text, text) != NULL, "%s", e.text);
		return;
	}
	ck_assert_int_eq(peer_open(&p, server_port(s)), 0);
	peer_close(&p);
	server_free(s);
}
END_TEST

START_TEST(dual_stack)
{
	struct server_options o = rig_options();
	struct sockaddr_in6 at = {.sin6_family = AF_INET6,
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	bool has_ipv6 =
		fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0;

	close(fd);
	if (!has_ipv6)
		return;
	o.address = ":0";
	rig_start(&rig, &o);
	at.sin6_port = htons(rig.port);
	fd = socket(AF_INET6, SOCK_STREAM, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	close(fd);
	server_free(rig.server);
}
END_TEST

START_TEST(port_in_use)
{
	struct server_options o = rig_options();
	struct err e = {0};
	char text[32];

	rig_start(&rig, &o);
	(void)snprintf(text, sizeof(text), "127.0.0.1:%u", rig.port);
	o.address = text;
	ck_assert_ptr_null(server_new(&o, &e));
	ck_assert_int_eq(e.code, ERR_SYSTEM);
	ck_assert_msg(strstr(e.text, text) && strstr(e.text, "in use"), "%s",
		      e.text);
	server_free(rig.server);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/server_tls");
	TCase *t = tcase_create("tls"), *own = tcase_create("addresses");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, pair_comes_later);
	tcase_add_test(t, pair_refused);
	tcase_add_loop_test(t, cipher, 0, sizeof(ciphers) / sizeof(ciphers[0]));
	tcase_add_loop_test(t, version, 0,
			    sizeof(versions) / sizeof(versions[0]));
	tcase_add_loop_test(t, session_resumed, 0,
			    sizeof(resumable) / sizeof(resumable[0]));
	tcase_add_test(t, rotation_under_load);
	suite_add_tcase(s, t);
	tcase_add_loop_test(own, address, 0,
			    sizeof(addresses) / sizeof(addresses[0]));
	tcase_add_test(own, dual_stack);
	tcase_add_test(own, port_in_use);
	suite_add_tcase(s, own);
	return suite_run(s);
}
