/* SPDX-License-Identifier: Apache-2.0 */
#include "prometheus_query.h"

#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "prometheus_parts.h"
#include "wire/api/resource.h"
#include "wire/api/split.h"

struct prometheus_query {
	struct kube *kube;
	struct kube_lanes *lanes;
	struct split *split;
	int64_t ms;
	const char *header;
	uint64_t series, bytes;
	struct err unsent; /* why the query could not be sent, or ERR_NONE */
	char path[3 * HOLD_QUERY_MAX + 64];
};

struct prometheus_query *
prometheus_query_new(const struct prometheus_setup *s, const char *expression,
		     int64_t ms, struct err *e)
{
	struct prometheus_query *p = calloc(1, sizeof(*p));
	struct buf b;

	if (p == NULL) {
		(void)err_set(e, ERR_SYSTEM, "out of memory");
		return NULL;
	}
	buf_init(&b, p->path, sizeof(p->path));
	/* The query names no time, so Prometheus uses its own clock. */
	buf_puts(&b, "/api/v1/query?query=");
	resource_query_text(&b, expression);
	p->header = s->header;
	p->ms = ms < s->timing->query_ms ? ms : s->timing->query_ms;
	p->kube = prometheus_open(s, e);
	if (p->kube != NULL)
		p->lanes = kube_lanes_new(p->kube, 1, e);
	if (p->lanes != NULL)
		return p;
	(void)err_wrap(e, "--prometheus");
	prometheus_query_free(p);
	return NULL;
}

void
prometheus_query_free(struct prometheus_query *p)
{
	if (p == NULL)
		return;
	kube_lanes_free(p->lanes);
	kube_free(p->kube);
	split_free(p->split);
	free(p);
}

/* --- the answer ----------------------------------------------------------- */

static int
count_series(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct prometheus_query *p = ctx;

	if (n > ITEM_BYTES_MAX || !matrix_is_sample(bytes, n))
		return err_set(e, ERR_INPUT,
			       "no vector: an element is not a series with a "
			       "value");
	p->series++;
	return 0;
}

/* Called when a 2xx answer begins.  Discards what came of an earlier answer. */
static void
query_opened(void *ctx)
{
	struct prometheus_query *p = ctx;

	split_free(p->split);
	p->split = split_new(SPLIT_MATRIX, count_series, p);
	p->series = p->bytes = 0;
}

static int
query_bytes(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct prometheus_query *p = ctx;

	if (p->split == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	p->bytes += n;
	if (p->bytes > PROMETHEUS_ANSWER_MAX)
		return err_set(e, ERR_LIMIT, "an answer of more than %u bytes",
			       PROMETHEUS_ANSWER_MAX);
	return split_feed(p->split, bytes, n, e);
}

/* Checks a complete answer with status 200. */
static int
judge_found(struct prometheus_query *p, struct err *e)
{
	struct matrix_answer said;
	size_t n = 0;
	const char *envelope =
		p->split != NULL ? split_envelope(p->split, &n) : "";

	matrix_answer(envelope, n, &said);
	if (n > 0 && split_end(p->split, e))
		return -1;
	if (!said.vector)
		return err_set(e, ERR_SYSTEM,
			       "no well-formed vector%s%s: expected an "
			       "expression such as of an alert",
			       said.text[0] != '\0' ? ", " : "", said.text);
	if (p->series == 0 && said.warnings > 0)
		return err_set(e, ERR_SYSTEM,
			       "an empty answer that may be partial%s%s",
			       said.text[0] != '\0' ? ": " : "", said.text);
	return 0;
}

void
prometheus_query_start(struct prometheus_query *p)
{
	struct kube_request q = {.method = "GET",
				 .path = p->path,
				 .header = p->header,
				 .timeout_ms = p->ms,
				 .sink = query_bytes,
				 .opened = query_opened,
				 .ctx = p};

	p->unsent = (struct err){0};
	split_free(p->split);
	p->split = NULL;
	p->series = p->bytes = 0;
	(void)kube_lanes_start(p->lanes, &q, 0, &p->unsent);
}

bool
prometheus_query_over(struct prometheus_query *p, int64_t wait_ms,
		      struct prometheus_found *out)
{
	struct err e = p->unsent;
	struct kube_reply r = {.body = ""};
	uint64_t tag;

	if (e.code == ERR_NONE &&
	    !kube_lanes_finished(p->lanes, &tag, &r, &e)) {
		kube_lanes_wait(p->lanes, wait_ms);
		if (!kube_lanes_finished(p->lanes, &tag, &r, &e))
			return false;
	}
	if (e.code != ERR_NONE)
		prometheus_unanswered(&e);
	else if (r.status != 200)
		prometheus_refused(&r, &e);
	else
		(void)judge_found(p, &e);
	if (e.code != ERR_NONE)
		(void)err_wrap(&e, "--prometheus");
	*out = (struct prometheus_found){.series = p->series, .why = e};
	return true;
}
