/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_CERTS_CERTS_OWN_H
#define EDGE_CERTS_CERTS_OWN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/protocol/renewal.h"
#include "edge/certs/certs.h"

/*
 * A CA and serving pairs of our own that live in the cluster
 * (docs/operations.md#certificates-of-its-own), made by OpenSSL.  PEM in and
 * PEM out.  Keys are ECDSA P-256, and NotBefore is an hour ago.  No state; any
 * thread.
 */
struct certs_own {
	char *cert, *key;	/* PEM, owned */
	struct renewal_cert facts;
};
void certs_own_done(struct certs_own *o);	/* also wipes the key */

/* Makes a CA that lives for life_ms. */
int certs_own_ca(int64_t now_ms, int64_t life_ms, struct certs_own *out,
		 struct err *e);

/* Makes a serving pair that is signed by this CA and ends no later than the CA.
 * ERR_INPUT: it is not a CA with its key, or one whose constraints shut out
 * what it signs. */
int certs_own_leaf(const char *ca_cert, const char *ca_key,
		   const struct certs_names *names, int64_t now_ms,
		   int64_t life_ms, struct certs_own *out, struct err *e);

/* Are these texts a CA with its key?  Are they a serving pair that verifies by
 * ca_cert and is good for all these DNS names?  A text may be NULL if there is
 * none.  The caller judges when the certificates end. */
bool certs_is_ca(const char *cert, const char *key, struct renewal_cert *out);
bool certs_is_leaf(const char *cert, const char *key, const char *ca_cert,
		   const struct certs_names *names, struct renewal_cert *out);

/* Adds to at[*n] the certificates in this bundle that are not there yet, or the
 * youngest of them if there is no room for all.  Returns false if some did not
 * fit, or if the bundle has a block that is no certificate, or the same
 * certificate twice. */
bool certs_bundle_read(const char *pem, struct renewal_cert *at, unsigned *n);

/* Appends the certificate with that id in this bundle to out, as PEM.  Returns
 * whether it was there. */
bool certs_bundle_pick(const char *pem, const struct renewal_cert *which,
		       struct buf *out);

#endif
