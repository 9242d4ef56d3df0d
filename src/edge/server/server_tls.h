/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SERVER_SERVER_TLS_H
#define EDGE_SERVER_SERVER_TLS_H

#include <stddef.h>

#include "core/base/err.h"
#include "server_conn.h"

/*
 * Certificate pairs for the server's handshakes.  Which one a connection is
 * greeted with, and how long it is kept, is server_conn's.
 */

/* TLS 1.0 and 1.1 are in GnuTLS's NORMAL. */
#define TLS_PRIORITIES                                                         \
	"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE"

/* From PEM, the chain leaf first.  NULL: the error says why. */
struct tls_credentials *tls_pair_new(const char *cert_pem, size_t cert_bytes,
			  const char *key_pem, size_t key_bytes,
			  struct err *e);

/* A gnutls_certificate_retrieve_function3. */
void *tls_certificate_callback(void);

/* Wanted from the server: the connection whose session carries this pointer
 * (gnutls_session_get_ptr).  NULL: none. */
struct conn *tls_conn(void *session_ptr);

#endif
