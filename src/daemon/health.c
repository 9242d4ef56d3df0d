/* SPDX-License-Identifier: Apache-2.0 */
#include "health.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "edge/log.h"
#include "edge/process.h"
#include "wire/metrics/metrics.h"

/*
 * Answers the probes and /metrics on the metrics address.  status.c answers
 * /status and writes the page.  The probes run ready_checks or live_checks.  A
 * check takes no lock of ours and does not read the table of machines, so
 * probes are answered while other requests wait for the table
 * (docs/architecture.md#probes).  If the worker has no room for a slow request,
 * the `busy` handler of its route refuses it at once.
 */
#define HEALTH_BYTES 2048 /* size of the buffer for the reply to a probe */

/* --- checks --------------------------------------------------------------- */

static bool
check_certificate(struct health *h, const char *name)
{
	(void)name;
	return serving_cert_valid(h->pair);
}

static bool
check_webhook(struct health *h, const char *name)
{
	(void)name;
	return h->hook->server != NULL &&
	       server_heartbeat_age_ms(h->hook->server) < h->timing->heart_ms;
}

static bool
check_hold(struct health *h, const char *name)
{
	(void)name;
	return !atomic_load(&h->shared->hold_is_other);
}

static bool
check_shutdown(struct health *h, const char *name)
{
	(void)name;
	return !atomic_load(&h->shared->stopping);
}

static bool
check_main(struct health *h, const char *name)
{
	(void)name;
	return clock_boot_ms() - atomic_load(&h->main_beat_ms) <
	       h->timing->heart_ms;
}

/* Returns whether all workers of this name are well.  All watchers share one
 * name.  check_worker counts every worker as well once the process is stopping.
 * The elector is checked by this function instead, because it still has to give
 * up the Lease then. */
static bool
check_elector(struct health *h, const char *name)
{
	for (unsigned i = 0; i < h->workers_n; i++) {
		const struct worker *w = &h->workers[i];

		if (w->kind != NULL && strcmp(w->kind->name, name) == 0 &&
		    !worker_is_well(w, h->timing->heart_ms))
			return false;
	}
	return true;
}

/* Checks a worker.  While the process is stopping, a worker that has ended is
 * no fault. */
static bool
check_worker(struct health *h, const char *name)
{
	return atomic_load(&h->shared->stopping) || check_elector(h, name);
}

struct check {
	const char *name;
	bool (*ok)(struct health *h, const char *name);
};

static const struct check ready_checks[] = {
	{"certificate", check_certificate},
	{"webhook", check_webhook},
	{"hold-annotation", check_hold},
	{"shutdown", check_shutdown},
	{NULL, NULL},
};

static const struct check live_checks[] = {
	{"main", check_main},		{"webhook", check_webhook},
	{"watchers", check_worker},	{"sweeper", check_worker},
	{"elector", check_elector},	{"event-recorder", check_worker},
	{"cert-renewer", check_worker}, {NULL, NULL},
};

/* --- replies -------------------------------------------------------------- */

/* Returns whether the query contains "key" or "key=…" or, if value is not NULL,
 * whether it contains "key=value". */
static bool
query_has(const char *query, const char *key, const char *value)
{
	size_t n = strlen(key);

	for (const char *p = query; p != NULL && *p != '\0';
	     p = strchr(p, '&')) {
		p += *p == '&';
		if (strncmp(p, key, n) != 0)
			continue;
		if (value == NULL && strchr("=&", p[n]) != NULL)
			return true;
		if (value != NULL && p[n] == '=' &&
		    strncmp(p + n + 1, value, strlen(value)) == 0 &&
		    strchr("&", p[n + 1 + strlen(value)]) != NULL)
			return true;
	}
	return false;
}

static void
text_reply(struct server_reply *a, int status, const struct buf *b)
{
	a->status = status;
	a->content_type = "text/plain; charset=utf-8";
	a->body = b->data;
	a->body_bytes = b->len;
	a->close = true; /* a kubelet opens a connection for each probe */
}

static void
answer_one(struct health *h, const struct check *c, struct buf *b,
	   struct server_reply *a)
{
	bool ok = c->ok(h, c->name);

	buf_puts(b, ok ? "ok" : "failed\n");
	text_reply(a, ok ? 200 : 500, b);
}

/* Replies as k8s.io/apiserver pkg/server/healthz does: "ok", or one line for
 * each check. */
static void
answer_all(struct health *h, const char *path, const struct check *checks,
	   const char *query, struct buf *b, struct server_reply *a)
{
	bool all = true;

	for (const struct check *c = checks; c->name != NULL; c++) {
		bool excluded = query_has(query, "exclude", c->name);
		bool ok = excluded || c->ok(h, c->name);

		all = all && ok;
		buf_printf(b, "[%c]%s %s\n", ok ? '+' : '-', c->name,
			   excluded ? "excluded: ok"
			   : ok	    ? "ok"
				    : "failed");
	}
	if (all && !query_has(query, "verbose", NULL)) {
		b->len = 0;
		buf_puts(b, "ok");
	} else {
		buf_printf(b, "%s check %s\n", path + 1,
			   all ? "passed" : "failed");
	}
	text_reply(a, all ? 200 : 500, b);
}

static void
answer(struct health *h, const struct server_request *q, const char *base,
       const struct check *checks, struct server_reply *a)
{
	static _Thread_local char text[HEALTH_BYTES];
	const char *sub = q->path + strlen(base);
	struct buf b;

	buf_init(&b, text, sizeof(text));
	if (*sub == '\0') {
		answer_all(h, base, checks, q->query, &b, a);
		return;
	}
	for (const struct check *c = checks; *sub == '/' && c->name != NULL;
	     c++) {
		if (strcmp(sub + 1, c->name) == 0) {
			answer_one(h, c, &b, a);
			return;
		}
	}
	buf_puts(&b, "no such check\n");
	text_reply(a, 404, &b);
}

static void
readyz(void *ctx, const struct server_request *q, struct server_reply *a)
{
	answer(ctx, q, "/readyz", ready_checks, a);
}

static void
livez(void *ctx, const struct server_request *q, struct server_reply *a)
{
	answer(ctx, q, "/livez", live_checks, a);
}

static void
healthz(void *ctx, const struct server_request *q, struct server_reply *a)
{
	answer(ctx, q, "/healthz", live_checks, a);
}

static bool
next_scope(void *ctx, uint32_t *i, struct scope_report *out)
{
	struct health *h = ctx;

	return state_scope(h->shared, h->status.figures, i, out);
}

static bool
next_nodepool(void *ctx, uint32_t *i, struct nodepool_report *out)
{
	return state_nodepool_at(((struct health *)ctx)->shared, i, out);
}

static void
metrics_busy(void *ctx, const struct server_request *q, struct server_reply *a)
{
	(void)ctx, (void)q;
	a->status = 503;
	a->close = true;
}

static void
metrics(void *ctx, const struct server_request *q, struct server_reply *a)
{
	struct health *h = ctx;
	struct metrics_gauges g = {
		.cert_not_after_ms = atomic_load(&h->pair->not_after_ms),
		.version = HOLDER_VERSION,
		.cluster_scope = h->cluster_scope,
		.leads = state_leads(h->shared),
		.lease_name = h->lease_name,
		.log_dropped = log_dropped(),
	};
	char *page = malloc(METRICS_PAGE_BYTES);
	struct buf b;

	if (page == NULL) {
		metrics_busy(ctx, q, a);
		return;
	}
	buf_init(&b, page, METRICS_PAGE_BYTES);
	state_report(h->shared, &g.controller);
	process_read(&g.process);
	status_count(&h->status);
	for (int k = 0; k < KIND_COUNT; k++)
		g.by_hand[k] = figures_by_hand(h->status.figures, (enum kind)k);
	metrics_write(&b, &h->shared->counters, &g, next_scope, next_nodepool,
		      h);
	a->status = b.full ? 500 : 200;
	a->content_type = METRICS_TYPE;
	status_send(a, page, b.len);
}

static void
status_has_no_room(void *ctx, const struct server_request *q,
		   struct server_reply *a)
{
	(void)ctx;
	status_busy(q, a);
}

static void
overview(void *ctx, const struct server_request *q, struct server_reply *a)
{
	status_overview(&((struct health *)ctx)->status, q, a);
}

static void
page(void *ctx, const struct server_request *q, struct server_reply *a)
{
	status_browse(&((struct health *)ctx)->status, q, a);
}

static void
all_machines(void *ctx, const struct server_request *q, struct server_reply *a)
{
	status_machines(&((struct health *)ctx)->status, q, a);
}

static void
one_machine(void *ctx, const struct server_request *q, struct server_reply *a)
{
	status_machine(&((struct health *)ctx)->status, q, a);
}

static void
server_time(void *ctx, const struct server_request *q, struct server_reply *a)
{
	status_time(&((struct health *)ctx)->status, q, a);
}

void
health_beat(struct health *h)
{
	if (h->server != NULL) /* NULL with `certs --renew` */
		recent_look(&h->status.recent, &h->shared->counters,
			    clock_boot_ms());
	atomic_store(&h->main_beat_ms, clock_boot_ms());
}

int
health_start(struct health *h, const char *address, struct err *e)
{
	static const struct server_route routes[] = {
		{.path = "/metrics",
		 .method = "GET",
		 .handler = metrics,
		 .busy = metrics_busy},
		{.path = "/readyz*", .method = "GET", .handler = readyz},
		{.path = "/livez*", .method = "GET", .handler = livez},
		{.path = "/healthz*", .method = "GET", .handler = healthz},
		{.path = "/status",
		 .method = "GET",
		 .handler = overview,
		 .busy = status_has_no_room},
		{.path = "/status/time",
		 .method = "GET",
		 .handler = server_time},
		{.path = "/status/machines",
		 .method = "GET",
		 .handler = all_machines,
		 .busy = status_has_no_room},
		{.path = STATUS_MACHINES "*",
		 .method = "GET",
		 .handler = one_machine,
		 .busy = status_has_no_room},
		{.path = "/",
		 .method = "GET",
		 .handler = page,
		 .busy = status_has_no_room},
	};
	struct server_options o = {
		.address = address,
		.routes = routes,
		.routes_n = sizeof(routes) / sizeof(routes[0]),
		.ctx = h,
		.threads = 1,
		.connections_max = HEALTH_CONNECTIONS_MAX,
		.bytes_max = SERVER_BYTES_MAX,
		.deferred = true,
		.unread_max = HEALTH_UNREAD_BYTES_MAX,
		.head_ms = h->timing->head_ms,
		.body_ms = h->timing->body_ms,
		.reply_ms = h->timing->reply_ms,
		.idle_ms = h->timing->idle_ms < HEALTH_IDLE_MS
				   ? h->timing->idle_ms
				   : HEALTH_IDLE_MS,
	};

	health_beat(h);
	h->server = server_new(&o, e);
	return h->server == NULL ? -1 : 0;
}

void
health_stop(struct health *h)
{
	server_free(h->server);
	h->server = NULL;
}
