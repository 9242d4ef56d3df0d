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
	_Atomic int64_t deadline_ms; /* boot time; INT64_MAX: none */
	/* Boot time since which it waits.  A crowd comes within milliseconds,
	 * and who of it came first has to be known. */
	_Atomic int64_t since_us;
	int64_t shut_ms;     /* boot time at which it was shut down; 0: it
				   was not.  Under the table's lock … */
	bool shut_body;	     /* … as is this: a body was arriving then */
	bool greeted;	     /* the handshake is done */
	size_t silent;	     /* bytes since HTTP got on, before that of the
				   handshake … */
	unsigned records;    /* … and how many records have begun since */
	_Atomic size_t room; /* of a body that is arriving; 0: none is */
	_Atomic bool unread; /* it has yet to read a reply that may be cut */
	struct tls_credentials *pair; /* NULL before the handshake */
	struct request *request;      /* begun and not yet completed */
};

struct conns {
	pthread_mutex_t lock;
	pthread_t reaper;
	int stop_fd;	  /* eventfd */
	struct conn **at; /* by descriptor */
	int slots;
	struct tls_credentials *current;
	int64_t allowed_ms[CONN_WAITS]; /* 0: no deadline */
	int tick_ms;
	_Atomic unsigned max;
	unsigned shut; /* shut down and not yet dropped; under the lock */
	unsigned shut_bodies; /* … of them those with a body */
	/* The most open at once since memory was last given back. */
	unsigned most;
	void (*reaped)(void *ctx, unsigned n);
	void *ctx;
	_Atomic unsigned open;
	_Atomic unsigned records;  /* those of all, without the first of
					   each */
	_Atomic int64_t closed_ms; /* boot time of the last close */
	_Atomic int64_t beat_ms;   /* boot time of the reaper's last round */
	/* Since when a serving thread owes something: a handler runs, or a
	 * connection that was shut down is yet to be closed.  Boot time as of
	 * the reaper's last round; INT64_MAX: nothing is owed. */
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
 * the connection that has waited longest for its client is shut down for it, if
 * that is SERVER_FRESH_MS or no place is free.
 * Returns NULL if all places are taken nevertheless, or memory is short. */
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
/* n more bytes have come, which begin a record of TLS or go on with one.
 * Returns false if c has to end: more has come than the TLS library may keep
 * for it, since its handshake began, or later since HTTP got on (which the
 * other functions and conn_body tell). */
bool conn_pulled(struct conn *c, size_t n, bool begins);
/* The request line has come.  A head that has begun does not get the time of an
 * idle wait, and the first head gets no more time than is left. */
void conn_head_begun(struct conn *c);

/* A body is arriving on c, which has `room` bytes now.  Of the others with more
 * room than `above`, the one that has kept most for longest is shut down;
 * SIZE_MAX: none. */
void conn_body(struct conn *c, size_t room, size_t above);

/* c is sent a reply that conns_cut_unread may cut, or no longer is.  Only the
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
