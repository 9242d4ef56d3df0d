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
	*r = (struct request){
		.budget = g,
		.nul = memmem(uri, strcspn(uri, "?"), "%00", 3) != NULL};
	memcpy(r->query, query, n);
	return r;
}

void
request_free(struct request *r)
{
	if (r == NULL)
		return;
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
	r->why = r->nul ? "%00 in the path" : head_fault(h);
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
route_run(struct request *r, const struct server_options *o, const char *path,
	  const char *content_type, const char *accept, struct server_reply *a)
{
	const struct server_request q = {
		.method = r->route->method,
		.path = path,
		.query = r->query,
		.content_type = content_type,
		.accept = accept,
		.body = r->body.bytes > 0 ? r->body.data : NULL,
		.body_bytes = r->body.bytes,
	};

	r->route->handler(o->ctx, &q, a);
	if (a->status >= 200 && a->status <= 599)
		return;
	if (a->body_free != NULL)
		a->body_free((void *)a->body);
	r->refusal = 500;
}

void
request_handle(struct request *r, const struct server_options *o,
	       const char *path, const char *content_type, const char *accept,
	       struct server_reply *a)
{
	bool big = o->big_bytes > 0 && r->body.bytes > o->big_bytes;

	if (r->refusal != 0)
		return;
	if (big && !budget_big_take(r->budget)) {
		r->refusal = 503;
		return;
	}
	route_run(r, o, path, content_type, accept, a);
	if (big)
		budget_big_give(r->budget);
}
