/* SPDX-License-Identifier: Apache-2.0 */
#include "server_route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"

#define HOST_BYTES 256

/* Returns whether s is a token (RFC 9110 §5.6.2).  libmicrohttpd takes blanks
 * before the colon as a part of the name.  So we would not recognize
 * "Transfer-Encoding :", but a proxy might. */
static bool
is_token(const char *s)
{
	size_t n = strspn(s, "!#$%&'*+-.^_`|~0123456789"
			     "abcdefghijklmnopqrstuvwxyz"
			     "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

	return n > 0 && s[n] == '\0';
}

void
route_head_field(struct head *h, const char *name, const char *value)
{
	if (!is_token(name)) {
		h->no_token = true;
	} else if (strcasecmp(name, "Content-Length") == 0) {
		h->lengths++;
		h->length = strtoull(value, NULL, 10);
	} else if (strcasecmp(name, "Transfer-Encoding") == 0) {
		h->codings++;
		h->chunked = strcasecmp(value, "chunked") == 0;
	} else if (strcasecmp(name, "Content-Type") == 0) {
		h->types++;
		h->content_type = value;
	} else if (strcasecmp(name, "Host") == 0) {
		h->hosts++;
		h->host = value;
	} else if (strcasecmp(name, "Accept-Language") == 0) {
		h->browser = true;
	} else if (strcasecmp(name, "Sec-Fetch-Site") == 0) {
		h->trusted = true;
	} else if (strcasecmp(name, "Expect") == 0) {
		h->expects = strcasecmp(value, "100-continue") == 0;
	}
}

const char *
route_head_fault(const struct head *h)
{
	if (h->no_token)
		return "a header field's name is no token";
	if (h->hosts > 1)
		return "more than one Host";
	if (h->codings > 0 && h->http10)
		return "HTTP/1.0 knows no Transfer-Encoding";
	if (h->lengths + h->codings > 1 || (h->codings == 1 && !h->chunked))
		return "the message needs one Content-Length or "
		       "Transfer-Encoding: chunked";
	return NULL;
}

/* A domain name may be an attacker's, and an address is safe.  The last label
 * tells an IPv4 address from a domain name, because only in an address it is a
 * number.  A name with one label, or one that ends in .localhost, is safe,
 * too. */
bool
route_head_is_rebound(const struct head *h)
{
	char name[HOST_BYTES];
	const char *last;
	size_t n;

	if (!h->browser || h->trusted || h->host == NULL || h->host[0] == '[')
		return false;
	n = strcspn(h->host, ":");
	if (n >= sizeof(name))
		return true;
	memcpy(name, h->host, n);
	name[n] = '\0';
	if (n > 0 && name[n - 1] == '.')
		name[n - 1] = '\0';
	last = strrchr(name, '.');
	return last != NULL && strcasecmp(last, ".localhost") != 0 &&
	       (last[1] == '\0' ||
		last[1 + strspn(last + 1, "0123456789")] != '\0');
}

static bool
path_matches(const char *pattern, const char *path)
{
	size_t n = strlen(pattern);

	if (n > 0 && pattern[n - 1] == '*')
		return strncmp(pattern, path, n - 1) == 0;
	return strcmp(pattern, path) == 0;
}

static bool
method_matches(const char *route, const char *method)
{
	return strcmp(route, method) == 0 ||
	       (strcmp(route, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

const struct server_route *
route_find(const struct server_route *routes, size_t n, const struct head *h,
	   int *status)
{
	*status = 404;
	for (size_t i = 0; i < n; i++) {
		if (!path_matches(routes[i].path, h->path))
			continue;
		*status = 405;
		if (method_matches(routes[i].method, h->method)) {
			*status = 0;
			return &routes[i];
		}
	}
	return NULL;
}

/* Compares type and subtype, without parameters (RFC 9110 §8.3.1). */
static bool
media_type_is(const char *value, const char *wanted)
{
	size_t n = strlen(wanted);

	if (value == NULL || strncasecmp(value, wanted, n) != 0)
		return false;
	n += strspn(value + n, " \t");
	return value[n] == '\0' || value[n] == ';';
}

int
route_check(const struct server_route *r, const struct head *h)
{
	if (r->content_type != NULL &&
	    (h->types != 1 || !media_type_is(h->content_type, r->content_type)))
		return 415;
	return h->length > r->body_max ? 413 : 0;
}

static void
allow_add(struct buf *b, const char *method)
{
	if (b->len > 0)
		buf_puts(b, ", ");
	buf_puts(b, method);
}

void
route_allow(const struct server_route *routes, size_t n, const char *path,
	    char out[ALLOW_BYTES])
{
	struct buf b;

	buf_init(&b, out, ALLOW_BYTES);
	for (size_t i = 0; i < n; i++) {
		if (!path_matches(routes[i].path, path))
			continue;
		allow_add(&b, routes[i].method);
		if (strcmp(routes[i].method, "GET") == 0)
			allow_add(&b, "HEAD");
	}
}

void
route_refusal(int status, const struct server_route *r, const char *why,
	      char out[REFUSAL_BYTES])
{
	static const struct {
		int status;
		const char *text;
	} plain[] = {
		{404, "not found"},
		{405, "method not allowed"},
		{421, "this name may be anybody's: ask by an address or as "
		      "localhost"},
		{503, "overloaded: try again"},
	};
	const char *text = why != NULL ? why : "internal error";

	if (status == 415) {
		(void)snprintf(out, REFUSAL_BYTES, "Content-Type must be %s\n",
			       r->content_type);
		return;
	}
	if (status == 413) {
		(void)snprintf(out, REFUSAL_BYTES,
			       r->body_max > 0 ? "body over %zu bytes\n"
					       : "a body is not expected\n",
			       r->body_max);
		return;
	}

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (plain[i].status == status)
			text = plain[i].text;
	(void)snprintf(out, REFUSAL_BYTES, "%s\n", text);
}
