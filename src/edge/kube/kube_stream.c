/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/kube/kube.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "kube_call.h"

/*
 * One thread runs one call at a time in a lane of its own.  Other threads only
 * set a flag and wake the lane.
 */

struct kube_stream {
	struct kube *kube;
	struct kube_lane lane;
	struct kube_token token;
	/* The last call.  The caller may still use its body. */
	struct kube_call *call;
	atomic_bool cancelled, nudged;
	_Atomic int64_t beat_ms;
};

#define BEAT_MS 1000 /* Longest time between two beats. */

struct kube_stream *
kube_stream_new(struct kube *k, struct err *e)
{
	struct kube_stream *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		(void)err_set(e, ERR_SYSTEM, "out of memory");
		return NULL;
	}
	if (kube_lane_init(&s->lane, 1, e)) {
		free(s);
		return NULL;
	}
	s->kube = k;
	kube_token_init(&s->token, &k->access, k->token_ms, k->plugin,
			&s->cancelled);
	return s;
}

void
kube_stream_free(struct kube_stream *s)
{
	if (s == NULL)
		return;
	kube_call_free(s->call);
	kube_token_done(&s->token);
	kube_lane_done(&s->lane);
	free(s);
}

static bool
stopped(struct kube_stream *s)
{
	return atomic_load(&s->cancelled) || atomic_load(&s->nudged);
}

/* Waits for bytes, a timer or a wake-up, for wait_ms at most.  If bytes have
 * just come and no more are there yet, it pauses for gather_ms instead, so that
 * the next wake-up takes many bytes at once. */
static void
await_more(struct kube_stream *s, struct kube_call *c, int64_t wait_ms)
{
	bool gather = c->fed && c->gather_ms > 0 && !kube_lane_ready(&s->lane);

	if (wait_ms > BEAT_MS)
		wait_ms = BEAT_MS;
	if (gather) {
		c->fed = false;
		kube_lane_pause(&s->lane, wait_ms < c->gather_ms
						  ? wait_ms
						  : c->gather_ms);
	} else {
		(void)kube_lane_sleep(&s->lane, wait_ms);
	}
}

/* Drives the lane until the call has ended in some way. */
static void
drive(struct kube_stream *s, struct kube_call *c)
{
	while (kube_lane_drive(&s->lane) == 0) {
		int64_t now = clock_boot_ms();

		atomic_store(&s->beat_ms, now);
		if (stopped(s))
			(void)err_set(&c->err, ERR_CANCELLED, "cancelled");
		else if (!kube_call_overdue(c, now)) {
			await_more(s, c, kube_call_deadline(c) - now);
			continue;
		}
		kube_lane_drop(&s->lane, c);
		c->ended = true;
		break;
	}
	kube_call_unanswered(c);
}

static int
stream_run(struct kube_stream *s, struct kube_call *c, struct err *e)
{
	if (kube_lane_start(&s->lane, c, &s->token, e))
		return -1;
	drive(s, c);
	if (c->err.code == ERR_NONE && c->head.status == 401 &&
	    kube_token_refused(&s->token, c->token_version, clock_boot_ms())) {
		c->again = true;
		if (kube_lane_start(&s->lane, c, &s->token, e))
			return -1;
		drive(s, c);
	}
	if (c->err.code == ERR_NONE)
		return 0;
	if (e != NULL)
		*e = c->err;
	return -1;
}

int
kube_stream_run(struct kube_stream *s, const struct kube_request *q,
		kube_sink *sink, void (*opened)(void *ctx), void *ctx,
		struct kube_reply *reply, struct err *e)
{
	int rc;

	*reply = (struct kube_reply){.retry_after_ms = -1, .body = ""};
	kube_call_free(s->call);
	/* An earlier nudge was meant for an earlier call. */
	atomic_store(&s->nudged, false);
	if (atomic_load(&s->cancelled)) {
		s->call = NULL;
		return err_set(e, ERR_CANCELLED, "cancelled");
	}
	s->call = kube_call_new(s->kube, q, e);
	if (s->call == NULL)
		return -1;
	s->call->sink = sink;
	s->call->opened = opened;
	s->call->ctx = ctx;
	rc = stream_run(s, s->call, e);
	kube_call_reply(s->call, reply);
	return rc;
}

int64_t
kube_stream_heartbeat_age_ms(const struct kube_stream *s)
{
	return clock_boot_ms() - atomic_load(&s->beat_ms);
}

void
kube_stream_cancel(struct kube_stream *s)
{
	atomic_store(&s->cancelled, true);
	kube_lane_wake(&s->lane);
}

void
kube_stream_nudge(struct kube_stream *s)
{
	atomic_store(&s->nudged, true);
	kube_lane_wake(&s->lane);
}
