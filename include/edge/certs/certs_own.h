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
 * Makes and checks the CA and the serving pairs that `selfSigned` keeps in the
 * cluster (docs/operations.md#certificates-of-its-own), by OpenSSL.  All
 * certificates and keys are PEM texts.  New keys are ECDSA P-256, and NotBefore
 * is an hour ago.  Times are in ms of server time (struct now).  The functions
 * keep no state; any thread may call them.
 */
struct certs_own {
	char *cert, *key; /* PEM, owned */
	struct renewal_cert facts;
};
/* Wipes the key and frees both texts.  A zeroed struct is allowed. */
void certs_own_done(struct certs_own *o);

/* Makes a CA that ends life_ms after now_ms.  The caller ends *out with
 * certs_own_done. */
int certs_own_ca(int64_t now_ms, int64_t life_ms, struct certs_own *out,
		 struct err *e);

/* Makes a serving pair that is signed by this CA and ends no later than the CA.
 * ERR_INPUT: the texts are not a CA with its key, or the CA's constraints
 * exclude the certificate. */
int certs_own_leaf(const char *ca_cert, const char *ca_key,
		   const struct certs_names *names, int64_t now_ms,
		   int64_t life_ms, struct certs_own *out, struct err *e);

/* certs_own_is_ca returns whether the texts are a CA and its key.
 * certs_own_is_leaf returns whether they are a serving pair that ca_cert has
 * signed and that is valid for all these DNS names.  Both functions set *out if
 * they return true.  Neither checks whether the certificate is valid now.  If a
 * text is NULL, the result is false. */
bool certs_own_is_ca(const char *cert, const char *key,
		     struct renewal_cert *out);
bool certs_own_is_leaf(const char *cert, const char *key, const char *ca_cert,
		       const struct certs_names *names,
		       struct renewal_cert *out);

/* Adds the certificates in this bundle to the *n entries at `at`, unless they
 * are there already.  `at` has room for RENEWAL_BUNDLE_MAX.  If there is no
 * room for all certificates, those with the oldest NotBefore are left out.
 * Returns false if some did not fit, if a block of the bundle is not a
 * certificate, or if the bundle has a certificate twice. */
bool certs_own_bundle_read(const char *pem, struct renewal_cert *at,
			   unsigned *n);

/* Returns whether the bundle may have the CA with the key identifier
 * `authority` (certs_pair.authority): a certificate in the bundle has this key
 * identifier, or lacks a key identifier. */
bool certs_own_signed_by(const char *pem, uint64_t authority);

/* Appends to out, as PEM, the certificate in this bundle that has the id of
 * *which.  Returns false if the bundle does not have that certificate. */
bool certs_own_bundle_pick(const char *pem, const struct renewal_cert *which,
			   struct buf *out);

#endif
