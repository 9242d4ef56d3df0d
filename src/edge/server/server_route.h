/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SERVER_SERVER_ROUTE_H
#define EDGE_SERVER_SERVER_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "edge/server/server.h"

/*
 * What the server answers by itself: which route a request belongs to, and
 * whether its head is one we take.  Pure.
 */

/* The fields of a head that decide.  Strings stay the caller's. */
struct head {
	const char *path, *method;
	const char *content_type;	/* NULL: none */
	unsigned lengths, codings, types, hosts;	/* fields of that name */
	uint64_t length;	/* of the last Content-Length */
	bool chunked;		/* the last Transfer-Encoding is just that */
	bool expects;		/* 100-continue */
	bool no_token;		/* a field's name is none (RFC 9110 §5.6.2) */
	bool http10;
};

void head_field(struct head *h, const char *name, const char *value);

/* Why the message is not to be trusted, a constant, or NULL: its end is
 * ambiguous (RFC 9112 §6.3: request smuggling) or in a coding we do not know,
 * or a field means something else to others than to us. */
const char *head_fault(const struct head *h);

/* The route, or NULL with *status 404 or 405.  In the order of the table. */
const struct server_route *route_find(const struct server_route *routes,
				      size_t n, const struct head *h,
				      int *status);

/* 0, 415 or 413. */
int route_check(const struct server_route *r, const struct head *h);

#define ALLOW_BYTES 128
/* The value of Allow for a path (RFC 9110 §10.2.1). */
void route_allow(const struct server_route *routes, size_t n,
		 const char *path, char out[ALLOW_BYTES]);

#define REFUSAL_BYTES 160
/* One line for people, newline included.  r may be NULL (404, 405); why is
 * head_fault's or NULL. */
void route_refusal(int status, const struct server_route *r, const char *why,
		   char out[REFUSAL_BYTES]);

#endif
