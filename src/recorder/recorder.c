/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/limits.h"
#include "edge/clock.h"
#include "edge/kube/answer.h"
#include "edge/kube/kube.h"
#include "wire/api/pager.h"
#include "wire/api/resource.h"
#include "wire/karpenter/record.h"
#include "wire/karpenter/snapshot.h"
#include "wire/karpenter/told.h"

#define FACT_BYTES 8192	/* of one fact of a NodeClaim or Event as a line */

struct recorder {
	const struct recorder_setup *setup;
	const struct timing *timing;
	struct kube *kube;
	struct kube_stream *stream;
	struct pager pager;
	const char *listing;	/* the kind of the items */
	struct told told;
	struct fact **batch;	/* what a round has brought */
	size_t batch_n, batch_room;
	sigset_t signals;
	bool stopped, troubled;
};

/* --- one round ------------------------------------------------------------------- */

static int
keep(struct recorder *r, const struct fact *f, struct err *e)
{
	struct fact **more, *copy;

	if (r->batch_n == r->batch_room) {
		size_t room = 2 * r->batch_room + 64;

		more = realloc(r->batch, room * sizeof(*more));
		if (more == NULL)
			return err_set(e, ERR_SYSTEM, "out of memory");
		r->batch = more;
		r->batch_room = room;
	}
	copy = fact_copy(f);
	if (copy == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	r->batch[r->batch_n++] = copy;
	return 0;
}

static int
take_fact(void *ctx, const struct fact *f, struct err *e)
{
	struct recorder *r = ctx;

	return told_news(&r->told, f) ? keep(r, f, e) : 0;
}

/* An object that is too large or cannot be read is left out. */
static int
take_item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct recorder *r = ctx;

	if (bytes == NULL)
		return 0;
	return snapshot_item(bytes, n, r->listing, take_fact, r, e) ==
			       SNAPSHOT_FAILED
		       ? -1
		       : 0;
}

static int
feed(void *ctx, const char *bytes, size_t n, struct err *e)
{
	return pager_feed(&((struct recorder *)ctx)->pager, bytes, n, e);
}

static int
list_one_page(struct recorder *r, enum kind kind, struct err *e)
{
	char path[PATH_BYTES], text[ANSWER_TEXT];
	struct kube_request q = {.method = "GET",
				 .path = path,
				 .accept = resources[kind].list_accept,
				 .timeout_ms = r->timing->list_ms};
	struct kube_reply reply = {0};
	struct buf b;

	buf_init(&b, path, sizeof(path));
	list_path(&b, kind, r->pager.limit, r->pager.cont);
	if (pager_begin(&r->pager, take_item, r, e) ||
	    kube_stream_run(r->stream, &q, feed, NULL, r, &reply, e))
		return -1;
	if (reply.status != 200)
		return err_set(e, ERR_SYSTEM, "%s",
			       answer_text(&reply, text));
	return pager_end(&r->pager, e) || pager_turn(&r->pager, e) ? -1 : 0;
}

static int
list(struct recorder *r, enum kind kind, const char *items, struct err *e)
{
	int rc;

	r->listing = items;
	pager_init(&r->pager, LIST_PAGE);
	do
		rc = list_one_page(r, kind, e);
	while (rc == 0 && r->pager.cont[0] != '\0');
	pager_drop(&r->pager);
	return rc == 0 ? 0 : err_wrap(e, "list %s", resources[kind].name);
}

static int
find_gone(struct recorder *r, struct err *e)
{
	struct fact f = {.at_ms = clock_wall_ms()};

	for (uint32_t i = 0; told_gone(&r->told, &i, &f); i++) {
		if (keep(r, &f, e))
			return -1;
		told_drop(&r->told, i);
	}
	return 0;
}

static int
by_time(const void *a, const void *b)
{
	return fact_compare(*(struct fact *const *)a, *(struct fact *const *)b);
}

static int
flush(struct err *e)
{
	errno = EIO;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	return err_set(e, ERR_SYSTEM, "stdout: %s", strerror(errno));
}

/* Prints what the round has brought, also if it was cut short. */
static int
print_batch(struct recorder *r, struct err *e)
{
	char line[FACT_BYTES];
	struct buf b;

	if (r->batch_n > 0)
		qsort(r->batch, r->batch_n, sizeof(r->batch[0]), by_time);
	for (size_t i = 0; i < r->batch_n; i++) {
		buf_init(&b, line, sizeof(line));
		record_write(&b, r->batch[i]);
		if (!b.full)
			(void)fputs(line, stdout);
		free(r->batch[i]);
	}
	r->batch_n = 0;
	return flush(e);
}

/* Returns -1 if the lists failed. */
static int
look(struct recorder *r, struct err *e)
{
	told_begin(&r->told);
	return list(r, KIND_NODECLAIM, "NodeClaim", e) || find_gone(r, e) ||
			       list(r, KIND_EVENT, "Event", e)
		       ? -1
		       : 0;
}

/* --- all rounds --------------------------------------------------------------------- */

static void
tell_trouble(struct recorder *r, const struct err *e)
{
	if (!r->troubled)
		(void)fprintf(stderr,
			      "karpenter-node-holder: warning: %s, trying "
			      "again\n",
			      e->text);
	r->troubled = true;
}

/* Sleeps until the next round, or a signal. */
static void
pause_until(struct recorder *r, int64_t boot_ms)
{
	int64_t ms = boot_ms - clock_boot_ms();
	struct timespec t = {.tv_sec = ms / 1000,
			     .tv_nsec = ms % 1000 * 1000000};

	if (ms <= 0)
		t = (struct timespec){0};
	if (sigtimedwait(&r->signals, NULL, &t) > 0)
		r->stopped = true;
}

static int
write_head(struct err *e)
{
	char line[200];
	struct buf b;

	buf_init(&b, line, sizeof(line));
	record_head(&b);
	(void)fputs(line, stdout);
	return flush(e);
}

static int
write_end(struct err *e)
{
	char line[200];
	struct buf b;

	buf_init(&b, line, sizeof(line));
	record_end(&b, clock_wall_ms());
	(void)fputs(line, stdout);
	return flush(e);
}

static int
run(struct recorder *r, struct err *e)
{
	int64_t began = clock_boot_ms(), next = began;
	int64_t end = r->setup->for_ms == 0 ? INT64_MAX
					    : began + r->setup->for_ms;
	struct err trouble;

	if (look(r, e) || write_head(e) || print_batch(r, e))
		return -1;
	while (!r->stopped) {
		next += r->setup->every_ms;
		pause_until(r, next < end ? next : end);
		if (!r->stopped && look(r, &trouble))
			tell_trouble(r, &trouble);
		else
			r->troubled = false;
		if (print_batch(r, e))
			return -1;
		r->stopped = r->stopped || clock_boot_ms() >= end;
	}
	return write_end(e);
}

static int
open_kube(struct recorder *r, struct kubeconfig *access, struct err *e)
{
	struct kube_options o = {
		.access = *access,
		.user_agent = "karpenter-node-holder/" HOLDER_VERSION,
		.connect_ms = r->timing->connect_ms,
		.keepalive_idle_s = KEEPALIVE_IDLE_S,
		.keepalive_probe_s = KEEPALIVE_PROBE_S,
		.token_ms = r->timing->token_ms,
	};

	*access = (struct kubeconfig){0};
	r->kube = kube_new(&o, e);
	if (r->kube == NULL) {
		kubeconfig_done(&o.access);
		return -1;
	}
	r->stream = kube_stream_new(r->kube, e);
	return r->stream == NULL ? -1 : 0;
}

int
recorder_run(const struct recorder_setup *s, struct kubeconfig *access,
	     const struct timing *t, struct err *e)
{
	struct recorder r = {.setup = s, .timing = t};
	int rc = -1;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&r.signals);
	(void)sigaddset(&r.signals, SIGINT);
	(void)sigaddset(&r.signals, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &r.signals, NULL);
	if (told_init(&r.told, SIMULATE_MACHINES_MAX))
		(void)err_set(e, ERR_SYSTEM, "out of memory");
	else if (open_kube(&r, access, e) == 0)
		rc = run(&r, e);
	kube_stream_free(r.stream);
	kube_free(r.kube);
	while (r.batch_n > 0)
		free(r.batch[--r.batch_n]);
	free(r.batch);
	told_done(&r.told);
	return rc;
}
