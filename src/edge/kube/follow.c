/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/kube/follow.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/limits.h"
#include "core/protocol/reflect.h"
#include "edge/kube/answer.h"
#include "wire/api/pager.h"
#include "wire/api/resource.h"

/*
 * follow_step does the next step that core/protocol/reflect asks for: one page
 * of a list, or a watch until its end.  A reply is split into items or lines
 * (wire/api/split), which go to the caller's functions.  Only an item or line
 * that is not complete yet is kept.  Each end of a page or of a watch is
 * reported to reflect once, unless follow_restart or follow_cancel has cut the
 * call.
 *
 * One thread calls follow_step.  Other threads may call follow_restart and
 * follow_cancel, which set a flag and wake the stream.  A watch is `in_doubt`
 * if the previous watch ended at once and without a line.  Such a watch counts
 * as open only after its first line.
 */

struct follow {
	struct follow_setup setup;
	const struct follow_calls *calls;
	struct kube_stream *stream;
	struct reflect reflect;
	_Atomic bool restart;
	struct pager pager;  /* The pages of the current list. */
	struct split *split; /* Splits the current watch into lines. */
	bool listing;	     /* Whether a list has begun and is not complete. */
	/* Whether the watch has delivered an error event with code 410. */
	bool expired;
	bool brought;  /* Whether the current watch has delivered a line. */
	bool in_doubt; /* Whether the watch still needs its first line. */
	/* Boot time in ms of the last line, and for how many ms the watch may
	 * be silent after it. */
	int64_t line_ms, silent_ms;
};

static int
line_came(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct follow *f = ctx;
	struct follow_line line = {.rv = ""};
	int rc;

	f->line_ms = clock_boot_ms();
	rc = f->calls->line(f->setup.ctx, bytes, n, &line, e);
	if (rc != 0) {
		/* A line that is left out, such as one that is too large, has
		 * no readable resourceVersion.  If the watch ends before
		 * another line comes, the next watch delivers the same line
		 * again, which is harmless. */
		f->brought = f->brought || n > ITEM_BYTES_MAX;
		return rc < 0 ? -1 : 0;
	}
	if (line.type == WATCH_ERROR) {
		f->expired = line.code == 410;
		return err_wrap(e, "watch ended by the API server with %d",
				line.code);
	}
	f->brought = true;
	if (f->in_doubt) {
		f->in_doubt = false;
		f->calls->watching(f->setup.ctx, true);
	}
	reflect_seen(&f->reflect, line.rv);
	return 0;
}

static int
feed_page(void *ctx, const char *bytes, size_t n, struct err *e)
{
	return pager_feed(&((struct follow *)ctx)->pager, bytes, n, e);
}

/* Takes bytes of the watch.  Bytes that complete no line count as silence. */
static int
feed_lines(void *ctx, const char *bytes, size_t n, struct err *e)
{
	const struct follow *f = ctx;
	int rc = split_feed(f->split, bytes, n, e);

	if (rc == 0 && clock_boot_ms() >= f->line_ms + f->silent_ms)
		rc = err_set(e, ERR_TIMEOUT, "no whole line for %lld ms",
			     (long long)f->silent_ms);
	return rc;
}

static void
tell_trouble(struct follow *f, const char *what, int status, const char *why)
{
	f->calls->trouble(f->setup.ctx, what, status, why);
}

static void
step_done(struct follow *f, const struct reflect_outcome *o)
{
	reflect_done(&f->reflect, o, clock_now(f->setup.clock));
}

/* --- list ----------------------------------------------------------------- */

static void
list_page_done(struct follow *f, struct err *e)
{
	const struct pager *p = &f->pager;
	struct reflect_outcome o = {.code = REFLECT_PAGE,
				    .rv = p->rv,
				    .cont = p->cont,
				    .retry_after_ms = -1};

	if (pager_turn(&f->pager, clock_boot_ms(), e)) {
		f->listing = false;
		tell_trouble(f, "list failed", 200, e->text);
		o.code = REFLECT_FAILED;
	} else if (p->cont[0] == '\0') {
		o.code = REFLECT_COMPLETE;
		f->listing = false;
		f->calls->listed(f->setup.ctx, true);
	}
	step_done(f, &o);
}

static void
list_failed(struct follow *f, const struct kube_reply *r, const char *why)
{
	struct reflect_outcome o = {.code = REFLECT_FAILED,
				    .retry_after_ms = r->retry_after_ms};
	enum answer_class answer = answer_class(r);

	f->listing = false;
	if (answer == ANSWER_EXPIRED)
		o.code = REFLECT_EXPIRED;
	if (answer == ANSWER_UNSERVED) {
		o.code = REFLECT_UNSERVED;
		f->calls->listed(f->setup.ctx, false);
		tell_trouble(f, "resource is not served", r->status,
			     "the CRD is not installed; asking again");
	} else {
		tell_trouble(f, "list failed", r->status, why);
	}
	step_done(f, &o);
}

static void
list(struct follow *f, const char *cont)
{
	enum kind kind = f->setup.kind;
	char path[PATH_BYTES], text[ANSWER_TEXT];
	struct buf b;
	struct kube_request q = {.method = "GET",
				 .path = path,
				 .accept = resources[kind].list_accept,
				 .timeout_ms = f->setup.timing->list_ms};
	struct kube_reply r = {0};
	struct err e = {0};
	int rc;

	if (!f->listing) {
		f->listing = true;
		pager_init(&f->pager, LIST_PAGE, clock_boot_ms(),
			   f->setup.timing->whole_ms);
		f->calls->listing(f->setup.ctx);
	}
	buf_init(&b, path, sizeof(path));
	resource_list_path(&b, kind, f->setup.namespace_name, f->pager.limit,
			   cont);
	if (pager_begin(&f->pager, f->calls->item, f->setup.ctx, &e)) {
		list_failed(f, &r, "no memory");
		return;
	}
	rc = kube_stream_run(f->stream, &q, feed_page, NULL, f, &r, &e);
	if (rc == 0 && r.status == 200)
		rc = pager_end(&f->pager, &e);
	if (rc == 0 && r.status == 200)
		list_page_done(f, &e);
	else if (rc == 0)
		list_failed(f, &r, answer_text(&r, text));
	else if (e.code != ERR_CANCELLED)
		list_failed(f, &(struct kube_reply){.retry_after_ms = -1},
			    e.text);
	pager_drop(&f->pager);
}

/* --- watch ---------------------------------------------------------------- */

static void
watch_opened(void *ctx)
{
	struct follow *f = ctx;

	/* follow_restart may have been called just before this call began.  Its
	 * nudge was then lost, so the nudge is repeated here. */
	if (atomic_load(&f->restart))
		kube_stream_nudge(f->stream);
	f->calls->watching(f->setup.ctx, !f->in_doubt);
	f->line_ms = clock_boot_ms();
}

static enum follow_end
end_of(enum reflect_code code, const struct err *e)
{
	if (code == REFLECT_ENDED)
		return FOLLOW_ENDED;
	if (code == REFLECT_EXPIRED)
		return FOLLOW_EXPIRED;
	return e->code == ERR_TIMEOUT ? FOLLOW_SILENT : FOLLOW_FAILED;
}

static void
watch_done(struct follow *f, int rc, const struct kube_reply *r,
	   const struct err *e)
{
	struct reflect_outcome o = {.code = REFLECT_FAILED,
				    .retry_after_ms =
					    rc == 0 ? r->retry_after_ms : -1};
	char text[ANSWER_TEXT];

	/* follow_restart or follow_cancel has cut the call, so there is no
	 * failure to back off from. */
	if (e->code == ERR_CANCELLED)
		return;
	f->in_doubt = r->status == 200 && !f->brought &&
		      reflect_short(&f->reflect, clock_now(f->setup.clock));
	if (f->expired || (rc == 0 && answer_class(r) == ANSWER_EXPIRED))
		o.code = REFLECT_EXPIRED;
	else if (rc == 0 && r->status == 200 && !f->in_doubt)
		o.code = REFLECT_ENDED;
	if (o.code == REFLECT_FAILED)
		tell_trouble(f, "watch failed", r->status,
			     rc != 0 ? e->text
			     : r->status == 200
				     ? "ended at once, without a line"
				     : answer_text(r, text));
	f->calls->ended(f->setup.ctx, end_of(o.code, e));
	step_done(f, &o);
}

static void
watch(struct follow *f, const char *rv, int timeout_s)
{
	enum kind kind = f->setup.kind;
	char path[WATCH_PATH_BYTES];
	struct buf b;
	struct kube_request q = {.method = "GET",
				 .path = path,
				 .accept = resources[kind].item_accept,
				 .silent_ms = f->setup.timing->silent_ms};
	struct kube_reply r = {0};
	struct err e = {0};
	int rc;

	buf_init(&b, path, sizeof(path));
	resource_watch_path(&b, kind, f->setup.namespace_name, timeout_s, rv);
	/* Most events of Nodes are status updates that change nothing for us,
	 * so they may wait and be read together.  A NodeClaim's event is read
	 * at once, because it may begin a hold. */
	if (kind == KIND_NODE)
		q.gather_ms = WATCH_GATHER_MS;
	/* The API server has no watch cache for Events and sends no bookmarks
	 * for them.  A watch of Events may thus be silent until its timeout. */
	if (kind == KIND_EVENT)
		q.silent_ms += 1000 * (int64_t)timeout_s;
	f->silent_ms = q.silent_ms;
	f->expired = f->brought = false;
	f->split = split_new(SPLIT_LINES, line_came, f);
	rc = f->split == NULL ? err_set(&e, ERR_SYSTEM, "no memory")
			      : kube_stream_run(f->stream, &q, feed_lines,
						watch_opened, f, &r, &e);
	f->calls->closed(f->setup.ctx);
	watch_done(f, rc, &r, &e);
	split_free(f->split);
	f->split = NULL;
}

/* --- list and watch ------------------------------------------------------- */

int64_t
follow_step(struct follow *f)
{
	struct reflect_todo todo;

	if (atomic_exchange(&f->restart, false)) {
		reflect_restart(&f->reflect);
		f->listing = false;
	}
	todo = reflect_next(&f->reflect, clock_now(f->setup.clock));
	if (todo.step == REFLECT_WAIT)
		return todo.wait_ms;
	if (todo.step == REFLECT_LIST)
		list(f, todo.cont);
	else
		watch(f, todo.rv, todo.timeout_s);
	return 0;
}

struct follow *
follow_new(const struct follow_setup *s, struct err *e)
{
	struct follow *f = calloc(1, sizeof(*f));

	if (f == NULL) {
		err_set(e, ERR_SYSTEM, "no memory for a watch");
		return NULL;
	}
	f->setup = *s;
	f->calls = s->calls;
	reflect_init(&f->reflect, clock_boot_us() + s->kind);
	f->stream = kube_stream_new(s->kube, e);
	if (f->stream == NULL) {
		free(f);
		return NULL;
	}
	return f;
}

void
follow_free(struct follow *f)
{
	if (f == NULL)
		return;
	kube_stream_free(f->stream);
	free(f);
}

void
follow_restart(struct follow *f)
{
	atomic_store(&f->restart, true);
	kube_stream_nudge(f->stream);
}

void
follow_cancel(struct follow *f)
{
	kube_stream_cancel(f->stream);
}

const struct kube_stream *
follow_stream(const struct follow *f)
{
	return f->stream;
}
