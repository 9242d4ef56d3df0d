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

/* GnuTLS's NORMAL contains TLS 1.0 and 1.1, CBC, and the exchange of keys by
 * RSA, which keeps nothing secret once the key is known. */
#define TLS_PRIORITIES                                                         \
	"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:"                          \
	"-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:"                                     \
	"-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:"            \
	"%SERVER_PRECEDENCE"

/* Makes a pair from PEM, with the leaf first in the chain.  It returns NULL on
 * failure, and *e says why. */
struct tls_credentials *tls_pair_new(const char *cert_pem, size_t cert_bytes,
				     const char *key_pem, size_t key_bytes,
				     struct err *e);

/* Returns a gnutls_certificate_retrieve_function3. */
void *tls_certificate_callback(void);

/* Call this when c is new.  It bounds what its client may send before the
 * handshake is done; `session` is GnuTLS's. */
void tls_bound(void *session, struct conn *c);

#endif
