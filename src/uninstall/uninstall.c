/* SPDX-License-Identifier: Apache-2.0 */
#include "uninstall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/pace.h"
#include "lease_session.h"
#include "lease_where.h"
#include "marks.h"
#include "registered.h"

/*
 * In this order: nothing marks any more (no webhook is registered), nobody
 * else sweeps (the Lease is ours), then list and clear, round by round, until
 * two lists settle_ms apart show nothing.  It can be killed at any moment and
 * started again: all it knows is what the lists show.
 */

struct uninstall {
	const struct uninstall_wish *wish;
	const struct timing *timing;
	struct kubeconfig access;
	struct clock *clock;
	struct kube *kube;
	struct lease_session *lead;
	struct marks marks;
	struct pace pace;
	char namespace_name[64];
};

/* --- where ---------------------------------------------------------------- */

static int
open_kube(struct uninstall *u, struct err *e)
{
	struct kube_options o = {
		.access = u->access,
		.user_agent = "karpenter-node-holder/" HOLDER_VERSION,
		.connect_ms = u->timing->connect_ms,
		.keepalive_idle_s = KEEPALIVE_IDLE_S,
		.keepalive_probe_s = KEEPALIVE_PROBE_S,
		.token_ms = u->timing->token_ms,
	};
	int64_t now = clock_boot_ms();

	if (u->wish->in_cluster && u->access.namespace_ != NULL)
		(void)snprintf(u->namespace_name, sizeof(u->namespace_name),
			       "%s", u->access.namespace_);
	u->clock = clock_new();
	o.clock = u->clock;
	if (u->clock == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	u->kube = kube_new(&o, e);
	if (u->kube == NULL)
		return -1;
	u->access = (struct kubeconfig){0};
	u->lead = lease_session_new(
		&(struct lease_session_setup){
			.kube = u->kube,
			.clock = u->clock,
			.config = u->wish->config,
			.timing = u->timing,
			.until_ms = u->wish->timeout_ms == 0
					    ? INT64_MAX
					    : now + u->wish->timeout_ms,
		},
		e);
	if (u->lead == NULL)
		return -1;
	pace_init(&u->pace, clock_boot_us());
	return marks_init(&u->marks, u->lead, u->clock,
			  &u->wish->config->rules.hold, e);
}

/* The kubeconfig's namespace says nothing: a Lease taken beside the holder's
 * would stop nobody. */
static int
find_namespace(struct uninstall *u, struct err *e)
{
	const struct config *c = u->wish->config;
	const char *said = u->wish->namespace_flag != NULL
				   ? u->wish->namespace_flag
				   : c->leader.namespace_;

	if (said[0] != '\0')
		(void)snprintf(u->namespace_name, sizeof(u->namespace_name),
			       "%s", said);	/* a label: it fits */
	return lease_where(u->lead, u->clock, c->leader.name,
			   u->namespace_name, e);
}

static int
take_lease(struct uninstall *u, struct err *e)
{
	const struct config *c = u->wish->config;

	if (!c->leader.enabled || u->wish->dry_run)
		return 0;
	if (find_namespace(u, e))
		return -1;
	if (u->namespace_name[0] != '\0')
		return lease_session_take(u->lead, u->namespace_name, e);
	(void)fprintf(stderr,
		      "karpenter-node-holder: lease %s: in no namespace: no "
		      "holder leads, going on without\n",
		      c->leader.name);
	return 0;
}

/* --- what is registered --------------------------------------------------- */

static int
unregister(struct uninstall *u, bool remove, struct err *e)
{
	struct registered r = {.n = 0};
	char text[64 + NAME_BYTES];

	if (registered_look(u->lead, &r, e))
		return -1;
	if (r.n == 0 || (remove && !u->wish->dry_run))
		return registered_remove(u->lead, &r, e);
	for (unsigned i = 0; i < r.n; i++)
		(void)fprintf(stderr,
			      "karpenter-node-holder: still registered, new "
			      "nodes come held: kubectl delete %s\n",
			      registered_text(&r, i, text));
	if (u->wish->dry_run)
		return 0;
	return err_set(e, ERR_SYSTEM,
		       "nothing done: delete what is registered first, or give "
		       "--remove-webhook");
}

/* --- the rounds ----------------------------------------------------------- */

/* Nothing came of it: is there any use in another? */
static int
round_failed(struct uninstall *u, unsigned *in_a_row, struct err *e)
{
	const struct marks *m = &u->marks;

	if (m->refused > 0 && m->changed + m->unanswered == 0) {
		*e = m->why;
		return -1;
	}
	if (m->last.unread[KIND_NODE] + m->last.unread[KIND_NODECLAIM] > 0 &&
	    m->changed + m->refused + m->unanswered == 0)
		return err_set(e, ERR_SYSTEM,
			       "what is left cannot be read; by hand then");
	if (++*in_a_row == 1 && m->why.text[0] != '\0')
		(void)fprintf(stderr,
			      "karpenter-node-holder: trying again: %s\n",
			      m->why.text);
	return lease_session_sleep(u->lead,
			  pace_backoff(&u->pace, *in_a_row, BACKOFF_MIN_MS,
				       BACKOFF_MAX_MS),
			  e);
}

/* Nobody else may hold from here on. */
static int
lease_session_again(struct uninstall *u, struct err *e)
{
	bool first = u->marks.rehold.start_ms == 0;

	if (!first && lease_session_holds(u->lead))
		return 0;
	if (lease_session_take(u->lead, NULL, e))
		return -1;
	rehold_begin(&u->marks.rehold, clock_now(u->clock).server_ms,
		     u->timing->settle_ms);
	return 0;
}

/* Two lists have shown nothing. */
static int
finish(struct uninstall *u, struct err *e)
{
	if (unregister(u, false, e))
		return -1;
	if (u->marks.rehold.text[0] == '\0')
		return 0;
	return err_set(e, ERR_SYSTEM,
		       "stop every holder, also one without leader election "
		       "or in another namespace, delete what marks at "
		       "admission, and start again");
}

static int
rounds(struct uninstall *u, struct err *e)
{
	unsigned in_a_row = 0, clean = 0;

	for (;;) {
		if (lease_session_again(u, e) || marks_list(&u->marks, e))
			return -1;
		if (marks_left(&u->marks) == 0) {
			if (++clean == 2)
				return finish(u, e);
			if (lease_session_sleep(u->lead, u->timing->settle_ms,
						e))
				return -1;
			continue;
		}
		clean = 0;
		if (marks_clear(&u->marks, e))
			return -1;
		if (u->marks.done > 0)
			in_a_row = 0;
		else if (round_failed(u, &in_a_row, e))
			return -1;
	}
}

static int
work(struct uninstall *u, struct err *e)
{
	if (u->wish->dry_run) {
		u->marks.dry_run = true;
		return unregister(u, false, e) || marks_list(&u->marks, e) ||
				       marks_clear(&u->marks, e)
			       ? -1
			       : 0;
	}
	if (unregister(u, u->wish->remove_webhook, e) || take_lease(u, e))
		return -1;
	return rounds(u, e);
}

/* --- the end -------------------------------------------------------------- */

int
uninstall_run(const struct uninstall_wish *wish, struct kubeconfig *access,
	      const struct timing *t, struct err *e)
{
	struct uninstall u = {.wish = wish, .timing = t, .access = *access};
	int rc;

	*access = (struct kubeconfig){0};
	rc = open_kube(&u, e);
	if (rc == 0) {
		(void)setvbuf(stdout, NULL, _IOLBF, 0);
		rc = work(&u, e);
		lease_session_give_up(u.lead, rc == 0);
		marks_say(&u.marks, rc == 0);
	}
	marks_done(&u.marks);
	lease_session_free(u.lead);
	kube_free(u.kube);
	clock_free(u.clock);
	kubeconfig_done(&u.access);
	return rc;
}
