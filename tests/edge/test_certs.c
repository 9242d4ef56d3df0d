/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/certs/certs.h"

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "edge/certs/certs_own.h"
#include "edge/file.h"
#include "suite.h"

#define DAY_MS ((int64_t)86400000)
#define HOUR_MS ((int64_t)3600000)
#define NOW ((int64_t)1790000000000)	/* 2026-09-21T14:13:20Z */

static char root[256];

static void
setup(void)
{
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(root, sizeof(root), "%s/certs.XXXXXX",
		       tmp ? tmp : P_tmpdir);
	ck_assert(mkdtemp(root) != NULL);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void
teardown(void)
{
	(void)nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Returns the path of a file below root.  A few such paths are valid at a
 * time. */
static const char *
at(const char *name)
{
	static char paths[8][512];
	static int next;
	char *p = paths[next++ % 8];

	(void)snprintf(p, sizeof(paths[0]), "%s/%s", root, name);
	return p;
}

static void
write_file(const char *name, const char *bytes, size_t n)
{
	FILE *f = fopen(at(name), "w");

	ck_assert(f != NULL);
	ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
	ck_assert_int_eq(fclose(f), 0);
}

static char *
read_text(const char *name)
{
	struct err e = {0};
	char *bytes = NULL;
	size_t n = 0;

	ck_assert_msg(file_read(at(name), 1 << 20, &bytes, &n, &e) == 0, "%s",
		      e.text);
	return bytes;
}

/* Writes the files a and b, one after the other, into `out`. */
static void
join(const char *a, const char *b, const char *out)
{
	char *x = read_text(a), *y = read_text(b), both[8192];
	int n = snprintf(both, sizeof(both), "%s%s", x, y);

	write_file(out, both, (size_t)n);
	free(x);
	free(y);
}

static const struct certs_names localhost = {
	.dns = {"localhost", "*.example.com"},
	.dns_n = 2,
	.ip = {"127.0.0.1", "::1"},
	.ip_n = 2,
};

static void
mint(const char *dir, bool new_ca)
{
	struct err e = {0};

	ck_assert_msg(certs_mint(at(dir), &localhost, 30, new_ca, NOW, &e) == 0,
		      "%s", e.text);
}

static int
load(const char *crt, const char *key, int64_t now_ms, struct err *e)
{
	struct certs_pair p;
	int rc = certs_load(at(crt), at(key), now_ms, &p, e);

	if (rc == 0)
		certs_pair_done(&p);
	return rc;
}

static void
assert_refused(const char *crt, const char *key, const char *said)
{
	struct err e = {0};

	ck_assert_msg(load(crt, key, NOW, &e) == -1, "%s: accepted", said);
	ck_assert_msg(strstr(e.text, said) != NULL, "got %s\nwant %s", e.text,
		      said);
}

static unsigned
mode_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(lstat(at(name), &st), 0);
	return st.st_mode & 07777;
}

/* --- mint ------------------------------------------------------------- */

START_TEST(test_mint_and_load)
{
	struct certs_pair p;
	struct err e = {0};

	mint("d", false);
	ck_assert_msg(certs_load(at("d/tls.crt"), at("d/tls.key"), NOW, &p,
				 &e) == 0,
		      "%s", e.text);
	ck_assert_int_eq(p.not_before_ms, NOW - HOUR_MS);
	ck_assert_int_eq(p.not_after_ms, NOW + 30 * DAY_MS);
	ck_assert_str_eq(p.names, "DNS:localhost, DNS:*.example.com, "
				  "IP:127.0.0.1, IP:::1");
	ck_assert_uint_eq(strlen(p.serial), 32);
	ck_assert_uint_eq(strlen(p.cert_pem), p.cert_bytes);
	ck_assert_uint_eq(strlen(p.key_pem), p.key_bytes);
	ck_assert(strstr(p.key_pem, "-----BEGIN PRIVATE KEY-----") != NULL);
	certs_pair_done(&p);
	ck_assert(p.key_pem == NULL);
	certs_pair_done(&p);
}
END_TEST

/* A pair says who has signed it, and a bundle whether it has that CA. */
START_TEST(test_authority)
{
	struct certs_pair p;
	struct err e = {0};
	char *ca, *other;

	mint("d", false);
	mint("other", false);
	ca = read_text("d/ca.crt");
	other = read_text("other/ca.crt");
	ck_assert_int_eq(certs_load(at("d/tls.crt"), at("d/tls.key"), NOW, &p,
				    &e),
			 0);
	ck_assert_uint_ne(p.authority, 0);
	ck_assert(certs_own_signed_by(ca, p.authority));
	ck_assert(!certs_own_signed_by(other, p.authority));
	ck_assert(!certs_own_signed_by("", p.authority));
	free(ca);
	free(other);
	certs_pair_done(&p);
}
END_TEST

START_TEST(test_modes)
{
	static const mode_t masks[] = {0, 022, 0777};

	for (size_t i = 0; i < 3; i++) {
		mode_t before = umask(masks[i]);
		char dir[8] = {(char)('a' + i), '\0'}, name[32];

		mint(dir, false);
		(void)umask(before);
		ck_assert_uint_eq(mode_of(dir), 0700);
		(void)snprintf(name, sizeof(name), "%s/ca.key", dir);
		ck_assert_uint_eq(mode_of(name), 0600);
		(void)snprintf(name, sizeof(name), "%s/tls.key", dir);
		ck_assert_uint_eq(mode_of(name), 0600);
		(void)snprintf(name, sizeof(name), "%s/ca.crt", dir);
		ck_assert_uint_eq(mode_of(name), 0644);
		(void)snprintf(name, sizeof(name), "%s/tls.crt", dir);
		ck_assert_uint_eq(mode_of(name), 0644);
	}
}
END_TEST

static int seen;

static int
count(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)path, (void)st, (void)ftw;
	seen += type == FTW_F;
	return 0;
}

/* Old files are replaced and not written into, whatever their mode and even if
 * they are links.  Nothing is left beside them. */
START_TEST(test_replaced)
{
	mint("d", false);
	ck_assert_int_eq(chmod(at("d/tls.key"), 0666), 0);
	write_file("elsewhere", "x", 1);
	ck_assert_int_eq(unlink(at("d/tls.crt")), 0);
	ck_assert_int_eq(symlink(at("elsewhere"), at("d/tls.crt")), 0);
	mint("d", false);
	ck_assert_uint_eq(mode_of("d/tls.key"), 0600);
	char *x = read_text("elsewhere");
	ck_assert_str_eq(x, "x");
	free(x);
	seen = 0;
	ck_assert_int_eq(nftw(at("d"), count, 8, FTW_PHYS), 0);
	ck_assert_int_eq(seen, 4);
}
END_TEST

START_TEST(test_ca_is_kept)
{
	char *ca, *again, *leaf, *other;
	struct err e = {0};

	mint("d", false);
	ca = read_text("d/ca.crt");
	leaf = read_text("d/tls.crt");
	mint("d", false);
	again = read_text("d/ca.crt");
	other = read_text("d/tls.crt");
	ck_assert_str_eq(ca, again);
	ck_assert_str_ne(leaf, other);
	free(again);
	free(other);
	/* a leaf and then its issuer are a good chain */
	join("d/tls.crt", "d/ca.crt", "chain");
	ck_assert_msg(load("chain", "d/tls.key", NOW, &e) == 0, "%s", e.text);
	mint("d", true);
	again = read_text("d/ca.crt");
	ck_assert_str_ne(ca, again);
	free(again);
	free(ca);
	free(leaf);
}
END_TEST

static int
mint_error(const char *dir, int days, bool new_ca, int64_t now_ms,
	   struct err *e)
{
	return certs_mint(at(dir), &localhost, days, new_ca, now_ms, e);
}

START_TEST(test_ca_of_no_use)
{
	struct err e = {0};

	mint("d", false);
	mint("o", false);
	/* The CA lasts 300 days. */
	ck_assert_int_eq(mint_error("d", 300, false, NOW, &e), 0);
	ck_assert_int_eq(mint_error("d", 301, false, NOW, &e), -1);
	ck_assert(strstr(e.text, "ca.crt ends at 2027-07-18T") != NULL);
	ck_assert(strstr(e.text, "--new-ca") != NULL);
	ck_assert_int_eq(e.code, ERR_INPUT);
	ck_assert_int_eq(rename(at("o/ca.key"), at("d/ca.key")), 0);
	ck_assert_int_eq(mint_error("d", 1, false, NOW, &e), -1);
	ck_assert(strstr(e.text, "ca.key is not the key of ca.crt") != NULL);
	ck_assert_int_eq(mint_error("o", 1, false, NOW, &e), -1);
	ck_assert(strstr(e.text, "ca.crt without ca.key") != NULL);
	ck_assert_int_eq(mint_error("o", 1, true, NOW, &e), 0);
	ck_assert_int_eq(unlink(at("o/ca.crt")), 0);
	ck_assert_int_eq(mint_error("o", 1, false, NOW, &e), -1);
	ck_assert(strstr(e.text, "ca.key without ca.crt") != NULL);
	/* A serving certificate stands where the CA should be. */
	mint("p", false);
	ck_assert_int_eq(rename(at("p/tls.crt"), at("p/ca.crt")), 0);
	ck_assert_int_eq(rename(at("p/tls.key"), at("p/ca.key")), 0);
	ck_assert_int_eq(mint_error("p", 1, false, NOW, &e), -1);
	ck_assert(strstr(e.text, "ca.crt is no CA") != NULL);
	write_file("p/ca.crt", "", 0);
	ck_assert_int_eq(mint_error("p", 1, false, NOW, &e), -1);
	ck_assert(strstr(e.text, "no certificate in it") != NULL);
}
END_TEST

static const struct {
	const char *name, *dns, *ip, *error;
} bad_names[] = {
	{"none", NULL, NULL, "no name, expected a DNS name or IP address"},
	{"empty", "", NULL, "\"\", expected a DNS name"},
	{"comma", "a,IP:1.2.3.4", NULL, "\"a,IP:1.2.3.4\", expected a DNS name"},
	{"space", "a b", NULL, "\"a b\", expected a DNS name"},
	{"two dots", "a..b", NULL, "\"a..b\", expected a DNS name"},
	{"dash first", "-a", NULL, "\"-a\", expected a DNS name"},
	{"star within", "a.*.b", NULL, "\"a.*.b\", expected a DNS name"},
	{"no address", NULL, "1.2.3", "\"1.2.3\", expected an IP address"},
	{"a name for an address", NULL, "localhost",
	 "\"localhost\", expected an IP address"},
};

START_TEST(test_bad_names)
{
	struct certs_names n = {.dns_n = 0};
	struct err e = {0};

	if (bad_names[_i].dns)
		n.dns[n.dns_n++] = bad_names[_i].dns;
	if (bad_names[_i].ip)
		n.ip[n.ip_n++] = bad_names[_i].ip;
	ck_assert_int_eq(certs_mint(at("d"), &n, 1, false, NOW, &e), -1);
	ck_assert_str_eq(e.text, bad_names[_i].error);
	ck_assert_int_eq(e.code, ERR_INPUT);
	ck_assert_int_eq(access(at("d"), F_OK), -1);
}
END_TEST

START_TEST(test_mint_limits)
{
	struct certs_names n = {.dns_n = 1};
	struct err e = {0};
	char longest[254];

	ck_assert_int_eq(mint_error("d", 0, false, NOW, &e), -1);
	ck_assert_str_eq(e.text, "0 days, expected 1 to 3650");
	ck_assert_int_eq(mint_error("d", 3651, false, NOW, &e), -1);
	ck_assert_int_eq(mint_error("d", 3650, false, NOW, &e), 0);
	ck_assert_int_eq(load("d/tls.crt", "d/tls.key", NOW, &e), 0);
	ck_assert_int_eq(mint_error("no/such/folder", 1, false, NOW, &e), -1);
	ck_assert_int_eq(e.code, ERR_SYSTEM);
	/* A name that is too long for a common name can still be served. */
	memset(longest, 'a', 253);
	longest[253] = '\0';
	for (size_t i = 50; i < 253; i += 50)
		longest[i] = '.';
	n.dns[0] = longest;
	ck_assert_msg(certs_mint(at("l"), &n, 1, false, NOW, &e) == 0, "%s",
		      e.text);
	ck_assert_int_eq(load("l/tls.crt", "l/tls.key", NOW, &e), 0);
}
END_TEST

/* --- load ------------------------------------------------------------- */

START_TEST(test_wrong_key)
{
	struct err e = {0};

	mint("a", false);
	mint("b", false);
	assert_refused("a/tls.crt", "b/tls.key",
		       "b/tls.key: not the key of the certificate");
	ck_assert_int_eq(load("a/tls.crt", "b/tls.key", NOW, &e), -1);
	ck_assert_int_eq(e.code, ERR_INPUT);
}
END_TEST

START_TEST(test_times)
{
	struct err e = {0};

	mint("d", false);
	ck_assert_int_eq(load("d/tls.crt", "d/tls.key", NOW - HOUR_MS, &e), 0);
	ck_assert_int_eq(load("d/tls.crt", "d/tls.key", NOW - HOUR_MS - 1, &e),
			 -1);
	ck_assert(strstr(e.text, "is not valid before 2026-09-21T13:13:20Z") !=
		  NULL);
	ck_assert_int_eq(e.code, ERR_TLS);
	ck_assert_int_eq(load("d/tls.crt", "d/tls.key", NOW + 30 * DAY_MS, &e),
			 0);
	ck_assert_int_eq(load("d/tls.crt", "d/tls.key", NOW + 30 * DAY_MS + 1,
			      &e),
			 -1);
	ck_assert(strstr(e.text, "has expired at 2026-10-21T14:13:20Z") !=
		  NULL);
	ck_assert_int_eq(e.code, ERR_TLS);
}
END_TEST

START_TEST(test_order)
{
	mint("a", false);
	mint("b", false);
	join("a/ca.crt", "a/tls.crt", "turned");
	assert_refused("turned", "a/tls.key",
		       "the key belongs to certificate 2, expected that one "
		       "first");
	join("a/tls.crt", "b/ca.crt", "foreign");
	assert_refused("foreign", "a/tls.key",
		       "certificate 1 is not signed by certificate 2");
}
END_TEST

/* Our own CA has neither the key usage nor the names of a serving
 * certificate. */
START_TEST(test_our_ca_as_leaf)
{
	mint("d", false);
	assert_refused("d/ca.crt", "d/ca.key",
		       "key usage without digitalSignature");
}
END_TEST

START_TEST(test_no_pem)
{
	char *crt, *key;

	mint("d", false);
	crt = read_text("d/tls.crt");
	key = read_text("d/tls.key");
	write_file("empty", "", 0);
	assert_refused("empty", "d/tls.key", "empty: no certificate in it");
	assert_refused("d/tls.crt", "empty", "empty: no private key in it");
	write_file("half.crt", crt, strlen(crt) / 2);
	assert_refused("half.crt", "d/tls.key",
		       "certificate 1 is cut or damaged");
	write_file("half.key", key, strlen(key) / 2);
	assert_refused("d/tls.crt", "half.key", "no private key in it");
	write_file("text", "hello\n", 6);
	assert_refused("text", "d/tls.key", "no certificate in it");
	assert_refused("d/tls.key", "d/tls.key", "no certificate in it");
	join("d/tls.crt", "half.crt", "second");
	assert_refused("second", "d/tls.key",
		       "certificate 2 is cut or damaged");
	crt[strlen(crt) / 2] = '!';
	write_file("damaged", crt, strlen(crt));
	assert_refused("damaged", "d/tls.key",
		       "certificate 1 is cut or damaged");
	free(crt);
	free(key);
}
END_TEST

START_TEST(test_unreadable)
{
	struct err e = {0};

	mint("d", false);
	ck_assert_int_eq(load("d/none", "d/tls.key", NOW, &e), -1);
	ck_assert_int_eq(e.code, ERR_SYSTEM);
	ck_assert(strstr(e.text, "d/none: No such file") != NULL);
	ck_assert_int_eq(load("d/tls.crt", "d/none", NOW, &e), -1);
	ck_assert_int_eq(e.code, ERR_SYSTEM);
	ck_assert_int_eq(load("d", "d/tls.key", NOW, &e), -1);
	ck_assert_int_eq(e.code, ERR_SYSTEM);
	if (geteuid() == 0)
		return;	/* root may read everything */
	ck_assert_int_eq(chmod(at("d/tls.key"), 0), 0);
	ck_assert_int_eq(load("d/tls.crt", "d/tls.key", NOW, &e), -1);
	ck_assert_int_eq(e.code, ERR_SYSTEM);
}
END_TEST

START_TEST(test_bounds)
{
	char *big = malloc((1 << 20) + 1);
	struct err e = {0};

	ck_assert(big != NULL);
	memset(big, 'x', (1 << 20) + 1);
	write_file("big", big, (1 << 20) + 1);
	free(big);
	mint("d", false);
	ck_assert_int_eq(load("big", "d/tls.key", NOW, &e), -1);
	ck_assert_int_eq(e.code, ERR_LIMIT);
	join("d/ca.crt", "d/ca.crt", "two");
	join("two", "two", "four");
	join("four", "four", "eight");
	join("d/tls.crt", "eight", "nine");
	join("nine", "d/ca.crt", "ten");
	join("ten", "d/ca.crt", "eleven");
	ck_assert_msg(load("ten", "d/tls.key", NOW, &e) == 0, "%s", e.text);
	assert_refused("eleven", "d/tls.key", "more than 10 certificates");
}
END_TEST

/* --- pairs that certs_mint does not make ------------------------------ */

static const struct odd {
	const char *name;
	const char *curve;	/* NULL: an RSA key of rsa_bits; or "ED25519" */
	int rsa_bits;
	const char *san, *eku, *usage, *passphrase;
	const char *said;	/* NULL: the pair is good */
	const char *constraints;	/* NULL: no basicConstraints */
} odd[] = {
	{"plain", "P-256", 0, "DNS:a", NULL, NULL, NULL, NULL, NULL},
	{"P-384", "P-384", 0, "DNS:a", "serverAuth", NULL, NULL, NULL, NULL},
	{"Ed25519", "ED25519", 0, "IP:1.2.3.4", NULL, NULL, NULL, NULL, NULL},
	{"RSA 2048", NULL, 2048, "DNS:a", "clientAuth,serverAuth",
	 "digitalSignature,keyEncipherment", NULL, NULL, NULL},
	{"any use", "P-256", 0, "DNS:a", "anyExtendedKeyUsage", NULL, NULL,
	 NULL, NULL},
	{"no SAN", "P-256", 0, NULL, NULL, NULL, NULL,
	 "has no DNS name or IP address in subjectAltName", NULL},
	{"SAN of no use", "P-256", 0, "email:a@b", NULL, NULL, NULL,
	 "has no DNS name or IP address in subjectAltName", NULL},
	{"for clients", "P-256", 0, "DNS:a", "clientAuth", NULL, NULL,
	 "expected extended key usage serverAuth", NULL},
	{"no signature", "P-256", 0, "DNS:a", NULL, "keyAgreement", NULL,
	 "key usage without digitalSignature", NULL},
	{"RSA 1024", NULL, 1024, "DNS:a", NULL, NULL, NULL,
	 "a key of 1024 bits, expected RSA of 2048", NULL},
	{"P-224", "P-224", 0, "DNS:a", NULL, NULL, NULL,
	 "a key of 224 bits, expected RSA of 2048", NULL},
	{"passphrase", "P-256", 0, "DNS:a", NULL, NULL, "secret",
	 "the key has a passphrase, expected one without", NULL},
	{"a CA", NULL, 2048, "DNS:a", NULL, NULL, NULL, NULL,
	 "critical,CA:TRUE"},
	{"a CA for TLS", "P-256", 0, "DNS:a", NULL,
	 "digitalSignature,keyCertSign", NULL, NULL, "CA:TRUE,pathlen:0"},
	{"a CA that only signs", "P-256", 0, "DNS:a", NULL, "keyCertSign",
	 NULL, "key usage without digitalSignature", "critical,CA:TRUE"},
	{"no CA", "P-256", 0, "DNS:a", NULL, NULL, NULL, NULL,
	 "critical,CA:FALSE"},
};

static void
add(X509 *x, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;

	if (value == NULL)
		return;
	X509V3_set_ctx(&ctx, x, x, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	ck_assert(ext != NULL);
	ck_assert(X509_add_ext(x, ext, -1) == 1);
	X509_EXTENSION_free(ext);
}

static EVP_PKEY *
odd_key(const struct odd *o)
{
	if (o->curve == NULL)
		return EVP_RSA_gen((unsigned)o->rsa_bits);
	if (strcmp(o->curve, "ED25519") == 0)
		return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	return EVP_EC_gen(o->curve);
}

static void
write_odd(const struct odd *o)
{
	EVP_PKEY *key = odd_key(o);
	X509 *x = X509_new();
	FILE *f;
	bool ed = o->curve != NULL && strcmp(o->curve, "ED25519") == 0;

	ck_assert(key != NULL && x != NULL);
	X509_set_version(x, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 7);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
				   (const unsigned char *)"odd", -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(x));
	ASN1_TIME_set(X509_getm_notBefore(x), (NOW - DAY_MS) / 1000);
	ASN1_TIME_set(X509_getm_notAfter(x), (NOW + DAY_MS) / 1000);
	X509_set_pubkey(x, key);
	add(x, NID_subject_alt_name, o->san);
	add(x, NID_ext_key_usage, o->eku);
	add(x, NID_key_usage, o->usage);
	add(x, NID_basic_constraints, o->constraints);
	ck_assert(X509_sign(x, key, ed ? NULL : EVP_sha256()) > 0);
	f = fopen(at("odd.crt"), "w");
	ck_assert(f != NULL && PEM_write_X509(f, x) == 1);
	(void)fclose(f);
	f = fopen(at("odd.key"), "w");
	ck_assert(f != NULL);
	ck_assert(PEM_write_PrivateKey(
			  f, key, o->passphrase ? EVP_aes_128_cbc() : NULL,
			  (const unsigned char *)o->passphrase,
			  o->passphrase ? (int)strlen(o->passphrase) : 0, NULL,
			  NULL) == 1);
	(void)fclose(f);
	X509_free(x);
	EVP_PKEY_free(key);
}

START_TEST(test_odd)
{
	struct err e = {0};

	write_odd(&odd[_i]);
	if (odd[_i].said != NULL)
		assert_refused("odd.crt", "odd.key", odd[_i].said);
	else
		ck_assert_msg(load("odd.crt", "odd.key", NOW, &e) == 0,
			      "%s: %s", odd[_i].name, e.text);
}
END_TEST

START_TEST(test_a_leaf_that_is_a_ca)
{
	struct certs_pair p;
	struct err e = {0};
	const char *constraints = odd[_i].constraints;

	if (constraints == NULL || odd[_i].said != NULL)
		return;
	write_odd(&odd[_i]);
	ck_assert_int_eq(certs_load(at("odd.crt"), at("odd.key"), NOW, &p, &e),
			 0);
	ck_assert(p.is_ca == (strstr(constraints, "CA:TRUE") != NULL));
	certs_pair_done(&p);
}
END_TEST

/* --- inspect ---------------------------------------------------------- */

static int
inspect(const char *crt, const char *key, int64_t now_ms, char *text,
	struct err *e)
{
	struct buf out;

	buf_init(&out, text, CERTS_INSPECT_BYTES);
	return certs_inspect(at(crt), at(key), now_ms, &out, e);
}

START_TEST(test_inspect)
{
	char text[CERTS_INSPECT_BYTES];
	struct err e = {0};

	mint("d", false);
	ck_assert_int_eq(inspect("d/tls.crt", "d/tls.key", NOW, text, &e), 0);
	ck_assert(strstr(text, "subject:   CN=localhost\n") != NULL);
	ck_assert(strstr(text, "issuer:    CN=karpenter-node-holder CA\n") !=
		  NULL);
	ck_assert(strstr(text, "names:     DNS:localhost, DNS:*.example.com, "
			       "IP:127.0.0.1, IP:::1\n") != NULL);
	ck_assert(strstr(text, "valid:     2026-09-21T13:13:20Z to "
			       "2026-10-21T14:13:20Z (30 days left)\n") !=
		  NULL);
	ck_assert(strstr(text, "key:       EC, 256 bits\n") != NULL);
	ck_assert(strstr(text, "chain:     1 certificate\n") != NULL);
	ck_assert(strstr(text, "good for:  serving") != NULL);
}
END_TEST

START_TEST(test_inspect_refused)
{
	char text[CERTS_INSPECT_BYTES];
	struct err e = {0};

	mint("d", false);
	ck_assert_int_eq(inspect("d/tls.crt", "d/tls.key", NOW + 31 * DAY_MS,
				 text, &e),
			 -1);
	ck_assert(strstr(text, "(expired)\n") != NULL);
	ck_assert(strstr(text, "good for") == NULL);
	ck_assert(strstr(e.text, "has expired") != NULL);
	ck_assert_int_eq(inspect("d/tls.crt", "d/none", NOW, text, &e), -1);
	ck_assert(strstr(text, "subject:") != NULL);
	ck_assert_int_eq(inspect("d/none", "d/tls.key", NOW, text, &e), -1);
	ck_assert_str_eq(text, "");
	ck_assert_int_eq(inspect("d/ca.crt", "d/ca.key", NOW, text, &e), -1);
	ck_assert(strstr(text, "names:     none\n") != NULL);
}
END_TEST

#define LOOP(t, test, table)                                                   \
	tcase_add_loop_test(t, test, 0, sizeof(table) / sizeof((table)[0]))

int
main(void)
{
	Suite *s = suite_create("edge/certs");
	TCase *t = tcase_create("certs");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_mint_and_load);
	tcase_add_test(t, test_authority);
	tcase_add_test(t, test_modes);
	tcase_add_test(t, test_replaced);
	tcase_add_test(t, test_ca_is_kept);
	tcase_add_test(t, test_ca_of_no_use);
	LOOP(t, test_bad_names, bad_names);
	tcase_add_test(t, test_mint_limits);
	tcase_add_test(t, test_wrong_key);
	tcase_add_test(t, test_times);
	tcase_add_test(t, test_order);
	tcase_add_test(t, test_our_ca_as_leaf);
	tcase_add_test(t, test_no_pem);
	tcase_add_test(t, test_unreadable);
	tcase_add_test(t, test_bounds);
	LOOP(t, test_odd, odd);
	LOOP(t, test_a_leaf_that_is_a_ca, odd);
	tcase_add_test(t, test_inspect);
	tcase_add_test(t, test_inspect_refused);
	suite_add_tcase(s, t);
	return suite_run(s);
}
