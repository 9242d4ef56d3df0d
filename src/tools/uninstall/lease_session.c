/* SPDX-License-Identifier: Apache-2.0 */
#include "lease_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/protocol/lease.h"
#include "edge/kube/answer.h"
#include "edge/kube/lease_call.h"

/*
 * The Lease has no thread of its own.  One lane (connection) is reserved for
 * its requests, and every wait of the session drives them together with the
 * command's requests.
 */

#define GIVE_UP_MS 2000 /* how long giving up the Lease may take */

struct lease_session {
	struct lease_session_setup s;
	struct session calls;
	char namespace_name[64];
	bool elects;   /* whether there is a Lease to take and keep */
	bool calling;  /* whether a call for the Lease is in flight */
	bool ended;    /* whether the Lease has been given up */
	bool troubled; /* trouble with the Lease has been printed */
	struct lease lease;
	struct lease_record want, answer;
	struct lease_call call;
};

/* --- the Lease ------------------------------------------------------------ */

static void
say(const struct lease_session *l, const char *what, const char *more)
{
	output_tell("%s: lease %s/%s: %s%s", l->s.program, l->namespace_name,
		    l->s.config->leader.name, what, more);
}

static void
tell_wait(const struct lease_session *l, const char *holder)
{
	int64_t boot_ms = clock_boot_ms();
	struct lease_wait wait;
	char what[80];

	if (!lease_waits(&l->lease, boot_ms, &wait))
		return;
	(void)snprintf(what, sizeof(what), "not renewed, free in %lld s%s: ",
		       (long long)(wait.end_ms - boot_ms + 999) / 1000,
		       wait.deletion_helps ? ", or when it is deleted" : "");
	say(l, what, holder);
}

static void
session_tell(struct lease_session *l)
{
	static struct lease_note n; /* too large for a stack */

	while (lease_note(&l->lease, &n)) {
		switch (n.type) {
		case LEASE_NOTE_LEADER:
			say(l, "waiting for the holder that leads, stop it: ",
			    n.name);
			break;
		case LEASE_NOTE_LEADS:
			say(l, "taken", "");
			break;
		case LEASE_NOTE_LATE:
			say(l, "lost, not renewed in time", "");
			break;
		case LEASE_NOTE_TAKEN:
			say(l, "lost to ", n.name[0] ? n.name : "nobody");
			break;
		case LEASE_NOTE_RELEASED:
			say(l, "given up", "");
			break;
		case LEASE_NOTE_FREE:
			say(l, "free, taken unless a holder that runs wants it",
			    "");
			break;
		case LEASE_NOTE_WAITS:
			tell_wait(l, n.name);
			break;
		case LEASE_NOTE_BAD_STATE:
		case LEASE_NOTE_HOLD: /* a command has no hold */
			break;
		}
	}
}

static void
lease_answered(void *ctx, const struct kube_reply *r,
	       const struct err *no_answer)
{
	struct lease_session *l = ctx;
	struct lease_outcome o;
	struct err why;

	lease_call_answered(r, no_answer, false, &l->answer, &o, &why);
	l->calling = false;
	if (o.code == LEASE_FAILED && !l->troubled)
		say(l, "trying again: ", why.text);
	l->troubled = o.code == LEASE_FAILED;
	lease_done(&l->lease, &o, clock_now(l->s.clock));
	session_tell(l);
}

/* Starts the request that the Lease needs now, if any.  Returns after how many
 * milliseconds to call this again. */
static int64_t
lease_turn(void *ctx)
{
	struct lease_session *l = ctx;
	struct lease_todo todo;
	struct kube_request q;
	struct err e = {0};

	if (!l->elects || l->calling || l->ended)
		return SESSION_LOOK_MS;
	todo = lease_next(&l->lease, clock_now(l->s.clock));
	session_tell(l);
	l->ended = todo.step == LEASE_END;
	if (todo.step == LEASE_WAIT || l->ended)
		return l->ended ? 0 : todo.wait_ms;
	if (todo.step == LEASE_NONE) {
		say(l, "not there: no holder leads, going on without", "");
		l->elects = false;
		return 0;
	}
	if (todo.record != NULL) {
		lease_record_copy(&l->want, todo.record);
		todo.record = &l->want;
	}
	lease_call_make(&l->call, l->namespace_name, l->s.config->leader.name,
			&todo, &q);
	l->calling = true;
	if (session_start(&l->calls, &q, SESSION_OTHER, &e))
		lease_answered(l, &(struct kube_reply){.body = ""}, &e);
	return SESSION_LOOK_MS;
}

struct lease_session *
lease_session_new(const struct lease_session_setup *s, struct err *e)
{
	struct lease_session *l = calloc(1, sizeof(*l));

	if (l == NULL) {
		(void)err_set(e, ERR_SYSTEM, "out of memory");
		return NULL;
	}
	l->s = *s;
	if (session_open(&l->calls,
			 &(struct session_setup){
				 .kube = s->kube,
				 .program = s->program,
				 .timing = s->timing,
				 .out = s->out,
				 .until_ms = s->until_ms,
				 .calls = s->config->patch_concurrency + 1,
				 .turn = lease_turn,
				 .answered = lease_answered,
				 .ctx = l,
			 },
			 e)) {
		lease_session_free(l);
		return NULL;
	}
	return l;
}

void
lease_session_free(struct lease_session *l)
{
	if (l == NULL)
		return;
	session_close(&l->calls);
	free(l);
}

struct session *
lease_session_calls(struct lease_session *l)
{
	return &l->calls;
}

/* --- the lead ------------------------------------------------------------- */

bool
lease_session_holds(const struct lease_session *l)
{
	return !l->elects || lease_leads(&l->lease, clock_boot_ms());
}

int
lease_session_take(struct lease_session *l, const char *namespace_name,
		   struct err *e)
{
	const struct config *c = l->s.config;
	struct lease_config lc = {.enabled = true,
				  .duration_ms = c->leader.lease_ms,
				  .renew_deadline_ms = c->leader.renew_ms,
				  .retry_ms = c->leader.retry_ms,
				  .patience_ms = LEASE_PATIENCE_RETRIES *
						 c->leader.retry_ms};

	if (!l->elects && namespace_name != NULL) {
		(void)snprintf(l->namespace_name, sizeof(l->namespace_name),
			       "%s", namespace_name);
		lease_call_identity("_uninstall", lc.identity);
		lease_init(&l->lease, &lc, clock_boot_us());
		l->elects = true;
	}
	while (!lease_session_holds(l))
		if (session_sleep(&l->calls, SESSION_LOOK_MS, e))
			return err_wrap(e, "waiting for lease %s/%s",
					l->namespace_name, c->leader.name);
	return 0;
}

void
lease_session_give_up(struct lease_session *l, bool clean)
{
	int64_t until = clock_boot_ms() + GIVE_UP_MS;
	struct kube_reply r;
	uint64_t tag;
	struct err no_answer;

	if (!l->elects)
		return;
	/* If nothing is held any more, the state in the Lease is out of date,
	 * and the next leader must not restore it.  It may also choose another
	 * hold. */
	if (clean)
		lease_clear(&l->lease);
	lease_stop(&l->lease);
	while (!l->ended && clock_boot_ms() < until)
		(void)session_turn(&l->calls, SESSION_LOOK_MS, &tag, &r,
				   &no_answer);
}

/* --- calls ---------------------------------------------------------------- */

unsigned
lease_session_room(const struct lease_session *l)
{
	unsigned room = kube_lanes_room(l->calls.lanes);

	return l->calling || room == 0 ? room : room - 1;
}

int
lease_session_start(struct lease_session *l, struct kube_request *q,
		    uint64_t tag, struct err *e)
{
	int64_t left_ms = INT64_MAX;

	if (strcmp(q->method, "PATCH") == 0 && l->elects)
		left_ms = lease_session_holds(l)
				  ? lease_fence_ms(&l->lease) - clock_boot_ms()
				  : 0;
	if (left_ms <= 0)
		return err_set(e, ERR_TIMEOUT, "the lead is over");
	q->timeout_ms =
		left_ms < l->s.timing->call_ms ? left_ms : l->s.timing->call_ms;
	return session_start(&l->calls, q, tag, e);
}
