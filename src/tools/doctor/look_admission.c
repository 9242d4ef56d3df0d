/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "look.h"
#include "tools/uninstall/registered.h"
#include "wire/api/nodepool.h"
#include "wire/api/registration.h"

/*
 * Reads what decides whether a machine comes held: the NodePools, what comes
 * back from a dry run for some of them, and which webhooks and policies are
 * registered.  What others have registered is listed only if machines are
 * without the hold and the check has found no error that explains it
 * (look_foreign).
 */

/* --- NodePools ------------------------------------------------------------ */

static int
take_nodepool(struct doctor *d, const char *bytes, size_t n, struct err *e)
{
	const struct rules *rules = &d->config.rules;
	static struct nodepool_facts p; /* too large for a stack */

	if (facts_nodepool_decode(bytes, n, &rules->hold, &p, e))
		return -1;
	judge_nodepool(&p, rules, clock_now(d->clock).server_ms, d->f);
	d->pools_seen++;
	d->by_row[judge_consolidation(&p, rules)]++;
	if (d->pools_n < DOCTOR_NODEPOOLS_MAX) {
		(void)str_copy(d->pool_names[d->pools_n], NODEPOOL_BYTES,
			       p.pool.name);
		d->pools[d->pools_n].holds = p.template_holds;
		d->pools[d->pools_n++].grace = p.grace;
	}
	if (d->tried_n < DOCTOR_TRIED_MAX && !p.pool.inert &&
	    !p.pool.disabled && rules_nodepool_included(rules, p.pool.name))
		d->tried[d->tried_n++] = p;
	return 0;
}

static void
begin_nodepools(struct doctor *d)
{
	d->pools_n = d->pools_seen = d->tried_n = 0;
	memset(d->by_row, 0, sizeof(d->by_row));
}

/* Returns the advice of docs/study.md for the most frequent kind of NodePool
 * (enum study_row), or "". */
static const char *
advice(const struct doctor *d)
{
	unsigned empty = d->by_row[STUDY_EMPTY];
	unsigned eager = d->by_row[STUDY_EAGER];
	unsigned patient = d->by_row[STUDY_PATIENT];

	if (2 * empty > d->pools_seen)
		return "; most have consolidationPolicy: WhenEmpty, with which "
		       "consolidation moves no pod, so the holder spares no "
		       "moves (docs/study.md, \"Do I need this?\")";
	if (2 * eager > d->pools_seen)
		return "; most have consolidateAfter: 0s, and with 30s the "
		       "holder spares more moves (docs/study.md, \"Do I need "
		       "this?\")";
	if (2 * patient > d->pools_seen)
		return "; most have consolidateAfter: 5m or more, which spares "
		       "most moves without a holder (docs/study.md, \"Do I "
		       "need this?\")";
	return "";
}

void
look_nodepools(struct doctor *d)
{
	int rc = ask_list(d, &(struct ask_list){
				     .check = DOCTOR_NODEPOOLS,
				     .what = "NodePools",
				     .path = NODEPOOLS_PATH,
				     .begin = begin_nodepools,
				     .item = take_nodepool,
			     });

	if (rc == 0)
		findings_looked(d->f, DOCTOR_NODEPOOLS, "%u NodePool%s%s",
				d->pools_seen, d->pools_seen == 1 ? "" : "s",
				advice(d));
	judge_patterns(&d->config.rules,
		       (const char(*)[NODEPOOL_BYTES])d->pool_names, d->pools_n,
		       &d->place, d->f);
	if (d->tried_n == 0) {
		nodepool_init(&d->tried[0].pool);
		(void)str_copy(d->tried[0].pool.name, NODEPOOL_BYTES,
			       "karpenter-node-holder-check");
		d->tried_n = 1;
	}
}

/* --- the dry run ---------------------------------------------------------- */

static enum dry_run
dry_run_once(struct doctor *d, enum kind kind, const struct nodepool_facts *p,
	     struct err *e)
{
	char body[DRY_RUN_BYTES];
	struct kube_reply r;
	struct buf b;
	bool held = false;
	int rc;

	buf_init(&b, body, sizeof(body));
	facts_dry_run_body(&b, kind, p);
	rc = ask_post(d, dry_run_paths[kind], &b, &r, e);
	if (rc != 0)
		return DRY_RUN_FAILED;
	if (facts_dry_run_decode(r.body, r.body_bytes, &held, e))
		return DRY_RUN_FAILED;
	return held ? DRY_RUN_HELD : DRY_RUN_UNHELD;
}

/* Creates an object of this kind in dry runs, one for each NodePool until an
 * object is held.  The configuration of the holder may exclude some of the
 * NodePools. */
static void
dry_run_kind(struct doctor *d, enum kind kind, struct dry_run_facts *out)
{
	struct err e = {0};

	for (unsigned i = 0; i < d->tried_n; i++) {
		const struct nodepool_facts *p = &d->tried[i];

		(void)str_copy(out->nodepool, sizeof(out->nodepool),
			       p->pool.name);
		out->result[kind] = dry_run_once(d, kind, p, &e);
		memcpy(out->why[kind], e.text, sizeof(out->why[kind]));
		if (out->result[kind] != DRY_RUN_UNHELD)
			return;
	}
}

void
look_dry_run(struct doctor *d)
{
	if (!rules_nodepool_included(&d->config.rules, d->tried[0].pool.name)) {
		findings_partly(d->f, DOCTOR_DRY_RUN,
				"not made: the configuration includes no "
				"NodePool that is there");
		return;
	}
	for (int k = 0; k < KIND_COUNT; k++)
		dry_run_kind(d, (enum kind)k, &d->dry_run);
	d->dry_run.waited_ms = clock_boot_ms() - d->begin_ms;
	judge_dry_run(&d->dry_run, &d->config.rules, &d->place, d->f);
}

/* --- what is registered --------------------------------------------------- */

#define GROUP "/apis/admissionregistration.k8s.io/"

static void
begin_foreign(struct doctor *d)
{
	d->foreign[d->foreign_before] = '\0';
}

static int
take_foreign(struct doctor *d, const char *bytes, size_t n, struct err *e)
{
	char name[NAME_BYTES];
	size_t used = strlen(d->foreign);
	int rc = facts_foreign_decode(bytes, n, name, e);

	if (rc <= 0)
		return rc;
	/* What does not fit is left out as a whole. */
	if (used + strlen(d->foreign_type) + strlen(name) + 3 <=
	    sizeof(d->foreign))
		(void)snprintf(d->foreign + used, sizeof(d->foreign) - used,
			       "%s%s/%s", used == 0 ? "" : " ", d->foreign_type,
			       finding_name(name));
	return 0;
}

/* Looks for what others have registered for Nodes and NodeClaims.  Of one type
 * only the newest version that is served is listed. */
void
look_foreign(struct doctor *d)
{
	static const char *const at[][2] = {
		{"v1/mutatingwebhookconfigurations",
		 "mutatingwebhookconfiguration"},
		{"v1/validatingwebhookconfigurations",
		 "validatingwebhookconfiguration"},
		{"v1/validatingadmissionpolicies", "validatingadmissionpolicy"},
		{"v1/mutatingadmissionpolicies", "mutatingadmissionpolicy"},
		{"v1beta1/mutatingadmissionpolicies",
		 "mutatingadmissionpolicy"},
		{"v1alpha1/mutatingadmissionpolicies",
		 "mutatingadmissionpolicy"}};
	char path[100];

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		if (d->foreign_type != NULL &&
		    strcmp(d->foreign_type, at[i][1]) == 0)
			continue;
		(void)snprintf(path, sizeof(path), GROUP "%s", at[i][0]);
		d->foreign_type = at[i][1];
		d->foreign_before = strlen(d->foreign);
		if (ask_list(d, &(struct ask_list){
					.check = DOCTOR_ADMISSION,
					.what = strchr(at[i][0], '/') + 1,
					.path = path,
					.begin = begin_foreign,
					.item = take_foreign,
				}) == 1)
			d->foreign_type = NULL;
	}
	if (d->foreign[0] != '\0')
		judge_foreign(d->foreign, d->f);
}

static void
begin_hooks(struct doctor *d)
{
	while (d->hooks_n > 0)
		free(d->bundles[--d->hooks_n]);
}

static int
take_hook(struct doctor *d, const char *bytes, size_t n, struct err *e)
{
	unsigned i = d->hooks_n;
	int rc;

	if (i == DOCTOR_WEBHOOKS_MAX)
		return err_set(e, ERR_LIMIT, "more than %d have our webhook",
			       DOCTOR_WEBHOOKS_MAX);
	rc = facts_webhook_decode(bytes, n, &d->hooks[i], &d->bundles[i], e);
	if (rc > 0)
		d->hooks_n++;
	return rc < 0 ? -1 : 0;
}

/* Of several configurations that have our webhook, the one that the renewer
 * maintains is ours, and the others are strays. */
static void
put_ours_first(struct doctor *d)
{
	const char *ours = d->setup->config->self_signed.configuration;
	struct webhook_facts first = d->hooks[0];
	char *bundle = d->bundles[0];

	for (unsigned i = 1; i < d->hooks_n; i++) {
		if (strcmp(d->hooks[i].configuration, ours) != 0)
			continue;
		d->hooks[0] = d->hooks[i];
		d->bundles[0] = d->bundles[i];
		d->hooks[i] = first;
		d->bundles[i] = bundle;
	}
}

void
look_admission(struct doctor *d)
{
	static struct registered r; /* too large for a stack */
	struct err e = {0};

	if (ask_list(d, &(struct ask_list){
				.check = DOCTOR_ADMISSION,
				.what = "MutatingWebhookConfigurations",
				.path = REGISTRATION_PATH,
				.begin = begin_hooks,
				.item = take_hook,
			}) != 0)
		return;
	put_ours_first(d);
	r.n = 0;
	if (registered_look(d->session, &r, &e)) {
		findings_unknown(d->f, DOCTOR_ADMISSION,
				 "MutatingAdmissionPolicies", e.text,
				 "/apis/admissionregistration.k8s.io");
		if (d->hooks_n == 0)
			return;
	}
	for (unsigned i = 0; i < r.n; i++) {
		d->policy |= r.at[i].kind == REGISTERED_POLICY;
		d->binding |= r.at[i].kind == REGISTERED_BINDING;
	}
	d->admission_known = true;
}
