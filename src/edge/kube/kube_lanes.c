/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/kube/kube.h"

#include <malloc.h>
#include <stdlib.h>

#include "core/base/limits.h"
#include "kube_call.h"

/*
 * Many calls of one thread on several connections.  A slot holds a call that is
 * in flight or has ended.  No more calls are in flight than there are
 * connections, so no call waits for a connection.
 */

struct kube_lanes {
	struct kube *kube;
	struct kube_lane lane;
	struct kube_token token;
	unsigned n, busy;
	/* Maximum number of calls in flight that kube_lanes_ready allows. */
	unsigned warm;
	/* Boot time in ms since which the calls in flight have waited for an
	 * answer: when a call last ended or, if that is later, when a call
	 * began while no other was in flight. */
	int64_t answered_ms;
	/* Boot time in ms when a call was last in flight. */
	int64_t used_ms;
	/* The call that ended last.  The caller still uses its body. */
	struct kube_call *last;
	struct kube_call *calls[]; /* n slots; NULL: the slot is free */
};

struct kube_lanes *
kube_lanes_new(struct kube *k, unsigned n, struct err *e)
{
	struct kube_lanes *p =
		calloc(1, sizeof(*p) + n * sizeof(struct kube_call *));

	if (p == NULL) {
		(void)err_set(e, ERR_SYSTEM, "out of memory");
		return NULL;
	}
	if (kube_lane_init(&p->lane, n, e)) {
		free(p);
		return NULL;
	}
	p->kube = k;
	p->n = n;
	p->warm = 1;
	kube_token_init(&p->token, &k->access, k->token_ms, k->plugin, NULL);
	return p;
}

void
kube_lanes_free(struct kube_lanes *p)
{
	if (p == NULL)
		return;
	for (unsigned i = 0; i < p->n; i++) {
		if (p->calls[i] != NULL)
			kube_lane_drop(&p->lane, p->calls[i]);
		kube_call_free(p->calls[i]);
	}
	kube_call_free(p->last);
	kube_token_done(&p->token);
	kube_lane_done(&p->lane);
	free(p);
}

unsigned
kube_lanes_room(const struct kube_lanes *p)
{
	return p->n - p->busy;
}

unsigned
kube_lanes_ready(struct kube_lanes *p)
{
	if (p->busy > 0 &&
	    clock_boot_ms() - p->answered_ms >= LANES_PATIENCE_MS)
		p->warm = p->n;
	return p->busy < p->warm ? p->warm - p->busy : 0;
}

int
kube_lanes_start(struct kube_lanes *p, const struct kube_request *q,
		 uint64_t tag, struct err *e)
{
	struct kube_call *c;
	unsigned i = 0;

	while (i < p->n && p->calls[i] != NULL)
		i++;
	if (i == p->n)
		return err_set(e, ERR_LIMIT, "%u calls are in flight", p->n);
	c = kube_call_new(p->kube, q, e);
	if (c == NULL)
		return -1;
	c->tag = tag;
	if (kube_lane_start(&p->lane, c, &p->token, e)) {
		kube_call_free(c);
		return -1;
	}
	p->calls[i] = c;
	if (p->busy++ == 0)
		p->answered_ms = clock_boot_ms();
	return 0;
}

/* Returns the nearest deadline of a call or, while no call is in flight, the
 * time to close idle connections, but at_ms at the latest.  Returns INT64_MIN
 * if a call has ended. */
static int64_t
next_ms(const struct kube_lanes *p, int64_t at_ms)
{
	for (unsigned i = 0; i < p->n; i++) {
		const struct kube_call *c = p->calls[i];

		if (c == NULL)
			continue;
		if (c->ended)
			return INT64_MIN;
		if (kube_call_deadline(c) < at_ms)
			at_ms = kube_call_deadline(c);
	}
	if (p->busy == 0 && p->lane.multi != NULL &&
	    p->used_ms + p->kube->rest_ms < at_ms)
		at_ms = p->used_ms + p->kube->rest_ms;
	return at_ms;
}

/* Closes idle connections and returns memory to the kernel.  This pays because
 * 64 TLS connections need 4 MB of heap, and hours may pass between bursts. */
static void
rest(struct kube_lanes *p)
{
	if (p->lane.multi == NULL)
		return;
	kube_lane_rest(&p->lane);
	p->warm = 1;
#ifdef __GLIBC__
	(void)malloc_trim(0);
#endif
}

void
kube_lanes_wait(struct kube_lanes *p, int64_t wait_ms)
{
	int64_t now = clock_boot_ms();
	int64_t end = wait_ms < INT64_MAX - now ? now + wait_ms : INT64_MAX;
	bool woken = false;

	for (;;) {
		int64_t next;

		if (p->busy > 0)
			p->used_ms = now;
		else if (now - p->used_ms >= p->kube->rest_ms)
			rest(p);
		if (kube_lane_drive(&p->lane) > 0 || woken)
			return;
		next = next_ms(p, end);
		if (next <= now && (p->busy > 0 || now >= end))
			return;
		woken = kube_lane_sleep(&p->lane, next - now);
		now = clock_boot_ms();
	}
}

void
kube_lanes_wake(struct kube_lanes *p)
{
	kube_lane_wake(&p->lane);
}

/* Returns whether the call has ended for good.  After a 401 the call is sent
 * again once if there is a new token. */
static bool
over(struct kube_lanes *p, struct kube_call *c, int64_t now)
{
	struct err e;

	if (!c->ended) {
		if (!kube_call_overdue(c, now))
			return false;
		kube_lane_drop(&p->lane, c);
		c->ended = true;
	}
	kube_call_unanswered(c);
	if (c->err.code != ERR_NONE || c->head.status != 401 || c->again ||
	    !kube_token_refused(&p->token, c->token_version, now))
		return true;
	c->again = true;
	if (kube_lane_start(&p->lane, c, &p->token, &e) == 0)
		return false;
	c->err = e;
	return true;
}

bool
kube_lanes_finished(struct kube_lanes *p, uint64_t *tag,
		    struct kube_reply *reply, struct err *err_out)
{
	int64_t now = clock_boot_ms();

	for (unsigned i = 0; i < p->n; i++) {
		struct kube_call *c = p->calls[i];

		if (c == NULL || !over(p, c, now))
			continue;
		p->calls[i] = NULL;
		p->busy--;
		p->answered_ms = now;
		if (p->warm < p->n)
			p->warm++;
		kube_call_free(p->last);
		p->last = c;
		*tag = c->tag;
		kube_call_reply(c, reply);
		*err_out = c->err;
		return true;
	}
	return false;
}
