/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SERVER_SERVER_ROUTE_H
#define EDGE_SERVER_SERVER_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "edge/server/server.h"

/*
 * What the server decides by itself: which route a request belongs to, and
 * whether its head is acceptable.  These functions are pure.
 */

/* The fields of a head that matter here.  The strings remain the caller's. */
struct head {
	const char *path, *method;
	const char *content_type; /* NULL if none */
	/* How often the head has Content-Length, Transfer-Encoding,
	 * Content-Type and Host. */
	unsigned lengths, codings, types, hosts;
	uint64_t length;  /* the last Content-Length */
	bool chunked;	  /* Whether the last Transfer-Encoding is "chunked". */
	bool expects;	  /* Whether the head has "Expect: 100-continue". */
	const char *host; /* the last Host, or NULL if none */
	/* Whether the head has Accept-Language, which browsers send, and which
	 * no script can suppress. */
	bool browser;
	/* Whether the head has Sec-Fetch-Site, which browsers send only to
	 * localhost or over TLS, and which no script can set. */
	bool trusted;
	/* Whether a field's name is no token (RFC 9110 §5.6.2). */
	bool no_token;
	bool http10;
};

/* Takes one field of the head.  Call it for each field in order, after *h was
 * zeroed.  h->content_type and h->host point to the caller's strings. */
void route_head_field(struct head *h, const char *name, const char *value);

/* Returns why the message cannot be trusted, as a constant, or NULL.  The end
 * of the message may be ambiguous (RFC 9112 §6.3: request smuggling), the
 * message may have a coding that we do not know, or a proxy may understand a
 * field in another way. */
const char *route_head_fault(const struct head *h);

/* Returns whether a browser asks by a domain name that may belong to an
 * attacker.  The owner of a domain may have served a page under it and then
 * pointed the name at us, so that the page's script could read our replies (DNS
 * rebinding).  Addresses, names of one label and localhost are safe, because
 * nobody can register them. */
bool route_head_is_rebound(const struct head *h);

/* Returns the first matching route of the table, or NULL with *status 404 or
 * 405. */
const struct server_route *route_find(const struct server_route *routes,
				      size_t n, const struct head *h,
				      int *status);

/* Returns 0 if the route takes this content type and length, else 415 or
 * 413. */
int route_check(const struct server_route *r, const struct head *h);

#define ALLOW_BYTES 128
/* Writes the value of Allow for a path (RFC 9110 §10.2.1). */
void route_allow(const struct server_route *routes, size_t n, const char *path,
		 char out[ALLOW_BYTES]);

#define REFUSAL_BYTES 160
/* Writes the body of a refusal: one line for people, with its newline.  r may
 * be NULL (404, 405).  `why` is the reason from route_head_fault, or NULL. */
void route_refusal(int status, const struct server_route *r, const char *why,
		   char out[REFUSAL_BYTES]);

#endif
