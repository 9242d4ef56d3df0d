/* SPDX-License-Identifier: Apache-2.0 */
#include "server_request.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"

struct request *
request_new(const char *uri, struct budget *g)
{
	const char *mark = strchr(uri, '?'), *query = mark ? mark + 1 : "";
	size_t n = strlen(query) + 1;
	struct request *r = malloc(sizeof(*r) + n);

	if (r == NULL)
		return NULL;
	*r = (struct request){.budget = g,
			      .nul = memmem(uri, strcspn(uri, "?"), "%00", 3) !=
				     NULL};
	memcpy(r->query, query, n);
	return r;
}

static void
reply_drop(struct server_reply *a)
{
	if (a->body_free != NULL)
		a->body_free((void *)a->body);
	*a = (struct server_reply){0};
}

void
request_free(struct request *r)
{
	if (r == NULL)
		return;
	reply_drop(&r->reply);
	body_drop(&r->body, r->budget);
	free(r);
}

bool
request_begin(struct request *r, const struct server_options *o,
	      const struct head *h)
{
	r->begun = true;
	r->promised = (size_t)h->length;
	r->route = route_find(o->routes, o->routes_n, h, &r->refusal);
	if (r->route != NULL)
		r->refusal = route_check(r->route, h);
	if (!o->tls && route_head_is_rebound(h))
		r->refusal = 421;
	r->why = r->nul ? "%00 in the path" : route_head_fault(h);
	if (r->why != NULL)
		r->refusal = 400;
	return r->refusal == 400 ||
	       (r->refusal != 0 &&
		(h->expects || h->length > SERVER_DISCARD_MAX));
}

int
request_piece(struct request *r, const char *bytes, size_t n)
{
	r->body.seen += n;
	if (r->refusal == 0 && r->body.seen > r->route->body_max) {
		r->refusal = 413;
		body_drop(&r->body, r->budget);
	}
	if (r->refusal == 0 &&
	    body_add(&r->body, r->budget, bytes, n, r->promised))
		r->refusal = 503;
	return r->refusal != 0 && r->body.seen > SERVER_DISCARD_MAX ? -1 : 0;
}

static void
call(struct request *r, const struct server_options *o, server_handler *handler)
{
	const struct server_request q = {
		.method = r->route->method,
		.path = r->path,
		.query = r->query,
		.content_type = r->content_type,
		.accept = r->accept,
		.body = r->body.bytes > 0 ? r->body.data : NULL,
		.body_bytes = r->body.bytes,
	};

	handler(o->ctx, &q, &r->reply);
	if (r->reply.status >= 200 && r->reply.status <= 599)
		return;
	reply_drop(&r->reply);
	r->refusal = 500;
}

void
request_handle(struct request *r, const struct server_options *o)
{
	bool big = o->big_bytes > 0 && r->body.bytes > o->big_bytes;

	if (r->refusal != 0)
		return;
	if (big && !body_big_take(r->budget)) {
		r->refusal = 503;
		return;
	}
	call(r, o, r->route->handler);
	if (big)
		body_big_give(r->budget);
}

void
request_busy(struct request *r, const struct server_options *o)
{
	call(r, o, r->route->busy);
}
