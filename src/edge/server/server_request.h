/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SERVER_SERVER_REQUEST_H
#define EDGE_SERVER_SERVER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "edge/server/server.h"
#include "server_body.h"
#include "server_route.h"

/*
 * One request from its request line to its reply.  This unit uses no library.
 * A request belongs to one thread at a time.
 */
struct request {
	const struct server_route *route; /* NULL if none */
	struct budget *budget;
	struct body body;
	size_t promised; /* Content-Length, or 0 if none */
	int refusal;	 /* the status of our refusal, or 0 if not refused */
	const char *why; /* Constant reason for a 400, or NULL. */
	/* The request's head, without the query.  The strings are borrowed. */
	const char *path, *content_type, *accept;
	struct server_reply reply; /* valid until it is sent */
	struct request *next;	   /* the next in the worker's queue */
	/* How many bytes of the reply's body are counted in work.unread until
	 * the reply is sent; 0 if the worker has not made the reply. */
	size_t unread;
	/* libmicrohttpd's connection, while the worker has the request. */
	void *connection;
	bool handled; /* Whether the worker has made a reply or a refusal. */
	bool begun;   /* Whether the head has come. */
	/* Whether the path has a %00, which ends a string in C. */
	bool nul;
	char query[];
};

/* Makes a request from the URI as it stands in the request line.  Returns NULL
 * if memory is short. */
struct request *request_new(const char *uri, struct budget *g);
void request_free(struct request *r);

/*
 * Takes the head.  Returns true if the request has to be refused at once.  Most
 * refusals are sent only after the body has been read and discarded, because a
 * TCP reset could otherwise destroy the reply.  A refusal is sent at once if it
 * is a 400 (it may not be clear where the body ends), if the client has sent
 * "Expect: 100-continue", or if the body is longer than SERVER_DISCARD_MAX.
 */
bool request_begin(struct request *r, const struct server_options *o,
		   const struct head *h);

/* Takes a piece of the body.  Returns -1 if a refused body is too long to be
 * discarded.  The caller then gives up the connection. */
int request_piece(struct request *r, const char *bytes, size_t n);

/* Call this when the request is complete.  It runs the handler unless the
 * request is already refused.  It fills in r->reply or sets r->refusal. */
void request_handle(struct request *r, const struct server_options *o);
/* Runs route->busy instead of the handler, because the worker has no room. */
void request_busy(struct request *r, const struct server_options *o);

#endif
