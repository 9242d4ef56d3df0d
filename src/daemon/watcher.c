/* SPDX-License-Identifier: Apache-2.0 */
#include "watcher.h"

#include <stdlib.h>

#include "core/protocol/reflect.h"
#include "edge/kube/answer.h"
#include "edge/log.h"
#include "sighting.h"
#include "wire/api/pager.h"
#include "wire/api/resource.h"
#include "wire/api/watch.h"

/*
 * core/protocol/reflect decides what to do.  This worker does it and reports
 * the outcome.  Bytes pass through wire/api/list as they arrive, and each item
 * passes through the decoder of its kind into the shared table.  The worker
 * keeps nothing but the item or line that is not yet complete.
 */

struct watcher {
	struct worker *worker;
	struct state *shared;
	struct kube_stream *stream;
	struct reflect reflect;
	enum kind kind;
	const struct hold_key *hold;
	const struct timing *timing;
	_Atomic bool restart;
	struct pager pager;	/* of the current list */
	struct split *split;	/* of the current watch */
	bool listing;		/* the pages of a list are being taken */
	bool expired;		/* 410 in the stream */
	bool brought;		/* the current watch brought a line */
	bool in_doubt;		/* the watch before it ended at once */
	int64_t line_ms, silent_ms;	/* time of the last line; limit */
	/* The level of routine lines.  A watch of Events expires often because
	 * it has no bookmarks, so it is logged at debug level. */
	enum log_level usual;
	unsigned items;		/* of the current list */
};

/* Leaves out an object that is too large or cannot be decoded.  Without memory
 * for it the list or watch ends, and the next one shows it again. */
static int
leave_out(struct watcher *w, const struct err *why, struct err *e)
{
	if (why->code == ERR_SYSTEM) {
		*e = *why;
		return -1;
	}
	state_skipped(w->shared, w->kind);
	return 0;
}

static int
take_item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct watcher *w = ctx;
	struct sighting o = {.kind = w->kind};
	struct err bad = {0};

	if (sighting_item(bytes, n, w->hold, &o, &bad))
		return leave_out(w, &bad, e);
	w->items++;
	sighting_track(w->shared, &o);
	return 0;
}

static void
watching(struct watcher *w)
{
	enum log_level level =
		w->in_doubt ? LOG_DEBUG : worker_recovered(w->worker);

	LOG(level, "watching", LS("resource", resources[w->kind].name));
}

static int
take_line(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct watcher *w = ctx;
	struct sighting o = {.kind = w->kind};
	enum watch_type type;
	struct err bad = {0};
	int code = 0;

	w->line_ms = clock_boot_ms();
	if (sighting_line(bytes, n, w->hold, &type, &o, &code, &bad)) {
		/* The next line says where to go on from.  Until one comes, a
		 * new watch shows this line once more, which does no harm. */
		w->brought = w->brought || bytes == NULL;
		return leave_out(w, &bad, e);
	}
	if (type == WATCH_ERROR) {
		w->expired = code == 410;
		*e = bad;
		return err_wrap(e, "watch ended by the API server with %d",
				code);
	}
	w->brought = true;
	if (w->in_doubt) {
		w->in_doubt = false;
		watching(w);
	}
	sighting_take(w->shared, type, &o);
	reflect_seen(&w->reflect, sighting_rv(&o));
	return 0;
}

static int
feed_page(void *ctx, const char *bytes, size_t n, struct err *e)
{
	return pager_feed(&((struct watcher *)ctx)->pager, bytes, n, e);
}

/* Bytes that never complete a line count as silence. */
static int
feed_lines(void *ctx, const char *bytes, size_t n, struct err *e)
{
	const struct watcher *w = ctx;
	int rc = split_feed(w->split, bytes, n, e);

	if (rc == 0 && clock_boot_ms() >= w->line_ms + w->silent_ms)
		rc = err_set(e, ERR_TIMEOUT, "no whole line for %lld ms",
			     (long long)w->silent_ms);
	return rc;
}

static void
trouble(struct watcher *w, const char *what, int status, const char *why)
{
	enum log_level level;

	if (atomic_load(&w->shared->stopping))
		return;
	level = worker_trouble(w->worker);
	LOG(level, what, LS("resource", resources[w->kind].name),
	    LI("code", status), LS("err", why));
}

static void
step_done(struct watcher *w, const struct reflect_outcome *o)
{
	reflect_done(&w->reflect, o, clock_now(w->shared->clock));
}

/* --- list ----------------------------------------------------------------- */

static void
list_page_done(struct watcher *w, struct err *e)
{
	const struct pager *p = &w->pager;
	struct reflect_outcome o = {.code = REFLECT_PAGE,
				    .rv = p->rv,
				    .cont = p->cont,
				    .retry_after_ms = -1};

	if (pager_turn(&w->pager, e)) {
		w->listing = false;
		trouble(w, "list failed", 200, e->text);
		o.code = REFLECT_FAILED;
	} else if (p->cont[0] == '\0') {
		o.code = REFLECT_COMPLETE;
		w->listing = false;
		(void)worker_recovered(w->worker);
		state_listed(w->shared, w->kind, true);
		LOG(w->usual, "listed", LS("resource", resources[w->kind].name),
		    LI("items", w->items));
	}
	step_done(w, &o);
}

static void
list_failed(struct watcher *w, const struct kube_reply *r, const char *why)
{
	struct reflect_outcome o = {.code = REFLECT_FAILED,
				    .retry_after_ms = r->retry_after_ms};
	enum answer_class answer = answer_class(r);

	w->listing = false;
	if (answer == ANSWER_EXPIRED)
		o.code = REFLECT_EXPIRED;
	if (answer == ANSWER_UNSERVED) {
		o.code = REFLECT_UNSERVED;
		state_listed(w->shared, w->kind, false);
		trouble(w, "resource is not served", r->status,
			"the CRD is not installed; asking again");
	} else {
		trouble(w, "list failed", r->status, why);
	}
	step_done(w, &o);
}

static void
list(struct watcher *w, const char *cont)
{
	char path[PATH_BYTES], text[ANSWER_TEXT];
	struct buf b;
	struct kube_request q = {.method = "GET",
				 .path = path,
				 .accept = resources[w->kind].list_accept,
				 .timeout_ms = w->timing->list_ms};
	struct kube_reply r = {0};
	struct err e = {0};
	int rc;

	if (!w->listing) {
		w->listing = true;
		w->items = 0;
		pager_init(&w->pager, LIST_PAGE);
		state_listing(w->shared, w->kind);
	}
	buf_init(&b, path, sizeof(path));
	list_path(&b, w->kind, w->pager.limit, cont);
	if (pager_begin(&w->pager, take_item, w, &e)) {
		list_failed(w, &r, "no memory");
		return;
	}
	rc = kube_stream_run(w->stream, &q, feed_page, NULL, w, &r, &e);
	if (rc == 0 && r.status == 200)
		rc = pager_end(&w->pager, &e);
	if (rc == 0 && r.status == 200)
		list_page_done(w, &e);
	else if (rc == 0)
		list_failed(w, &r, answer_text(&r, text));
	else if (e.code != ERR_CANCELLED)
		list_failed(w, &(struct kube_reply){.retry_after_ms = -1},
			    e.text);
	pager_drop(&w->pager);
}

static void
watch_opened(void *ctx)
{
	struct watcher *w = ctx;

	/* A restart may have been requested just before this call began. */
	if (atomic_load(&w->restart))
		kube_stream_nudge(w->stream);
	state_watch(w->shared, w->kind, true);
	watching(w);
	w->line_ms = clock_boot_ms();
}

static void
count_restart(struct watcher *w, enum reflect_code code, bool silent)
{
	enum { END, EXPIRED, SILENT, ERROR } why = silent ? SILENT : ERROR;

	if (code == REFLECT_ENDED || code == REFLECT_EXPIRED)
		why = code == REFLECT_ENDED ? END : EXPIRED;
	counter_add(&w->shared->counters, resources[w->kind].restarts + why);
}

static void
watch_done(struct watcher *w, int rc, const struct kube_reply *r,
	   const struct err *e)
{
	struct reflect_outcome o = {.code = REFLECT_FAILED,
				    .retry_after_ms =
					    rc == 0 ? r->retry_after_ms : -1};
	char text[ANSWER_TEXT];

	if (e->code == ERR_CANCELLED)	/* cut by us: do not wait */
		return;
	w->in_doubt = r->status == 200 && !w->brought &&
		      reflect_short(&w->reflect, clock_now(w->shared->clock));
	if (w->expired || (rc == 0 && answer_class(r) == ANSWER_EXPIRED))
		o.code = REFLECT_EXPIRED;
	else if (rc == 0 && r->status == 200 && !w->in_doubt)
		o.code = REFLECT_ENDED;
	if (o.code == REFLECT_EXPIRED)
		LOG(w->usual, "watch expired, listing again",
		    LS("resource", resources[w->kind].name));
	else if (o.code != REFLECT_ENDED)
		trouble(w, "watch failed", r->status,
			rc != 0		   ? e->text
			: r->status == 200 ? "ended at once, without a line"
					   : answer_text(r, text));
	count_restart(w, o.code, e->code == ERR_TIMEOUT);
	step_done(w, &o);
}

static void
watch(struct watcher *w, const char *rv, int timeout_s)
{
	char path[WATCH_PATH_BYTES];
	struct buf b;
	struct kube_request q = {.method = "GET",
				 .path = path,
				 .accept = resources[w->kind].item_accept,
				 .silent_ms = w->timing->silent_ms};
	struct kube_reply r = {0};
	struct err e = {0};
	int rc;

	buf_init(&b, path, sizeof(path));
	watch_path(&b, w->kind, timeout_s, rv);
	/* The API server has no watch cache for Events and so sends no
	 * bookmarks. */
	if (w->kind == KIND_EVENT)
		q.silent_ms += 1000 * (int64_t)timeout_s;
	w->silent_ms = q.silent_ms;
	w->expired = w->brought = false;
	w->split = split_new(SPLIT_LINES, take_line, w);
	rc = w->split == NULL ? err_set(&e, ERR_SYSTEM, "no memory")
			      : kube_stream_run(w->stream, &q, feed_lines,
						watch_opened, w, &r, &e);
	state_watch(w->shared, w->kind, false);
	watch_done(w, rc, &r, &e);
	split_free(w->split);
	w->split = NULL;
}

/* --- the thread ----------------------------------------------------------- */

static void
step(struct watcher *w)
{
	struct reflect_todo todo;

	if (atomic_exchange(&w->restart, false)) {
		reflect_restart(&w->reflect);
		w->listing = false;
	}
	todo = reflect_next(&w->reflect, clock_now(w->shared->clock));
	switch (todo.step) {
	case REFLECT_WAIT:
		(void)state_sleep(w->shared, worker_nap_ms(todo.wait_ms));
		break;
	case REFLECT_LIST:
		list(w, todo.cont);
		break;
	case REFLECT_WATCH:
		watch(w, todo.rv, todo.timeout_s);
		break;
	}
}

static void
watcher_run(void *ctx)
{
	struct watcher *w = ctx;

	while (!atomic_load(&w->shared->stopping)) {
		worker_beat(w->worker);
		/* Every replica's webhook needs to know which NodePools are
		 * disabled. */
		if (w->kind == KIND_NODEPOOL || state_await_lead(w->shared))
			step(w);
	}
}

static void
watcher_stop(void *ctx)
{
	kube_stream_cancel(((struct watcher *)ctx)->stream);
}

static const struct worker_kind watcher_kind = {
	.name = "watchers",
	.run = watcher_run,
	.stop = watcher_stop,
};

struct watcher *
watcher_new(const struct watcher_setup *o, struct worker *worker, struct err *e)
{
	struct watcher *w = calloc(1, sizeof(*w));

	if (w == NULL) {
		err_set(e, ERR_SYSTEM, "no memory for a watcher");
		return NULL;
	}
	w->worker = worker;
	w->shared = o->shared;
	w->kind = o->kind;
	w->hold = o->hold;
	w->timing = o->timing;
	w->usual = o->kind == KIND_EVENT ? LOG_DEBUG : LOG_INFO;
	reflect_init(&w->reflect, clock_boot_us() + o->kind);
	w->stream = kube_stream_new(o->kube, e);
	if (w->stream == NULL) {
		free(w);
		return NULL;
	}
	worker_init(worker, &watcher_kind, w, w->stream);
	return w;
}

void
watcher_restart(struct watcher *w)
{
	if (w == NULL)
		return;
	atomic_store(&w->restart, true);
	kube_stream_nudge(w->stream);
}

void
watcher_free(struct watcher *w)
{
	if (w == NULL)
		return;
	kube_stream_free(w->stream);
	free(w);
}
