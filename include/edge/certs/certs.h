/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_CERTS_CERTS_H
#define EDGE_CERTS_CERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * Certificates by OpenSSL: mint a CA and a serving pair, look at a pair, and
 * check one before it is served.  No state; any thread.
 */

#define CERTS_DAYS_MAX 3650
#define CERTS_NAMES_MAX 16

struct certs_names {
	const char *dns[CERTS_NAMES_MAX];	/* "*." in front is allowed */
	size_t dns_n;
	const char *ip[CERTS_NAMES_MAX];
	size_t ip_n;
};

/* Writes ca.crt, ca.key, tls.crt, tls.key into dir (made if missing, 0700):
 * ECDSA P-256, random serials, NotBefore one hour ago, keys 0600 whatever the
 * umask, every file written beside and renamed.  An existing ca.crt + ca.key
 * pair is used again unless new_ca; it must match and outlive the leaf.  days
 * counts for the leaf; the CA gets ten times that. */
int certs_mint(const char *dir, const struct certs_names *names, int days,
	       bool new_ca, int64_t now_ms, struct err *e);

/* A pair as read from its files, checked. */
struct certs_pair {
	char *cert_pem, *key_pem;	/* NUL-terminated; certs_pair_done */
	size_t cert_bytes, key_bytes;
	int64_t not_before_ms, not_after_ms;	/* of the leaf */
	char serial[64];		/* hex, of the leaf */
	char names[512];		/* SANs, "DNS:a, IP:b"; those that fit */
};
void certs_pair_done(struct certs_pair *p);	/* wipes the key */

/*
 * Reads both files and checks: PEM parses, key matches the leaf, leaf first
 * and each certificate signed by the next, leaf not a CA, has a SAN, key usage
 * and EKU (if any) allow digitalSignature and serverAuth, all valid at now_ms,
 * key RSA >= 2048, EC >= 256 or Ed25519.  ERR_SYSTEM: a file cannot be read;
 * ERR_TLS: not yet or no longer valid; ERR_INPUT: anything else.  The error
 * names the file and what was expected.  Files that change while they are
 * read (a half-swapped Secret) show as a pair that does not match: keep the
 * old pair and come again.
 */
int certs_load(const char *cert_file, const char *key_file, int64_t now_ms,
	       struct certs_pair *out, struct err *e);

/* For `certs --inspect`: what the pair is good for, as readable lines.  -1 for
 * a pair that certs_load refuses, with its reason; *out then has what could be
 * read of the certificates (nothing, if none could). */
#define CERTS_INSPECT_BYTES 8192
int certs_inspect(const char *cert_file, const char *key_file, int64_t now_ms,
		  struct buf *out, struct err *e);

#endif
