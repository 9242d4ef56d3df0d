/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_CERTS_H
#define EDGE_CERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

/*
 * Certificates by OpenSSL: mint a CA and a serving pair, look at a pair, and
 * check one before it is served.  No state; any thread.
 */

struct certs_names {
	const char *dns[16];
	size_t dns_n;
	const char *ip[16];
	size_t ip_n;
};

/* Writes ca.crt, ca.key, tls.crt, tls.key into dir (made if missing, 0700):
 * ECDSA P-256, random serials, NotBefore one hour ago, keys 0600, every file
 * written beside and renamed.  An existing ca.crt + ca.key pair is used again
 * unless new_ca.  days counts for the leaf; the CA gets ten times that. */
int certs_mint(const char *dir, const struct certs_names *names, int days,
	       bool new_ca, int64_t now_ms, struct err *e);

/* A pair as read from its files, checked. */
struct certs_pair {
	char *cert_pem, *key_pem;	/* NUL-terminated; certs_pair_done */
	size_t cert_bytes, key_bytes;
	int64_t not_before_ms, not_after_ms;	/* of the leaf */
	char serial[64];		/* hex, of the leaf */
	char names[512];		/* SANs, "DNS:a, IP:b" */
};
void certs_pair_done(struct certs_pair *p);

/*
 * Reads both files and checks: PEM parses, key matches the leaf, leaf first
 * and each certificate signed by the next, leaf not a CA, has a SAN, EKU (if
 * any) allows serverAuth, valid at now_ms, RSA >= 2048 or EC >= 256.  The
 * error names the file and what was expected.  Files that change while they
 * are read (a half-swapped Secret) show as a pair that does not match: keep
 * the old pair and come again.
 */
int certs_load(const char *cert_file, const char *key_file, int64_t now_ms,
	       struct certs_pair *out, struct err *e);

/* For `certs --inspect`: what the pair is good for, as readable lines; also
 * for a pair that certs_load refuses, with the reason. */
int certs_inspect(const char *cert_file, const char *key_file, int64_t now_ms,
		  struct buf *out, struct err *e);

#endif
