/* SPDX-License-Identifier: Apache-2.0 */
#include "kube_call.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"

/*
 * The part of a call that does not use libcurl: the head of the request, the
 * reply as it arrives, and the deadlines.  kube.c passes each line of the
 * reply's head and each piece of the body to the functions here.  kube_stream.c
 * and kube_lanes.c ask whether the call is overdue, and kube.c asks once more
 * just before the request is sent.
 *
 * Memory that may hold a secret is wiped before it is freed: the line with the
 * token, and the body, which may be a Secret.  A body that is kept is bounded
 * by answer_max for a 2xx reply, and by ENVELOPE_BYTES_MAX for any other.  A
 * call belongs to the thread of its lane.
 */

/* Initial size of the memory for a body.  The reply to a patch of metadata has
 * 1 to 4 KiB. */
#define BODY_BYTES_MIN 2048

/* Adds "NAME: VALUE" as a line of the request's head.  If value is NULL, it
 * adds nothing. */
static int
line(struct kube_call *c, const char *name, const char *value)
{
	assert(c->lines_n < KUBE_LINES);
	if (value == NULL)
		return 0;
	if (asprintf(&c->lines[c->lines_n], "%s: %s", name, value) < 0) {
		c->lines[c->lines_n] = NULL;
		return -1;
	}
	c->lines_n++;
	return 0;
}

static enum rest_method
method_of(const char *name)
{
	if (strcmp(name, "GET") == 0)
		return REST_GET;
	if (strcmp(name, "DELETE") == 0)
		return REST_DELETE;
	return strcmp(name, "POST") == 0 ? REST_POST : REST_PATCH;
}

int
kube_call_init(struct kube_call *c, const struct kube *k,
	       const struct kube_request *q)
{
	*c = (struct kube_call){
		.kube = k,
		.method = method_of(q->method),
		.timeout_ms = q->timeout_ms,
		.silent_ms = q->silent_ms,
		.gather_ms = q->gather_ms,
		.fence_ms = q->fence_ms,
		.answer_max =
			q->answer_max > 0 ? q->answer_max : ITEM_BYTES_MAX,
		.sink = q->sink,
		.opened = q->opened,
		.ctx = q->ctx,
	};
	kube_head_init(&c->head);
	if (asprintf(&c->url, "%s%s", k->url.base, q->path) < 0) {
		c->url = NULL;
		return -1;
	}
	if (q->header != NULL &&
	    (c->lines[c->lines_n++] = strdup(q->header)) == NULL)
		return -1;
	if (line(c, "Accept",
		 q->accept != NULL ? q->accept : "application/json") ||
	    line(c, "Content-Type", q->content_type) ||
	    (k->url.connect_to != NULL && line(c, "Host", k->url.peer)))
		return -1;
	c->lines_fixed = c->lines_n;
	return 0;
}

/* Wipes and frees the body, which may be a Secret. */
static void
drop_body(struct kube_call *c)
{
	if (c->body != NULL)
		explicit_bzero(c->body, c->body_cap);
	free(c->body);
	c->body = NULL;
	c->body_bytes = c->body_cap = 0;
}

/* Wipes and frees the last line of the head, which may be the token's. */
static void
drop_line(struct kube_call *c)
{
	char *s = c->lines[--c->lines_n];

	explicit_bzero(s, strlen(s));
	free(s);
}

void
kube_call_done(struct kube_call *c)
{
	while (c->lines_n > 0)
		drop_line(c);
	free(c->url);
	drop_body(c);
}

int
kube_call_authorize(struct kube_call *c, const char *token)
{
	char *bearer = NULL;
	int rc;

	while (c->lines_n > c->lines_fixed)
		drop_line(c);
	if (token == NULL)
		return 0;
	if (asprintf(&bearer, "Bearer %s", token) < 0)
		return -1;
	rc = line(c, "Authorization", bearer);
	explicit_bzero(bearer, strlen(bearer));
	free(bearer);
	return rc;
}

static void
count(const struct kube_call *c, int status)
{
	struct counters *n = c->kube->counters;
	_Atomic uint64_t *at;

	if (n == NULL)
		return;
	at = n->rest[c->method];
	if (status < 0 || status >= HTTP_CODE_MAX)
		status = 0;
	atomic_fetch_add_explicit(&at[status], 1, memory_order_relaxed);
	if (c->method != REST_GET && status > 0)
		counters_write_duration(n,
					(uint64_t)(c->last_ms - c->start_ms));
}

void
kube_call_unanswered(const struct kube_call *c)
{
	if (!c->head.whole && c->err.code != ERR_CANCELLED)
		count(c, 0);
}

void
kube_call_reset(struct kube_call *c)
{
	kube_head_init(&c->head);
	c->detail[0] = '\0';
	drop_body(c);
	c->err = (struct err){0};
	c->ended = c->fed = false;
}

static bool
is_ok(const struct kube_call *c)
{
	return c->head.status >= 200 && c->head.status < 300;
}

int
kube_call_take_head(struct kube_call *c, const char *line, size_t n)
{
	bool before = c->head.whole;

	c->last_ms = clock_boot_ms();
	if (kube_head_line(&c->head, line, n, &c->err))
		return err_wrap(&c->err, "%s", c->kube->url.peer);
	if (before || !c->head.whole)
		return 0;
	count(c, c->head.status);
	if (c->kube->clock != NULL && c->head.date_ms != STAMP_NONE)
		clock_date(c->kube->clock, c->head.date_ms, c->start_ms,
			   c->last_ms);
	if (is_ok(c) && c->opened != NULL)
		c->opened(c->ctx);
	return 0;
}

/* Makes room for `need` bytes of the body.  It does not call realloc, which may
 * leave a copy of a Secret behind. */
static int
grow(struct kube_call *c, size_t need)
{
	size_t cap = c->body_cap > 0 ? c->body_cap : BODY_BYTES_MIN;
	char *body;

	while (cap < need)
		cap *= 2;
	if (cap == c->body_cap)
		return 0;
	body = malloc(cap);
	if (body == NULL)
		return err_set(&c->err, ERR_SYSTEM, "out of memory");
	if (c->body != NULL) {
		memcpy(body, c->body, c->body_bytes);
		explicit_bzero(c->body, c->body_cap);
		free(c->body);
	}
	c->body = body;
	c->body_cap = cap;
	return 0;
}

static int
keep(struct kube_call *c, const char *bytes, size_t n)
{
	size_t max = is_ok(c) ? c->answer_max : ENVELOPE_BYTES_MAX;

	if (n > max - c->body_bytes)
		return err_set(&c->err, ERR_LIMIT,
			       "%s: the answer (HTTP %d) has more than %zu "
			       "bytes",
			       c->kube->url.peer, c->head.status, max);
	if (grow(c, c->body_bytes + n + 1))
		return -1;
	memcpy(c->body + c->body_bytes, bytes, n);
	c->body_bytes += n;
	c->body[c->body_bytes] = '\0';
	return 0;
}

int
kube_call_take_body(struct kube_call *c, const char *bytes, size_t n)
{
	int rc;

	if (is_ok(c) && c->sink != NULL)
		rc = c->sink(c->ctx, bytes, n, &c->err);
	else
		rc = keep(c, bytes, n);
	if (rc != 0 && c->err.code == ERR_NONE)
		(void)err_set(&c->err, ERR_INPUT, "the body was refused");
	c->fed = true;
	/* The time is taken after the sink, so that a slow sink does not count
	 * as silence of the peer. */
	c->last_ms = clock_boot_ms();
	return rc;
}

void
kube_call_reply(const struct kube_call *c, struct kube_reply *out)
{
	struct now now = {0};

	if (c->kube->clock != NULL)
		now = clock_now(c->kube->clock);
	*out = (struct kube_reply){
		.status = c->head.whole ? c->head.status : 0,
		.retry_after_ms = kube_head_retry(&c->head, now.server_ms),
		.body = c->body != NULL ? c->body : "",
		.body_bytes = c->body_bytes,
	};
}

int64_t
kube_call_deadline(const struct kube_call *c)
{
	int64_t at = c->fence_ms > 0 ? c->fence_ms : INT64_MAX;

	if (c->timeout_ms > 0 && c->start_ms + c->timeout_ms < at)
		at = c->start_ms + c->timeout_ms;
	if (c->silent_ms > 0 && c->last_ms + c->silent_ms < at)
		at = c->last_ms + c->silent_ms;
	return at;
}

bool
kube_call_overdue(struct kube_call *c, int64_t boot_ms)
{
	if (boot_ms < kube_call_deadline(c))
		return false;
	if (c->fence_ms > 0 && boot_ms >= c->fence_ms)
		(void)err_set(&c->err, ERR_TIMEOUT,
			      "%s: given up, the time to write is over",
			      c->kube->url.peer);
	else if (c->timeout_ms > 0 && boot_ms >= c->start_ms + c->timeout_ms)
		(void)err_set(&c->err, ERR_TIMEOUT,
			      "%s: no whole answer within %lld ms",
			      c->kube->url.peer, (long long)c->timeout_ms);
	else
		(void)err_set(&c->err, ERR_TIMEOUT, "%s: silent for %lld ms",
			      c->kube->url.peer, (long long)c->silent_ms);
	return true;
}

/* Checks the deadline before the request is sent.  The machine may have slept
 * since the call was made, and libcurl would send the request before we look at
 * the deadline again. */
int
kube_call_unsent(void *call, char *peer, char *own, int peer_port, int own_port)
{
	(void)peer, (void)own, (void)peer_port, (void)own_port;
	return kube_call_overdue(call, clock_boot_ms()) ? 1 : 0;
}
