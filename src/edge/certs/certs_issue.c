/* SPDX-License-Identifier: Apache-2.0 */
#include "certs_issue.h"

#include <arpa/inet.h>
#include <string.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "certs_pem.h"

#define CN_MAX 64 /* ub-common-name of RFC 5280 */

static int
openssl_failed(const char *what, struct err *e)
{
	const char *why = ERR_reason_error_string(ERR_peek_last_error());

	ERR_clear_error();
	return err_set(e, ERR_SYSTEM, "%s: %s", what, why ? why : "failed");
}

/* --- certificates --------------------------------------------------------- */

void
certs_issue_done(struct certs_signer *s)
{
	X509_free(s->cert);
	EVP_PKEY_free(s->key);
}

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

/* Adds the extensions of a serving certificate or, if san is NULL, of a CA. */
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
	/* A CA that was not made by us may have no subject key identifier to
	 * refer to. */
	if (X509_get0_subject_key_id(issuer) != NULL &&
	    !add_extension(x, &ctx, NID_authority_key_identifier, "keyid"))
		return 0;
	return add_extension(x, &ctx, NID_basic_constraints,
			     "critical,CA:FALSE") &&
	       add_extension(x, &ctx, NID_key_usage,
			     "critical,digitalSignature") &&
	       add_extension(x, &ctx, NID_ext_key_usage, "serverAuth") &&
	       add_extension(x, &ctx, NID_subject_alt_name, san);
}

/* Returns the digest for a signature.  Returns NULL for Ed25519 and Ed448,
 * which take no separate digest. */
static const EVP_MD *
digest_for(const EVP_PKEY *key)
{
	return EVP_PKEY_is_a(key, "ED25519") || EVP_PKEY_is_a(key, "ED448")
		       ? NULL
		       : EVP_sha256();
}

int
certs_issue(const struct certs_signer *by, const char *cn, const char *san,
	    int64_t now_ms, int64_t until_ms, struct certs_signer *out,
	    struct err *e)
{
	AUTO_PKEY key = EVP_EC_gen("P-256");
	AUTO_X509 x = X509_new();

	if (key == NULL || x == NULL || !X509_set_version(x, X509_VERSION_3) ||
	    !set_serial(x) || !set_subject(x, cn) ||
	    !set_times(x, now_ms - CERTS_BACKDATE_MS, until_ms) ||
	    !X509_set_issuer_name(x,
				  X509_get_subject_name(by ? by->cert : x)) ||
	    !X509_set_pubkey(x, key) ||
	    !add_extensions(x, by ? by->cert : x, san) ||
	    !X509_sign(x, by ? by->key : key, digest_for(by ? by->key : key)))
		return openssl_failed("make a certificate", e);
	*out = (struct certs_signer){.cert = x, .key = key};
	x = NULL;
	key = NULL;
	return 0;
}

/* --- names ---------------------------------------------------------------- */

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

/* Writes the names as X509V3_EXT_conf_nid reads them.  The names are checked
 * first, because for that function a comma ends a name. */
int
certs_issue_san(const struct certs_names *names, struct buf *out, struct err *e)
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

const char *
certs_issue_cn(const struct certs_names *names)
{
	const char *cn = names->dns_n ? names->dns[0] : names->ip[0];

	return strlen(cn) <= CN_MAX ? cn : "karpenter-node-holder";
}

/* --- PEM ------------------------------------------------------------------ */

int
certs_issue_write(const struct certs_signer *s, BIO *key, BIO *crt,
		  struct err *e)
{
	if (key == NULL || crt == NULL ||
	    !PEM_write_bio_PrivateKey(key, s->key, NULL, NULL, 0, NULL, NULL) ||
	    !PEM_write_bio_X509(crt, s->cert))
		return openssl_failed("write PEM", e);
	return 0;
}
