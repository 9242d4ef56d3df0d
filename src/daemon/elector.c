/* SPDX-License-Identifier: Apache-2.0 */
#include "elector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edge/kube/lease_call.h"
#include "edge/log.h"

/*
 * This worker has a connection of its own, because a renewal of the Lease must
 * not wait behind patches.  It asks core/protocol/lease for the next step
 * (under the table's mutex), performs the step and reports the outcome.  It
 * makes no decisions.
 */

struct elector {
	struct worker *worker;
	struct state *shared;
	struct kube_stream *stream;
	struct watcher *const *watchers;
	char namespace_name[64], name[NAME_BYTES];
	char identity[LEASE_HOLDER_BYTES];
	bool observes;
	struct lease_record want, answer;
	struct lease_call call;
};

/* --- the call ------------------------------------------------------------- */

static void
trouble(struct elector *el, int status, const char *why)
{
	if (worker_trouble(el->worker) == LOG_WARN)
		LOG(LOG_WARN, "lease failed", LS("lease", el->name),
		    LS("namespace", el->namespace_name), LI("code", status),
		    LS("err", why));
}

static void
lease_perform(struct elector *el, const struct lease_todo *todo,
	      struct lease_outcome *o)
{
	struct kube_request q;
	struct kube_reply r = {.body = ""};
	struct err e = {0}, why;

	lease_call_make(&el->call, el->namespace_name, el->name, todo, &q);
	if (kube_stream_run(el->stream, &q, NULL, NULL, NULL, &r, &e) == 0)
		e.code = ERR_NONE;
	lease_call_answered(&r, &e, el->observes, &el->answer, o, &why);
	if (o->code == LEASE_FAILED)
		trouble(el, r.status, why.text);
	else
		(void)worker_recovered(el->worker);
}

/* --- the thread ----------------------------------------------------------- */

static void
log_notes(struct elector *el)
{
	static const struct {
		enum log_level level;
		const char *phrase;
	} says[] = {
		[LEASE_NOTE_LEADS] = {LOG_INFO, "leading"},
		[LEASE_NOTE_LEADER] = {LOG_INFO, "another leads"},
		[LEASE_NOTE_LATE] = {LOG_ERROR,
				     "lead lost, not renewed in time"},
		[LEASE_NOTE_TAKEN] = {LOG_ERROR, "lead lost to another"},
		[LEASE_NOTE_RELEASED] = {LOG_INFO, "lead given up"},
		[LEASE_NOTE_WAITS] = {LOG_WARN,
				      "waiting, the Lease is not renewed"},
		[LEASE_NOTE_BAD_STATE] = {LOG_WARN, "state cannot be read"},
		[LEASE_NOTE_HOLD] = {LOG_ERROR,
				     "not ready, the Lease has another hold"},
	};
	char hold[HELD_KEY_BYTES];
	struct hold_key k;
	static struct lease_note n; /* there is only one elector */
	struct state_lead lead;

	while (state_lease_note(el->shared, &n)) {
		struct log_field f[] = {
			LS("lease", el->name),
			LS("holder", n.name[0] != '\0' ? n.name : el->identity),
			{.type = LOG_END},
			{.type = LOG_END},
			{.type = LOG_END}};

		if (n.type == LEASE_NOTE_WAITS) {
			state_lead(el->shared, &lead);
			f[2] = LI("seconds", (lead.wait_ms + 999) / 1000);
			if (lead.wait_ends[0] != '\0')
				f[3] = LS("fix", lead.wait_ends);
		}
		if (n.type == LEASE_NOTE_HOLD) {
			state_hold(el->shared, &k);
			(void)snprintf(hold, sizeof(hold), "%s=%s", k.key,
				       k.value);
			f[2] = LS("hold", hold);
		}
		log_fields(says[n.type].level, says[n.type].phrase, f);
	}
}

/* Restarts each watcher whose list or watch began before the last change of the
 * lead. */
static void
restart(struct elector *el)
{
	for (int k = 0; k < VIEW_COUNT; k++)
		if (state_lead_turned(el->shared, (enum kind)k))
			watcher_restart(el->watchers[k]);
}

static void
elector_run(void *ctx)
{
	struct elector *el = ctx;
	struct lease_todo todo;
	struct lease_outcome o;

	for (;;) {
		worker_beat(el->worker);
		todo = state_lease_next(el->shared, &el->want);
		if (todo.step == LEASE_END)
			break;
		if (todo.step == LEASE_WAIT) {
			restart(el);
			log_notes(el);
			state_lease_wait(el->shared,
					 worker_nap_ms(todo.wait_ms));
			continue;
		}
		lease_perform(el, &todo, &o);
		state_lease_done(el->shared, &o);
		restart(el);
		log_notes(el);
	}
	log_notes(el);
}

/* Makes the elector give the Lease up.  Main calls this when sweeper and
 * renewer have ended, so that nothing is written after the lead has ended. */
static void
elector_stop(void *ctx)
{
	state_lease_stop(((struct elector *)ctx)->shared);
}

static const struct worker_kind elector_kind = {
	.name = "elector",
	.run = elector_run,
	.stop = elector_stop,
};

struct elector *
elector_new(const struct elector_setup *o, struct worker *worker, struct err *e)
{
	struct elector *el = calloc(1, sizeof(*el));
	const struct config *c = o->config;
	char deletes[LEASE_COMMAND_BYTES];
	struct lease_config lc = {.enabled = c->leader.enabled,
				  .observes = c->rules.mode == MODE_OBSERVE,
				  .hold = c->rules.hold,
				  .duration_ms = c->leader.lease_ms,
				  .renew_deadline_ms = c->leader.renew_ms,
				  .retry_ms = c->leader.retry_ms};

	if (el == NULL) {
		err_set(e, ERR_SYSTEM, "no memory for the elector");
		return NULL;
	}
	lease_call_identity("", el->identity);
	memcpy(lc.identity, el->identity, sizeof(lc.identity));
	el->observes = lc.observes;
	el->worker = worker;
	el->shared = o->shared;
	el->watchers = o->watchers;
	(void)snprintf(el->namespace_name, sizeof(el->namespace_name), "%s",
		       c->leader.namespace_[0] != '\0' ? c->leader.namespace_
						       : o->namespace_name);
	(void)snprintf(el->name, sizeof(el->name), "%s", c->leader.name);
	(void)snprintf(deletes, sizeof(deletes),
		       "kubectl -n %s delete lease %s", el->namespace_name,
		       el->name);
	el->stream = kube_stream_new(o->kube, e);
	if (el->stream == NULL ||
	    state_elect(o->shared, &lc, deletes, o->timing->soft_ms, e)) {
		elector_free(el);
		return NULL;
	}
	worker_init(worker, &elector_kind, el, el->stream);
	return el;
}

void
elector_free(struct elector *el)
{
	if (el == NULL)
		return;
	kube_stream_free(el->stream);
	free(el);
}
