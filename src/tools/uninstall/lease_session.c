/* SPDX-License-Identifier: Apache-2.0 */
#include "lease_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/protocol/lease.h"
#include "edge/kube/answer.h"
#include "edge/kube/lease_call.h"
#include "edge/signals.h"
#include "wire/api/pager.h"
#include "wire/api/resource.h"

/*
 * There is no thread for the Lease.  Its calls use the same lanes as all
 * others, with one lane reserved for them, and every wait drives both.
 */

#define LEASE_TAG UINT64_MAX
#define ASK_TAG (UINT64_MAX - 1)
#define LOOK_MS 100	/* how often to check signals, deadline, Lease */
#define GIVE_UP_MS 2000

struct lease_session {
	struct lease_session_setup s;
	struct kube_lanes *lanes;
	struct signals signals;
	struct pace pace;
	char namespace_name[64];
	bool elects;		/* there is a Lease to take */
	bool calling;		/* a call for the Lease is in flight */
	bool ended;		/* the Lease is given up */
	bool troubled;		/* the trouble has been printed */
	struct lease lease;
	struct lease_record want, answer;
	struct lease_call call;
};

struct lease_session *
lease_session_new(const struct lease_session_setup *s, struct err *e)
{
	struct lease_session *l = calloc(1, sizeof(*l));

	if (l == NULL) {
		(void)err_set(e, ERR_SYSTEM, "out of memory");
		return NULL;
	}
	l->s = *s;
	signals_block(&l->signals);
	pace_init(&l->pace, clock_boot_us());
	l->lanes = kube_lanes_new(s->kube, s->config->patch_concurrency + 1, e);
	if (l->lanes == NULL) {
		lease_session_free(l);
		return NULL;
	}
	return l;
}

void
lease_session_free(struct lease_session *l)
{
	if (l == NULL)
		return;
	signals_restore(&l->signals);
	kube_lanes_free(l->lanes);
	free(l);
}

/* --- the Lease ------------------------------------------------------------ */

static void
say(const struct lease_session *l, const char *what, const char *more)
{
	output_tell("holderctl: lease %s/%s: %s%s",
		    l->namespace_name, l->s.config->leader.name, what, more);
}

static void
session_tell(struct lease_session *l)
{
	static struct lease_note n;	/* too large for a stack */

	while (lease_note(&l->lease, &n)) {
		switch (n.type) {
		case LEASE_NOTE_LEADER:
			say(l, "waiting for the holder that leads, stop it: ",
			    n.name);
			break;
		case LEASE_NOTE_LEADS:
			say(l, "taken", "");
			break;
		case LEASE_NOTE_LATE:
			say(l, "lost, not renewed in time", "");
			break;
		case LEASE_NOTE_TAKEN:
			say(l, "lost to ", n.name[0] ? n.name : "nobody");
			break;
		case LEASE_NOTE_RELEASED:
			say(l, "given up", "");
			break;
		case LEASE_NOTE_FREE:
			say(l, "free, taken unless a holder that runs wants it",
			    "");
			break;
		case LEASE_NOTE_BAD_STATE:
			break;
		}
	}
}

static void
lease_answered(struct lease_session *l, const struct kube_reply *r,
	       const struct err *no_answer)
{
	struct lease_outcome o;
	struct err why;

	lease_call_answered(r, no_answer, false, &l->answer, &o, &why);
	l->calling = false;
	if (o.code == LEASE_FAILED && !l->troubled)
		say(l, "trying again: ", why.text);
	l->troubled = o.code == LEASE_FAILED;
	lease_done(&l->lease, &o, clock_now(l->s.clock));
	session_tell(l);
}

/* Does what the Lease needs now.  Returns for how long it needs nothing. */
static int64_t
lease_turn(struct lease_session *l)
{
	struct lease_todo todo;
	struct kube_request q;
	struct err e = {0};

	if (!l->elects || l->calling || l->ended)
		return LOOK_MS;
	todo = lease_next(&l->lease, clock_now(l->s.clock));
	session_tell(l);
	l->ended = todo.step == LEASE_END;
	if (todo.step == LEASE_WAIT || l->ended)
		return l->ended ? 0 : todo.wait_ms;
	if (todo.step == LEASE_NONE) {
		say(l, "not there: no holder leads, going on without", "");
		l->elects = false;
		return 0;
	}
	if (todo.record != NULL) {
		lease_record_copy(&l->want, todo.record);
		todo.record = &l->want;
	}
	lease_call_make(&l->call, l->namespace_name, l->s.config->leader.name,
			&todo, &q);
	l->calling = true;
	if (kube_lanes_start(l->lanes, &q, LEASE_TAG, &e))
		lease_answered(l, &(struct kube_reply){.body = ""}, &e);
	return LOOK_MS;
}

/* --- waiting -------------------------------------------------------------- */

static int
over(struct lease_session *l, struct err *e)
{
	int sig = signals_take(&l->signals, 0);

	if (sig != 0)
		return err_set(e, ERR_CANCELLED, "ended by %s",
			       sig == SIGINT	? "SIGINT"
			       : sig == SIGTERM ? "SIGTERM"
						: "SIGHUP");
	if (clock_boot_ms() >= l->s.until_ms)
		return err_set(e, ERR_TIMEOUT, "the time is over");
	return 0;
}

/* Makes one turn of the wait.  Returns true if a call of the caller's has
 * ended. */
static bool
turn(struct lease_session *l, int64_t wait_ms, uint64_t *tag,
     struct kube_reply *r, struct err *no_answer)
{
	int64_t ms = lease_turn(l);

	if (l->s.out != NULL)
		output_flush(l->s.out);
	if (ms > wait_ms)
		ms = wait_ms;
	if (!kube_lanes_finished(l->lanes, tag, r, no_answer)) {
		kube_lanes_wait(l->lanes, ms < LOOK_MS ? ms : LOOK_MS);
		if (!kube_lanes_finished(l->lanes, tag, r, no_answer))
			return false;
	}
	if (*tag != LEASE_TAG)
		return true;
	lease_answered(l, r, no_answer);
	return false;
}

int
lease_session_sleep(struct lease_session *l, int64_t ms, struct err *e)
{
	int64_t until = clock_boot_ms() + ms, now;
	struct kube_reply r;
	uint64_t tag;
	struct err no_answer;

	while ((now = clock_boot_ms()) < until) {
		if (over(l, e))
			return -1;
		(void)turn(l, until - now, &tag, &r, &no_answer);
	}
	return over(l, e);
}

int
lease_session_finished(struct lease_session *l, uint64_t *tag,
		       struct kube_reply *r, struct err *no_answer,
		       struct err *e)
{
	do
		if (over(l, e))
			return -1;
	while (!turn(l, LOOK_MS, tag, r, no_answer));
	return 0;
}

/* --- the lead ------------------------------------------------------------- */

bool
lease_session_holds(const struct lease_session *l)
{
	return !l->elects || lease_leads(&l->lease, clock_boot_ms());
}

int
lease_session_take(struct lease_session *l, const char *namespace_name,
		   struct err *e)
{
	const struct config *c = l->s.config;
	struct lease_config lc = {.enabled = true,
				  .duration_ms = c->leader.lease_ms,
				  .renew_deadline_ms = c->leader.renew_ms,
				  .retry_ms = c->leader.retry_ms,
				  .patience_ms = LEASE_PATIENCE_RETRIES *
						 c->leader.retry_ms};

	if (!l->elects && namespace_name != NULL) {
		(void)snprintf(l->namespace_name, sizeof(l->namespace_name),
			       "%s", namespace_name);
		lease_identity("_uninstall", lc.identity);
		lease_init(&l->lease, &lc, clock_boot_us());
		l->elects = true;
	}
	while (!lease_session_holds(l))
		if (lease_session_sleep(l, LOOK_MS, e))
			return err_wrap(e, "waiting for lease %s/%s",
					l->namespace_name, c->leader.name);
	return 0;
}

void
lease_session_give_up(struct lease_session *l, bool clean)
{
	int64_t until = clock_boot_ms() + GIVE_UP_MS;
	struct kube_reply r;
	uint64_t tag;
	struct err no_answer;

	if (!l->elects)
		return;
	/* Otherwise the next leader would count its holds from long ago. */
	if (clean) {
		(void)lease_state_set(&l->lease, "");
		(void)lease_history_set(&l->lease, "");
	}
	lease_stop(&l->lease);
	while (!l->ended && clock_boot_ms() < until)
		(void)turn(l, LOOK_MS, &tag, &r, &no_answer);
}

/* --- calls ---------------------------------------------------------------- */

unsigned
lease_session_room(const struct lease_session *l)
{
	unsigned room = kube_lanes_room(l->lanes);

	return l->calling || room == 0 ? room : room - 1;
}

int
lease_session_start(struct lease_session *l, struct kube_request *q,
		    uint64_t tag, struct err *e)
{
	int64_t left_ms = INT64_MAX;

	q->timeout_ms = strcmp(q->method, "GET") == 0 ? l->s.timing->list_ms
						      : l->s.timing->call_ms;
	if (strcmp(q->method, "PATCH") == 0 && l->elects)
		left_ms = lease_session_holds(l) ? lease_fence_ms(&l->lease) -
						  clock_boot_ms()
					: 0;
	if (left_ms <= 0)
		return err_set(e, ERR_TIMEOUT, "the lead is over");
	if (left_ms < q->timeout_ms)
		q->timeout_ms = left_ms;
	return kube_lanes_start(l->lanes, q, tag, e);
}

static bool
is_passing(const struct kube_reply *r, const struct err *no_answer)
{
	return no_answer->code != ERR_NONE
		       ? no_answer->code != ERR_LIMIT
		       : r->status == 429 || r->status >= 500;
}

int
lease_session_ask(struct lease_session *l, struct kube_request *q,
		  struct kube_reply *r, struct err *e)
{
	struct err no_answer;
	uint64_t tag;
	int64_t ms;

	for (unsigned failures = 1;; failures++) {
		if (lease_session_start(l, q, ASK_TAG, e) ||
		    lease_session_finished(l, &tag, r, &no_answer, e))
			return -1;
		if (!is_passing(r, &no_answer))
			break;
		if (failures == 1)
			output_tell("holderctl: %s %.200s: "
				    "trying again: %s %d",
				    q->method, q->path,
				    no_answer.code != ERR_NONE ? no_answer.text
							       : "HTTP",
				    r->status);
		ms = pace_backoff(&l->pace, failures, BACKOFF_MIN_MS,
				  BACKOFF_MAX_MS);
		if (r->retry_after_ms > 0)
			ms = r->retry_after_ms;
		if (lease_session_sleep(l, ms, e))
			return -1;
	}
	if (no_answer.code == ERR_NONE)
		return 0;
	*e = no_answer;
	return -1;
}

/* --- lists ---------------------------------------------------------------- */

/* The page of a list that is under way. */
struct page {
	struct pager pager;
	const struct lease_session_list *list;
	bool wanted;		/* there is a page to ask for */
	bool opened, again;	/* an answer began; another one after it */
	struct err bad;		/* what is wrong with the answer */
};

static void
page_path(struct buf *b, const struct page *g)
{
	const char *path = g->list->path;

	buf_printf(b, "%s%c", path, strchr(path, '?') == NULL ? '?' : '&');
	list_query(b, g->pager.limit, g->pager.cont);
}

static void
page_opened(void *ctx)
{
	struct page *g = ctx;
	struct err e;	/* pager_feed fails in the same way */

	g->again = g->opened;
	g->opened = true;
	g->bad = (struct err){0};
	(void)pager_begin(&g->pager, g->list->item, g->list->ctx, &e);
}

/* When a page is asked for again after a part of it has come, the list starts
 * over instead, so that no item of it counts twice.  A bad answer is read to its
 * end, because a call that is cut would be made again. */
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

/* Takes the answer of a page.  Returns as lease_session_list does. */
static int
page_take(struct page *g, const struct kube_reply *r, struct err *e)
{
	struct pager *p = &g->pager;
	int rc;

	if (g->again || (r->status == 410 && p->cont[0] != '\0'))
		return pager_restart(p, e);
	if (r->status != 200)
		return refused(r, e);
	if (!p->streams) {
		rc = pager_page(p, r->body, r->body_bytes, g->list->item,
				g->list->ctx, e);
	} else if (g->bad.code != ERR_NONE) {
		*e = g->bad;
		rc = -1;
	} else {
		rc = pager_end(p, e) || pager_turn(p, e) ? -1 : 0;
	}
	g->wanted = p->cont[0] != '\0';
	return rc;
}

static int
page_ask(struct lease_session *l, struct page *g, struct kube_reply *r,
	 struct err *e)
{
	char path[PATH_BYTES];
	struct kube_request q = {.method = "GET",
				 .path = path,
				 .accept = g->list->accept};
	struct buf b;

	buf_init(&b, path, sizeof(path));
	page_path(&b, g);
	g->opened = g->again = false;
	if (g->pager.streams) {
		q.sink = page_feed;
		q.opened = page_opened;
		q.ctx = g;
	}
	return lease_session_ask(l, &q, r, e);
}

int
lease_session_list(struct lease_session *l,
		   const struct lease_session_list *list, struct err *e)
{
	struct page g = {.list = list, .wanted = true};
	struct kube_reply r;
	int rc = 0;

	pager_init(&g.pager, LIST_METADATA_PAGE);
	while (rc == 0 && g.wanted) {
		if (g.pager.cont[0] == '\0' && list->begin != NULL)
			list->begin(list->ctx);
		if (page_ask(l, &g, &r, e) == 0)
			rc = page_take(&g, &r, e);
		else if (!pager_streams(&g.pager, e))
			rc = -1;
	}
	pager_drop(&g.pager);
	return rc;
}
