/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SERVER_SERVER_CONN_H
#define EDGE_SERVER_SERVER_CONN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "core/base/err.h"
#include "edge/server/server.h"

/*
 * The server's open connections, their deadlines, the thread that enforces them
 * and the certificate pair of each handshake.  This unit knows sockets but
 * neither HTTP nor TLS.  It has one leaf lock.  Nothing is called under the
 * lock but realloc, for a longer array, and shutdown(2), which has to be: after
 * the lock is released, the descriptor may belong to another connection.
 */

enum conn_wait {
	CONN_HEAD,  /* handshake, request line, fields */
	CONN_FIRST, /* handshake done; no byte of a head yet */
	CONN_BODY,
	CONN_HANDLER, /* in our handler: no deadline */
	CONN_REPLY,
	CONN_IDLE, /* the next head */
	CONN_WAITS,
};

/* A certificate pair in use.  Whoever embeds this struct provides `free`. */
struct tls_credentials {
	unsigned refs; /* under the table's lock */
	void (*free)(struct tls_credentials *p);
};

struct conns;
struct request;

struct conn {
	struct conns *table;
	int fd;
	_Atomic int wait;	     /* enum conn_wait */
	_Atomic int64_t deadline_ms; /* boot time, or INT64_MAX if none */
	/* The boot time since which it waits.  It is in microseconds because a
	 * crowd comes within milliseconds, and its order matters. */
	_Atomic int64_t since_us;
	/* These two are under the table's lock. */
	int64_t shut_ms; /* boot time when it was shut down; 0: it was not */
	bool shut_body;	 /* a body was arriving when it was shut down */
	bool greeted;	 /* the handshake is done */
	/* The bytes that have come, and the TLS records that have begun, since
	 * HTTP last made progress or, before that, since the handshake
	 * began. */
	size_t silent;
	unsigned records;
	_Atomic size_t room; /* room of the arriving body, or 0 */
	/* Whether the client has not read a reply that may be cut. */
	_Atomic bool unread;
	struct tls_credentials *pair; /* NULL before the handshake */
	struct request *request;      /* the current request, or NULL */
};

struct conns {
	pthread_mutex_t lock;
	pthread_t reaper;
	int stop_fd;	  /* eventfd */
	struct conn **at; /* by descriptor */
	int slots;
	struct tls_credentials *current;
	int64_t allowed_ms[CONN_WAITS]; /* 0 if no deadline */
	int tick_ms;
	_Atomic unsigned max;
	unsigned shut; /* shut down and not yet dropped; under the lock */
	unsigned shut_bodies; /* how many of these had an arriving body */
	/* The most connections open at once since memory was last returned to
	 * the kernel. */
	unsigned most;
	void (*reaped)(void *ctx, unsigned n);
	void *ctx;
	_Atomic unsigned open;
	_Atomic unsigned records;  /* the sum of all records, without the
					   first of each connection */
	_Atomic int64_t closed_ms; /* boot time of the last close */
	_Atomic int64_t beat_ms;   /* boot time of the reaper's last round */
	/* The boot time since which a serving thread has something to finish: a
	 * handler runs, or a connection that was shut down must be closed.  The
	 * reaper sets it in each round; INT64_MAX if there is nothing. */
	_Atomic int64_t owed_ms;
};

/* Starts the reaper, which enforces the deadlines in o and calls `reaped` with
 * the number of connections that it shut down.  It returns -1 on failure, and
 * *e says why. */
int conns_init(struct conns *t, const struct server_options *o,
	       void (*reaped)(void *ctx, unsigned n), void *ctx, struct err *e);
/* Ends the reaper.  No connection may be open any more. */
void conns_done(struct conns *t);

/* Adds a new connection.  If more than three quarters of the places are taken,
 * it shuts down the connection that has waited longest for its client, provided
 * that it has waited for SERVER_FRESH_MS or that no place is free.  Returns
 * NULL if all places are still taken, or memory is short. */
struct conn *conns_add(struct conns *t, int fd);
/* Call this before the descriptor is closed.  It frees c. */
void conn_drop(struct conn *c);

/* Sets what c waits for from now on, and its deadline.  Only the thread that
 * serves c calls these four functions. */
void conn_expect(struct conn *c, enum conn_wait wait);
/* The handshake is done.  From now on c has the time of an idle connection
 * until its first request line comes.  An API server opens more connections
 * than it needs at once and keeps the spare ones for later, so it should be the
 * one that closes them. */
void conn_greeted(struct conn *c);
/* Counts n more bytes that have come; `begins` says that they begin a TLS
 * record.  Returns false if c has to end, because more has come than the TLS
 * library may keep for it.  The count starts at the handshake, and starts again
 * whenever another of these functions, or conn_body, tells of progress. */
bool conn_pulled(struct conn *c, size_t n, bool begins);
/* The request line has come.  A head that has begun does not get the time of an
 * idle wait, and the first head gets no more time than is left. */
void conn_head_begun(struct conn *c);

/* Tells that a body is arriving on c and has `room` bytes now.  If there are
 * other bodies with more room than `above`, it shuts down the connection of the
 * one that has kept the most for the longest time.  With SIZE_MAX it shuts down
 * none. */
void conn_body(struct conn *c, size_t room, size_t above);

/* Sets whether c is being sent a reply that conns_cut_unread may cut.  Only the
 * thread that serves c calls it. */
void conn_unread(struct conn *c, bool unread);
/* Shuts down the connection that has left such a reply unread for longest,
 * unless one is about to be closed already. */
void conns_cut_unread(struct conns *t);

/* Takes ownership of p as the pair for new handshakes. */
void conns_rotate(struct conns *t, struct tls_credentials *p);
/* Returns the pair for c's handshake, which stays valid until c is dropped.
 * NULL: there is none yet. */
struct tls_credentials *conn_pair(struct conn *c);

#endif
