/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SERVER_SERVER_TLS_H
#define EDGE_SERVER_SERVER_TLS_H

#include <stddef.h>

#include "core/base/err.h"
#include "server_conn.h"

/*
 * Certificate pairs for the server's handshakes.  server_conn decides which
 * pair a connection gets and how long it is kept.
 */

/* This removes from GnuTLS's NORMAL what is weak: TLS 1.0 and 1.1, CBC,
 * signatures with SHA-1, and key exchange by RSA, which has no forward secrecy.
 * X25519 is the first group because Go's clients send a key share for it; any
 * other group would cost them a second ClientHello.  AES-128 is the first
 * cipher because its suite hashes with SHA-256, which processors have
 * instructions for.  The suite of AES-256 uses SHA-384, which GnuTLS computes
 * without such instructions. */
#define TLS_PRIORITIES                                                         \
	"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:"                          \
	"-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:"                                     \
	"-GROUP-ALL:+GROUP-X25519:+GROUP-ALL:"                                 \
	"-SIGN-RSA-SHA1:-SIGN-ECDSA-SHA1:"                                     \
	"-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:"            \
	"%SERVER_PRECEDENCE"

/* Makes a pair from PEM, with the leaf first in the chain.  It returns NULL on
 * failure, and *e says why. */
struct tls_credentials *tls_pair_new(const char *cert_pem, size_t cert_bytes,
				     const char *key_pem, size_t key_bytes,
				     struct err *e);

/* Returns a gnutls_certificate_retrieve_function3. */
void *tls_certificate_callback(void);

/* Call this when c is new; `session` is GnuTLS's.  It ends c if its client
 * sends more than conn_pulled allows, tells when the handshake is done
 * (conn_greeted), and lets the client resume later.  For that the client gets a
 * ticket, and the server keeps nothing.  A ticket is good for as long as its
 * pair is served. */
void tls_begin(void *session, struct conn *c);

#endif
