/* SPDX-License-Identifier: Apache-2.0 */
/* This is the only file that uses GnuTLS, which does TLS for libmicrohttpd. */
#include "server_tls.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "core/base/limits.h"

#define RECORD_HEAD 5 /* bytes: type, version, length */

struct tls_pair {
	struct tls_credentials pair;
	gnutls_privkey_t key;
	gnutls_pcert_st chain[CERTS_CHAIN_MAX];
	unsigned chain_n;
	gnutls_datum_t tickets; /* the key that encrypts session tickets */
};

static void
tls_pair_free(struct tls_credentials *p)
{
	struct tls_pair *t = (struct tls_pair *)p;

	for (unsigned i = 0; i < t->chain_n; i++)
		gnutls_pcert_deinit(&t->chain[i]);
	if (t->key != NULL)
		gnutls_privkey_deinit(t->key);
	if (t->tickets.data != NULL)
		gnutls_memset(t->tickets.data, 0, t->tickets.size);
	gnutls_free(t->tickets.data);
	free(t);
}

static int
tls_pair_import(struct tls_pair *t, const gnutls_datum_t *cert,
		const gnutls_datum_t *key)
{
	unsigned n = CERTS_CHAIN_MAX;
	int rc;

	rc = gnutls_pcert_list_import_x509_raw(
		t->chain, &n, cert, GNUTLS_X509_FMT_PEM,
		GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);
	if (rc != 0)
		return rc;
	t->chain_n = n;
	rc = gnutls_privkey_init(&t->key);
	if (rc != 0)
		return rc;
	rc = gnutls_privkey_import_x509_raw(t->key, key, GNUTLS_X509_FMT_PEM,
					    NULL, 0);
	if (rc != 0)
		return rc;
	return gnutls_session_ticket_key_generate(&t->tickets);
}

struct tls_credentials *
tls_pair_new(const char *cert_pem, size_t cert_bytes, const char *key_pem,
	     size_t key_bytes, struct err *e)
{
	/* gnutls_datum_t is not const, but GnuTLS does not write here. */
	gnutls_datum_t cert = {(void *)cert_pem, (unsigned)cert_bytes};
	gnutls_datum_t key = {(void *)key_pem, (unsigned)key_bytes};
	struct tls_pair *t = calloc(1, sizeof(*t));
	int rc;

	if (t == NULL) {
		(void)err_set(e, ERR_SYSTEM, "out of memory");
		return NULL;
	}
	t->pair.free = tls_pair_free;
	rc = tls_pair_import(t, &cert, &key);
	if (rc != 0) {
		tls_pair_free(&t->pair);
		(void)err_set(e, ERR_TLS, "take the certificate pair: %s",
			      gnutls_strerror(rc));
		return NULL;
	}
	return &t->pair;
}

/* Returns the connection of a session.  The session's pointer is the
 * MHD_Connection.  libmicrohttpd does not document this, but 0.9.75 and 1.0
 * behave so, and tests/edge checks this. */
static struct conn *
conn_of(gnutls_session_t session)
{
	return MHD_get_connection_info(gnutls_session_get_ptr(session),
				       MHD_CONNECTION_INFO_SOCKET_CONTEXT)
		->socket_context;
}

static struct tls_pair *
pair_of(gnutls_session_t session)
{
	struct conn *c = conn_of(session);

	return c == NULL ? NULL : (struct tls_pair *)conn_pair(c);
}

/* A handshake hook of GnuTLS.  The key for tickets has to be set before GnuTLS
 * reads the ClientHello, which may contain a ticket.  The client's Finished
 * message is the last message that we wait for, so it ends the handshake.
 * After a KeyUpdate, libmicrohttpd would wait for more bytes, although a
 * request may have come together with the KeyUpdate.  GNUTLS_E_INTERRUPTED
 * makes libmicrohttpd read on. */
static int
on_message(gnutls_session_t session, unsigned type, unsigned when,
	   unsigned incoming, const gnutls_datum_t *message)
{
	const struct tls_pair *t;

	(void)message;
	if (!incoming)
		return 0;
	if (type == GNUTLS_HANDSHAKE_CLIENT_HELLO && when == GNUTLS_HOOK_PRE) {
		t = pair_of(session);
		if (t != NULL)
			return gnutls_session_ticket_enable_server(session,
								   &t->tickets);
	}
	if (type == GNUTLS_HANDSHAKE_FINISHED && when == GNUTLS_HOOK_POST &&
	    conn_of(session) != NULL)
		conn_greeted(conn_of(session));
	if (type == GNUTLS_HANDSHAKE_KEY_UPDATE && when == GNUTLS_HOOK_POST)
		return GNUTLS_E_INTERRUPTED;
	return 0;
}

/* Gives GnuTLS the pair of the connection.  GnuTLS uses the pair until the
 * session ends, and the connection keeps the pair until then. */
static int
on_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
	       gnutls_pcert_st **chain, unsigned *chain_n,
	       gnutls_ocsp_data_st **ocsp, unsigned *ocsp_n,
	       gnutls_privkey_t *key, unsigned *flags)
{
	struct tls_pair *t = pair_of(session);

	(void)info;
	if (t == NULL)
		return -1; /* There is no pair yet; the handshake fails. */
	*chain = t->chain;
	*chain_n = t->chain_n;
	*ocsp = NULL;
	*ocsp_n = 0;
	*key = t->key;
	*flags = 0;
	return 0;
}

void *
tls_certificate_callback(void)
{
	return (void *)on_certificate;
}

/* A pull function of GnuTLS.  GnuTLS asks for the five bytes that begin a
 * record, and then for the rest of the record.  It keeps the parts of a message
 * until the message is whole: up to 180 KiB for a ClientHello, and up to 16 MiB
 * for a message after the handshake of TLS 1.3.  Even for an empty part it
 * allocates a buffer for a whole record.  GnuTLS bounds only whole messages, so
 * this function bounds the bytes. */
static ssize_t
pull(gnutls_transport_ptr_t ptr, void *bytes, size_t n)
{
	struct conn *c = ptr;
	ssize_t got = recv(c->fd, bytes, n, 0);

	if (got > 0 && !conn_pulled(c, (size_t)got, n == RECORD_HEAD)) {
		errno = EMSGSIZE;
		return -1;
	}
	return got;
}

void
tls_begin(void *session, struct conn *c)
{
	gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_ANY,
					   GNUTLS_HOOK_BOTH, on_message);
	gnutls_transport_set_ptr2(session, c,
				  (gnutls_transport_ptr_t)(intptr_t)c->fd);
	gnutls_transport_set_pull_function(session, pull);
}
