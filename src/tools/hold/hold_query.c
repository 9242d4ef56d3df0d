/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "core/base/stamp.h"
#include "edge/output.h"
#include "hold_parts.h"
#include "tools/prometheus/prometheus_query.h"

/* How long one wait lasts before ask_query checks for signals and renews the
 * ticket. */
#define LOOK_MS 50

/* What the last message on stderr was about. */
enum told {
	TOLD_NOTHING,
	TOLD_FOUND,
	TOLD_EMPTY,
	TOLD_FAILED,
};

/* Sends the query once and renews the ticket while it waits.  Returns -1 with
 * *e set if a signal has come. */
static int
ask_query(struct holding *h, struct prometheus_query *p,
	  struct prometheus_found *out, struct err *e)
{
	struct session *calls = &h->keeper.calls;
	struct kube_reply r;
	struct err none;
	uint64_t tag;

	prometheus_query_start(p);
	while (!prometheus_query_over(p, LOOK_MS, out)) {
		if (session_sleep(calls, 0, e))
			return -1;
		(void)session_turn(calls, 0, &tag, &r, &none);
	}
	return 0;
}

static void
tell_failed(const struct holding *h, const struct prometheus_found *f)
{
	char until[STAMP_BYTES], text[STAMP_BYTES + 64];

	output_tell("holderctl: %s", f->why.text);
	if (h->keeper.until_ms == STAMP_NONE)
		return;
	stamp_format(h->keeper.until_ms, until);
	(void)snprintf(text, sizeof(text),
		       "not renewed meanwhile, and over at %s", until);
	keeper_tell(&h->keeper, text, "");
}

static void
tell_found(const struct holding *h, const struct prometheus_found *f)
{
	char text[80];

	(void)snprintf(text, sizeof(text),
		       "the query finds %" PRIu64 " series: held", f->series);
	keeper_tell(&h->keeper, text, "");
}

/* Keeps the ticket if the query finds something, drops it if the query finds
 * nothing, and only stops renewing it if there is no answer.  Reports a
 * change. */
static void
act(struct holding *h, const struct prometheus_found *f, enum told *told)
{
	enum told now = f->why.code != ERR_NONE ? TOLD_FAILED
			: f->series > 0		? TOLD_FOUND
						: TOLD_EMPTY;

	if (now != TOLD_FAILED)
		keeper_want(&h->keeper,
			    now == TOLD_FOUND ? KEEPER_KEEP : KEEPER_DROP);
	else if (h->keeper.wish == KEEPER_KEEP)
		keeper_want(&h->keeper, KEEPER_REST);
	if (now == *told)
		return;
	if (now == TOLD_FAILED)
		tell_failed(h, f);
	else if (*told == TOLD_FAILED)
		output_tell("holderctl: Prometheus answers again");
	if (now == TOLD_FOUND)
		tell_found(h, f);
	else if (now == TOLD_EMPTY)
		keeper_tell(&h->keeper, "the query finds nothing: not held",
			    "");
	*told = now;
}

/* Sends the query again and again until a signal comes or another session takes
 * the ticket's name. */
static void
watch(struct holding *h, struct prometheus_query *p, struct err *e)
{
	enum told told = TOLD_NOTHING;
	struct prometheus_found found;

	while (h->keeper.state != KEEPER_TAKEN) {
		int64_t next_ms = clock_boot_ms() + h->setup->every_ms;

		if (ask_query(h, p, &found, e))
			return;
		act(h, &found, &told);
		if (session_sleep(&h->keeper.calls, next_ms - clock_boot_ms(),
				  e))
			return;
	}
}

int
hold_query(struct holding *h, struct err *e)
{
	struct prometheus_query *p = prometheus_query_new(
		&h->setup->prometheus, h->setup->query, h->setup->every_ms, e);

	if (p == NULL)
		return -1;
	h->keeper.begun = true;
	watch(h, p, e);
	prometheus_query_free(p);
	if (h->keeper.state == KEEPER_TAKEN) {
		*e = h->keeper.why;
		return err_wrap(e, "ticket %s/%s",
				h->setup->ticket.namespace_name,
				h->setup->ticket.name);
	}
	keeper_end(&h->keeper);
	return 0;
}
