/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/certs_own.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "core/limits.h"

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

/* As a client does it that trusts these CAs, for this name, at that time. */
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
	/* CAs of one name, in either order: the right one is found. */
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
	ck_assert(certs_is_ca(ca.cert, ca.key, &c));
	ck_assert_mem_eq(&c, &ca.facts, sizeof(c));
	ck_assert(certs_is_leaf(leaf.cert, leaf.key, ca.cert, &names, &c));
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

/* Half of it, with a byte turned, of another, swapped: none of it is taken. */
START_TEST(test_not_a_pair)
{
	struct certs_names more = names;
	struct renewal_cert c;
	char half[2048], turned[2048];

	more.dns[more.dns_n++] = "elsewhere.ns.svc";
	(void)snprintf(half, sizeof(half), "%.200s", ca.cert);
	(void)snprintf(turned, sizeof(turned), "%s", ca.cert);
	turned[200] = turned[200] == 'A' ? 'B' : 'A';
	ck_assert(!certs_is_ca(half, ca.key, &c));
	ck_assert(!certs_is_ca(ca.cert, other.key, &c));
	ck_assert(!certs_is_ca(ca.cert, NULL, &c));
	ck_assert(!certs_is_ca(NULL, ca.key, &c));
	ck_assert(!certs_is_ca("rubbish", "rubbish", &c));
	ck_assert(!certs_is_ca(leaf.cert, leaf.key, &c));
	ck_assert(!certs_is_leaf(leaf.cert, leaf.key, other.cert, &names, &c));
	ck_assert(!certs_is_leaf(leaf.cert, ca.key, ca.cert, &names, &c));
	ck_assert(!certs_is_leaf(leaf.cert, leaf.key, ca.cert, &more, &c));
	ck_assert(!certs_is_leaf(ca.cert, ca.key, ca.cert, &names, &c));
	ck_assert(!certs_is_leaf(leaf.cert, leaf.key, NULL, &names, &c));
	ck_assert(!certs_is_leaf(NULL, NULL, ca.cert, &names, &c));
	/* turned: still a certificate perhaps, but then another */
	if (certs_is_ca(turned, ca.key, &c))
		ck_assert(memcmp(c.id, ca.facts.id, sizeof(c.id)) != 0);
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
	ck_assert(certs_bundle_read(text, at, &n));
	ck_assert_uint_eq(n, 2);
	ck_assert_mem_eq(&at[0], &ca.facts, sizeof(at[0]));
	ck_assert_mem_eq(&at[1], &other.facts, sizeof(at[1]));
	/* what another webhook's has as well stands once */
	ck_assert(certs_bundle_read(other.cert, at, &n));
	ck_assert_uint_eq(n, 2);
	ck_assert(certs_bundle_read("", at, &n));
	ck_assert(certs_bundle_read("rubbish", at, &n));
	ck_assert_uint_eq(n, 2);
}
END_TEST

START_TEST(test_odd_bundle)
{
	unsigned n = 0;

	bundle(ca.cert, ca.cert, "");
	ck_assert(!certs_bundle_read(text, at, &n));
	ck_assert_uint_eq(n, 1);
	n = 0;
	bundle(ca.cert, "-----BEGIN CERTIFICATE-----\nAAAA\n"
			"-----END CERTIFICATE-----\n", other.cert);
	ck_assert(!certs_bundle_read(text, at, &n));
	ck_assert_uint_eq(n, 1);
	n = RENEWAL_BUNDLE_MAX;		/* and no room */
	memset(at, 0, sizeof(at));
	ck_assert(!certs_bundle_read(other.cert, at, &n));
	ck_assert_uint_eq(n, RENEWAL_BUNDLE_MAX);
}
END_TEST

/* More than are kept, of which the first are read. */
START_TEST(test_long_bundle)
{
	struct err e = {0};
	unsigned n = 0;

	buf_init(&b, text, sizeof(text));
	for (int i = 0; i <= RENEWAL_BUNDLE_MAX; i++) {
		struct certs_own one;

		ck_assert_int_eq(certs_own_ca(NOW, HOUR_MS, &one, &e), 0);
		buf_puts(&b, one.cert);
		certs_own_done(&one);
	}
	ck_assert(!certs_bundle_read(text, at, &n));
	ck_assert_uint_eq(n, RENEWAL_BUNDLE_MAX);
}
END_TEST

START_TEST(test_pick)
{
	char out[8192];
	struct buf picked;

	bundle(ca.cert, leaf.cert, other.cert);
	buf_init(&picked, out, sizeof(out));
	ck_assert(certs_bundle_pick(text, &other.facts, &picked));
	ck_assert_str_eq(out, other.cert);
	ck_assert(certs_bundle_pick(text, &ca.facts, &picked));
	ck_assert_uint_eq(picked.len, strlen(ca.cert) + strlen(other.cert));
	ck_assert(!certs_bundle_pick(other.cert, &ca.facts, &picked));
	ck_assert_uint_eq(picked.len, strlen(ca.cert) + strlen(other.cert));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/certs_own");
	TCase *tc = tcase_create("own");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_verifies);
	tcase_add_test(tc, test_facts);
	tcase_add_test(tc, test_no_longer_than_its_ca);
	tcase_add_test(tc, test_no_signer);
	tcase_add_test(tc, test_not_a_pair);
	tcase_add_test(tc, test_bundle);
	tcase_add_test(tc, test_odd_bundle);
	tcase_add_test(tc, test_long_bundle);
	tcase_add_test(tc, test_pick);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
