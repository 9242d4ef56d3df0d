/* SPDX-License-Identifier: Apache-2.0 */
#include "uninstall.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup_call.h"
#include "core/base/limits.h"
#include "core/base/str.h"
#include "core/protocol/cleanup.h"
#include "core/protocol/lease_where.h"
#include "lease_session.h"
#include "registered.h"
#include "tools/client.h"
#include "wire/api/lease.h"

/*
 * Carries out the steps of core/protocol/cleanup one after another, on one
 * thread.  The writes of one round are in flight together.  cleanup_call.c
 * makes the lists and writes.  registered.c finds the webhook or policy that
 * adds holds to new objects.  lease_session.c renews the Lease during every
 * wait.
 *
 * The namespace of the Lease is found before anything is changed.  At the end,
 * even after a failure, the command gives up the Lease, say() prints what was
 * done and what is left, and finish() waits for the reader of stdout.  The
 * result follows from the verdict of the last step.
 */

struct uninstall {
	const struct uninstall_setup *setup;
	const struct timing *timing;
	struct kubeconfig access;
	struct clock *clock;
	struct kube *kube;
	struct lease_session *session;
	struct cleanup *cleanup;
	struct cleanup_call call;
	struct output out;
	bool leads; /* Whether the Lease has been taken. */
	char namespace_name[LEASE_NAMESPACE_BYTES];
};

/* --- setup and the Lease -------------------------------------------------- */

static int
open_kube(struct uninstall *u, int64_t until_ms, struct err *e)
{
	if (u->setup->in_cluster && u->access.namespace_ != NULL)
		(void)snprintf(u->namespace_name, sizeof(u->namespace_name),
			       "%s", u->access.namespace_);
	u->clock = clock_new();
	if (u->clock == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	u->kube = client_new(&u->access, u->clock, u->timing, e);
	if (u->kube == NULL)
		return -1;
	u->session = lease_session_new(
		&(struct lease_session_setup){
			.kube = u->kube,
			.program = "holderctl",
			.clock = u->clock,
			.config = u->setup->config,
			.timing = u->timing,
			.out = &u->out,
			.until_ms = until_ms,
		},
		e);
	return u->session != NULL ? 0 : -1;
}

static int
open_all(struct uninstall *u, struct err *e)
{
	int64_t until_ms = u->setup->timeout_ms == 0
				   ? INT64_MAX
				   : clock_boot_ms() + u->setup->timeout_ms;

	if (open_kube(u, until_ms, e))
		return -1;
	u->cleanup = cleanup_new(
		&(struct cleanup_config){
			.hold = u->setup->config->rules.hold,
			.machines_max = UNINSTALL_MACHINES_MAX,
			.dry_run = u->setup->dry_run,
			.remove_registered = u->setup->remove_webhook,
			.settle_ms = u->timing->settle_ms,
			.until_ms = until_ms,
		},
		clock_boot_us());
	if (u->cleanup == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	u->call = (struct cleanup_call){.session = u->session,
					.clock = u->clock,
					.cleanup = u->cleanup,
					.out = &u->out,
					.dry_run = u->setup->dry_run};
	return 0;
}

static void
leases_begin(void *ctx)
{
	lease_where_begin(ctx);
}

static int
lease_item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	static struct lease_record r; /* too large for a stack */
	char name[LEASE_NAMESPACE_BYTES];

	if (n > ITEM_BYTES_MAX) /* too large to be a holder's Lease */
		return 0;
	if (lease_item_decode(bytes, n, name, &r, e))
		return -1;
	lease_where_seen(ctx, name, &r);
	return 0;
}

/* Looks for the Lease in all namespaces.  If the user has named a namespace, it
 * is no error if Leases cannot be listed in all namespaces. */
static int
look_for_lease(struct uninstall *u, const char *given, struct err *e)
{
	const char *name = u->setup->config->leader.name;
	struct lease_where w = {.given = given,
				.server_ms = clock_now(u->clock).server_ms};
	char path[100 + NAME_BYTES];
	struct session_list list = {.path = path,
				    .begin = leases_begin,
				    .item = lease_item,
				    .ctx = &w};
	int rc;

	(void)snprintf(path, sizeof(path),
		       "/apis/coordination.k8s.io/v1/leases"
		       "?fieldSelector=metadata.name%%3D%s",
		       name);
	rc = session_list(lease_session_calls(u->session), &list, e);
	if (rc < 0 && (given[0] == '\0' || e->code == ERR_TIMEOUT ||
		       e->code == ERR_CANCELLED))
		return err_wrap(e, "lease %s", name);
	*e = (struct err){0};
	if (rc != 0) /* Forget what an incomplete list has shown. */
		lease_where_begin(&w);
	if (lease_where_choose(&w, u->namespace_name, e))
		return err_wrap(e, "lease %s", name);
	return 0;
}

/* Finds the holder's namespace.  The namespace of a kubeconfig is not used: if
 * the holder runs in another namespace, taking a Lease there would not stop
 * it. */
static int
find_namespace(struct uninstall *u, struct err *e)
{
	const struct config *c = u->setup->config;
	char given[LEASE_NAMESPACE_BYTES];

	if (u->setup->namespace_flag != NULL)
		(void)str_copy(given, sizeof(given), u->setup->namespace_flag);
	else if (c->leader.namespace_[0] != '\0')
		(void)str_copy(given, sizeof(given), c->leader.namespace_);
	else
		memcpy(given, u->namespace_name, sizeof(given));
	return look_for_lease(u, given, e);
}

static int
take_lease(struct uninstall *u, struct err *e)
{
	const struct config *c = u->setup->config;

	if (find_namespace(u, e))
		return -1;
	if (u->namespace_name[0] != '\0')
		return lease_session_take(u->session, u->namespace_name, e);
	output_tell("holderctl: lease %s: in no namespace: no "
		    "holder leads, going on without",
		    c->leader.name);
	return 0;
}

/* --- the steps ------------------------------------------------------------ */

static int
lead(struct uninstall *u, struct cleanup_outcome *o, struct err *e)
{
	if (u->leads && lease_session_holds(u->session))
		return 0;
	o->anew = true;
	if (!u->leads && take_lease(u, e))
		return -1;
	u->leads = true;
	return lease_session_take(u->session, NULL, e);
}

static int
unregister(struct uninstall *u, bool remove, struct cleanup_outcome *o,
	   struct err *e)
{
	struct registered r = {.n = 0};
	char text[64 + NAME_BYTES];

	if (registered_look(lease_session_calls(u->session), &r, e))
		return -1;
	if (remove)
		return registered_remove(lease_session_calls(u->session), &r,
					 &u->out, e);
	for (unsigned i = 0; i < r.n; i++)
		output_tell("holderctl: still registered, new "
			    "nodes come held: kubectl delete %s",
			    registered_text(&r, i, text));
	o->registered = r.n;
	return 0;
}

static int
wait_for(struct uninstall *u, const struct cleanup_todo *todo, struct err *e)
{
	if (todo->trying_again)
		output_tell("holderctl: trying again: %s",
			    cleanup_report(u->cleanup)->why);
	return cleanup_call_wait(&u->call, todo->wait_ms, e);
}

/* Performs one step.  Returns -1 if the command cannot go on. */
static int
do_step(struct uninstall *u, const struct cleanup_todo *todo, struct err *e)
{
	struct cleanup_outcome o = {.code = CLEANUP_OK};
	int rc;

	switch (todo->step) {
	case CLEANUP_WAIT:
		return wait_for(u, todo, e);
	case CLEANUP_LIST:
		return cleanup_call_list(&u->call, todo->kind, e);
	case CLEANUP_WRITE:
		return cleanup_call_write(&u->call, &todo->write, e);
	case CLEANUP_LEAD:
		rc = lead(u, &o, e);
		break;
	default:
		rc = unregister(u, todo->remove, &o, e);
		break;
	}
	if (rc != 0)
		o.code = CLEANUP_FAILED;
	cleanup_done(u->cleanup, &o, clock_now(u->clock));
	return rc;
}

/* Returns the result of the command.  If a step has failed, *e already says
 * why. */
static int
result(const struct uninstall *u, enum cleanup_verdict verdict, struct err *e)
{
	switch (verdict) {
	case CLEANUP_CLEAN:
		*e = (struct err){0};
		return 0;
	case CLEANUP_STILL_REGISTERED:
		return err_set(e, ERR_SYSTEM,
			       "nothing done: delete what is registered "
			       "first, or give --remove-webhook");
	case CLEANUP_FOREIGN_MARKS:
		return err_set(e, ERR_SYSTEM,
			       "stop every holder, also one without leader "
			       "election or in another namespace, delete what "
			       "marks at admission, and start again");
	case CLEANUP_DENIED:
		return err_set(e, ERR_SYSTEM, "%s",
			       cleanup_report(u->cleanup)->why);
	case CLEANUP_UNREADABLE:
		return err_set(e, ERR_SYSTEM,
			       "what is left cannot be read; by hand then");
	case CLEANUP_LATE:
		return err_set(e, ERR_TIMEOUT, "the time is over");
	default:
		return -1;
	}
}

static int
work(struct uninstall *u, struct err *e)
{
	struct cleanup_todo todo;

	for (;;) {
		todo = cleanup_next(u->cleanup, clock_now(u->clock));
		if (todo.step == CLEANUP_END)
			return result(u, todo.verdict, e);
		if (do_step(u, &todo, e))
			return -1;
	}
}

/* --- the report ----------------------------------------------------------- */

/* Prints the names to *out, or on stderr if out is NULL. */
static void
say_names(struct output *out, const char names[CLEANUP_NAMED][NAME_BYTES + 16],
	  unsigned n)
{
	char more[20];

	(void)snprintf(more, sizeof(more), "and %u more", n - CLEANUP_NAMED);
	for (unsigned i = 0; i < n && i <= CLEANUP_NAMED; i++) {
		const char *text = i < CLEANUP_NAMED ? names[i] : more;

		if (out != NULL)
			output_line(out, "    %s", text);
		else
			output_tell("    %s", text);
	}
}

static void
say_left(const struct cleanup_report *r)
{
	const struct cleanup_list *l = &r->last;

	if (r->foreign[0] != '\0')
		output_tell("holderctl: something still holds: "
			    "%s, after the start",
			    r->foreign);
	if (!r->listed) {
		output_tell("holderctl: no list was made: what is "
			    "left is not known");
		return;
	}
	output_tell("holderctl: the last list showed %u nodes and "
		    "%u nodeclaims with a mark",
		    l->left[KIND_NODE], l->left[KIND_NODECLAIM]);
	say_names(NULL, l->named, l->left[KIND_NODE] + l->left[KIND_NODECLAIM]);
}

/* Prints how many holds without our mark are left, and returns the number.
 * Such a hold counts as set by a person, so it stays, but somebody may have
 * removed the mark by mistake. */
static unsigned
say_unowned(struct output *out, const struct cleanup_list *l, const char *key)
{
	unsigned n = l->unowned[KIND_NODE] + l->unowned[KIND_NODECLAIM];

	if (n == 0)
		return 0;
	output_line(out,
		    "%u nodes and %u nodeclaims stay held without a mark, and "
		    "no person is on record as",
		    l->unowned[KIND_NODE], l->unowned[KIND_NODECLAIM]);
	output_line(out, "having set the hold:");
	say_names(out, l->named_unowned, n);
	output_line(out, "if nobody wants it there: kubectl annotate %s %s-",
		    l->named_unowned[0], key);
	return n;
}

/* Prints what was done and what is left. */
static void
say(struct uninstall *u, bool clean)
{
	const struct cleanup_report *r = cleanup_report(u->cleanup);
	bool dry_run = u->setup->dry_run;
	const char *left = "none is left";

	output_line(&u->out,
		    "%s %u nodes and %u nodeclaims; of %u objects only the "
		    "mark removed; %u replacement annotations removed",
		    dry_run ? "would release" : "released",
		    r->released[KIND_NODE], r->released[KIND_NODECLAIM],
		    r->unmarked, r->declassified);
	if (r->listed && say_unowned(&u->out, &r->last,
				     u->setup->config->rules.hold.key) > 0)
		left = "no mark is left";
	if (clean && !dry_run)
		output_line(&u->out, "%s", left);
	if (!clean && !dry_run)
		say_left(r);
}

/* Waits until the output is written.  Returns the result of the command.  The
 * Lease has been given up, so the next signal ends the process.  If a signal
 * has come already, or the time is over, it waits for OUTPUT_END_MS at most. */
static int
finish(struct uninstall *u, int rc, struct err *e)
{
	bool hurry =
		rc != 0 && (e->code == ERR_CANCELLED || e->code == ERR_TIMEOUT);
	struct err why;

	if (output_wait(&u->out, 0, hurry ? OUTPUT_END_MS : INT64_MAX, &why)) {
		if (rc != 0)
			output_tell("holderctl: %s", why.text);
		else
			*e = why;
		rc = -1;
	}
	return rc;
}

int
uninstall_run(const struct uninstall_setup *setup, struct kubeconfig *access,
	      const struct timing *t, struct err *e)
{
	struct uninstall u = {.setup = setup, .timing = t, .access = *access};
	int rc;

	*access = (struct kubeconfig){0};
	output_init(&u.out, STDOUT_FILENO);
	rc = open_all(&u, e);
	if (rc == 0) {
		rc = work(&u, e);
		lease_session_give_up(u.session, rc == 0);
		say(&u, rc == 0);
	}
	lease_session_free(u.session);
	rc = finish(&u, rc, e);
	output_done(&u.out);
	cleanup_free(u.cleanup);
	kube_free(u.kube);
	clock_free(u.clock);
	kubeconfig_done(&u.access);
	return rc;
}
