/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_CERTS_CERTS_PEM_H
#define EDGE_CERTS_CERTS_PEM_H

#include <stddef.h>
#include <stdint.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "core/base/err.h"
#include "core/base/limits.h"

/*
 * Certificates and keys as OpenSSL represents them.  The files of edge/certs
 * share this header.  OpenSSL's types stay in this folder.
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

/* Wipes the bytes and frees them. */
void certs_pem_wipe(char *bytes, size_t n);

struct certs_chain {
	X509 *at[CERTS_CHAIN_MAX]; /* The leaf comes first. */
	int n;
};
void certs_pem_chain_done(struct certs_chain *c);

/* certs_pem_chain parses PEM with at least one certificate, and certs_pem_key
 * PEM with a private key.  `file` is for error messages.  On failure both
 * return -1 and do not change *out. */
int certs_pem_chain(const char *file, const char *pem, size_t n,
		    struct certs_chain *out, struct err *e);
int certs_pem_key(const char *file, const char *pem, size_t n, EVP_PKEY **out,
		  struct err *e);

/* Reads the next certificate.  It never asks for a passphrase, although any PEM
 * block may be encrypted.  Returns NULL if no certificate can be read. */
X509 *certs_pem_read_x509(BIO *in);

int64_t certs_pem_time_ms(const ASN1_TIME *t);

/* Returns the first eight bytes of a key identifier, or 0 if the identifier is
 * NULL or shorter. */
uint64_t certs_pem_key_id(const ASN1_OCTET_STRING *id);

#endif
