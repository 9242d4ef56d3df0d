/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper.h"

#include <stdio.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "core/base/str.h"
#include "edge/kube/answer.h"

/*
 * The keeper has no thread.  The session calls keeper_turn, which starts one
 * call at a time, and keeper_answered, which takes the answer.  keeper.h draws
 * the states.
 *
 * If the answer to a write is lost, the write may have succeeded all the same.
 * The next write then has an old resourceVersion and gets a 409, after which
 * the keeper reads the Lease again.  Trouble is reported once when it begins,
 * and once when it ends.
 */

#define PROGRAM "holderctl"
#define RENEWALS 3 /* how often a ticket is renewed in its duration */
/* Each renewTime is later than the clock by a random number of microseconds
 * below this.  The number is less than the shortest time between two
 * renewals. */
#define RANDOM_US 100000
/* How often keeper_wait checks whether the ticket is written. */
#define LOOK_MS 20
#define IDLE_MS 1000
/* Minimum timeout of a call, however short the ticket's duration is. */
#define CALL_LEAST_MS 1000
/* After more conflicts in a row than this, the keeper pauses as after a
 * failure. */
#define CONFLICTS_AT_ONCE 3

void
keeper_tell(const struct keeper *k, const char *what, const char *more)
{
	output_tell(PROGRAM ": ticket %s/%s: %s%s", k->draft.namespace_name,
		    k->draft.name, what, more);
}

static int64_t
third_ms(const struct keeper *k)
{
	return k->draft.lasts_ms / RENEWALS;
}

/* Returns whether another run may renew the ticket, too. */
static bool
is_shared(const struct keeper *k)
{
	return clock_boot_ms() < k->shared_ms;
}

/* Returns whether there is nothing to do until the caller wishes something else
 * (keeper_want). */
static bool
is_done(const struct keeper *k)
{
	switch (k->wish) {
	case KEEPER_KEEP:
		return k->state == KEEPER_TAKEN;
	case KEEPER_DROP:
		return k->state == KEEPER_TAKEN || k->state == KEEPER_LEFT ||
		       k->state == KEEPER_ABSENT || is_shared(k) ||
		       (k->state == KEEPER_UNKNOWN && !k->mine &&
			k->sent_ms == 0);
	default:
		return true;
	}
}

/* Returns the boot time of the next call. */
static int64_t
due_ms(const struct keeper *k)
{
	if (k->failures > 0)
		return k->retry_ms;
	return k->state == KEEPER_WRITTEN && k->wish == KEEPER_KEEP
		       ? k->renew_ms
		       : 0;
}

/* --- calls ---------------------------------------------------------------- */

/* Returns the kind of the next call, with the meanings of `call` in struct
 * keeper. */
static enum keeper_state
next_call(const struct keeper *k)
{
	if (k->state == KEEPER_UNKNOWN)
		return KEEPER_UNKNOWN;
	return k->wish == KEEPER_DROP ? KEEPER_ABSENT : KEEPER_WRITTEN;
}

static void
make_write(struct keeper *k, struct buf *b, struct kube_request *q)
{
	k->draft.renewed_us = clock_now(k->s.clock).server_ms * 1000 +
			      (int64_t)(pace_random(&k->pace) % RANDOM_US);
	k->sent_ms = clock_boot_ms();
	k->tried[k->tried_n++ % KEEPER_TRIED] = k->draft.renewed_us;
	if (k->state == KEEPER_ABSENT) {
		q->method = "POST";
		q->content_type = LEASE_CREATE_TYPE;
		(void)snprintf(k->path, sizeof(k->path), LEASE_PATH,
			       k->draft.namespace_name);
		ticket_create(b, &k->draft);
		return;
	}
	q->method = "PATCH";
	q->content_type = LEASE_UPDATE_TYPE;
	/* ticket_renew keeps what a person has changed in our ticket. */
	if (k->mine)
		ticket_renew(b, &k->draft, k->rv);
	else
		ticket_replace(b, &k->draft, k->rv);
}

static int64_t
call_ms(const struct keeper *k)
{
	int64_t ms = third_ms(k) > CALL_LEAST_MS ? third_ms(k) : CALL_LEAST_MS;

	return ms < k->s.timing->call_ms ? ms : k->s.timing->call_ms;
}

static int
start_call(struct keeper *k, struct err *e)
{
	struct kube_request q = {
		.method = "GET", .path = k->path, .timeout_ms = call_ms(k)};
	struct buf b;

	k->call = next_call(k);
	buf_init(&b, k->body, sizeof(k->body));
	(void)snprintf(k->path, sizeof(k->path), LEASE_ITEM_PATH,
		       k->draft.namespace_name, k->draft.name);
	if (k->call == KEEPER_ABSENT) {
		q.method = "DELETE";
		q.content_type = LEASE_CREATE_TYPE;
		ticket_delete(&b, k->uid, k->rv);
	} else if (k->call == KEEPER_WRITTEN) {
		make_write(k, &b, &q);
	}
	if (b.len > 0) {
		q.body = b.data;
		q.body_bytes = b.len;
	}
	k->calling = true;
	return session_start(&k->calls, &q, SESSION_OTHER, e);
}

/* --- answers -------------------------------------------------------------- */

/* Sets the time of the next try, and reports the trouble once. */
static void
keeper_failed(struct keeper *k, int64_t retry_after_ms)
{
	int64_t most =
		third_ms(k) < BACKOFF_MAX_MS ? third_ms(k) : BACKOFF_MAX_MS;
	int64_t least = most < BACKOFF_MIN_MS ? most : BACKOFF_MIN_MS;

	/* A longer pause could end the hold. */
	if (retry_after_ms > third_ms(k))
		retry_after_ms = third_ms(k);
	k->failures++;
	k->retry_ms = clock_boot_ms() +
		      (retry_after_ms > 0 ? retry_after_ms
					  : pace_backoff(&k->pace, k->failures,
							 least, most));
	if (!k->troubled && (k->begun || !k->refused)) {
		keeper_tell(k, "trying again: ", k->why.text);
		k->troubled = true;
	}
	if (k->wish == KEEPER_KEEP && k->until_ms != STAMP_NONE &&
	    k->until_ms <= clock_now(k->s.clock).server_ms && !k->over_told) {
		keeper_tell(k,
			    "it is over, and holds nothing until it is renewed",
			    "");
		k->over_told = true;
	}
}

/* Returns whether this run has written the renewTime. */
static bool
is_own_write(const struct keeper *k, int64_t renewed_us)
{
	for (unsigned i = 0; i < k->tried_n && i < KEEPER_TRIED; i++)
		if (k->tried[i] == renewed_us)
			return true;
	return false;
}

/* Notes that another run has renewed the ticket, for lasts_ms from now on.  If
 * that run has a shorter --lease than one that renewed before, the time does
 * not become shorter. */
static void
share(struct keeper *k, int64_t lasts_ms)
{
	int64_t until_ms = clock_boot_ms() + lasts_ms;

	if (until_ms > k->shared_ms)
		k->shared_ms = until_ms;
}

/* Takes a ticket that was read.  renewed_us is its renewTime with microseconds,
 * which *t does not have. */
static void
take_read(struct keeper *k, const struct ticket *t, int64_t renewed_us)
{
	int64_t now_ms = clock_now(k->s.clock).server_ms;
	int64_t until_ms = ticket_until_ms(t, now_ms);
	bool in_force = until_ms != STAMP_NONE && until_ms > now_ms;
	bool ours = strcmp(t->holder, k->draft.holder) == 0;
	char until[STAMP_BYTES];

	if (k->wish == KEEPER_DROP) {
		ours = ours && is_own_write(k, renewed_us);
		k->state = ours ? KEEPER_THERE : KEEPER_LEFT;
		(void)err_set(&k->why, ERR_SYSTEM, "%s has written it since",
			      t->holder[0] != '\0' ? t->holder : "somebody");
	} else if (!ours && in_force) {
		stamp_format(until_ms, until);
		k->state = KEEPER_TAKEN;
		(void)err_set(&k->why, ERR_SYSTEM,
			      "there is one of %s until %s, expected another "
			      "--name",
			      t->holder[0] != '\0' ? t->holder : "somebody",
			      until);
		if (k->begun)
			keeper_tell(k, "it is renewed no more: ", k->why.text);
	} else {
		k->state = KEEPER_THERE;
		if (in_force && !is_own_write(k, renewed_us))
			share(k, until_ms - now_ms);
	}
	k->mine = k->mine && strcmp(k->uid, t->uid) == 0;
	memcpy(k->uid, t->uid, sizeof(k->uid));
	memcpy(k->rv, t->rv, sizeof(k->rv));
}

static void
take_written(struct keeper *k, const struct ticket *t)
{
	memcpy(k->uid, t->uid, sizeof(k->uid));
	memcpy(k->rv, t->rv, sizeof(k->rv));
	k->state = KEEPER_WRITTEN;
	k->mine = true;
	k->renew_ms = k->sent_ms + third_ms(k);
	k->until_ms = k->draft.renewed_us / 1000 + k->draft.lasts_ms;
	if (k->troubled)
		keeper_tell(k, "written again", "");
	k->troubled = k->over_told = k->refused = false;
	k->conflicts = 0;
}

static void
take_absent(struct keeper *k)
{
	k->state = KEEPER_ABSENT;
	k->mine = false;
	k->shared_ms = 0;
	k->until_ms = STAMP_NONE;
	/* After a read the conflicts still count: there may be no such Lease
	 * each time it is read, but a conflict each time it is created. */
	if (k->call != KEEPER_UNKNOWN)
		k->conflicts = 0;
}

/* Takes the answer to the call.  Returns false if the call has failed. */
static bool
take_answer(struct keeper *k, enum answer_class class,
	    const struct kube_reply *r)
{
	bool created = k->call == KEEPER_WRITTEN && k->state == KEEPER_ABSENT;
	static struct lease_record record; /* too large for a stack */
	char namespace_name[64];
	static struct ticket t;

	if (class == ANSWER_GONE && !created) {
		take_absent(k);
		return true;
	}
	if (class == ANSWER_EXISTS ||
	    (class == ANSWER_CONFLICT && k->call != KEEPER_UNKNOWN)) {
		k->state = KEEPER_UNKNOWN;
		return k->conflicts++ < CONFLICTS_AT_ONCE;
	}
	if (class != ANSWER_OK) {
		/* The Lease may have been created all the same. */
		if (created && class == ANSWER_FAILED)
			k->state = KEEPER_UNKNOWN;
		return false;
	}
	if (k->call == KEEPER_ABSENT) {
		take_absent(k);
		return true;
	}
	if (ticket_decode(r->body, r->body_bytes, &t, &k->why) ||
	    lease_item_decode(r->body, r->body_bytes, namespace_name, &record,
			      &k->why))
		return false;
	if (k->call == KEEPER_UNKNOWN)
		take_read(k, &t, record.renew_us);
	else
		take_written(k, &t);
	return true;
}

/* Returns whether the API server would hardly answer another try
 * differently. */
static bool is_refusal(enum answer_class class)
{
	return class == ANSWER_REFUSED || class == ANSWER_UNSERVED ||
	       class == ANSWER_INVALID || class == ANSWER_GONE;
}

static void
keeper_answered(void *ctx, const struct kube_reply *r,
		const struct err *no_answer)
{
	enum answer_class class =
		no_answer->code != ERR_NONE ? ANSWER_FAILED : answer_class(r);
	char text[ANSWER_TEXT];
	struct keeper *k = ctx;

	k->calling = false;
	k->why = *no_answer;
	if (take_answer(k, class, r)) {
		k->failures = 0;
		return;
	}
	if (k->why.code == ERR_NONE)
		(void)err_set(&k->why, ERR_SYSTEM, "%d: %s", r->status,
			      answer_text(r, text));
	k->refused = is_refusal(class);
	keeper_failed(k, r->retry_after_ms);
}

/* --- the session ---------------------------------------------------------- */

static int64_t
keeper_turn(void *ctx)
{
	struct keeper *k = ctx;
	int64_t now_ms = clock_boot_ms();
	struct err e = {0};

	if (k->calling || is_done(k))
		return SESSION_LOOK_MS;
	if (due_ms(k) > now_ms)
		return due_ms(k) - now_ms;
	if (start_call(k, &e))
		keeper_answered(
			k,
			&(struct kube_reply){.body = "", .retry_after_ms = -1},
			&e);
	return SESSION_LOOK_MS;
}

int
keeper_open(struct keeper *k, const struct keeper_setup *s, struct err *e)
{
	*k = (struct keeper){
		.s = *s, .draft = *s->draft, .until_ms = STAMP_NONE};
	pace_init(&k->pace, clock_boot_us());
	return session_open(&k->calls,
			    &(struct session_setup){
				    .kube = s->kube,
				    .program = PROGRAM,
				    .timing = s->timing,
				    .until_ms = INT64_MAX,
				    .calls = 2,
				    .turn = keeper_turn,
				    .answered = keeper_answered,
				    .ctx = k,
			    },
			    e);
}

void
keeper_close(struct keeper *k)
{
	session_close(&k->calls);
}

void
keeper_want(struct keeper *k, enum keeper_wish wish)
{
	if (wish == k->wish)
		return;
	k->wish = wish;
	k->failures = 0;
	if (k->state == KEEPER_LEFT)
		k->state = KEEPER_UNKNOWN;
}

int
keeper_wait(struct keeper *k, int64_t until_ms, struct err *e)
{
	while (k->state != KEEPER_WRITTEN) {
		if (k->state == KEEPER_TAKEN ||
		    (k->failures > 0 &&
		     (k->refused || clock_boot_ms() >= until_ms))) {
			*e = k->why;
			return -1;
		}
		if (clock_boot_ms() >= until_ms)
			return err_set(e, ERR_TIMEOUT,
				       "the API server does not answer");
		if (session_sleep(&k->calls, LOOK_MS, e))
			return -1;
	}
	return 0;
}

bool
keeper_may_be_written(const struct keeper *k)
{
	return k->state == KEEPER_WRITTEN ||
	       (k->calling && k->call == KEEPER_WRITTEN) ||
	       (k->state == KEEPER_UNKNOWN && k->sent_ms != 0);
}

int64_t
keeper_idle_ms(const struct keeper *k)
{
	int64_t ms;

	if (k->calling)
		return 0;
	ms = is_done(k) ? IDLE_MS : due_ms(k) - clock_boot_ms();
	if (ms < 0)
		ms = 0;
	return ms < IDLE_MS ? ms : IDLE_MS;
}

void
keeper_end(struct keeper *k)
{
	int64_t until_ms = clock_boot_ms() + HOLD_END_MS;
	char until[STAMP_BYTES], text[STAMP_BYTES + 64];
	struct kube_reply r;
	struct err no_answer;
	uint64_t tag;
	bool shared;

	keeper_want(k, KEEPER_DROP);
	while ((k->calling || !is_done(k)) && clock_boot_ms() < until_ms &&
	       !signals_pending())
		(void)session_turn(&k->calls, LOOK_MS, &tag, &r, &no_answer);
	shared = is_shared(k);
	if (is_done(k) && !k->calling && k->state != KEEPER_LEFT && !shared)
		return;
	if (shared)
		(void)err_set(&k->why, ERR_SYSTEM,
			      "another run of this name has renewed it");
	stamp_format(k->draft.renewed_us / 1000 + k->draft.lasts_ms, until);
	(void)snprintf(text, sizeof(text),
		       "not deleted, and over at %s by itself", until);
	keeper_tell(k, text, "");
	if (k->why.code != ERR_NONE)
		keeper_tell(k, "the reason: ", k->why.text);
}
