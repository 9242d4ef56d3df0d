/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EDGE_SCRIPTED_H
#define TESTS_EDGE_SCRIPTED_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An HTTP/1.1 server on 127.0.0.1 for one test.  It has a thread for each
 * connection, which gives each request to the test's own function.  That
 * function answers byte by byte if it likes.
 */

#define SCRIPTED_PEERS 128	/* connections in the life of a server */
#define SCRIPTED_BYTES 16384	/* of a request */

struct scripted;

struct scripted_peer {
	struct scripted *server;
	pthread_t thread;
	int fd;
	SSL *ssl;		/* NULL: plain TCP */
	unsigned nth;		/* number of the request on this connection,
				   from 0 */
	char request[SCRIPTED_BYTES];	/* head and body, NUL-terminated */
	char *body;		/* where in `request` the body begins */
	size_t have;		/* bytes in `request` */
};

/* Answers one request on the connection's thread.  Returns whether the
 * connection stays open for another. */
typedef bool scripted_answer(struct scripted_peer *p, void *ctx);

struct scripted {
	int fd;
	uint16_t port;
	SSL_CTX *tls;		/* NULL: plain TCP */
	scripted_answer *answer;
	void *ctx;
	pthread_t acceptor;
	pthread_mutex_t lock;	/* over the peers and the end of each, for
				   scripted_stop */
	struct scripted_peer *peers[SCRIPTED_PEERS];
	unsigned peers_n;
	atomic_uint accepted, requests, open;
	atomic_bool stop;
};

/* Starts the server, or aborts.  `tls` outlives it. */
void scripted_start(struct scripted *s, SSL_CTX *tls, scripted_answer *answer,
		    void *ctx);
/* Cuts all connections and joins all threads. */
void scripted_stop(struct scripted *s);

/* For the test's function.  False: the client has gone. */
bool scripted_send(struct scripted_peer *p, const char *bytes, size_t n);
bool scripted_puts(struct scripted_peer *p, const char *s);
/* Sends a whole answer; `headers` are lines, each with its CRLF. */
bool scripted_reply(struct scripted_peer *p, const char *status,
		    const char *headers, const char *body);
/* Sends nothing.  Returns false when the client has closed. */
bool scripted_hang(struct scripted_peer *p);
/* Writes the value of a header of the request into `out` and returns it; ""
 * if the request has no such header. */
const char *scripted_header(const struct scripted_peer *p, const char *name,
			    char *out, size_t cap);

#endif
