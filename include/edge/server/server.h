/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SERVER_SERVER_H
#define EDGE_SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * An HTTP/1.1 server by libmicrohttpd, with TLS 1.2 and 1.3 by GnuTLS or
 * without TLS.  It runs a pool of epoll threads, and a reaper that closes
 * connections past their deadlines (MHD's own timeout is reset by every byte).
 * Handlers run on the pool's threads, several at once, and should be quick.
 *
 * The server refuses some requests by itself, with one line of text/plain: 400
 * (ambiguous length), 404, 405, 415 and 413, in this order, 503 (bounds below),
 * and 500 (a handler that left no status).  It first reads a refused body away,
 * up to SERVER_DISCARD_MAX, because otherwise the answer would be lost in a
 * reset.  libmicrohttpd refuses what is no HTTP/1.1 at all, in its own words.
 */

struct server_request {
	const char *method;	/* the route's */
	const char *path;
	const char *query;	/* raw, "" if none */
	const char *content_type;
	const char *body;	/* not NUL-terminated; NULL if 0 */
	size_t body_bytes;
};

/* A handler fills it, and the server sends it.  Text is copied from `body`. */
struct server_reply {
	int status;
	const char *content_type;	/* static */
	const char *body;
	size_t body_bytes;
	void (*body_free)(void *);	/* takes the body over and frees it;
					   NULL: the body is copied */
	int retry_after_s;	/* < 0: none */
	bool close;		/* Connection: close */
};

typedef void server_handler(void *ctx, const struct server_request *q,
			    struct server_reply *a);

struct server_route {
	const char *path;	/* an exact path, or a prefix if it ends in '*';
				   the first route that fits counts */
	const char *method;	/* "GET" answers HEAD as well */
	const char *content_type;	/* required (415); parameters are
					   ignored; NULL: any */
	size_t body_max;	/* 413 above it; 0: any body is refused */
	server_handler *handler;
};

/* Why the server answered by itself; for counters. */
enum server_event {
	SERVER_REFUSED,		/* 4xx by the server, or an overlong body */
	SERVER_SHED,		/* 503: bodies over their bound */
	SERVER_REAPED,		/* closed at a deadline */
};

struct server_options {
	const char *address;	/* "host:port", ":port", "[v6]:port"; port 0
				   means any free one */
	bool tls;		/* it needs server_rotate before it can
				   answer */
	const struct server_route *routes;	/* outlive the server */
	size_t routes_n;
	void *ctx;		/* for handlers and on_event */
	void (*on_event)(void *ctx, enum server_event event);	/* or NULL */
	unsigned threads;
	unsigned connections_max;
	size_t bytes_max;	/* of bodies held at once; beyond it: 503 */
	size_t big_bytes;	/* at most big_max bodies above this size are
				   handled at once, others get 503; 0 = no such
				   limit */
	unsigned big_max;
	/* Deadlines, whatever bytes arrive.  head_ms: from accept to the end of
	 * the handshake (without TLS: of the head), and from the request line
	 * to the complete head.  body_ms: from the head to the complete body.
	 * reply_ms: until the reply is written.  idle_ms: from the handshake or
	 * a reply to the next request's line. */
	int64_t head_ms, body_ms, reply_ms, idle_ms;
};

struct server;

struct server *server_new(const struct server_options *o, struct err *e);
void server_free(struct server *s);	/* closes everything at once */
uint16_t server_port(const struct server *s);

/* Serves this PEM pair from the next handshake on (chain leaf first).  The pair
 * has passed certs_load.  Open connections keep theirs.  Any thread.  ERR_TLS:
 * GnuTLS cannot read it, and the old pair stays. */
int server_rotate(struct server *s, const char *cert_pem, size_t cert_bytes,
		  const char *key_pem, size_t key_bytes, struct err *e);

/* From now on every answer carries Connection: close, and idle connections stay
 * open until the client closes or uses them.  The server still accepts
 * connections. */
void server_drain(struct server *s);

unsigned server_connections(const struct server *s);

/* Milliseconds since the last connection was closed; 0 while one is open. */
int64_t server_unused_ms(const struct server *s);

/* Milliseconds since the reaper last went round.  Liveness goes by this. */
int64_t server_heartbeat_age_ms(const struct server *s);

#endif
