/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EDGE_SCRIPTED_TLS_H
#define TESTS_EDGE_SCRIPTED_TLS_H

#include <openssl/ssl.h>
#include <openssl/x509.h>

/* Certificates for tests, made in memory, and the context of a TLS server.
 * Where OpenSSL fails, these functions abort. */

struct tls_pair {
	X509 *cert;
	EVP_PKEY *key;
	char *cert_pem, *key_pem;
};

/* Makes a pair that `issuer` signs.  With issuer NULL it is a CA and signs
 * itself.  `san` is "IP:127.0.0.1" or the like, or NULL.  The certificate ends
 * `seconds` from now.  The caller frees the pair with tls_pair_free. */
struct tls_pair tls_mint(const struct tls_pair *issuer, const char *cn,
			 const char *san, long seconds);
void tls_pair_free(struct tls_pair *p);

/* Returns the context of a server with that pair.  If client_ca is not NULL,
 * it demands a client certificate of that CA.  The caller frees the context. */
SSL_CTX *tls_server(const struct tls_pair *pair,
		    const struct tls_pair *client_ca);

#endif
