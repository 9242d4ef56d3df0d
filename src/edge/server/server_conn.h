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
 * and the certificate pair of each handshake.  This unit uses sockets but
 * neither HTTP nor TLS.  It has one leaf lock.  While the lock is held, it
 * calls only realloc (for a longer array) and shutdown(2).  shutdown needs the
 * lock, because the descriptor may belong to another connection once the lock
 * is released.
 */

enum conn_wait {
	/* At first, until the handshake is done or, without TLS, until the head
	 * is complete.  Later from each request line to the end of its head. */
	CONN_HEAD,
	/* From the end of the handshake to the first request line. */
	CONN_FIRST,
	CONN_BODY,
	CONN_HANDLER, /* Our handler runs.  There is no deadline. */
	CONN_REPLY,
	CONN_IDLE, /* From a reply to the next request line. */
	CONN_WAITS,
};

/* A certificate pair in use.  Whoever embeds this struct provides `free`. */
struct tls_credentials {
	unsigned refs; /* Number of users; protected by the table's lock. */
	void (*free)(struct tls_credentials *p);
};

struct conns;
struct request;

struct conn {
	struct conns *table;
	int fd;
	_Atomic int wait;	     /* what it waits for: an enum conn_wait */
	_Atomic int64_t deadline_ms; /* Boot time in ms, or INT64_MAX. */
	/* Boot time in µs since which the connection waits.  Many connections
	 * may come within one millisecond, and their order matters. */
	_Atomic int64_t since_us;
	/* The table's lock protects shut_ms and shut_body. */
	int64_t shut_ms; /* Boot time in ms of its shutdown, or 0. */
	bool shut_body;	 /* Whether a body was arriving at that time. */
	bool greeted;	 /* Whether the handshake is done. */
	/* Number of bytes that have come, and of TLS records that have begun,
	 * since HTTP last made progress.  Before the first progress of HTTP
	 * they are counted from the beginning of the handshake. */
	size_t silent;
	unsigned records;
	_Atomic size_t room; /* memory that the arriving body has, or 0 */
	/* Whether a reply is being sent that conns_cut_unread may cut. */
	_Atomic bool unread;
	struct tls_credentials *pair; /* NULL before the handshake */
	struct request *request;      /* the current request, or NULL */
};

struct conns {
	pthread_mutex_t lock;
	pthread_t reaper;
	int stop_fd;	  /* an eventfd that makes the reaper stop */
	struct conn **at; /* Connections, indexed by descriptor. */
	int slots;
	struct tls_credentials *current;
	int64_t allowed_ms[CONN_WAITS]; /* by enum conn_wait; 0: no deadline */
	int tick_ms;
	_Atomic unsigned max;
	/* Number of connections that are shut down and not yet dropped.  The
	 * lock protects `shut` and shut_bodies. */
	unsigned shut;
	unsigned shut_bodies; /* How many of them had an arriving body. */
	/* The largest number of connections that were open at once since memory
	 * was last returned to the kernel. */
	unsigned most;
	void (*reaped)(void *ctx, unsigned n);
	void *ctx;
	_Atomic unsigned open;
	/* Sum of the records of all connections, without the first record of
	 * each. */
	_Atomic unsigned records;
	_Atomic int64_t closed_ms; /* Boot time in ms of the last close. */
	/* Boot time in ms of the reaper's last round. */
	_Atomic int64_t beat_ms;
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
 * that this wait has lasted for SERVER_FRESH_MS or that no place is free.
 * Returns NULL if all places are still taken, or memory is short. */
struct conn *conns_add(struct conns *t, int fd);
/* Call this before the descriptor is closed.  It frees c. */
void conn_drop(struct conn *c);

/* Sets what c waits for from now on, and its deadline.  Only the thread that
 * serves c calls this function and the next three. */
void conn_expect(struct conn *c, enum conn_wait wait);
/* Call this when the handshake is done.  From then on c has the time of an idle
 * connection until its first request line comes.  An API server opens more
 * connections than it needs at once and keeps the spare ones for later, so the
 * API server and not we should close them. */
void conn_greeted(struct conn *c);
/* Counts n more bytes that have come.  `begins` is true if they begin a TLS
 * record.  Returns false if c has to end, because more bytes have come than the
 * TLS library may keep for c.  The count starts at the handshake, and again
 * whenever HTTP makes progress (conn_expect, conn_head_begun, conn_body). */
bool conn_pulled(struct conn *c, size_t n, bool begins);
/* Call this when the request line has come.  c then gets the deadline of
 * CONN_HEAD, unless its present deadline is earlier. */
void conn_head_begun(struct conn *c);

/* Call this when a piece of a body has come on c.  `room` is the memory that
 * this body has.  If other bodies have more than `above`, the function shuts
 * down the connection of one of them: the one whose product of memory and time
 * is largest.  If `above` is SIZE_MAX, it shuts down none. */
void conn_body(struct conn *c, size_t room, size_t above);

/* Sets whether c is being sent a reply that conns_cut_unread may cut.  Only the
 * thread that serves c calls it. */
void conn_unread(struct conn *c, bool unread);
/* Shuts down the connection whose reply, marked by conn_unread, has been unread
 * for longest.  It does nothing if a connection with such a reply is shut down
 * already. */
void conns_cut_unread(struct conns *t);

/* Takes ownership of p as the pair for new handshakes. */
void conns_rotate(struct conns *t, struct tls_credentials *p);
/* Returns the pair for c's handshake, which stays valid until c is dropped.
 * NULL: there is none yet. */
struct tls_credentials *conn_pair(struct conn *c);

#endif
