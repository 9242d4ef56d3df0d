/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_CERTS_CERTS_ISSUE_H
#define EDGE_CERTS_CERTS_ISSUE_H

#include <stdint.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "edge/certs/certs.h"

/*
 * A certificate and its private key.  Only certs_mint.c (pairs in files) and
 * certs_own.c (pairs in the cluster) use this header.
 */
struct certs_signer {
	X509 *cert;
	EVP_PKEY *key;
};
void certs_issue_done(struct certs_signer *s);
#define AUTO_SIGNER                                                            \
	__attribute__((cleanup(certs_issue_done))) struct certs_signer

/* How far notBefore is in the past, in ms, because the clocks of clients may be
 * slow. */
#define CERTS_BACKDATE_MS ((int64_t)3600000)
#define CERTS_SAN_BYTES 8192 /* size of the buffer for certs_issue_san */
#define CERTS_CA_NAME "karpenter-node-holder CA"

/* Issues a certificate with a new ECDSA P-256 key and a random serial number.
 * `by` signs it.  If `by` is NULL, the new certificate is a self-signed CA, and
 * san has to be NULL.  cn has 64 bytes at most.  Returns -1 on failure.  On
 * success the caller frees *out with certs_issue_done. */
int certs_issue(const struct certs_signer *by, const char *cn, const char *san,
		int64_t now_ms, int64_t until_ms, struct certs_signer *out,
		struct err *e);

/* Checks the names and writes them in the form that certs_issue takes as
 * san. */
int certs_issue_san(const struct certs_names *names, struct buf *out,
		    struct err *e);
/* Returns a name that is short enough to be cn of certs_issue. */
const char *certs_issue_cn(const struct certs_names *names);

int certs_issue_write(const struct certs_signer *s, BIO *key, BIO *crt,
		      struct err *e);

#endif
