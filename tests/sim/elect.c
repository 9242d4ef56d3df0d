/* SPDX-License-Identifier: Apache-2.0 */
#include "elect.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The replica's core/protocol/lease works on the world's one Lease, as in
 * daemon/elector.c. */

void
elect_init(struct holder *h, uint64_t seed)
{
	struct lease_config c = {.enabled = h->elects,
				 .duration_ms = 15000,
				 .renew_deadline_ms = 10000,
				 .retry_ms = 2000,
				 .hold = h->configured};

	snprintf(c.identity, sizeof(c.identity), "holder-%d-%llu", h->number,
		 (unsigned long long)h->births);
	lease_init(&h->lease, &c, seed);
	h->leads = false;
	controller_lead(h->controller, false, holder_now(h));
	for (int i = 0; i < LEASE_CALLS; i++)
		h->lease_calls[i].used = false;
}

/* --- the API server ------------------------------------------------------- */

static enum lease_code
serve(struct world *w, const struct lease_call *c, bool leads)
{
	struct lease_record *r = &w->lease;

	if (c->step == LEASE_GET)
		return r->present ? LEASE_OK : LEASE_NOT_FOUND;
	if (c->step == LEASE_CREATE && r->present)
		return LEASE_CONFLICT;
	if (c->step == LEASE_UPDATE && !r->present)
		return LEASE_NOT_FOUND;
	if (c->step == LEASE_UPDATE && strcmp(r->rv, c->record.rv) != 0)
		return LEASE_CONFLICT;
	if (strcmp(r->holder, c->record.holder) != 0)
		w->lease_left_us = r->renew_us;
	/* A merge patch leaves alone what is not in it. */
	if (c->step == LEASE_CREATE)
		lease_record_copy(r, &c->record);
	else if (c->with_spec)
		memcpy(r, &c->record, offsetof(struct lease_record, state));
	r->hold = c->record.hold;
	if (r->hold.key[0] != '\0')
		world_hold(w, &r->hold);
	if (c->step == LEASE_UPDATE && c->with_state) {
		w->sighted += strcmp(r->state, c->record.state) != 0;
		memcpy(r->state, c->record.state, sizeof(r->state));
		strcpy(r->history, c->record.history);
		r->state_bad = false;
	}
	/* A leader writes the same state again into a Lease that it makes
	 * anew. */
	if (strcmp(r->state, w->state_last) != 0) {
		strcpy(w->state_last, r->state);
		w->state_sent = c->sent_at;
	}
	if (leads)
		w->lease_left_us = r->renew_us;
	r->present = true;
	snprintf(r->rv, sizeof(r->rv), "%llu", (unsigned long long)++w->rv);
	return LEASE_OK;
}

void
lease_call_serve(struct lease_call *c, struct world *w, bool leads)
{
	c->applied = true;
	if (w->now < w->down_until || c->fault == REPLY_ERROR)
		return;
	if (w->now < w->busy_until) {
		c->code = LEASE_BUSY;
		return;
	}
	c->code = serve(w, c, leads);
	lease_record_copy(&c->record, &w->lease);
	if (c->fault != REPLY_WHOLE)
		c->code = LEASE_FAILED;
}

enum reply_fault
call_fault(struct world *w, int64_t late_ms, int64_t timeout_ms,
	   int64_t *apply_at, int64_t *answer_at)
{
	enum reply_fault fault = REPLY_WHOLE;

	if (roll(&w->dice, 100) >= w->odds)
		return REPLY_WHOLE;
	if (w->now < w->error_until)
		fault = REPLY_ERROR;
	if (w->now < w->lossy_until)
		fault = REPLY_LOST;
	if (w->now < w->late_until) {
		fault = REPLY_LATE;
		*apply_at = w->now + between(&w->dice, 100, late_ms);
		*answer_at = w->now + timeout_ms;
	}
	return fault;
}

void
lease_call_send(struct lease_call *c, struct world *w,
		const struct lease_todo *todo)
{
	c->used = true;
	c->step = todo->step;
	c->with_spec = todo->with_spec;
	c->with_state = todo->with_state;
	c->sent_at = w->now;
	c->code = LEASE_FAILED;
	c->applied = c->answered = false;
	if (todo->record != NULL)
		lease_record_copy(&c->record, todo->record);
	c->answer_at = w->now + between(&w->dice, 1, 30);
	if (w->now < w->slow_until)
		c->answer_at += between(&w->dice, 100, 3000);
	c->apply_at = between(&w->dice, w->now, c->answer_at);
	c->fault = call_fault(w, 8000, todo->timeout_ms, &c->apply_at,
			      &c->answer_at);
	/* The call is given up at its timeout, whatever becomes of it. */
	if (c->answer_at > w->now + todo->timeout_ms) {
		c->answer_at = w->now + todo->timeout_ms;
		c->fault = REPLY_LATE;
	}
}

struct lease_call *
lease_call_free(struct lease_call calls[LEASE_CALLS])
{
	struct lease_call *c = calls;

	while (c < calls + LEASE_CALLS && c->used)
		c++;
	if (c == calls + LEASE_CALLS)
		abort();
	return c;
}

/* --- the replica ---------------------------------------------------------- */

static void
answer(struct holder *h, struct lease_call *c)
{
	struct lease_outcome o = {.code = c->applied ? c->code : LEASE_FAILED,
				  .record = &c->record,
				  .retry_after_ms = -1};

	c->answered = h->poked = true;
	if (o.code == LEASE_FAILED || o.code == LEASE_BUSY)
		h->w->lease_failed = h->w->now;
	if (o.code == LEASE_BUSY)
		o.retry_after_ms = h->w->retry_after_ms;
	lease_done(&h->lease, &o, holder_now(h));
}

void
elect_serve(struct holder *h)
{
	for (struct lease_call *c = h->lease_calls;
	     c < h->lease_calls + LEASE_CALLS; c++)
		if (c->used && !c->applied && c->apply_at <= h->w->now)
			lease_call_serve(c, h->w, h->leads);
}

static void
follow(struct holder *h)
{
	bool leads = lease_leads(&h->lease, holder_now(h).boot_ms);
	struct lease_note n;

	while (lease_note(&h->lease, &n))
		if (n.type != LEASE_NOTE_LEADER)
			tell(h->w, "holder %d   %s", h->number,
			     n.type == LEASE_NOTE_LEADS ? "leads"
			     : n.type == LEASE_NOTE_HOLD
				     ? "is not ready: another hold counts"
				     : "leads no more");
	if (!h->leads) {
		h->rules.hold = *lease_hold(&h->lease);
		controller_hold(h->controller, &h->rules.hold);
	}
	if (leads == h->leads)
		return;
	h->leads = leads;
	controller_lead(h->controller, leads, holder_now(h));
	holder_leads(h);
	for (int k = 0; k < VIEW_COUNT; k++)
		if (!leads || k == KIND_NODEPOOL)
			holder_restart(h, (enum kind)k);
}

int64_t
elect_step(struct holder *h)
{
	struct lease_todo todo;
	int64_t next = INT64_MAX, now = h->w->now;

	elect_serve(h);
	for (struct lease_call *c = h->lease_calls;
	     c < h->lease_calls + LEASE_CALLS; c++) {
		if (c->used && !c->answered && c->answer_at <= now)
			answer(h, c);
		if (c->applied && c->answered)
			c->used = false;
	}
	todo = lease_next(&h->lease, holder_now(h));
	if (todo.step == LEASE_WAIT) {
		if (todo.wait_ms < INT64_MAX)
			next = now + (todo.wait_ms > 0 ? todo.wait_ms : 1);
	} else if (todo.step != LEASE_END) {
		lease_call_send(lease_call_free(h->lease_calls), h->w, &todo);
	}
	follow(h);
	for (struct lease_call *c = h->lease_calls;
	     c < h->lease_calls + LEASE_CALLS; c++) {
		if (c->used && !c->applied && c->apply_at < next)
			next = c->apply_at;
		if (c->used && !c->answered && c->answer_at < next)
			next = c->answer_at;
	}
	return next;
}
