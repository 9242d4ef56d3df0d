/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
reply_text(struct server_reply *a, const char *text)
{
	a->status = 200;
	a->content_type = "text/plain";
	a->body = text;
	a->body_bytes = strlen(text);
}

static void
h_echo(void *ctx, const struct server_request *q, struct server_reply *a)
{
	(void)ctx;
	a->status = 200;
	a->content_type = "application/json";
	a->body = q->body;
	a->body_bytes = q->body_bytes;
}

static void
h_query(void *ctx, const struct server_request *q, struct server_reply *a)
{
	char text[256];

	(void)ctx;
	(void)snprintf(text, sizeof(text), "%s %s?%s", q->method, q->path,
		       q->query);
	a->status = 200;
	a->body_bytes = strlen(text);
	a->body = strdup(text);
	a->body_free = free;
}

static void
h_big(void *ctx, const struct server_request *q, struct server_reply *a)
{
	(void)ctx, (void)q;
	a->status = 200;
	a->body_bytes = 2u << 20;	/* more than sockets take */
	a->body = calloc(1, a->body_bytes);
	a->body_free = free;
}

static void
h_fault(void *ctx, const struct server_request *q, struct server_reply *a)
{
	(void)ctx, (void)q;
	a->body = strdup("never sent");
	a->body_free = free;
}

static void
h_wait(void *ctx, const struct server_request *q, struct server_reply *a)
{
	struct rig *r = ctx;

	(void)q;
	r->waiting++;
	pthread_mutex_lock(&r->gate);
	pthread_mutex_unlock(&r->gate);
	reply_text(a, "waited");
}

static void
on_event(void *ctx, enum server_event what)
{
	((struct rig *)ctx)->events[what]++;
}

static const struct server_route routes[] = {
	{"/echo", "POST", JSON, REVIEW_MAX, h_echo, NULL},
	{"/wait", "POST", JSON, REVIEW_MAX, h_wait, NULL},
	{"/query", "GET", NULL, 0, h_query, NULL},
	{"/query/*", "GET", NULL, 0, h_query, NULL},
	{"/both", "GET", NULL, 0, h_query, NULL},
	{"/both", "POST", JSON, 16, h_echo, NULL},
	{"/big", "GET", NULL, 0, h_big, NULL},
	{"/fault", "GET", NULL, 0, h_fault, NULL},
};

struct server_options
rig_options(void)
{
	return (struct server_options){
		.address = "127.0.0.1:0",
		.routes = routes,
		.routes_n = sizeof(routes) / sizeof(routes[0]),
		.on_event = on_event,
		.threads = 2,
		.connections_max = 128,
		.bytes_max = 32u << 20,
		.head_ms = 30000,	/* none passes, on no machine */
		.body_ms = 30000,
		.reply_ms = 30000,
		.idle_ms = 30000,
	};
}

void
rig_start(struct rig *r, struct server_options *o)
{
	struct err e = {0};

	*r = (struct rig){.gate = PTHREAD_MUTEX_INITIALIZER};
	/* A peer may write to a connection that the server has closed. */
	(void)signal(SIGPIPE, SIG_IGN);
	o->ctx = r;
	r->server = server_new(o, &e);
	ck_assert_msg(r->server != NULL, "%s", e.text);
	r->port = server_port(r->server);
	ck_assert_int_ne(r->port, 0);
}

int
rotate(struct server *s, const struct pems *p, struct err *e)
{
	return server_rotate(s, p->cert, strlen(p->cert), p->key,
			     strlen(p->key), e);
}
