/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SERVER_SERVER_H
#define EDGE_SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * An HTTP/1.1 server, built on libmicrohttpd, with TLS 1.2 and 1.3 by GnuTLS or
 * without TLS.  It runs a pool of epoll threads, and a reaper that closes
 * connections past their deadlines (MHD's own timeout is reset by every byte).
 * Handlers run on the pool's threads, several at once, and should be quick.  A
 * handler that may take longer runs on a worker (server_route.busy).
 *
 * The server refuses some requests by itself, with one line of text/plain.  If
 * there are several reasons, the first of these counts: 400 (a head that could
 * be understood in two ways, such as one with an ambiguous length), 421
 * (without TLS: a browser that uses a domain name which may belong to an
 * attacker, as in DNS rebinding), 404, 405, 415 and 413, then 503 (bounds
 * below), and 500 (a handler that set no status).  In most cases the server
 * first reads and discards the refused body, up to SERVER_DISCARD_MAX, because
 * a reset of the connection would otherwise destroy the answer.  It does not
 * read the body for a 400, or if the client waits for "100 Continue".
 * libmicrohttpd answers requests that are not HTTP/1.1 at all, in its own
 * words.
 */

/* A request, as a handler gets it.  All pointers are valid until the handler
 * returns. */
struct server_request {
	const char *method; /* The route's method, which is "GET" for a HEAD. */
	const char *path;
	const char *query;	  /* not decoded; "" if there is none */
	const char *content_type; /* NULL if there is none */
	const char *accept;	  /* NULL if there is none */
	const char *body;	  /* not NUL-terminated; NULL if none */
	size_t body_bytes;
};

/* A header field of a reply. */
struct server_field {
	const char *name, *value;
};

/* A reply.  The handler fills it in, and the server sends it. */
struct server_reply {
	int status;		  /* 200 to 599; any other value becomes 500 */
	const char *content_type; /* static */
	/* More header fields, or NULL.  The array is static, and the last
	 * element has no name. */
	const struct server_field *fields;
	const char *body;
	size_t body_bytes;
	/* If this is not NULL, the server takes the body over and frees it with
	 * this function.  Otherwise the server copies the body. */
	void (*body_free)(void *);
	bool close; /* whether to send "Connection: close" */
};

typedef void server_handler(void *ctx, const struct server_request *q,
			    struct server_reply *a);

struct server_route {
	const char *path;   /* an exact path, or a prefix if it ends in '*';
				   the first route that fits counts */
	const char *method; /* "GET" also answers HEAD */
	/* The only type that is accepted, with any parameters; others get 415.
	 * NULL: any type. */
	const char *content_type;
	size_t body_max; /* larger bodies get 413; 0: any body is refused */
	server_handler *handler;
	/* If this is not NULL, `handler` may be slow.  It then runs on the
	 * server's worker, one request after another, and the thread that
	 * serves the connections never waits for it.  At most
	 * SERVER_WAITING_MAX requests of the route wait for the worker.  `busy`
	 * answers further requests, on the serving thread. */
	server_handler *busy;
};

/* What the server did without a handler, as on_event reports it. */
enum server_event {
	SERVER_REFUSED, /* 4xx by the server but 405, or an overlong body */
	SERVER_SHED,	/* 503: too much memory for bodies, or too many big
			   bodies */
	SERVER_REAPED,	/* closed at a deadline */
};

struct server_options {
	const char *address; /* "host:port", ":port" or "[v6]:port"; port 0
				   means any free one */
	bool tls; /* handshakes fail before the first server_rotate */
	const struct server_route *routes; /* borrowed; they outlive the
						   server */
	size_t routes_n;
	void *ctx; /* passed to the handlers and to on_event */
	/* May be NULL.  The threads of the pool and the reaper call it. */
	void (*on_event)(void *ctx, enum server_event event);
	unsigned threads;
	/* Maximum number of open connections.  When more than three quarters of
	 * it are open, each new connection ends the connection that has waited
	 * longest for its client, provided that this wait has lasted for
	 * SERVER_FRESH_MS or that all places are taken. */
	unsigned connections_max;
	/* Limit for the bytes of all bodies in memory.  Requests beyond it get
	 * 503.  If more than three quarters are used, the server closes the
	 * connection whose body has the largest product of bytes and time. */
	size_t bytes_max;
	/* A body of more than big_bytes is big.  All big bodies together use at
	 * most half of bytes_max, and at most big_max of them are handled at a
	 * time.  Further big bodies get 503.  If big bodies use more than a
	 * quarter of bytes_max, the server closes the connection of the big
	 * body whose product of bytes and time is largest.  If big_bytes is 0,
	 * no body is big. */
	size_t big_bytes;
	unsigned big_max;
	/* Whether the server accepts a connection only when the client's first
	 * bytes have come, or after ten seconds (TCP_DEFER_ACCEPT).  Until then
	 * the connection does not count, so it cannot be closed for a newer one
	 * while its client is about to send. */
	bool deferred;
	/* Limit for the bytes of all the worker's replies that clients have not
	 * read yet.  It must be at least the size of the largest reply.  To
	 * make room for another reply, the server closes the connections whose
	 * replies have been unread for longest. */
	size_t unread_max;
	/* Deadlines; bytes that arrive do not extend them.  head_ms: from
	 * accept to the end of the handshake (without TLS: to the end of the
	 * head), and from the request line to the complete head.  body_ms: from
	 * the head to the complete body.  reply_ms: until the reply is written.
	 * idle_ms: from the handshake or a reply to the next request line. */
	int64_t head_ms, body_ms, reply_ms, idle_ms;
};

struct server;

/* Opens the socket and starts the threads.  Returns NULL on failure: ERR_INPUT
 * for an address that cannot be parsed, otherwise ERR_SYSTEM. */
struct server *server_new(const struct server_options *o, struct err *e);
/* Closes all connections at once, and waits for the handlers that run.
 * Requests that wait for the worker are refused. */
void server_free(struct server *s);
/* Returns the port that the server listens on, for an address with port 0. */
uint16_t server_port(const struct server *s);

/* Serves this PEM pair from the next handshake on (chain leaf first).  The pair
 * must have passed certs_load.  Open connections keep the old pair.  Any
 * thread.  ERR_TLS: GnuTLS cannot read the new pair, and the old pair stays. */
int server_rotate(struct server *s, const char *cert_pem, size_t cert_bytes,
		  const char *key_pem, size_t key_bytes, struct err *e);

/* Changes the options connections_max and bytes_max of server_new.
 * connections_max must not exceed the value that server_new got.  If more
 * connections are open, those that have waited longest for their client are
 * closed.  Bodies that are in memory stay.  Any thread. */
void server_bound(struct server *s, unsigned connections_max, size_t bytes_max);

/* From now on every answer has "Connection: close".  Idle connections stay open
 * until the client closes or uses them, and the server still accepts
 * connections. */
void server_drain(struct server *s);

/* Returns how many connections are open.  Any thread may call this function and
 * the next two. */
unsigned server_connections(const struct server *s);

/* Returns the milliseconds since the last connection was closed, or 0 while one
 * is open. */
int64_t server_unused_ms(const struct server *s);

/* For liveness checks.  Returns a time in milliseconds that grows while a
 * thread is stuck.  It is the longest of three times: the time since the last
 * round of the reaper, the time since the call of a handler that has not
 * returned, and the time since the shutdown of a connection that has not been
 * closed. */
int64_t server_heartbeat_age_ms(const struct server *s);

#endif
