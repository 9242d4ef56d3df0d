/* SPDX-License-Identifier: Apache-2.0 */
#include "hook.h"

#include <string.h>
#include <sys/resource.h>

#include "edge/log.h"
#include "phrase.h"
#include "wire/admission/admission.h"

static void
count(struct state *s, const struct review *v, const struct verdict *d)
{
	bool node = v->kind == KIND_NODE;
	enum counter id = COUNTER_OTHER_UNCHANGED;

	if (v->kind_known && d->reason == REASON_OBSERVED)
		id = node ? COUNTER_NODE_WOULD : COUNTER_CLAIM_WOULD;
	else if (v->kind_known && d->held)
		id = node ? COUNTER_NODE_HELD : COUNTER_CLAIM_HELD;
	else if (v->kind_known)
		id = node ? COUNTER_NODE_UNCHANGED : COUNTER_CLAIM_UNCHANGED;
	counter_add(&s->counters, id);
}

static void
log_verdict(const struct hook *h, const struct admission_request *q,
	    const struct verdict *v)
{
	bool holds = v->patch || v->reason == REASON_OBSERVED;
	const char *phrase = holds ? PHRASE(h->rules, "held at admission")
				   : "admitted unchanged";
	enum log_level level = holds ? LOG_INFO : LOG_DEBUG;

	if (!log_enabled(level) || !log_ratelimit(phrase, 600))
		return;
	LOG(level, phrase, LS("kind", object_kind_name(q->review.kind)),
	    LS("name", q->name), LS("pool", q->review.nodepool),
	    LS("reason", admit_reason_name(v->reason)),
	    LS("dryRun", q->dry_run ? "true" : "false"));
}

static void
refuse_review(struct hook *h, const struct err *e, struct server_reply *a)
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

/* Handles one review: decodes it, looks up whether the NodePool is left alone,
 * decides, and encodes the reply. */
static int
answer(struct hook *h, const struct server_request *q, struct buf *reply,
       struct err *e)
{
	struct hold_key hold;
	int64_t now_ms = clock_now(h->shared->clock).server_ms;
	struct admission_request r;
	struct verdict v;

	state_hold(h->shared, &hold);
	if (admission_decode(q->body, q->body_bytes, &hold, &r, e))
		return -1;

	r.review.disabled = disabled_nodepools_has(
		h->shared->disabled_nodepools, r.review.nodepool, now_ms);
	v = admit_decide(h->rules, &r.review);

	if (admission_encode(reply, &r, &v, &hold, now_ms, e))
		return -1;

	count(h->shared, &r.review, &v);
	log_verdict(h, &r, &v);
	return 0;
}

static void
mutate(void *ctx, const struct server_request *q, struct server_reply *a)
{
	struct hook *h = ctx;
	/* The server copies the body before this thread handles another
	 * request. */
	static _Thread_local char text[ADMISSION_REPLY_BYTES];
	static _Thread_local struct err e;
	uint64_t begun_us = clock_boot_us();
	struct buf reply;

	buf_init(&reply, text, sizeof(text));
	e = (struct err){0};
	if (answer(h, q, &reply, &e)) {
		refuse_review(h, &e, a);
	} else {
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

unsigned
hook_places(unsigned max)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur >= max + FILES_KEPT)
		return max;
	return r.rlim_cur > 2 * FILES_KEPT ? (unsigned)r.rlim_cur - FILES_KEPT
					   : (unsigned)r.rlim_cur / 2;
}

int
hook_start(struct hook *h, struct state *s, const struct config *c,
	   const struct timing *t, unsigned connections_max, struct err *e)
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
		.connections_max = connections_max,
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
