/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_CERTS_CERTS_PEM_H
#define EDGE_CERTS_CERTS_PEM_H

#include <stddef.h>
#include <stdint.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "core/base/err.h"

/*
 * Certificates and keys as OpenSSL knows them: what certs_mint.c and
 * certs_check.c share.  The only header that shows OpenSSL's types; nobody
 * else includes it.
 */
static inline void
certs_x509_freep(X509 **x)
{
	X509_free(*x);
}

static inline void
certs_pkey_freep(EVP_PKEY **k)
{
	EVP_PKEY_free(*k);
}

static inline void
certs_bio_freep(BIO **b)
{
	BIO_free_all(*b);
}

#define AUTO_X509 __attribute__((cleanup(certs_x509_freep))) X509 *
#define AUTO_PKEY __attribute__((cleanup(certs_pkey_freep))) EVP_PKEY *
#define AUTO_BIO __attribute__((cleanup(certs_bio_freep))) BIO *

/* Error messages show this much of a file's name. */
#define CERTS_FILE "%.120s"

void certs_wipe(char *bytes, size_t n);	/* and frees them */

#define CERTS_CHAIN_MAX 10
struct certs_chain {
	X509 *at[CERTS_CHAIN_MAX];	/* leaf first */
	int n;
};
void certs_chain_done(struct certs_chain *c);

/* From PEM; at least one certificate, or one private key.  file is for
 * messages. */
int certs_parse_chain(const char *file, const char *pem, size_t n,
		      struct certs_chain *out, struct err *e);
int certs_parse_key(const char *file, const char *pem, size_t n,
		    EVP_PKEY **out, struct err *e);

int64_t certs_time_ms(const ASN1_TIME *t);

#endif
