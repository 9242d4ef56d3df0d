/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/certs.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "certs_pem.h"
#include "certs_save.h"
#include "core/limits.h"
#include "core/stamp.h"
#include "edge/file.h"

#define HOUR_MS ((int64_t)3600000)
#define DAY_MS (24 * HOUR_MS)
#define SAN_BYTES 8192
#define CN_MAX 64 /* ub-common-name of RFC 5280 */

static void
text_freep(char **s)
{
	free(*s);
}
#define AUTO_TEXT __attribute__((cleanup(text_freep))) char *

static int
openssl_failed(const char *what, struct err *e)
{
	const char *why = ERR_reason_error_string(ERR_peek_last_error());

	ERR_clear_error();
	return err_set(e, ERR_SYSTEM, "%s: %s", what, why ? why : "failed");
}

/* --- certificates ----------------------------------------------------- */

struct signer {
	X509 *cert;
	EVP_PKEY *key;
};

static void
signer_done(struct signer *s)
{
	X509_free(s->cert);
	EVP_PKEY_free(s->key);
}
#define AUTO_SIGNER __attribute__((cleanup(signer_done))) struct signer

static int
set_serial(X509 *x)
{
	BIGNUM *n = BN_new();
	int ok = n != NULL &&
		 BN_rand(n, 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
		 BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x)) != NULL;

	BN_free(n);
	return ok;
}

static int
set_subject(X509 *x, const char *cn)
{
	return X509_NAME_add_entry_by_txt(
		       X509_get_subject_name(x), "CN", MBSTRING_UTF8,
		       (const unsigned char *)cn, -1, -1, 0) == 1;
}

static int
set_times(X509 *x, int64_t from_ms, int64_t until_ms)
{
	return ASN1_TIME_set(X509_getm_notBefore(x), from_ms / 1000) != NULL &&
	       ASN1_TIME_set(X509_getm_notAfter(x), until_ms / 1000) != NULL;
}

static int
add_extension(X509 *x, X509V3_CTX *ctx, int nid, const char *value)
{
	X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, ctx, nid, value);
	int ok = ext != NULL && X509_add_ext(x, ext, -1) == 1;

	X509_EXTENSION_free(ext);
	return ok;
}

/* san NULL: a CA. */
static int
add_extensions(X509 *x, X509 *issuer, const char *san)
{
	X509V3_CTX ctx;

	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	if (!add_extension(x, &ctx, NID_subject_key_identifier, "hash"))
		return 0;
	if (san == NULL)
		return add_extension(x, &ctx, NID_basic_constraints,
				     "critical,CA:TRUE,pathlen:0") &&
		       add_extension(x, &ctx, NID_key_usage,
				     "critical,keyCertSign,cRLSign");
	return add_extension(x, &ctx, NID_authority_key_identifier, "keyid") &&
	       add_extension(x, &ctx, NID_basic_constraints,
			     "critical,CA:FALSE") &&
	       add_extension(x, &ctx, NID_key_usage,
			     "critical,digitalSignature") &&
	       add_extension(x, &ctx, NID_ext_key_usage, "serverAuth") &&
	       add_extension(x, &ctx, NID_subject_alt_name, san);
}

/* A new key with its certificate, signed by `by`, or by itself. */
static int
issue(const struct signer *by, const char *cn, const char *san, int64_t now_ms,
      int days, struct signer *out, struct err *e)
{
	AUTO_PKEY key = EVP_EC_gen("P-256");
	AUTO_X509 x = X509_new();

	if (key == NULL || x == NULL || !X509_set_version(x, X509_VERSION_3) ||
	    !set_serial(x) || !set_subject(x, cn) ||
	    !set_times(x, now_ms - HOUR_MS, now_ms + days * DAY_MS) ||
	    !X509_set_issuer_name(x,
				  X509_get_subject_name(by ? by->cert : x)) ||
	    !X509_set_pubkey(x, key) ||
	    !add_extensions(x, by ? by->cert : x, san) ||
	    !X509_sign(x, by ? by->key : key, EVP_sha256()))
		return openssl_failed("make a certificate", e);
	*out = (struct signer){.cert = x, .key = key};
	x = NULL;
	key = NULL;
	return 0;
}

/* --- names ------------------------------------------------------------ */

static bool
is_dns_label(const char *s, size_t n)
{
	static const char inner[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";

	return n > 0 && n <= 63 && strspn(s, inner) >= n && s[0] != '-' &&
	       s[n - 1] != '-';
}

static bool
is_dns_name(const char *s)
{
	if (strlen(s) > 253)
		return false;
	if (strncmp(s, "*.", 2) == 0)
		s += 2;
	for (;; s++) {
		size_t n = strcspn(s, ".");

		if (!is_dns_label(s, n))
			return false;
		s += n;
		if (*s == '\0')
			return true;
	}
}

static bool
is_ip(const char *s)
{
	unsigned char at[16];

	return inet_pton(AF_INET, s, at) == 1 ||
	       inet_pton(AF_INET6, s, at) == 1;
}

/* The names as X509V3_EXT_conf_nid reads them; checked before, since it would
 * take a comma in one for the next. */
static int
write_san(const struct certs_names *names, struct buf *out, struct err *e)
{
	if (names->dns_n + names->ip_n == 0)
		return err_set(e, ERR_INPUT,
			       "no name, expected a DNS name or IP address");
	for (size_t i = 0; i < names->dns_n; i++) {
		if (!is_dns_name(names->dns[i]))
			return err_set(e, ERR_INPUT,
				       "\"%.80s\", expected a DNS name",
				       names->dns[i]);
		buf_printf(out, "%sDNS:%s", out->len ? "," : "", names->dns[i]);
	}
	for (size_t i = 0; i < names->ip_n; i++) {
		if (!is_ip(names->ip[i]))
			return err_set(e, ERR_INPUT,
				       "\"%.80s\", expected an IP address",
				       names->ip[i]);
		buf_printf(out, "%sIP:%s", out->len ? "," : "", names->ip[i]);
	}
	return out->full ? err_set(e, ERR_LIMIT, "too many names") : 0;
}

/* --- the CA that may be there ----------------------------------------- */

static char *
path_in(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static int
read_ca_cert(const char *path, X509 **out, struct err *e)
{
	struct certs_chain chain;
	char *pem;
	size_t n;
	int rc;

	if (file_read(path, CERT_BYTES_MAX, &pem, &n, e))
		return -1;
	rc = certs_parse_chain(path, pem, n, &chain, e);
	certs_wipe(pem, n);
	if (rc)
		return -1;
	*out = chain.at[0];
	X509_up_ref(*out);
	certs_chain_done(&chain);
	return 0;
}

static int
read_ca_key(const char *path, EVP_PKEY **out, struct err *e)
{
	char *pem;
	size_t n;
	int rc;

	if (file_read(path, CERT_BYTES_MAX, &pem, &n, e))
		return -1;
	rc = certs_parse_key(path, pem, n, out, e);
	certs_wipe(pem, n);
	return rc;
}

static int
check_signer(const struct signer *s, int64_t now_ms, int days, struct err *e)
{
	char until[STAMP_BYTES];
	int64_t until_ms = certs_time_ms(X509_get0_notAfter(s->cert));

	if (X509_check_private_key(s->cert, s->key) != 1) {
		ERR_clear_error();
		return err_set(e, ERR_INPUT,
			       "ca.key is not the key of ca.crt, expected a "
			       "pair, or a new CA (--new-ca)");
	}
	if (!(X509_get_extension_flags(s->cert) & EXFLAG_CA))
		return err_set(e, ERR_INPUT,
			       "ca.crt is no CA, expected one, or a new CA "
			       "(--new-ca)");
	if (until_ms >= now_ms + days * DAY_MS)
		return 0;
	stamp_format(until_ms, until);
	return err_set(e, ERR_INPUT,
		       "ca.crt ends at %s, before the new certificate would; "
		       "expected fewer --days, or a new CA (--new-ca)",
		       until);
}

/* Ours if there is one, else a new one (*fresh). */
static int
get_signer(const char *dir, bool new_ca, int64_t now_ms, int days,
	   struct signer *out, bool *fresh, struct err *e)
{
	AUTO_TEXT crt = path_in(dir, "ca.crt");
	AUTO_TEXT key = path_in(dir, "ca.key");
	bool has_crt, has_key;

	if (crt == NULL || key == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	has_crt = access(crt, F_OK) == 0;
	has_key = access(key, F_OK) == 0;
	*fresh = new_ca || (!has_crt && !has_key);
	if (*fresh)
		return issue(NULL, "karpenter-node-holder CA", NULL, now_ms,
			     days * 10, out, e);
	if (!has_crt || !has_key)
		return err_set(e, ERR_INPUT,
			       "%s without %s, expected both, or a new CA "
			       "(--new-ca)",
			       has_crt ? "ca.crt" : "ca.key",
			       has_crt ? "ca.key" : "ca.crt");
	if (read_ca_cert(crt, &out->cert, e) || read_ca_key(key, &out->key, e))
		return -1;
	return check_signer(out, now_ms, days, e);
}

/* --- the whole -------------------------------------------------------- */

static int
write_pem(const struct signer *s, BIO *key, BIO *crt, struct err *e)
{
	if (key == NULL || crt == NULL ||
	    !PEM_write_bio_PrivateKey(key, s->key, NULL, NULL, 0, NULL, NULL) ||
	    !PEM_write_bio_X509(crt, s->cert))
		return openssl_failed("write PEM", e);
	return 0;
}

static struct certs_file
file_of(const char *name, mode_t mode, BIO *pem)
{
	char *bytes = NULL;
	long n = BIO_get_mem_data(pem, &bytes);

	return (struct certs_file){name, mode, bytes, (size_t)n};
}

/* ca NULL: it is there already. */
static int
save(const char *dir, const struct signer *ca, const struct signer *leaf,
     struct err *e)
{
	AUTO_BIO ca_key = BIO_new(BIO_s_mem());
	AUTO_BIO ca_crt = BIO_new(BIO_s_mem());
	AUTO_BIO key = BIO_new(BIO_s_mem());
	AUTO_BIO crt = BIO_new(BIO_s_mem());
	struct certs_file files[4];
	size_t n = 0;

	if ((ca != NULL && write_pem(ca, ca_key, ca_crt, e)) ||
	    write_pem(leaf, key, crt, e))
		return -1;
	if (ca != NULL) {
		files[n++] = file_of("ca.key", 0600, ca_key);
		files[n++] = file_of("ca.crt", 0644, ca_crt);
	}
	files[n++] = file_of("tls.key", 0600, key);
	files[n++] = file_of("tls.crt", 0644, crt);
	return certs_save(dir, files, n, e);
}

int
certs_mint(const char *dir, const struct certs_names *names, int days,
	   bool new_ca, int64_t now_ms, struct err *e)
{
	AUTO_SIGNER ca = {0};
	AUTO_SIGNER leaf = {0};
	char san[SAN_BYTES];
	const char *cn = names->dns_n ? names->dns[0] : names->ip[0];
	struct buf b;
	bool fresh = false;

	if (days < 1 || days > CERTS_DAYS_MAX)
		return err_set(e, ERR_INPUT, "%d days, expected 1 to %d", days,
			       CERTS_DAYS_MAX);
	buf_init(&b, san, sizeof(san));
	if (write_san(names, &b, e) ||
	    get_signer(dir, new_ca, now_ms, days, &ca, &fresh, e) ||
	    issue(&ca, strlen(cn) <= CN_MAX ? cn : "karpenter-node-holder", san,
		  now_ms, days, &leaf, e))
		return -1;
	return save(dir, fresh ? &ca : NULL, &leaf, e);
}
