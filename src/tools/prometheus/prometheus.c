/* SPDX-License-Identifier: Apache-2.0 */
#include "prometheus.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "core/base/str.h"
#include "edge/kube/kube.h"
#include "prometheus_parts.h"
#include "tools/client.h"
#include "wire/api/resource.h"
#include "wire/api/split.h"

/*
 * Queries Prometheus for one metric after the other.  The range of each metric
 * is cut into parts so that each answer stays within Prometheus' limits.  If an
 * answer is lost, too large, or refused because of its size, the parts are
 * halved, and the query is sent again.  The command gives up if two answers in
 * a row are lost.  Any other failure ends the command with a message that names
 * the flag to check.
 *
 * An answer is cut into series while it arrives (wire/api/split), so only one
 * series is in memory at a time.  The answer after a failure contains the same
 * series again, and wire/karpenter/matrix counts each of them only once.
 */

/* Each metric has a query of its own, because some servers with Prometheus' API
 * cannot match metric names by a regular expression. */
static const char *const metrics[] = {
	"karpenter_nodes_current_lifetime_seconds",
	"karpenter_nodeclaims_created_total",
	"karpenter_nodeclaims_disrupted_total",
	"karpenter_pods_disruption_initiated_total",
	"karpenter_nodepools_cost_total",
};
#define METRICS_N (sizeof(metrics) / sizeof(metrics[0]))

/* The answer that is being received. */
struct page {
	struct split *split;
	matrix_item_fn *fn;
	void *to;
	uint64_t bytes;
	bool stopped; /* fn has failed, so a retry would not help. */
};

enum page_end {
	PAGE_DONE,
	PAGE_LOST,     /* The query may succeed when it is sent again. */
	PAGE_TOO_MUCH, /* A query for a shorter time may succeed. */
	PAGE_REFUSED,
};

struct asking {
	const struct prometheus_setup *setup;
	struct kube_stream *stream;
	struct page page;
	const char *metric;
	/* Maximum number of points for each series in one answer.  It is halved
	 * when an answer was lost or too large. */
	int64_t points;
	struct matrix_asked *out;
};

/* --- one answer ----------------------------------------------------------- */

static int
take_series(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct page *p = ctx;

	p->stopped = p->fn(p->to, n > ITEM_BYTES_MAX ? NULL : bytes, n, e) != 0;
	return p->stopped ? -1 : 0;
}

static int
take_bytes(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct page *p = ctx;

	p->bytes += n;
	if (p->bytes > PROMETHEUS_ANSWER_MAX)
		return err_set(e, ERR_LIMIT, "an answer of more than %u bytes",
			       PROMETHEUS_ANSWER_MAX);
	return split_feed(p->split, bytes, n, e);
}

void
prometheus_unanswered(struct err *e)
{
	/* The text after the semicolon gives advice about a kubeconfig, which
	 * this client does not use. */
	e->text[strcspn(e->text, ";")] = '\0';
	if (e->code == ERR_TLS)
		(void)err_wrap(e, "see --prometheus-ca");
}

/* Decides whether to ask again, or for less, after a call that ended without a
 * complete answer. */
static enum page_end
judge_failure(const struct page *p, struct err *e)
{
	if (p->stopped)
		return PAGE_REFUSED;
	if (p->bytes > PROMETHEUS_ANSWER_MAX)
		return PAGE_TOO_MUCH;
	prometheus_unanswered(e);
	return e->code == ERR_TIMEOUT || e->code == ERR_CUT ? PAGE_LOST
							    : PAGE_REFUSED;
}

static const char *
advice_for(int status)
{
	if (status == 401 || status == 403)
		return "; see --prometheus-token-file and "
		       "--prometheus-header";
	if (status == 404)
		return "; does the URL lack a path before /api/v1?";
	return status >= 300 && status < 400
		       ? "; redirects are not followed: expected the URL to "
			 "which it leads"
		       : "";
}

void
prometheus_refused(const struct kube_reply *r, struct err *e)
{
	struct matrix_answer said;

	matrix_answer(r->body, r->body_bytes, &said);
	(void)err_set(e, ERR_SYSTEM, "HTTP %d%s%s%s", r->status,
		      said.text[0] != '\0' ? ", " : "", said.text,
		      advice_for(r->status));
}

/* Decides whether to ask again, or for less, after an answer whose status is
 * not 2xx. */
static enum page_end
judge_status(const struct kube_reply *r, struct err *e)
{
	prometheus_refused(r, e);
	switch (r->status) {
	case 400: /* this server allows fewer samples or a shorter range */
		return strstr(e->text, "exceed") != NULL ? PAGE_TOO_MUCH
							 : PAGE_REFUSED;
	case 413:
	case 422:
	case 503:
		return PAGE_TOO_MUCH;
	case 429:
	case 500:
	case 502:
	case 504:
		return PAGE_LOST;
	default:
		return PAGE_REFUSED;
	}
}

static enum page_end
judge_answer(const struct page *p, struct matrix_asked *out, struct err *e)
{
	struct matrix_answer said;
	size_t n = 0;
	const char *envelope = split_envelope(p->split, &n);

	matrix_answer(envelope, n, &said);
	if (!said.matrix && n > 0 && split_end(p->split, e))
		return PAGE_LOST;
	if (!said.matrix) {
		(void)err_set(e, ERR_SYSTEM,
			      "no answer of a range query%s%s: expected a "
			      "Prometheus",
			      said.text[0] != '\0' ? ", " : "", said.text);
		return PAGE_REFUSED;
	}
	out->answers++;
	out->bytes += p->bytes;
	out->warnings += said.warnings;
	out->infos += said.infos;
	if (out->warning[0] == '\0')
		str_cut(out->warning, sizeof(out->warning), said.text);
	return PAGE_DONE;
}

static void
put_seconds(struct buf *b, const char *name, int64_t ms)
{
	buf_printf(b, "&%s=%lld.%03lld", name, (long long)ms / 1000,
		   (long long)ms % 1000);
}

static enum page_end
ask_page(struct asking *a, int64_t from_ms, int64_t to_ms, struct err *e)
{
	char path[3 * PROMETHEUS_MATCH_MAX + 256];
	struct kube_reply reply;
	struct buf b;
	int rc;

	buf_init(&b, path, sizeof(path));
	buf_puts(&b, "/api/v1/query_range?query=");
	buf_puts(&b, a->metric);
	if (a->setup->match != NULL) {
		resource_query_text(&b, "{");
		resource_query_text(&b, a->setup->match);
		resource_query_text(&b, "}");
	}
	put_seconds(&b, "start", from_ms);
	put_seconds(&b, "end", to_ms);
	put_seconds(&b, "step", a->setup->step_ms);
	split_free(a->page.split);
	a->page.bytes = 0;
	a->page.split = split_new(SPLIT_MATRIX, take_series, &a->page);
	if (a->page.split == NULL) {
		(void)err_set(e, ERR_SYSTEM, "out of memory");
		return PAGE_REFUSED;
	}
	rc = kube_stream_run(a->stream,
			     &(struct kube_request){
				     .method = "GET",
				     .path = path,
				     .header = a->setup->header,
				     .timeout_ms = a->setup->timing->query_ms,
			     },
			     take_bytes, NULL, &a->page, &reply, e);
	if (rc != 0)
		return judge_failure(&a->page, e);
	return reply.status >= 200 && reply.status < 300
		       ? judge_answer(&a->page, a->out, e)
		       : judge_status(&reply, e);
}

/* --- all metrics ---------------------------------------------------------- */

static int
ask_metric(struct asking *a, struct err *e)
{
	const struct prometheus_setup *s = a->setup;
	int64_t at_ms = s->from_ms;
	bool lost = false;

	while (at_ms <= s->to_ms) {
		int64_t left = (s->to_ms - at_ms) / s->step_ms + 1;
		int64_t n = left < a->points ? left : a->points;
		enum page_end end =
			ask_page(a, at_ms, at_ms + (n - 1) * s->step_ms, e);

		if (end == PAGE_REFUSED || (end == PAGE_LOST && lost) ||
		    (end == PAGE_TOO_MUCH && n < PROMETHEUS_POINTS_LEAST))
			return -1;
		lost = end == PAGE_LOST;
		if (end == PAGE_DONE)
			at_ms += n * s->step_ms;
		else if (n >= PROMETHEUS_POINTS_LEAST)
			a->points = n / 2;
	}
	return 0;
}

static int
ask_all(struct asking *a, struct err *e)
{
	a->points = PROMETHEUS_POINTS;
	for (size_t i = 0; i < METRICS_N; i++) {
		a->metric = metrics[i];
		if (ask_metric(a, e))
			return -1;
	}
	return 0;
}

static char *
copy(const char *s)
{
	return s == NULL ? NULL : strdup(s);
}

/* Returns whether the text is a line of a request's head, for a tenant.
 * Secrets belong into the file of the token. */
static bool
is_header(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz"
			     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

	return n > 0 && strncmp(s + n, ": ", 2) == 0 && s[n + 2] != '\0' &&
	       s[strcspn(s, "\r\n")] == '\0' &&
	       strncasecmp(s, "authorization:", 14) != 0;
}

struct kube *
prometheus_open(const struct prometheus_setup *s, struct err *e)
{
	struct kubeconfig access = {.server = copy(s->url),
				    .ca_file = copy(s->ca_file),
				    .token_file = copy(s->token_file)};
	struct kube *k = NULL;

	if (s->header != NULL && !is_header(s->header))
		(void)err_set(e, ERR_INPUT,
			      "--prometheus-header: expected \"NAME: VALUE\", "
			      "such as \"X-Scope-OrgID: TENANT\"");
	else if (access.server == NULL ||
		 (access.ca_file == NULL) != (s->ca_file == NULL) ||
		 (access.token_file == NULL) != (s->token_file == NULL))
		(void)err_set(e, ERR_SYSTEM, "out of memory");
	else
		k = client_new(&access, NULL, s->timing, e);
	if (k == NULL)
		kubeconfig_done(&access);
	return k;
}

int
prometheus_ask(void *setup, matrix_item_fn *fn, void *to,
	       struct matrix_asked *out, struct err *e)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	struct asking a = {
		.setup = setup, .page = {.fn = fn, .to = to}, .out = out};
	struct kube *k = prometheus_open(setup, e);
	int rc = -1;

	*out = (struct matrix_asked){.answers = 0};
	(void)sigaction(SIGPIPE, &ignore, &before);
	if (k != NULL)
		a.stream = kube_stream_new(k, e);
	if (a.stream != NULL)
		rc = ask_all(&a, e);
	kube_stream_free(a.stream);
	kube_free(k);
	split_free(a.page.split);
	(void)sigaction(SIGPIPE, &before, NULL);
	return rc == 0 ? 0 : err_wrap(e, "--prometheus");
}
