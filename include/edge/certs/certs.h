/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_CERTS_CERTS_H
#define EDGE_CERTS_CERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * Handles certificates in files, with OpenSSL: makes a CA and a serving pair,
 * checks a pair before it is served, and describes a pair to people.  Times are
 * in ms of server time (struct now).  The functions keep no state; any thread
 * may call them.
 */

#define CERTS_DAYS_MAX 3650
#define CERTS_NAMES_MAX 16 /* maximum number of DNS names, and of addresses */

/* The names that a certificate is valid for.  The strings are borrowed. */
struct certs_names {
	const char *dns[CERTS_NAMES_MAX]; /* "*." in front is allowed */
	size_t dns_n;
	const char *ip[CERTS_NAMES_MAX];
	size_t ip_n;
};

/* Writes ca.crt, ca.key, tls.crt and tls.key into dir, which is made with mode
 * 0700 if it is missing.  Keys are ECDSA P-256, serials are random, and
 * NotBefore is one hour ago.  Key files have mode 0600 whatever the umask.
 * Every file is written under another name in dir, and then renamed.
 *
 * If ca.crt and ca.key exist and new_ca is not set, that CA signs the leaf, and
 * its two files stay as they are.  It is an error if only one of the two files
 * exists, if they do not contain a CA and its key, or if the CA would expire
 * before the leaf.  `days` is the lifetime of the leaf, at most CERTS_DAYS_MAX.
 * The lifetime of a new CA is ten times as long. */
int certs_mint(const char *dir, const struct certs_names *names, int days,
	       bool new_ca, int64_t now_ms, struct err *e);

/* By default `openssl req -x509 -nodes` makes a leaf that is a CA.  The API
 * server accepts such a leaf, so the pair is served all the same, and this
 * advice is printed.  The advice completes a sentence whose subject is the
 * certificate. */
#define CERTS_CA_ADVICE                                                        \
	"is a CA, whose key can sign other certificates; make it with "        \
	"`-addext basicConstraints=critical,CA:FALSE`"

/* A certificate chain and its key, read from their files and checked. */
struct certs_pair {
	char *cert_pem, *key_pem; /* Owned and NUL-terminated. */
	size_t cert_bytes, key_bytes;
	int64_t not_before_ms, not_after_ms; /* the validity of the leaf */
	/* Whether the leaf is a CA.  If so, print CERTS_CA_ADVICE. */
	bool is_ca;
	/* First 8 bytes of the key identifier of the CA that signed the chain's
	 * last certificate, for certs_own_signed_by; 0: unknown. */
	uint64_t authority;
	char serial[64]; /* the leaf's serial number in hex */
	char names[512]; /* as many SANs as fit, "DNS:a, IP:b" */
};
/* Wipes the key and frees both texts.  A zeroed struct is allowed. */
void certs_pair_done(struct certs_pair *p);

/*
 * Reads both files and checks that:
 *
 *  - the PEM parses, and the key matches the leaf
 *  - the leaf comes first, and each certificate is signed by the next
 *  - the leaf has a SAN
 *  - key usage and extended key usage (if any) allow digitalSignature and
 *    serverAuth
 *  - all certificates are valid at now_ms
 *  - the key is RSA >= 2048, EC >= 256 or Ed25519
 *
 * A leaf that is a CA passes (is_ca).
 *
 * ERR_SYSTEM: a file cannot be read.  ERR_TLS: the pair is not valid yet, or it
 * has expired.  ERR_LIMIT: a file is too large or has too many certificates.
 * ERR_INPUT: anything else.  The error names the file and what was expected.
 * If files change while they are read (a half-swapped Secret), the pair does
 * not match: keep the old pair and try again later.
 */
int certs_load(const char *cert_file, const char *key_file, int64_t now_ms,
	       struct certs_pair *out, struct err *e);

#define CERTS_INSPECT_BYTES 8192
/* For `certs --inspect`: appends a description of the pair to *out, as lines
 * for people.  A buffer of CERTS_INSPECT_BYTES has room for the description.
 * If certs_load would refuse the pair, certs_inspect returns -1 with the
 * reason.  *out then has what could be read of the certificates, if
 * anything. */
int certs_inspect(const char *cert_file, const char *key_file, int64_t now_ms,
		  struct buf *out, struct err *e);

#endif
