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
 * A certificate with a new key.  Only certs_mint.c (files) and certs_own.c (the
 * cluster) include this header.
 */
struct certs_signer {
	X509 *cert;
	EVP_PKEY *key;
};
void certs_issue_done(struct certs_signer *s);
#define AUTO_SIGNER                                                            \
	__attribute__((cleanup(certs_issue_done))) struct certs_signer

/* NotBefore lies this far in the past, for clocks that are slow. */
#define CERTS_BACKDATE_MS ((int64_t)3600000)
#define CERTS_SAN_BYTES 8192
#define CERTS_CA_NAME "karpenter-node-holder CA"

/* Issues a certificate with a new ECDSA P-256 key and a random serial number.
 * `by` signs it.  If `by` is NULL, the certificate signs itself and is a CA,
 * and san is NULL.  cn has 64 bytes at most.  It returns -1 on failure; on
 * success the caller frees *out with certs_issue_done. */
int certs_issue(const struct certs_signer *by, const char *cn, const char *san,
		int64_t now_ms, int64_t until_ms, struct certs_signer *out,
		struct err *e);

/* Checks the names and writes them in the form of the argument san. */
int certs_issue_san(const struct certs_names *names, struct buf *out,
		    struct err *e);
/* Returns a name that fits cn. */
const char *certs_issue_cn(const struct certs_names *names);

int certs_issue_write(const struct certs_signer *s, BIO *key, BIO *crt,
		      struct err *e);

#endif
