/* SPDX-License-Identifier: Apache-2.0 */
#include "hook.h"

#include <string.h>

#include "edge/log.h"
#include "wire/admission/admission.h"

static void
count(struct state *s, const struct admission_fact *f)
{
	enum counter id = COUNTER_OTHER_UNCHANGED;

	if (f->review.kind_known && f->review.kind == KIND_NODE)
		id = f->verdict.held ? COUNTER_NODE_HELD
				     : COUNTER_NODE_UNCHANGED;
	else if (f->review.kind_known)
		id = f->verdict.held ? COUNTER_CLAIM_HELD
				     : COUNTER_CLAIM_UNCHANGED;
	counter_add(&s->counters, id);
}

static void
log_fact(const struct admission_fact *f)
{
	const char *phrase = f->verdict.patch ? "held at admission"
					      : "admitted unchanged";
	enum log_level level = f->verdict.patch ? LOG_INFO : LOG_DEBUG;

	if (!log_enabled(level) || !log_ratelimit(phrase, 600))
		return;
	LOG(level, phrase, LS("kind", kind_name(f->review.kind)),
	    LS("name", f->name), LS("pool", f->review.pool),
	    LS("reason", reason_name(f->verdict.reason)),
	    LS("dryRun", f->review.dry_run ? "true" : "false"));
}

static void
refuse(struct hook *h, const struct err *e, struct server_reply *a)
{
	bool ours = e->code != ERR_INPUT && e->code != ERR_LIMIT;

	counter_add(&h->shared->counters,
		    ours ? COUNTER_FAILED : COUNTER_REFUSED);
	if (log_ratelimit("review refused", 10))
		LOG(ours ? LOG_ERROR : LOG_WARN, "review refused",
		    LS("err", e->text));
	a->status = ours ? 500 : 400;
	a->content_type = "text/plain; charset=utf-8";
	a->body = e->text;
	a->body_bytes = strlen(e->text);
}

static bool
disabled(void *ctx, const char *pool)
{
	return disabled_nodepools_has(((struct hook *)ctx)->shared->closed,
				      pool);
}

static void
mutate(void *ctx, const struct server_request *q, struct server_reply *a)
{
	struct hook *h = ctx;
	/* The server copies the body before it returns to us. */
	static _Thread_local char text[ADMISSION_REPLY_BYTES];
	static _Thread_local struct err e;
	uint64_t begun_us = clock_boot_us();
	struct admission_terms terms = {
		.rules = h->rules,
		.disabled = disabled,
		.ctx = h,
		.now_ms = clock_now(h->shared->clock).server_ms,
	};
	struct admission_fact fact;
	struct buf reply;

	buf_init(&reply, text, sizeof(text));
	e = (struct err){0};
	if (admission_answer(&terms, q->body, q->body_bytes, &reply, &fact,
			     &e)) {
		refuse(h, &e, a);
	} else {
		count(h->shared, &fact);
		if (fact.verdict.held && !fact.review.dry_run)
			state_hint(h->shared);
		log_fact(&fact);
		a->status = 200;
		a->content_type = "application/json";
		a->body = reply.data;
		a->body_bytes = reply.len;
	}
	counters_latency(&h->shared->counters, clock_boot_us() - begun_us);
}

static void
on_event(void *ctx, enum server_event event)
{
	struct hook *h = ctx;

	if (event == SERVER_REFUSED)
		counter_add(&h->shared->counters, COUNTER_REFUSED);
	if (event == SERVER_SHED)
		counter_add(&h->shared->counters, COUNTER_SHED);
}

int
hook_start(struct hook *h, struct state *s, const struct config *c,
	   const struct timing *t, struct err *e)
{
	static const struct server_route routes[] = {
		{.path = "/mutate",
		 .method = "POST",
		 .content_type = "application/json",
		 .body_max = REVIEW_BYTES_MAX,
		 .handler = mutate},
	};
	struct server_options o = {
		.address = c->webhook.address,
		.tls = true,
		.routes = routes,
		.routes_n = 1,
		.ctx = h,
		.on_event = on_event,
		.threads = SERVER_THREADS,
		.connections_max = SERVER_CONNECTIONS_MAX,
		.bytes_max = SERVER_BYTES_MAX,
		.big_bytes = REVIEW_BYTES_BIG,
		.big_max = REVIEWS_BIG_MAX,
		.head_ms = t->head_ms,
		.body_ms = t->body_ms,
		.reply_ms = t->reply_ms,
		.idle_ms = t->idle_ms,
	};

	h->shared = s;
	h->rules = &c->rules;
	h->server = server_new(&o, e);
	return h->server == NULL ? -1 : 0;
}

void
hook_stop(struct hook *h)
{
	server_free(h->server);
	h->server = NULL;
}
