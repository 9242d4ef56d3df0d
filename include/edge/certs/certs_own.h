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
 * A CA and serving pairs of our own that live in the cluster: by OpenSSL, PEM
 * in and PEM out.  ECDSA P-256, NotBefore an hour ago.  No state; any thread.
 */
struct certs_own {
	char *cert, *key;	/* PEM, owned */
	struct renewal_cert facts;
};
void certs_own_done(struct certs_own *o);	/* wipes the key */

/* A CA that lives for life_ms. */
int certs_own_ca(int64_t now_ms, int64_t life_ms, struct certs_own *out,
		 struct err *e);

/* A serving pair, signed by this CA; it ends no later than that.  ERR_INPUT:
 * not a CA with its key, or one whose constraints shut out what it signs. */
int certs_own_leaf(const char *ca_cert, const char *ca_key,
		   const struct certs_names *names, int64_t now_ms,
		   int64_t life_ms, struct certs_own *out, struct err *e);

/* Whether the texts (NULL is none) are a CA with its key; and whether they are
 * a serving pair that verifies by it, good for all these DNS names.  When they
 * end is for the caller to judge. */
bool certs_is_ca(const char *cert, const char *key, struct renewal_cert *out);
bool certs_is_leaf(const char *cert, const char *key, const char *ca_cert,
		   const struct certs_names *names, struct renewal_cert *out);

/* The certificates in this bundle that are not among those in at[*n] yet; the
 * youngest, where there is no room for all.  false: some are not there, it has
 * a block that is none, or the same one twice. */
bool certs_bundle_read(const char *pem, struct renewal_cert *at, unsigned *n);

/* Of this bundle, the one with that id, as PEM.  true if it was there. */
bool certs_bundle_pick(const char *pem, const struct renewal_cert *which,
		       struct buf *out);

#endif
