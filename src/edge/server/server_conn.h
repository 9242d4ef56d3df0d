/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SERVER_SERVER_CONN_H
#define EDGE_SERVER_SERVER_CONN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "core/base/err.h"
#include "edge/server/server.h"

/*
 * The server's open connections, their deadlines, the thread that enforces
 * them, and the certificate pair they were greeted with.  Knows sockets, but
 * neither HTTP nor TLS.  One leaf lock; nothing is called under it but
 * shutdown(2), which has to be: outside it the descriptor could be another's.
 */

enum conn_wait {
	CONN_HEAD,	/* handshake, request line, fields */
	CONN_FIRST,	/* greeted: the first head, of which nothing came yet */
	CONN_BODY,
	CONN_HANDLER,	/* ours: no deadline */
	CONN_REPLY,
	CONN_IDLE,	/* the next head */
	CONN_WAITS,
};

/* A certificate pair in use: whoever embeds it says how it is freed. */
struct tls_credentials {
	unsigned refs;	/* under the table's lock */
	void (*free)(struct tls_credentials *p);
};

struct conns;
struct request;

struct conn {
	struct conns *table;
	int fd;
	_Atomic int wait;	/* enum conn_wait */
	_Atomic int64_t deadline_ms;	/* boot_ms; INT64_MAX = none */
	struct tls_credentials *pair;	/* NULL before the handshake */
	struct request *request;	/* its user's, whose end is to come */
};

struct conns {
	pthread_mutex_t lock;
	pthread_t reaper;
	int stop_fd;	/* eventfd */
	struct conn **at;	/* by descriptor */
	int slots;
	struct tls_credentials *current;
	int64_t allowed_ms[CONN_WAITS];	/* 0 = for ever */
	int tick_ms;
	unsigned max;
	unsigned most;	/* open at once since memory was given back */
	void (*reaped)(void *ctx, unsigned n);
	void *ctx;
	_Atomic unsigned open;
	_Atomic int64_t closed_ms;	/* boot_ms of the last that went */
	_Atomic int64_t beat_ms;	/* boot_ms of the reaper's last round */
};

/* Starts the reaper, which enforces o's deadlines and tells `reaped`. */
int conns_init(struct conns *t, const struct server_options *o,
	       void (*reaped)(void *ctx, unsigned n), void *ctx,
	       struct err *e);
/* Ends it.  No connection is open any more. */
void conns_done(struct conns *t);

/* NULL: no memory. */
struct conn *conns_add(struct conns *t, int fd);
/* Before the descriptor is closed. */
void conn_drop(struct conn *c);

/* What c waits for from now on, and so its deadline; only by the thread that
 * serves it. */
void conn_expect(struct conn *c, enum conn_wait wait);
/* The handshake is done.  An API server dials more than it needs at once and
 * keeps the spares for later: it has to be the one that closes them. */
void conn_greeted(struct conn *c);
/* The request line is there: a head that has begun does not get the time of
 * an idle wait, nor the first one more than it has. */
void conn_head_begun(struct conn *c);

/* Takes p over as the pair for new handshakes. */
void conns_rotate(struct conns *t, struct tls_credentials *p);
/* The pair c is greeted with, kept until c is dropped; NULL: none yet. */
struct tls_credentials *conn_pair(struct conn *c);

#endif
