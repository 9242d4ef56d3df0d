/* SPDX-License-Identifier: Apache-2.0 */
#include "scripted_tls.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

static char *
tls_text(BIO *b)
{
	char *data, *s;
	long n = BIO_get_mem_data(b, &data);

	s = strndup(data, (size_t)n);
	BIO_free(b);
	return s;
}

static void
tls_extend(X509 *cert, int nid, const char *value)
{
	X509_EXTENSION *x = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	if (x == NULL || !X509_add_ext(cert, x, -1))
		abort();
	X509_EXTENSION_free(x);
}

struct tls_pair
tls_mint(const struct tls_pair *issuer, const char *cn, const char *san,
	 long seconds)
{
	static long serial = 1;
	struct tls_pair p = {.cert = X509_new(), .key = EVP_EC_gen("P-256")};
	X509_NAME *name = X509_get_subject_name(p.cert);
	BIO *b;

	X509_set_version(p.cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(p.cert), serial++);
	X509_gmtime_adj(X509_getm_notBefore(p.cert), -7200);
	X509_gmtime_adj(X509_getm_notAfter(p.cert), seconds);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
				   (const unsigned char *)cn, -1, -1, 0);
	X509_set_issuer_name(
		p.cert,
		issuer == NULL ? name : X509_get_subject_name(issuer->cert));
	X509_set_pubkey(p.cert, p.key);
	tls_extend(p.cert, NID_basic_constraints,
		   issuer == NULL ? "critical,CA:TRUE" : "critical,CA:FALSE");
	if (san != NULL)
		tls_extend(p.cert, NID_subject_alt_name, san);
	if (!X509_sign(p.cert, issuer == NULL ? p.key : issuer->key,
		       EVP_sha256()))
		abort();
	b = BIO_new(BIO_s_mem());
	PEM_write_bio_X509(b, p.cert);
	p.cert_pem = tls_text(b);
	b = BIO_new(BIO_s_mem());
	PEM_write_bio_PrivateKey(b, p.key, NULL, NULL, 0, NULL, NULL);
	p.key_pem = tls_text(b);
	return p;
}

void
tls_pair_free(struct tls_pair *p)
{
	X509_free(p->cert);
	EVP_PKEY_free(p->key);
	free(p->cert_pem);
	free(p->key_pem);
}

SSL_CTX *
tls_server(const struct tls_pair *pair, const struct tls_pair *client_ca)
{
	SSL_CTX *c = SSL_CTX_new(TLS_server_method());

	if (c == NULL || SSL_CTX_use_certificate(c, pair->cert) != 1 ||
	    SSL_CTX_use_PrivateKey(c, pair->key) != 1)
		abort();
	if (client_ca != NULL) {
		X509_STORE_add_cert(SSL_CTX_get_cert_store(c), client_ca->cert);
		SSL_CTX_set_verify(
			c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
			NULL);
	}
	return c;
}
