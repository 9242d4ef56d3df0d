/* SPDX-License-Identifier: Apache-2.0 */
#include "pems.h"

#include <check.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

static void
to_pem(char *out, size_t cap, BIO *b)
{
	int n = BIO_read(b, out, (int)cap - 1);

	ck_assert_int_gt(n, 0);
	out[n] = '\0';
	BIO_free(b);
}

static void
mint(struct pems *p, long serial, EVP_PKEY *key)
{
	X509 *x = X509_new();
	BIO *b;

	ASN1_INTEGER_set(X509_get_serialNumber(x), serial);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
				   (const unsigned char *)"localhost", -1, -1,
				   0);
	X509_set_issuer_name(x, X509_get_subject_name(x));
	X509_set_pubkey(x, key);
	ck_assert_int_gt(X509_sign(x, key, EVP_sha256()), 0);
	b = BIO_new(BIO_s_mem());
	PEM_write_bio_X509(b, x);
	to_pem(p->cert, sizeof(p->cert), b);
	b = BIO_new(BIO_s_mem());
	PEM_write_bio_PrivateKey(b, key, NULL, NULL, 0, NULL, NULL);
	to_pem(p->key, sizeof(p->key), b);
	X509_free(x);
	EVP_PKEY_free(key);
}

void
pems_mint(struct pems *p, long serial)
{
	mint(p, serial, EVP_EC_gen("P-256"));
}

void
pems_mint_rsa(struct pems *p, long serial)
{
	mint(p, serial, EVP_RSA_gen(2048));
}
