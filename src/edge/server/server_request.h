/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SERVER_SERVER_REQUEST_H
#define EDGE_SERVER_SERVER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "edge/server/server.h"
#include "server_body.h"
#include "server_route.h"

/*
 * One request from its line to its answer; no library, one thread.
 */
struct request {
	const struct server_route *route;	/* NULL: none */
	struct budget *budget;
	struct body body;
	size_t promised;	/* Content-Length; 0: none */
	int refusal;		/* the status we answer with; 0: go on */
	const char *why;	/* of 400: a constant */
	bool begun;		/* the head is there */
	char query[];
};

/* uri as it stands in the request line.  NULL: no memory. */
struct request *request_new(const char *uri, struct budget *g);
void request_free(struct request *r);

/*
 * The head is there.  true: refuse it now.  Otherwise a refusal waits until
 * the body has been read away, else it would be lost in a reset; but there is
 * no waiting where the body's end is ambiguous, where the client asks first,
 * or where it is more than we read away.
 */
bool request_begin(struct request *r, const struct server_options *o,
		   const struct head *h);

/* Body bytes.  -1: there is too much to read away, give up the connection. */
int request_piece(struct request *r, const char *bytes, size_t n);

/* The message is whole: runs the handler, if it is not refused already.
 * Fills a, or sets r->refusal. */
void request_handle(struct request *r, const struct server_options *o,
		    const char *path, const char *content_type,
		    struct server_reply *a);

#endif
