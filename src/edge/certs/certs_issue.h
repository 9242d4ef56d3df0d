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
 * A certificate with a new key: what certs_mint.c (files) and certs_own.c (the
 * cluster) share.  Nobody else includes it.
 */
struct certs_signer {
	X509 *cert;
	EVP_PKEY *key;
};
void certs_signer_done(struct certs_signer *s);
#define AUTO_SIGNER                                                            \
	__attribute__((cleanup(certs_signer_done))) struct certs_signer

/* What NotBefore lies in the past, for clocks that are late. */
#define CERTS_BACKDATE_MS ((int64_t)3600000)
#define CERTS_SAN_BYTES 8192
#define CERTS_CA_NAME "karpenter-node-holder CA"

/* ECDSA P-256, random serial.  Signed by `by`, or by itself: a CA, san NULL.
 * cn: at most 64 bytes. */
int certs_issue(const struct certs_signer *by, const char *cn, const char *san,
		int64_t now_ms, int64_t until_ms, struct certs_signer *out,
		struct err *e);

/* The names as san wants them, checked. */
int certs_san(const struct certs_names *names, struct buf *out, struct err *e);
/* One of the names that fits cn. */
const char *certs_cn(const struct certs_names *names);

int certs_write_pem(const struct certs_signer *s, BIO *key, BIO *crt,
		    struct err *e);

#endif
