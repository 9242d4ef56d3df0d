/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/kube/session.h"

#include <stdio.h>
#include <string.h>

#include "core/base/limits.h"
#include "edge/kube/answer.h"
#include "wire/api/pager.h"
#include "wire/api/resource.h"

/*
 * The calls that a command makes on one thread.  Whenever a command waits, it
 * calls session_turn, which lets the caller do what is due (such as renewing
 * the Lease), writes waiting output, and gets the next reply.  session_turn
 * never sleeps longer than SESSION_LOOK_MS, so that a signal, or the end of the
 * session's time, is noticed soon.
 *
 * session_ask retries after failures that may be temporary, with growing
 * pauses.  session_list asks for page after page.  It starts the list over if a
 * page has expired or has come twice, so that each item counts once.
 */

#define ASK_TAG (UINT64_MAX - 1)

int
session_open(struct session *n, const struct session_setup *s, struct err *e)
{
	*n = (struct session){.s = *s};
	signals_block(&n->signals);
	pace_init(&n->pace, clock_boot_us());
	n->lanes = kube_lanes_new(s->kube, s->calls, e);
	return n->lanes != NULL ? 0 : -1;
}

void
session_close(struct session *n)
{
	signals_restore(&n->signals);
	kube_lanes_free(n->lanes);
}

/* --- waiting -------------------------------------------------------------- */

static int
over(struct session *n, struct err *e)
{
	int sig = signals_take(&n->signals, 0);

	if (sig != 0)
		return err_set(e, ERR_CANCELLED, "ended by %s",
			       signals_name(sig));
	if (clock_boot_ms() >= n->s.until_ms)
		return err_set(e, ERR_TIMEOUT, "the time is over (--timeout)");
	return 0;
}

bool
session_turn(struct session *n, int64_t wait_ms, uint64_t *tag,
	     struct kube_reply *r, struct err *no_answer)
{
	int64_t ms = n->s.turn != NULL ? n->s.turn(n->s.ctx) : SESSION_LOOK_MS;

	if (n->s.out != NULL)
		output_flush(n->s.out);
	if (ms > wait_ms)
		ms = wait_ms;
	if (!kube_lanes_finished(n->lanes, tag, r, no_answer)) {
		kube_lanes_wait(n->lanes,
				ms < SESSION_LOOK_MS ? ms : SESSION_LOOK_MS);
		if (!kube_lanes_finished(n->lanes, tag, r, no_answer))
			return false;
	}
	if (*tag != SESSION_OTHER)
		return true;
	n->s.answered(n->s.ctx, r, no_answer);
	return false;
}

int
session_sleep(struct session *n, int64_t ms, struct err *e)
{
	int64_t until = clock_boot_ms() + ms, now;
	struct kube_reply r;
	uint64_t tag;
	struct err no_answer;

	while ((now = clock_boot_ms()) < until) {
		if (over(n, e))
			return -1;
		(void)session_turn(n, until - now, &tag, &r, &no_answer);
	}
	return over(n, e);
}

int
session_finished(struct session *n, uint64_t *tag, struct kube_reply *r,
		 struct err *no_answer, struct err *e)
{
	do
		if (over(n, e))
			return -1;
	while (!session_turn(n, SESSION_LOOK_MS, tag, r, no_answer));
	return 0;
}

/* --- calls ---------------------------------------------------------------- */

int
session_start(struct session *n, struct kube_request *q, uint64_t tag,
	      struct err *e)
{
	if (q->timeout_ms == 0)
		q->timeout_ms = strcmp(q->method, "GET") == 0
					? n->s.timing->list_ms
					: n->s.timing->call_ms;
	return kube_lanes_start(n->lanes, q, tag, e);
}

static bool
is_passing(const struct kube_reply *r, const struct err *no_answer)
{
	return no_answer->code != ERR_NONE
		       ? no_answer->code != ERR_LIMIT
		       : r->status == 429 || r->status >= 500;
}

static void
tell_trouble(const struct session *n, const struct kube_request *q,
	     const struct kube_reply *r, const struct err *no_answer)
{
	char http[sizeof("HTTP -2147483648")];

	(void)snprintf(http, sizeof(http), "HTTP %d", r->status);
	output_tell("%s: %s %.200s: trying again: %s", n->s.program, q->method,
		    q->path,
		    no_answer->code != ERR_NONE ? no_answer->text : http);
}

int
session_ask(struct session *n, struct kube_request *q, struct kube_reply *r,
	    struct err *e)
{
	struct err no_answer;
	uint64_t tag;
	int64_t ms;

	for (unsigned failures = 1;; failures++) {
		/* A call that the end has cut is still in flight. */
		if (over(n, e) || session_start(n, q, ASK_TAG, e) ||
		    session_finished(n, &tag, r, &no_answer, e))
			return -1;
		if (!is_passing(r, &no_answer))
			break;
		if (failures == 1)
			tell_trouble(n, q, r, &no_answer);
		ms = pace_backoff(&n->pace, failures, BACKOFF_MIN_MS,
				  BACKOFF_MAX_MS);
		if (r->retry_after_ms > 0)
			ms = r->retry_after_ms;
		if (session_sleep(n, ms, e))
			return -1;
	}
	if (no_answer.code == ERR_NONE)
		return 0;
	*e = no_answer;
	return -1;
}

/* --- lists ---------------------------------------------------------------- */

/* The page of a list that is being asked for. */
struct page {
	struct pager pager;
	const struct session_list *list;
	bool wanted; /* Whether there is another page to ask for. */
	/* Whether a reply has begun, and whether a second reply has begun after
	 * a retry. */
	bool opened, again;
	struct err bad; /* The first error in the reply. */
};

static void
page_path(struct buf *b, const struct page *g)
{
	const char *path = g->list->path;

	buf_printf(b, "%s%c", path, strchr(path, '?') == NULL ? '?' : '&');
	resource_list_query(b, g->pager.limit, g->pager.cont);
}

static void
page_opened(void *ctx)
{
	struct page *g = ctx;
	/* Ignored: if pager_begin fails, pager_feed fails, too. */
	struct err e;

	g->again = g->opened;
	g->opened = true;
	g->bad = (struct err){0};
	(void)pager_begin(&g->pager, g->list->item, g->list->ctx, &e);
}

/* Takes a piece of a page.  If the page was requested again after a part of it
 * had come, the piece is ignored and the list starts over, so that no item
 * counts twice.  The rest of a bad reply is read and ignored, because
 * session_ask would retry a call that is cut. */
static int
page_feed(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct page *g = ctx;

	(void)e;
	if (!g->again && g->bad.code == ERR_NONE)
		(void)pager_feed(&g->pager, bytes, n, &g->bad);
	return 0;
}

static int
refused(const struct kube_reply *r, struct err *e)
{
	char text[ANSWER_TEXT];

	if (answer_unserved(r))
		return 1;
	return err_set(e, ERR_SYSTEM, "%d: %s", r->status,
		       answer_text(r, text));
}

/* Takes the answer of a page.  Returns as session_list does. */
static int
page_take(struct page *g, const struct kube_reply *r, struct err *e)
{
	struct pager *p = &g->pager;
	int rc;

	if (g->again || (r->status == 410 && p->cont[0] != '\0'))
		return pager_restart(p, clock_boot_ms(), e);
	if (r->status != 200)
		return refused(r, e);
	if (!p->streams) {
		rc = pager_page(p, r->body, r->body_bytes, g->list->item,
				g->list->ctx, clock_boot_ms(), e);
	} else if (g->bad.code != ERR_NONE) {
		*e = g->bad;
		rc = -1;
	} else {
		rc = pager_end(p, e) || pager_turn(p, clock_boot_ms(), e) ? -1
									  : 0;
	}
	g->wanted = p->cont[0] != '\0';
	return rc;
}

static int
page_ask(struct session *n, struct page *g, struct kube_reply *r, struct err *e)
{
	char path[PATH_BYTES];
	struct kube_request q = {
		.method = "GET", .path = path, .accept = g->list->accept};
	struct buf b;

	buf_init(&b, path, sizeof(path));
	page_path(&b, g);
	g->opened = g->again = false;
	if (g->pager.streams) {
		q.sink = page_feed;
		q.opened = page_opened;
		q.ctx = g;
	}
	return session_ask(n, &q, r, e);
}

int
session_list(struct session *n, const struct session_list *list, struct err *e)
{
	struct page g = {.list = list, .wanted = true};
	struct kube_reply r;
	int rc = 0;

	pager_init(&g.pager, LIST_METADATA_PAGE, clock_boot_ms(),
		   n->s.timing->whole_ms);
	while (rc == 0 && g.wanted) {
		if (g.pager.cont[0] == '\0' && list->begin != NULL)
			list->begin(list->ctx);
		if (page_ask(n, &g, &r, e) == 0)
			rc = page_take(&g, &r, e);
		else if (!pager_streams(&g.pager, e))
			rc = -1;
	}
	pager_drop(&g.pager);
	return rc;
}
