/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "book.h"
#include "core/base/limits.h"
#include "edge/clock.h"
#include "edge/kube/follow.h"
#include "edge/signals.h"
#include "tools/client.h"
#include "wire/api/meta.h"
#include "wire/api/resource.h"
#include "wire/karpenter/snapshot.h"

/*
 * There are three threads: one for each watch (a `side`), and main.  The sides
 * add facts to the book.  Main prints the book's facts in the order of their
 * times, waits for signals, and ends the record.  `lock` guards the book, the
 * output, and the state that the sides share with main.  `turn` wakes the sides
 * when the NodeClaims are listed and when the recorder stops.
 *
 * The Events are listed only after the NodeClaims, because they are about
 * NodeClaims.  Main prints while both watches are open.  While a watch is not
 * open, main waits until the oldest fact is RECORD_PATIENCE_MS old, because
 * that watch may still deliver an earlier fact.
 */

/* If the watch has to leave out a line because it is too large or unreadable,
 * the NodeClaims are listed again.  This is the shortest time between two such
 * lists. */
#define RELIST_MS 60000

/* One of the two watches, and its thread. */
struct side {
	struct recorder *recorder;
	enum kind kind;
	const char *items; /* kind of the listed objects, for the decoder */
	struct follow *follow;
	pthread_t thread;
	/* Whether the thread was started.  Only main uses this. */
	bool running;
	/* Only the thread uses these four members.  troubled: the trouble of
	 * the watch was printed.  left_out: it was printed that an object was
	 * left out.  partial: an object of the current list was left out.
	 * relist_ms: earliest boot time at which a line that is left out causes
	 * a new list. */
	bool troubled, left_out, partial;
	int64_t relist_ms;
	/* Under the lock: whether the first list is complete, and whether the
	 * watch is open now. */
	bool listed, open;
};

enum { CLAIMS, EVENTS, SIDES };

struct recorder {
	const struct recorder_setup *setup;
	struct kube *kube;
	struct clock *clock;
	/* Boot time after which no first list begins again. */
	int64_t first_ms;
	struct signals signals;
	struct side sides[SIDES];
	pthread_mutex_t lock;
	/* Signalled when the NodeClaims are listed and when `stopping` is set.
	 */
	pthread_cond_t turn;
	/* `lock` guards the members from here on. */
	struct book book;
	struct output out;
	bool warned_full; /* Whether it was printed that the book is full. */
	bool stopping;
	struct err failed; /* Why the recorder cannot go on, or ERR_NONE. */
};

/* --- what the watches bring ----------------------------------------------- */

static int64_t
now_ms(const struct recorder *r)
{
	return clock_now(r->clock).server_ms;
}

static void
warn(const struct side *s, const char *what, const char *why, const char *then)
{
	output_tell("holderctl: warning: %s: %s: %s%s", resources[s->kind].name,
		    what, why, then);
}

static int
take_fact(void *ctx, const struct fact *f, struct err *e)
{
	struct recorder *r = ctx;
	bool tell;
	int rc;

	(void)pthread_mutex_lock(&r->lock);
	rc = book_take(&r->book, f, e);
	tell = r->book.full && !r->warned_full;
	r->warned_full |= tell;
	(void)pthread_mutex_unlock(&r->lock);
	if (tell)
		output_tell("holderctl: warning: nodeclaims: "
			    "objects left out: there are more than %d",
			    SIMULATE_MACHINES_MAX);
	return rc;
}

/* Warns once that objects which are too large or cannot be read are left
 * out. */
static void
leave_out(struct side *s, const char *why)
{
	if (!s->left_out)
		warn(s, "object left out", why, "");
	s->left_out = true;
}

static void
listing(void *ctx)
{
	struct side *s = ctx;
	struct recorder *r = s->recorder;

	s->partial = false;
	if (s->kind != KIND_NODECLAIM)
		return;
	(void)pthread_mutex_lock(&r->lock);
	book_listing(&r->book);
	(void)pthread_mutex_unlock(&r->lock);
}

static int
take_item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct side *s = ctx;
	enum snapshot_what what = SNAPSHOT_BROKEN;

	if (n <= ITEM_BYTES_MAX)
		what = snapshot_item(bytes, n, s->items, take_fact, s->recorder,
				     e);
	if (what == SNAPSHOT_BROKEN) {
		leave_out(s,
			  n > ITEM_BYTES_MAX ? "too large" : "cannot be read");
		s->partial = true;
	}
	return what == SNAPSHOT_FAILED ? -1 : 0;
}

static void
listed(void *ctx, bool served)
{
	struct side *s = ctx;
	struct recorder *r = s->recorder;

	if (!served)
		return;
	s->troubled = false;
	(void)pthread_mutex_lock(&r->lock);
	if (s->kind == KIND_NODECLAIM && !s->partial)
		(void)book_listed(&r->book, now_ms(r), &r->failed);
	s->listed = true;
	(void)pthread_cond_broadcast(&r->turn);
	(void)pthread_mutex_unlock(&r->lock);
}

static void
set_open(struct side *s, bool open)
{
	(void)pthread_mutex_lock(&s->recorder->lock);
	s->open = open;
	(void)pthread_mutex_unlock(&s->recorder->lock);
}

static void
watching(void *ctx, bool sure)
{
	struct side *s = ctx;

	if (sure)
		s->troubled = false;
	set_open(s, true);
}

static void
closed(void *ctx)
{
	set_open(ctx, false);
}

static void
ended(void *ctx, enum follow_end why)
{
	(void)ctx;
	(void)why;
}

/* Takes the failure of a list or watch.  Before both first lists are complete,
 * a failure ends the command, unless only a page of a list has expired and
 * there is still time.  Later it is reported on stderr, and the call is
 * repeated. */
static void
watch_trouble(void *ctx, const char *what, int status, const char *why)
{
	struct side *s = ctx;
	struct recorder *r = s->recorder;
	bool again, stopping;

	(void)pthread_mutex_lock(&r->lock);
	stopping = r->stopping;
	again = (status == 410 && clock_boot_ms() < r->first_ms) ||
		(r->sides[CLAIMS].listed && r->sides[EVENTS].listed);
	if (!again && !stopping && r->failed.code == ERR_NONE)
		(void)err_set(&r->failed, ERR_SYSTEM, "%s: %s: %s",
			      resources[s->kind].name, what, why);
	(void)pthread_mutex_unlock(&r->lock);
	if (again && !stopping && !s->troubled)
		warn(s, what, why, ", trying again");
	s->troubled = true;
}

/* --- a line of a watch ---------------------------------------------------- */

static const struct json_keep line_keep[] = {WATCH_LINE_KEEP(snapshot_keep),
					     {NULL, NULL}};

struct seen {
	struct side *side;
	char name[NAME_BYTES];
	char rv[RV_BYTES];
};

static int
take_object(void *ctx, const struct json *object, struct err *e)
{
	struct seen *o = ctx;
	const struct json *meta = json_member(object, "metadata");

	if (meta_text_need(meta, "resourceVersion", o->rv, sizeof(o->rv),
			   "resourceVersion", e) ||
	    meta_text_need(meta, "name", o->name, sizeof(o->name), "name", e))
		return -1;
	return snapshot_object(object, o->side->items, take_fact,
			       o->side->recorder, e) == SNAPSHOT_FAILED
		       ? -1
		       : 0;
}

static int
take_gone(struct side *s, const char *claim, struct err *e)
{
	struct recorder *r = s->recorder;
	int rc;

	(void)pthread_mutex_lock(&r->lock);
	rc = book_gone(&r->book, claim, now_ms(r), e);
	(void)pthread_mutex_unlock(&r->lock);
	return rc;
}

/* Handles a line that is left out.  The line may have been the deletion of a
 * NodeClaim, so the NodeClaims are listed again, but at most once in
 * RELIST_MS. */
static int
line_left_out(struct side *s, const char *why)
{
	leave_out(s, why);
	if (s->kind == KIND_NODECLAIM && clock_boot_ms() >= s->relist_ms) {
		s->relist_ms = clock_boot_ms() + RELIST_MS;
		follow_restart(s->follow);
	}
	return 1;
}

static int
line_seen(void *ctx, const char *bytes, size_t n, struct follow_line *line,
	  struct err *e)
{
	struct side *s = ctx;
	struct seen o = {.side = s, .rv = ""};

	if (n > ITEM_BYTES_MAX)
		return line_left_out(s, "too large");
	if (watch_line_decode(bytes, n, line_keep, &json_bounds_stored,
			      &line->type, &line->code, line->rv, take_object,
			      &o, e))
		return e->code == ERR_SYSTEM ? -1 : line_left_out(s, e->text);
	if (line->type == WATCH_BOOKMARK || line->type == WATCH_ERROR)
		return 0;
	memcpy(line->rv, o.rv, sizeof(o.rv));
	/* The deletion of an Event only means that it has expired. */
	if (line->type == WATCH_DELETED && s->kind == KIND_NODECLAIM)
		return take_gone(s, o.name, e);
	return 0;
}

static const struct follow_calls calls = {
	.listing = listing,
	.item = take_item,
	.listed = listed,
	.watching = watching,
	.line = line_seen,
	.closed = closed,
	.ended = ended,
	.trouble = watch_trouble,
};

/* --- the thread of a side ------------------------------------------------- */

#define PAUSE_MS 60000 /* longest pause of a side that has nothing to do */

/* Sleeps for `ms`, or until `turn` is signalled.  Returns false when the
 * recorder stops. */
static bool
pause_for(struct recorder *r, int64_t ms)
{
	struct timespec t;
	bool stopping;

	if (ms > PAUSE_MS)
		ms = PAUSE_MS;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	(void)pthread_mutex_lock(&r->lock);
	if (!r->stopping && ms > 0)
		(void)pthread_cond_timedwait(&r->turn, &r->lock, &t);
	stopping = r->stopping;
	(void)pthread_mutex_unlock(&r->lock);
	return !stopping;
}

/* Waits until the NodeClaims are listed.  The Events of the last hour cannot be
 * understood without them. */
static bool
await_claims(struct recorder *r)
{
	bool stopping;

	(void)pthread_mutex_lock(&r->lock);
	while (!r->stopping && !r->sides[CLAIMS].listed)
		(void)pthread_cond_wait(&r->turn, &r->lock);
	stopping = r->stopping;
	(void)pthread_mutex_unlock(&r->lock);
	return !stopping;
}

static void *
side_run(void *ctx)
{
	struct side *s = ctx;

	if (s->kind == KIND_EVENT && !await_claims(s->recorder))
		return NULL;
	while (pause_for(s->recorder, follow_step(s->follow)))
		;
	return NULL;
}

static int
side_start(struct side *s, struct err *e)
{
	if (pthread_create(&s->thread, NULL, side_run, s) != 0)
		return err_set(e, ERR_SYSTEM, "no thread for a watch");
	s->running = true;
	return 0;
}

static void
stop_sides(struct recorder *r)
{
	(void)pthread_mutex_lock(&r->lock);
	r->stopping = true;
	(void)pthread_cond_broadcast(&r->turn);
	(void)pthread_mutex_unlock(&r->lock);
	for (int i = 0; i < SIDES; i++) {
		if (!r->sides[i].running)
			continue;
		follow_cancel(r->sides[i].follow);
		(void)pthread_join(r->sides[i].thread, NULL);
		r->sides[i].running = false;
	}
}

/* --- main ----------------------------------------------------------------- */

/* Prints the facts that wait, unless a watch may still deliver an earlier fact.
 * Returns whether both first lists are complete.  While nobody reads stdout,
 * this function waits under the lock, and so do the watches.  A signal ends the
 * wait. */
static bool
look(struct recorder *r, struct err *e)
{
	const struct side *s = r->sides;
	bool listed;

	(void)pthread_mutex_lock(&r->lock);
	listed = s[CLAIMS].listed && s[EVENTS].listed;
	if (listed)
		book_begin(&r->book, &r->out);
	if (r->failed.code != ERR_NONE)
		*e = r->failed;
	else if (listed &&
		 ((s[CLAIMS].open && s[EVENTS].open) ||
		  clock_boot_ms() >= r->book.since_ms + RECORD_PATIENCE_MS))
		(void)book_print(&r->book, &r->out, INT64_MAX, e);
	(void)pthread_mutex_unlock(&r->lock);
	/* The caller checks for signals itself. */
	if (e->code == ERR_CANCELLED)
		*e = (struct err){0};
	return listed;
}

static int
run(struct recorder *r, struct err *e)
{
	int64_t end = INT64_MAX, left = RECORD_LOOK_MS;

	*e = (struct err){0};
	while (left > 0 && signals_take(&r->signals, left) == 0) {
		if (look(r, e) && end == INT64_MAX && r->setup->for_ms > 0)
			end = clock_boot_ms() + r->setup->for_ms;
		if (e->code != ERR_NONE)
			return -1;
		left = end - clock_boot_ms();
		if (left > RECORD_LOOK_MS)
			left = RECORD_LOOK_MS;
	}
	signals_restore(&r->signals);
	stop_sides(r);
	if (r->failed.code != ERR_NONE) {
		*e = r->failed;
		return -1;
	}
	if (book_end(&r->book, &r->out, now_ms(r),
		     r->signals.taken != 0 ? OUTPUT_END_MS : INT64_MAX, e))
		return err_wrap(e, "the record has no end");
	return 0;
}

static int
open_sides(struct recorder *r, const struct timing *t, struct err *e)
{
	static const enum kind kinds[SIDES] = {KIND_NODECLAIM, KIND_EVENT};
	static const char *const items[SIDES] = {"NodeClaim", "Event"};

	for (int i = 0; i < SIDES; i++) {
		struct side *s = &r->sides[i];

		*s = (struct side){
			.recorder = r, .kind = kinds[i], .items = items[i]};
		s->follow = follow_new(&(struct follow_setup){.kube = r->kube,
							      .clock = r->clock,
							      .timing = t,
							      .kind = kinds[i],
							      .calls = &calls,
							      .ctx = s},
				       e);
		if (s->follow == NULL)
			return -1;
	}
	return side_start(&r->sides[CLAIMS], e) ||
			       side_start(&r->sides[EVENTS], e)
		       ? -1
		       : 0;
}

static void
init_lock(struct recorder *r)
{
	pthread_condattr_t monotonic;

	(void)pthread_mutex_init(&r->lock, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&r->turn, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
}

int
recorder_run(const struct recorder_setup *s, struct kubeconfig *access,
	     const struct timing *t, struct err *e)
{
	struct recorder r = {.setup = s,
			     .clock = clock_new(),
			     .first_ms = clock_boot_ms() + t->whole_ms};
	int rc = -1;

	signals_block(&r.signals);
	output_init(&r.out, STDOUT_FILENO);
	init_lock(&r);
	if (r.clock == NULL || book_init(&r.book))
		(void)err_set(e, ERR_SYSTEM, "out of memory");
	else if ((r.kube = client_new(access, r.clock, t, e)) != NULL &&
		 open_sides(&r, t, e) == 0)
		rc = run(&r, e);
	signals_restore(&r.signals);
	stop_sides(&r);
	for (int i = 0; i < SIDES; i++)
		follow_free(r.sides[i].follow);
	kube_free(r.kube);
	clock_free(r.clock);
	book_done(&r.book);
	output_done(&r.out);
	(void)pthread_cond_destroy(&r.turn);
	(void)pthread_mutex_destroy(&r.lock);
	return rc;
}
