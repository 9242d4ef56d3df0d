/* SPDX-License-Identifier: Apache-2.0 */
#include "watcher.h"

#include <stdlib.h>

#include "core/base/str.h"
#include "edge/kube/follow.h"
#include "edge/log.h"
#include "sighting.h"
#include "wire/api/resource.h"

/*
 * edge/kube/follow makes the lists and watches.  Each item and line passes
 * through the decoder of its kind into the shared table.  Trouble, and the end
 * of trouble, goes to the log.
 */

struct watcher {
	struct worker *worker;
	struct state *shared;
	struct follow *follow;
	enum kind kind;
	struct hold_key hold; /* as of the present list */
	/* The level of routine log lines: debug for the watch of Events, which
	 * expires often because it has no bookmarks. */
	enum log_level usual;
	unsigned items; /* number of items in the current list */
};

/* Leaves out an object that is too large or cannot be decoded.  If there was no
 * memory for the object, the list or watch ends, and the next list or watch
 * shows the object again. */
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

static void
listing(void *ctx)
{
	struct watcher *w = ctx;

	w->items = 0;
	state_hold(w->shared, &w->hold);
	state_listing(w->shared, w->kind);
}

static int
take_item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct watcher *w = ctx;
	struct sighting o = {.kind = w->kind};
	struct err bad = {0};

	if (sighting_item(bytes, n, &w->hold, &o, &bad))
		return leave_out(w, &bad, e);
	w->items++;
	sighting_track(w->shared, &o);
	return 0;
}

static void
listed(void *ctx, bool served)
{
	struct watcher *w = ctx;

	if (served)
		(void)worker_recovered(w->worker);
	state_listed(w->shared, w->kind, served);
	if (served)
		LOG(w->usual, "listed", LS("resource", resources[w->kind].name),
		    LI("items", w->items));
}

static void
watching(void *ctx, bool sure)
{
	struct watcher *w = ctx;

	state_watch(w->shared, w->kind, true);
	LOG(sure ? worker_recovered(w->worker) : LOG_DEBUG, "watching",
	    LS("resource", resources[w->kind].name));
}

static int
take_line(void *ctx, const char *bytes, size_t n, struct follow_line *line,
	  struct err *e)
{
	struct watcher *w = ctx;
	struct sighting o = {.kind = w->kind};
	struct err bad = {0};

	if (sighting_line(bytes, n, &w->hold, &line->type, &o, &line->code,
			  &bad))
		return leave_out(w, &bad, e) ? -1 : 1;
	if (line->type == WATCH_ERROR) {
		*e = bad;
		return 0;
	}
	sighting_take(w->shared, line->type, &o);
	str_cut(line->rv, sizeof(line->rv), sighting_rv(&o));
	return 0;
}

static void
closed(void *ctx)
{
	struct watcher *w = ctx;

	state_watch(w->shared, w->kind, false);
}

static void
ended(void *ctx, enum follow_end why)
{
	struct watcher *w = ctx;

	if (why == FOLLOW_EXPIRED)
		LOG(w->usual, "watch expired, listing again",
		    LS("resource", resources[w->kind].name));
	counter_add(&w->shared->counters, resources[w->kind].restarts + why);
}

static void
trouble(void *ctx, const char *what, int status, const char *why)
{
	struct watcher *w = ctx;
	enum log_level level;

	if (atomic_load(&w->shared->stopping))
		return;
	level = worker_trouble(w->worker);
	LOG(level, what, LS("resource", resources[w->kind].name),
	    LI("code", status), LS("err", why));
}

static const struct follow_calls calls = {
	.listing = listing,
	.item = take_item,
	.listed = listed,
	.watching = watching,
	.line = take_line,
	.closed = closed,
	.ended = ended,
	.trouble = trouble,
};

/* --- the thread ----------------------------------------------------------- */

static void
watcher_run(void *ctx)
{
	struct watcher *w = ctx;
	int64_t wait_ms;

	while (!atomic_load(&w->shared->stopping)) {
		worker_beat(w->worker);
		/* NodePools are watched even without the lead, because every
		 * replica's webhook needs to know which of them are
		 * disabled. */
		if (w->kind != KIND_NODEPOOL && !state_await_lead(w->shared))
			continue;
		wait_ms = follow_step(w->follow);
		if (wait_ms > 0)
			(void)state_sleep(w->shared, worker_nap_ms(wait_ms));
	}
}

static void
watcher_stop(void *ctx)
{
	follow_cancel(((struct watcher *)ctx)->follow);
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
	const struct follow_setup setup = {.kube = o->kube,
					   .clock = o->shared->clock,
					   .timing = o->timing,
					   .kind = o->kind,
					   .namespace_name = o->rules->tickets,
					   .calls = &calls,
					   .ctx = w};

	if (w == NULL) {
		err_set(e, ERR_SYSTEM, "no memory for a watcher");
		return NULL;
	}
	w->worker = worker;
	w->shared = o->shared;
	w->kind = o->kind;
	w->usual = o->kind == KIND_EVENT ? LOG_DEBUG : LOG_INFO;
	w->follow = follow_new(&setup, e);
	if (w->follow == NULL) {
		free(w);
		return NULL;
	}
	worker_init(worker, &watcher_kind, w, follow_stream(w->follow));
	return w;
}

void
watcher_restart(struct watcher *w)
{
	if (w != NULL)
		follow_restart(w->follow);
}

void
watcher_free(struct watcher *w)
{
	if (w == NULL)
		return;
	follow_free(w->follow);
	free(w);
}
