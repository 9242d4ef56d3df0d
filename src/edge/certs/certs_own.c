/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/certs/certs_own.h"

#include <stdlib.h>
#include <string.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "certs_issue.h"
#include "certs_pem.h"

/*
 * Makes the certificates of selfSigned, and reads the certificates that are
 * stored in the cluster.  Anybody may have written a stored text, so every
 * function accepts any text.  A text without a certificate or a pair is not an
 * error: the renewal then makes a new certificate or pair.
 *
 * A certificate is identified by its SHA-256 (renewal_cert.id).  The functions
 * here only report times; core/protocol/renewal judges them.  Memory that held
 * keys is wiped: BIO_s_secmem wipes its buffer, and certs_own_done wipes the
 * texts.
 */

_Static_assert(RENEWAL_BACKDATE_MS == CERTS_BACKDATE_MS, "one and the same");

void
certs_own_done(struct certs_own *o)
{
	certs_pem_wipe(o->key, o->key != NULL ? strlen(o->key) : 0);
	free(o->cert);
	*o = (struct certs_own){0};
}

static int
facts_of(const X509 *x, struct renewal_cert *out)
{
	unsigned n = 0;

	out->not_before_ms = certs_pem_time_ms(X509_get0_notBefore(x));
	out->not_after_ms = certs_pem_time_ms(X509_get0_notAfter(x));
	return X509_digest(x, EVP_sha256(), out->id, &n) == 1 &&
			       n == sizeof(out->id)
		       ? 0
		       : -1;
}

/* --- minting -------------------------------------------------------------- */

static char *
text_of(BIO *mem)
{
	char *bytes = NULL;
	long n = BIO_get_mem_data(mem, &bytes);

	return n > 0 ? strndup(bytes, (size_t)n) : NULL;
}

/* Copies the certificate and its key to *out as PEM.  BIO_s_secmem wipes its
 * memory when it is freed. */
static int
give(const struct certs_signer *s, struct certs_own *out, struct err *e)
{
	AUTO_BIO crt = BIO_new(BIO_s_mem());
	AUTO_BIO key = BIO_new(BIO_s_secmem());
	struct certs_own o = {0};

	if (certs_issue_write(s, key, crt, e))
		return -1;
	o.cert = text_of(crt);
	o.key = text_of(key);
	if (o.cert == NULL || o.key == NULL || facts_of(s->cert, &o.facts)) {
		certs_own_done(&o);
		return err_set(e, ERR_SYSTEM, "out of memory");
	}
	*out = o;
	return 0;
}

int
certs_own_ca(int64_t now_ms, int64_t life_ms, struct certs_own *out,
	     struct err *e)
{
	AUTO_SIGNER ca = {0};

	if (certs_issue(NULL, CERTS_CA_NAME, NULL, now_ms, now_ms + life_ms,
			&ca, e))
		return -1;
	return give(&ca, out, e);
}

/* --- reading -------------------------------------------------------------- */

/* Reads the first certificate of a pair and its key.  Returns whether they
 * match. */
static bool
read_pair(const char *cert, const char *key, struct certs_signer *out)
{
	struct certs_chain chain;
	bool match;

	if (cert == NULL || key == NULL ||
	    certs_pem_chain("", cert, strlen(cert), &chain, NULL))
		return false;
	out->cert = chain.at[0];
	X509_up_ref(out->cert);
	certs_pem_chain_done(&chain);
	if (certs_pem_key("", key, strlen(key), &out->key, NULL))
		return false;
	match = X509_check_private_key(out->cert, out->key) == 1;
	ERR_clear_error();
	return match;
}

static bool
is_ca(X509 *x)
{
	return (X509_get_extension_flags(x) & EXFLAG_CA) &&
	       (X509_get_key_usage(x) & X509v3_KU_KEY_CERT_SIGN);
}

/* Verifies x like a client that trusts only this CA, but ignores times, which
 * core/protocol/renewal judges.  The check is needed because people may have
 * put the CA into the Secret, with constraints that exclude our names.  Returns
 * X509_V_OK or the reason. */
static int
verify(X509 *x, X509 *ca)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	int rc = X509_V_ERR_OUT_OF_MEM;

	if (store != NULL && ctx != NULL &&
	    X509_STORE_add_cert(store, ca) == 1 &&
	    X509_STORE_CTX_init(ctx, store, x, NULL) == 1 &&
	    X509_STORE_CTX_set_default(ctx, "ssl_server") == 1) {
		X509_STORE_CTX_set_flags(ctx,
					 X509_V_FLAG_PARTIAL_CHAIN |
						 X509_V_FLAG_NO_CHECK_TIME);
		rc = X509_verify_cert(ctx) == 1 ? X509_V_OK
						: X509_STORE_CTX_get_error(ctx);
	}
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	ERR_clear_error();
	return rc;
}

static bool
serves(X509 *x, const struct certs_names *names)
{
	if ((X509_get_extension_flags(x) & EXFLAG_CA) ||
	    !(X509_get_key_usage(x) & X509v3_KU_DIGITAL_SIGNATURE) ||
	    !(X509_get_extended_key_usage(x) & (XKU_SSL_SERVER | XKU_ANYEKU)))
		return false;
	for (size_t i = 0; i < names->dns_n; i++)
		if (X509_check_host(x, names->dns[i], 0,
				    X509_CHECK_FLAG_NEVER_CHECK_SUBJECT,
				    NULL) != 1)
			return false;
	return true;
}

bool
certs_own_is_ca(const char *cert, const char *key, struct renewal_cert *out)
{
	AUTO_SIGNER s = {0};

	return read_pair(cert, key, &s) && is_ca(s.cert) &&
	       facts_of(s.cert, out) == 0;
}

static X509 *
first_of(const char *cert)
{
	struct certs_chain chain;
	X509 *x;

	if (cert == NULL ||
	    certs_pem_chain("", cert, strlen(cert), &chain, NULL))
		return NULL;
	x = chain.at[0];
	X509_up_ref(x);
	certs_pem_chain_done(&chain);
	return x;
}

bool
certs_own_is_leaf(const char *cert, const char *key, const char *ca_cert,
		  const struct certs_names *names, struct renewal_cert *out)
{
	AUTO_SIGNER s = {0};
	AUTO_X509 ca = first_of(ca_cert);

	return ca != NULL && read_pair(cert, key, &s) &&
	       serves(s.cert, names) && verify(s.cert, ca) == X509_V_OK &&
	       facts_of(s.cert, out) == 0;
}

int
certs_own_leaf(const char *ca_cert, const char *ca_key,
	       const struct certs_names *names, int64_t now_ms, int64_t life_ms,
	       struct certs_own *out, struct err *e)
{
	AUTO_SIGNER ca = {0};
	AUTO_SIGNER leaf = {0};
	char san[CERTS_SAN_BYTES];
	int64_t until_ms, last_ms;
	struct buf b;
	int why;

	buf_init(&b, san, sizeof(san));
	if (certs_issue_san(names, &b, e))
		return -1;

	if (!read_pair(ca_cert, ca_key, &ca) || !is_ca(ca.cert))
		return err_set(e, ERR_INPUT, "no CA with its key");

	last_ms = certs_pem_time_ms(X509_get0_notAfter(ca.cert));
	until_ms = now_ms + life_ms < last_ms ? now_ms + life_ms : last_ms;
	if (certs_issue(&ca, certs_issue_cn(names), san, now_ms, until_ms,
			&leaf, e))
		return -1;

	why = verify(leaf.cert, ca.cert);
	if (why != X509_V_OK)
		return err_set(e, ERR_INPUT,
			       "this CA signs nothing that verifies (%s): "
			       "put another there, or delete the Secret for "
			       "a new one",
			       X509_verify_cert_error_string(why));
	return give(&leaf, out, e);
}

/* --- bundles -------------------------------------------------------------- */

#define BEGIN "-----BEGIN CERTIFICATE-----"

/* Returns where the first PEM certificate at or after `at` begins, or the end
 * of the text. */
static const char *
block(const char *pem, const char *at)
{
	while ((at = strstr(at, BEGIN)) != NULL && at > pem && at[-1] != '\n')
		at++;
	return at != NULL ? at : pem + strlen(pem);
}

/* Reads the certificate of the PEM block at *at, and moves *at to the next
 * block.  Returns NULL if the block has no readable certificate. */
static X509 *
take(const char *pem, const char **at)
{
	const char *end = block(pem, *at + 1);
	AUTO_BIO in = BIO_new_mem_buf(*at, (int)(end - *at));
	X509 *x = in != NULL ? certs_pem_read_x509(in) : NULL;

	ERR_clear_error();
	*at = end;
	return x;
}

static bool
known(const struct renewal_cert *at, unsigned n, const struct renewal_cert *c)
{
	for (unsigned i = 0; i < n; i++)
		if (memcmp(at[i].id, c->id, sizeof(c->id)) == 0)
			return true;
	return false;
}

/* Adds a certificate.  If the array is full, it leaves out the oldest of all
 * certificates, which may be the new one, and returns false. */
static bool
add(struct renewal_cert *at, unsigned *n, const struct renewal_cert *c)
{
	unsigned oldest = 0;

	if (*n < RENEWAL_BUNDLE_MAX) {
		at[(*n)++] = *c;
		return true;
	}
	for (unsigned i = 1; i < *n; i++)
		if (at[i].not_before_ms < at[oldest].not_before_ms)
			oldest = i;
	if (at[oldest].not_before_ms < c->not_before_ms)
		at[oldest] = *c;
	return false;
}

bool
certs_own_bundle_read(const char *pem, struct renewal_cert *at, unsigned *n)
{
	struct renewal_cert c, mine[RENEWAL_BUNDLE_MAX];
	unsigned mine_n = 0;
	bool whole = true;

	for (const char *p = block(pem, pem); *p != '\0';) {
		AUTO_X509 x = take(pem, &p);

		if (x == NULL || facts_of(x, &c) || known(mine, mine_n, &c)) {
			whole = false;
			continue;
		}
		whole &= add(mine, &mine_n, &c);
		if (!known(at, *n, &c))
			whole &= add(at, n, &c);
	}
	return whole;
}

bool
certs_own_signed_by(const char *pem, uint64_t authority)
{
	for (const char *p = block(pem, pem); *p != '\0';) {
		AUTO_X509 x = take(pem, &p);
		uint64_t id =
			x == NULL
				? 0
				: certs_pem_key_id(X509_get0_subject_key_id(x));

		if (x != NULL && (id == 0 || id == authority))
			return true;
	}
	return false;
}

bool
certs_own_bundle_pick(const char *pem, const struct renewal_cert *which,
		      struct buf *out)
{
	AUTO_BIO mem = BIO_new(BIO_s_mem());
	struct renewal_cert c;
	char *bytes = NULL;
	size_t n;

	for (const char *p = block(pem, pem); mem != NULL && *p != '\0';) {
		AUTO_X509 x = take(pem, &p);

		if (x == NULL || facts_of(x, &c) || !known(which, 1, &c) ||
		    PEM_write_bio_X509(mem, x) != 1)
			continue;
		n = (size_t)BIO_get_mem_data(mem, &bytes);
		buf_add(out, bytes, n);
		return true;
	}
	return false;
}
