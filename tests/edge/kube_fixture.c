/* SPDX-License-Identifier: Apache-2.0 */
#include "kube_fixture.h"

#include <signal.h>

#include "edge/exec/plugin.h"

int
seen_sink(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct seen *s = ctx;

	if (s->refuse)
		return err_set(e, ERR_INPUT, "not to my taste");
	while (s->n + n + 1 > s->cap) {
		s->cap = s->cap > 0 ? s->cap * 2 : 4096;
		s->bytes = realloc(s->bytes, s->cap);
	}
	memcpy(s->bytes + s->n, bytes, n);
	s->n += n;
	s->bytes[s->n] = '\0';
	return 0;
}

void
seen_opened(void *ctx)
{
	((struct seen *)ctx)->opened++;
}

void
fixture_server(struct fixture *f, SSL_CTX *tls, scripted_answer *answer,
	       void *ctx)
{
	char server[64];

	memset(f, 0, sizeof(*f));
	(void)signal(SIGPIPE, SIG_IGN);
	scripted_start(&f->server, tls, answer, ctx);
	(void)snprintf(server, sizeof(server), "http%s://127.0.0.1:%u",
		       tls != NULL ? "s" : "", f->server.port);
	f->clock = clock_new();
	f->options = (struct kube_options){
		.access.server = strdup(server),
		.clock = f->clock,
		.counters = &f->counters,
		.plugin_new = plugin_new,
		.user_agent = AGENT,
		.connect_ms = PATIENT_MS,
		.keepalive_idle_s = 15,
		.keepalive_probe_s = 5,
		.token_ms = 60000,
	};
}

void
fixture_kube(struct fixture *f)
{
	struct err e = {0};

	f->kube = kube_new(&f->options, &e);
	ck_assert_msg(f->kube != NULL, "%s", e.text);
	f->stream = kube_stream_new(f->kube, &e);
	ck_assert_msg(f->stream != NULL, "%s", e.text);
}

void
fixture_done(struct fixture *f)
{
	kube_stream_free(f->stream);
	kube_free(f->kube);
	kubeconfig_done(&f->options.access);
	scripted_stop(&f->server);
	clock_free(f->clock);
}

struct kube_request
get(int64_t timeout_ms)
{
	return (struct kube_request){
		.method = "GET",
		.path = "/api/v1/nodes?limit=500",
		.timeout_ms = timeout_ms,
	};
}

void
await_requests(const struct fixture *f, unsigned n)
{
	int64_t end = clock_boot_ms() + PATIENT_MS;

	while (f->server.requests < n && clock_boot_ms() < end)
		(void)usleep(1000);
}

struct err
lanes_call(struct kube_lanes *p, const struct kube_request *q,
	   struct kube_reply *reply)
{
	struct err e = {0};
	uint64_t tag = 0;
	int64_t end = clock_boot_ms() + 2 * PATIENT_MS;

	ck_assert_int_eq(kube_lanes_start(p, q, 7, &e), 0);
	while (!kube_lanes_finished(p, &tag, reply, &e)) {
		ck_assert_int_lt(clock_boot_ms(), end);
		kube_lanes_wait(p, PATIENT_MS);
	}
	ck_assert_uint_eq(tag, 7);
	return e;
}
