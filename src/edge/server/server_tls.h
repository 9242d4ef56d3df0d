/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SERVER_SERVER_TLS_H
#define EDGE_SERVER_SERVER_TLS_H

#include <stddef.h>

#include "core/base/err.h"
#include "server_conn.h"

/*
 * Certificate pairs for the server's handshakes.  server_conn decides which
 * pair a connection gets and how long the pair is kept.
 */

/* Removes the weak parts of GnuTLS's NORMAL: TLS 1.0 and 1.1, CBC, signatures
 * with SHA-1, and key exchange by RSA, which has no forward secrecy.  X25519 is
 * the first group because Go's clients send a key share for it; with any other
 * first group these clients would have to send a second ClientHello.  AES-128
 * is the first cipher because its suite hashes with SHA-256, for which
 * processors have instructions.  The suite of AES-256 uses SHA-384, which
 * GnuTLS computes without such instructions. */
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

/* Call this when c is new.  `session` is a gnutls_session_t.  From then on c
 * ends if its client sends more than conn_pulled allows, and conn_greeted is
 * called when the handshake is done.  The client gets a ticket with which it
 * can resume the session later.  The server keeps no state for that.  A ticket
 * is good for as long as its pair is served. */
void tls_begin(void *session, struct conn *c);

#endif
