/* SPDX-License-Identifier: Apache-2.0 */
#include "cert_renewer.h"

#include <stdlib.h>

#include "core/base/str.h"
#include "edge/kube/answer.h"
#include "edge/log.h"
#include "renewal_call.h"

/*
 * This worker has a connection of its own.  It asks core/protocol/renewal for
 * the next step, performs the step and reports the outcome.  Before the worker
 * sleeps, it forgets what it has read and wipes keys.
 *
 * The worker acts while this replica leads.  During a roll-out to selfSigned
 * the leader may still run the old configuration, which issues no certificates.
 * A new replica without a certificate is not ready, so the roll-out would never
 * replace that leader.  Therefore a replica that does not lead acts, too, if it
 * has had no certificate for a while.  Every write carries the resource version
 * that was read, so replicas that write at the same time only cost each other a
 * retry.
 */

/* A replica that does not lead acts if it has had no certificate for this many
 * times the interval between two reads.  A leader that issues certificates
 * would have acted within that time. */
#define PATIENCE_READS 3

enum role { IDLE, LEADS, STANDS_IN };

struct cert_renewer {
	struct worker *worker;
	struct state *shared;
	const struct config *config;
	struct serving_cert *pair;
	bool unhooked; /* Whether a missing webhook configuration was logged. */
	/* The latest boot time at which this replica led or had a
	 * certificate. */
	int64_t well_ms;
	struct renewal renewal;
	struct renewal_call call;
};

/* --- the thread ----------------------------------------------------------- */

/* Logs a failed step and counts it as trouble.  A conflict is no trouble if no
 * failed step came before it.  Trouble that lasts is logged again and again:
 * nothing else tells of it until the certificate ends. */
static void
report(struct cert_renewer *r, enum renewal_step step,
       const struct renewal_call_result *c)
{
	static const char *const names[] = {
		[RENEWAL_READ] = "read",
		[RENEWAL_CA] = "CA",
		[RENEWAL_BUNDLE] = "caBundle",
		[RENEWAL_LEAF] = "serving",
	};
	bool first =
		c->outcome.code == RENEWAL_CONFLICT && r->renewal.failures == 0;
	enum log_level level = LOG_DEBUG;
	char text[ANSWER_TEXT];

	if (c->outcome.code == RENEWAL_OK || c->err.code == ERR_CANCELLED)
		return;
	if (!first) {
		counter_add(&r->shared->counters, COUNTER_RENEWAL_FAILED);
		level = worker_trouble(r->worker);
		if (r->renewal.failures % RENEWAL_FAILURES_TOLD ==
		    RENEWAL_FAILURES_TOLD - 1)
			level = LOG_WARN;
	}
	LOG(level, "renewal failed", LS("step", names[step]),
	    LI("code", c->status),
	    LS("err", c->err.code != ERR_NONE ? c->err.text
					      : answer_text(&c->reply, text)));
}

static void
act(struct cert_renewer *r, const struct renewal_todo *todo)
{
	struct renewal_call_result c;

	renewal_call_step(&r->call, todo, &c);
	report(r, todo->step, &c);
	if (todo->step == RENEWAL_READ && c.outcome.code == RENEWAL_OK) {
		if (!r->call.view.has_webhooks && !r->unhooked)
			LOG(LOG_WARN, "webhook configuration not found",
			    LS("name", r->config->self_signed.configuration));
		r->unhooked = !r->call.view.has_webhooks;
	}
	renewal_done(&r->renewal, &c.outcome, clock_now(r->shared->clock));
}

/* Performs one step and returns 0.  If there is nothing to do, returns for how
 * many milliseconds to wait. */
static int64_t
turn(struct cert_renewer *r)
{
	struct renewal_todo todo =
		renewal_next(&r->renewal, clock_now(r->shared->clock));

	if (todo.step != RENEWAL_WAIT) {
		act(r, &todo);
		return 0;
	}
	if (r->renewal.failures == 0 && worker_recovered(r->worker) == LOG_INFO)
		LOG(LOG_INFO, "renewal goes on");
	renewal_call_forget(&r->call);
	return worker_nap_ms(todo.wait_ms);
}

/* Returns the role of this replica.  Before it returns IDLE, it waits for the
 * lead, for a second at most. */
static enum role
await_role(struct cert_renewer *r, int64_t patience_ms)
{
	int64_t now_ms = clock_boot_ms();

	if (state_leads(r->shared)) {
		r->well_ms = now_ms;
		return LEADS;
	}
	if (serving_cert_valid(r->pair))
		r->well_ms = now_ms;
	if (now_ms - r->well_ms >= patience_ms)
		return STANDS_IN;
	return state_await_lead(r->shared) ? LEADS : IDLE;
}

static void
renewer_run(void *ctx)
{
	struct cert_renewer *r = ctx;
	const struct config *c = r->config;
	struct renewal_config lives =
		renewal_config(c->self_signed.ca_ms, c->self_signed.leaf_ms);
	enum role was = IDLE, role;
	int64_t wait_ms;

	while (!atomic_load(&r->shared->stopping)) {
		worker_beat(r->worker);
		role = await_role(r, PATIENCE_READS * lives.read_ms);
		if (role != was) {
			renewal_call_forget(&r->call);
			renewal_init(&r->renewal, &lives, clock_boot_us());
			r->call.stands_in = role == STANDS_IN;
			if (role == STANDS_IN)
				LOG(LOG_INFO, "no certificate from the leader");
		}
		was = role;
		if (role == IDLE)
			continue;
		wait_ms = turn(r);
		if (wait_ms > 0)
			(void)state_sleep(r->shared, wait_ms);
	}
	renewal_call_forget(&r->call);
}

/* --- making and freeing --------------------------------------------------- */

static void
renewer_stop(void *ctx)
{
	kube_stream_cancel(((struct cert_renewer *)ctx)->call.stream);
}

static const struct worker_kind cert_renewer_kind = {
	.name = "cert-renewer",
	.run = renewer_run,
	.stop = renewer_stop,
};

struct cert_renewer *
cert_renewer_new(const struct cert_renewer_setup *o, struct worker *worker,
		 struct err *e)
{
	struct cert_renewer *r = calloc(1, sizeof(*r));

	if (r == NULL) {
		err_set(e, ERR_SYSTEM, "no memory for the renewer");
		return NULL;
	}
	r->worker = worker;
	r->shared = o->shared;
	r->config = o->config;
	r->pair = o->pair;
	r->well_ms = clock_boot_ms();
	r->call.shared = o->shared;
	r->call.config = o->config;
	r->call.call_ms = o->timing->call_ms;
	str_cut(r->call.namespace_name, sizeof(r->call.namespace_name),
		o->namespace_name);
	renewal_call_names(&r->call);
	r->call.stream = kube_stream_new(o->kube, e);
	if (r->call.stream == NULL) {
		free(r);
		return NULL;
	}
	worker_init(worker, &cert_renewer_kind, r, r->call.stream);
	return r;
}

void
cert_renewer_free(struct cert_renewer *r)
{
	if (r == NULL)
		return;
	kube_stream_free(r->call.stream);
	free(r);
}
