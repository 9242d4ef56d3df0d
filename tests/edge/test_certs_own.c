/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/certs/certs_own.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "core/base/limits.h"
#include "suite.h"

#define HOUR_MS ((int64_t)3600000)
#define NOW ((int64_t)1790000000000)	/* 2026-09-21T14:13:20Z */

static struct certs_own ca, other, leaf;
static const struct certs_names names = {
	.dns = {"holder.ns.svc", "holder.ns.svc.cluster.local"}, .dns_n = 2};

static void
setup(void)
{
	struct err e = {0};

	ck_assert_msg(certs_own_ca(NOW, 40 * HOUR_MS, &ca, &e) == 0 &&
			      certs_own_ca(NOW, 10 * HOUR_MS, &other, &e) ==
				      0 &&
			      certs_own_leaf(ca.cert, ca.key, &names, NOW,
					     20 * HOUR_MS, &leaf, &e) == 0,
		      "%s", e.text);
}

static void
teardown(void)
{
	certs_own_done(&ca);
	certs_own_done(&other);
	certs_own_done(&leaf);
}

static X509 *
parse(const char *pem)
{
	BIO *in = BIO_new_mem_buf(pem, -1);
	X509 *x = PEM_read_bio_X509(in, NULL, NULL, NULL);

	BIO_free(in);
	ck_assert_ptr_nonnull(x);
	return x;
}

/* Verifies as a client that trusts these CAs does it, for this name and at that
 * time. */
static int
verify(const char *const *cas, unsigned n, const char *cert, const char *host,
       int64_t at_ms)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	X509 *x = parse(cert);
	int rc;

	for (unsigned i = 0; i < n; i++) {
		X509 *one = parse(cas[i]);

		ck_assert_int_eq(X509_STORE_add_cert(store, one), 1);
		X509_free(one);
	}
	ck_assert_int_eq(X509_STORE_CTX_init(ctx, store, x, NULL), 1);
	X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx),
				   at_ms / 1000);
	X509_VERIFY_PARAM_set1_host(X509_STORE_CTX_get0_param(ctx), host, 0);
	X509_STORE_CTX_set_default(ctx, "ssl_server");
	rc = X509_verify_cert(ctx) == 1 ? X509_V_OK
					: X509_STORE_CTX_get_error(ctx);
	X509_free(x);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	return rc;
}

/* --- what is minted ------------------------------------------------------ */

START_TEST(test_verifies)
{
	/* Of two CAs with one name, in either order, the right one is found. */
	const char *both[] = {other.cert, ca.cert}, *turned[] = {ca.cert,
								 other.cert};

	ck_assert_int_eq(verify(both, 2, leaf.cert, names.dns[0], NOW),
			 X509_V_OK);
	ck_assert_int_eq(verify(turned, 2, leaf.cert, names.dns[1], NOW),
			 X509_V_OK);
	ck_assert_int_eq(verify(turned, 1, leaf.cert, names.dns[0],
				NOW - HOUR_MS),
			 X509_V_OK);
	ck_assert_int_ne(verify(both, 1, leaf.cert, names.dns[0], NOW),
			 X509_V_OK);
	ck_assert_int_eq(verify(both, 2, leaf.cert, "holder.other.svc", NOW),
			 X509_V_ERR_HOSTNAME_MISMATCH);
	ck_assert_int_eq(verify(both, 2, leaf.cert, names.dns[0],
				NOW + 21 * HOUR_MS),
			 X509_V_ERR_CERT_HAS_EXPIRED);
}
END_TEST

START_TEST(test_facts)
{
	struct renewal_cert c;

	ck_assert_int_eq(ca.facts.not_before_ms, NOW - RENEWAL_BACKDATE_MS);
	ck_assert_int_eq(ca.facts.not_after_ms, NOW + 40 * HOUR_MS);
	ck_assert_int_eq(leaf.facts.not_after_ms, NOW + 20 * HOUR_MS);
	ck_assert(certs_own_is_ca(ca.cert, ca.key, &c));
	ck_assert_mem_eq(&c, &ca.facts, sizeof(c));
	ck_assert(certs_own_is_leaf(leaf.cert, leaf.key, ca.cert, &names, &c));
	ck_assert_mem_eq(&c, &leaf.facts, sizeof(c));
	ck_assert(memcmp(ca.facts.id, other.facts.id, sizeof(c.id)) != 0);
}
END_TEST

START_TEST(test_no_longer_than_its_ca)
{
	struct certs_own short_lived;
	struct err e = {0};

	ck_assert_int_eq(certs_own_leaf(other.cert, other.key, &names, NOW,
					20 * HOUR_MS, &short_lived, &e),
			 0);
	ck_assert_int_eq(short_lived.facts.not_after_ms,
			 other.facts.not_after_ms);
	certs_own_done(&short_lived);
}
END_TEST

START_TEST(test_no_signer)
{
	struct certs_own out = {.cert = (char *)1};
	struct err e = {0};
	const char *bad[][2] = {{ca.cert, other.key}, {leaf.cert, leaf.key},
				{NULL, ca.key}, {ca.cert, NULL},
				{"", ""}, {ca.key, ca.cert}};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_eq(certs_own_leaf(bad[i][0], bad[i][1], &names,
						NOW, HOUR_MS, &out, &e),
				 -1);
		ck_assert_int_eq(e.code, ERR_INPUT);
		ck_assert_ptr_eq(out.cert, (char *)1);
	}
}
END_TEST

/* --- what is read -------------------------------------------------------- */

/* A pair is refused if half of it is missing, if a byte is turned, or if its
 * halves are swapped or of two pairs. */
START_TEST(test_not_a_pair)
{
	struct certs_names more = names;
	struct renewal_cert c;
	char half[2048], turned[2048];

	more.dns[more.dns_n++] = "elsewhere.ns.svc";
	(void)snprintf(half, sizeof(half), "%.200s", ca.cert);
	(void)snprintf(turned, sizeof(turned), "%s", ca.cert);
	turned[200] = turned[200] == 'A' ? 'B' : 'A';
	ck_assert(!certs_own_is_ca(half, ca.key, &c));
	ck_assert(!certs_own_is_ca(ca.cert, other.key, &c));
	ck_assert(!certs_own_is_ca(ca.cert, NULL, &c));
	ck_assert(!certs_own_is_ca(NULL, ca.key, &c));
	ck_assert(!certs_own_is_ca("rubbish", "rubbish", &c));
	ck_assert(!certs_own_is_ca(leaf.cert, leaf.key, &c));
	ck_assert(!certs_own_is_leaf(leaf.cert, leaf.key, other.cert, &names, &c));
	ck_assert(!certs_own_is_leaf(leaf.cert, ca.key, ca.cert, &names, &c));
	ck_assert(!certs_own_is_leaf(leaf.cert, leaf.key, ca.cert, &more, &c));
	ck_assert(!certs_own_is_leaf(ca.cert, ca.key, ca.cert, &names, &c));
	ck_assert(!certs_own_is_leaf(leaf.cert, leaf.key, NULL, &names, &c));
	ck_assert(!certs_own_is_leaf(NULL, NULL, ca.cert, &names, &c));
	/* the turned one may still be a certificate, but it is another */
	if (certs_own_is_ca(turned, ca.key, &c))
		ck_assert(memcmp(c.id, ca.facts.id, sizeof(c.id)) != 0);
}
END_TEST

/* --- CAs of others ------------------------------------------------------- */

struct theirs {
	char cert[4096], key[4096];
};

static void
to_text(BIO *from, char *out, size_t cap)
{
	int n = BIO_read(from, out, (int)cap - 1);

	ck_assert_int_gt(n, 0);
	out[n] = '\0';
	BIO_free(from);
}

static void
extend(X509 *x, int nid, const char *value)
{
	X509_EXTENSION *one = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	ck_assert_int_eq(X509_add_ext(x, one, -1), 1);
	X509_EXTENSION_free(one);
}

/* Issues a certificate without a SubjectKeyIdentifier.  With nid 0 it has no
 * further extension. */
static void
issue(struct theirs *c, EVP_PKEY *key, const EVP_MD *md, int nid,
      const char *value)
{
	X509 *x = X509_new();
	BIO *cert = BIO_new(BIO_s_mem()), *k = BIO_new(BIO_s_mem());

	(void)X509_set_version(x, X509_VERSION_3);
	(void)ASN1_TIME_set(X509_getm_notBefore(x), NOW / 1000 - 3600);
	(void)ASN1_TIME_set(X509_getm_notAfter(x), NOW / 1000 + 36000);
	(void)X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN",
					 MBSTRING_ASC,
					 (const unsigned char *)"theirs", -1,
					 -1, 0);
	(void)X509_set_issuer_name(x, X509_get_subject_name(x));
	(void)X509_set_pubkey(x, key);
	extend(x, NID_basic_constraints, "critical,CA:TRUE");
	extend(x, NID_key_usage, "critical,keyCertSign");
	if (nid != 0)
		extend(x, nid, value);
	ck_assert_int_gt(X509_sign(x, key, md), 0);
	ck_assert(PEM_write_bio_X509(cert, x) &&
		  PEM_write_bio_PrivateKey(k, key, NULL, NULL, 0, NULL, NULL));
	to_text(cert, c->cert, sizeof(c->cert));
	to_text(k, c->key, sizeof(c->key));
	X509_free(x);
	EVP_PKEY_free(key);
}

/* A CA may have any key, and no identifier to point at. */
START_TEST(test_any_key)
{
	EVP_PKEY *keys[] = {EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"),
			    EVP_PKEY_Q_keygen(NULL, NULL, "ED448"),
			    EVP_RSA_gen(2048), EVP_EC_gen("P-384")};

	for (int i = 0; i < 4; i++) {
		const char *trusted[1];
		struct certs_own own;
		struct renewal_cert c;
		struct theirs t;
		struct err e = {0};

		issue(&t, keys[i], i < 2 ? NULL : EVP_sha256(), 0, NULL);
		trusted[0] = t.cert;
		ck_assert(certs_own_is_ca(t.cert, t.key, &c));
		ck_assert_msg(certs_own_leaf(t.cert, t.key, &names, NOW,
					     HOUR_MS, &own, &e) == 0,
			      "%d: %s", i, e.text);
		ck_assert_int_eq(verify(trusted, 1, own.cert, names.dns[0],
					NOW),
				 X509_V_OK);
		ck_assert(certs_own_is_leaf(own.cert, own.key, t.cert, &names, &c));
		/* nor does it matter when the certificate is looked at */
		ck_assert_int_eq(c.not_after_ms, NOW + HOUR_MS);
		certs_own_done(&own);
	}
}
END_TEST

/* What such a CA signed would not verify.  So it gets no certificate, and the
 * error names the reason. */
START_TEST(test_constraints)
{
	static const struct {
		int nid;
		const char *value, *why;
	} bad[] = {
		{NID_name_constraints, "critical,permitted;DNS:example.com",
		 "permitted subtree"},
		{NID_name_constraints, "critical,excluded;DNS:svc",
		 "excluded subtree"},
		{NID_ext_key_usage, "clientAuth", "purpose"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct certs_own out = {.cert = (char *)1};
		struct theirs t;
		struct err e = {0};

		issue(&t, EVP_EC_gen("P-256"), EVP_sha256(), bad[i].nid,
		      bad[i].value);
		ck_assert_int_eq(certs_own_leaf(t.cert, t.key, &names, NOW,
						HOUR_MS, &out, &e),
				 -1);
		ck_assert_int_eq(e.code, ERR_INPUT);
		ck_assert_msg(strstr(e.text, bad[i].why) != NULL, "%s",
			      e.text);
		ck_assert_ptr_eq(out.cert, (char *)1);
	}
}
END_TEST

/* A certificate that such a CA has issued before, with the same key, does not
 * count either. */
START_TEST(test_leaf_of_a_constrained_ca)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	struct theirs good, bad;
	struct certs_own own;
	struct renewal_cert c;
	struct err e = {0};

	EVP_PKEY_up_ref(key);
	issue(&good, key, EVP_sha256(), 0, NULL);
	issue(&bad, key, EVP_sha256(), NID_name_constraints,
	      "critical,permitted;DNS:example.com");
	ck_assert_int_eq(certs_own_leaf(good.cert, good.key, &names, NOW,
					HOUR_MS, &own, &e),
			 0);
	ck_assert(certs_own_is_leaf(own.cert, own.key, good.cert, &names, &c));
	ck_assert(!certs_own_is_leaf(own.cert, own.key, bad.cert, &names, &c));
	certs_own_done(&own);
}
END_TEST

/* --- bundles ------------------------------------------------------------- */

static struct renewal_cert at[RENEWAL_BUNDLE_MAX];
static char text[64 << 10];
static struct buf b;

static void
bundle(const char *first, const char *second, const char *third)
{
	buf_init(&b, text, sizeof(text));
	buf_puts(&b, first);
	buf_puts(&b, second);
	buf_puts(&b, third);
	ck_assert(!b.full);
}

START_TEST(test_bundle)
{
	unsigned n = 0;

	bundle(ca.cert, "# of another\n", other.cert);
	ck_assert(certs_own_bundle_read(text, at, &n));
	ck_assert_uint_eq(n, 2);
	ck_assert_mem_eq(&at[0], &ca.facts, sizeof(at[0]));
	ck_assert_mem_eq(&at[1], &other.facts, sizeof(at[1]));
	/* what the bundle of another webhook has as well stands once */
	ck_assert(certs_own_bundle_read(other.cert, at, &n));
	ck_assert_uint_eq(n, 2);
	ck_assert(certs_own_bundle_read("", at, &n));
	ck_assert(certs_own_bundle_read("rubbish", at, &n));
	ck_assert_uint_eq(n, 2);
}
END_TEST

START_TEST(test_odd_bundle)
{
	unsigned n = 0;

	bundle(ca.cert, ca.cert, "");
	ck_assert(!certs_own_bundle_read(text, at, &n));
	ck_assert_uint_eq(n, 1);
	n = 0;
	n = RENEWAL_BUNDLE_MAX;		/* no room is left */
	memset(at, 0, sizeof(at));
	for (unsigned i = 0; i < n; i++)
		at[i].not_before_ms = NOW + i;
	ck_assert(!certs_own_bundle_read(other.cert, at, &n));
	ck_assert_uint_eq(n, RENEWAL_BUNDLE_MAX);
	for (unsigned i = 0; i < n; i++)
		ck_assert_int_eq(at[i].not_before_ms, NOW + i);
}
END_TEST

/* A block that is broken between two good ones does not hide these two. */
START_TEST(test_broken_block)
{
	static const char *const broken[] = {
		"-----BEGIN CERTIFICATE-----\nAAAA\n"
		"-----END CERTIFICATE-----\n",
		"-----BEGIN CERTIFICATE-----\n%%%%\n"
		"-----END CERTIFICATE-----\n",
		"-----BEGIN CERTIFICATE-----\nAAAA\n",
		"-----BEGIN CERTIFICATE-----\n",
		"-----BEGIN CERTIFICATE-----",
	};
	char picked[4096];
	struct buf one;

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		unsigned n = 0;

		bundle(ca.cert, broken[i], i < 4 ? other.cert : "");
		ck_assert(!certs_own_bundle_read(text, at, &n));
		ck_assert_uint_eq(n, i < 4 ? 2 : 1);
		ck_assert_mem_eq(&at[0], &ca.facts, sizeof(at[0]));
		if (i == 4)
			continue;
		ck_assert_mem_eq(&at[1], &other.facts, sizeof(at[1]));
		buf_init(&one, picked, sizeof(picked));
		ck_assert(certs_own_bundle_pick(text, &other.facts, &one));
		ck_assert_str_eq(picked, other.cert);
	}
	/* a block that the API server does not read does not count */
	ca.cert[strlen(ca.cert) - 1] = '\0';
	bundle(ca.cert, other.cert, leaf.cert);
	at[0] = (struct renewal_cert){0};
	ck_assert(!certs_own_bundle_read(text, at, &(unsigned){0}));
	ck_assert_mem_eq(&at[0], &leaf.facts, sizeof(at[0]));
}
END_TEST

/* Of more CAs than are kept, the youngest stay, wherever they stand. */
START_TEST(test_long_bundle)
{
	int order = _i == 0 ? 1 : -1;
	struct err e = {0};
	unsigned n = 0;

	buf_init(&b, text, sizeof(text));
	for (int i = 0; i < RENEWAL_BUNDLE_MAX + 4; i++) {
		struct certs_own one;

		ck_assert_int_eq(certs_own_ca(NOW + order * i * HOUR_MS,
					      HOUR_MS, &one, &e),
				 0);
		buf_puts(&b, one.cert);
		certs_own_done(&one);
	}
	ck_assert(!certs_own_bundle_read(text, at, &n));
	ck_assert_uint_eq(n, RENEWAL_BUNDLE_MAX);
	for (unsigned i = 0; i < n; i++)
		ck_assert_int_ge(at[i].not_before_ms + HOUR_MS,
				 _i == 0 ? NOW + 4 * HOUR_MS
					 : NOW - (RENEWAL_BUNDLE_MAX - 1) *
							 HOUR_MS);
}
END_TEST

START_TEST(test_pick)
{
	char out[8192];
	struct buf picked;

	bundle(ca.cert, leaf.cert, other.cert);
	buf_init(&picked, out, sizeof(out));
	ck_assert(certs_own_bundle_pick(text, &other.facts, &picked));
	ck_assert_str_eq(out, other.cert);
	ck_assert(certs_own_bundle_pick(text, &ca.facts, &picked));
	ck_assert_uint_eq(picked.len, strlen(ca.cert) + strlen(other.cert));
	ck_assert(!certs_own_bundle_pick(other.cert, &ca.facts, &picked));
	ck_assert_uint_eq(picked.len, strlen(ca.cert) + strlen(other.cert));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/certs_own");
	TCase *tc = tcase_create("own");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_verifies);
	tcase_add_test(tc, test_facts);
	tcase_add_test(tc, test_no_longer_than_its_ca);
	tcase_add_test(tc, test_no_signer);
	tcase_add_test(tc, test_not_a_pair);
	tcase_add_test(tc, test_any_key);
	tcase_add_test(tc, test_constraints);
	tcase_add_test(tc, test_leaf_of_a_constrained_ca);
	tcase_add_test(tc, test_bundle);
	tcase_add_test(tc, test_odd_bundle);
	tcase_add_test(tc, test_broken_block);
	tcase_add_loop_test(tc, test_long_bundle, 0, 2);
	tcase_add_test(tc, test_pick);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
