/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include <stdlib.h>

#include "parts.h"

static int
doctor_open(struct doctor *d, struct kubeconfig *access, struct err *e)
{
	struct kube_options o = {
		.access = *access,
		.user_agent = "karpenter-node-holder/" HOLDER_VERSION,
		.connect_ms = d->timing->connect_ms,
		.keepalive_idle_s = KEEPALIVE_IDLE_S,
		.keepalive_probe_s = KEEPALIVE_PROBE_S,
		.token_ms = d->timing->token_ms,
	};

	d->clock = clock_new();
	if (d->clock == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	o.clock = d->clock;
	d->kube = kube_new(&o, e);
	if (d->kube == NULL)
		return -1;
	*access = (struct kubeconfig){0};
	d->session = lease_session_new(
		&(struct lease_session_setup){
			.kube = d->kube,
			.clock = d->clock,
			.config = d->setup->config,
			.timing = d->timing,
			.until_ms = d->wait_until_ms + DOCTOR_MS,
		},
		e);
	return d->session != NULL ? 0 : -1;
}

static void
doctor_look(struct doctor *d)
{
	if (look_api(d))
		return;
	look_nodepools(d);
	look_dry_run(d);	/* waits, so the others come after it */
	look_admission(d);
	look_deployments(d);
	judge_dry_run(&d->dry_run, &d->setup->config->rules, &d->place, d->f);
	look_bundle(d);
	look_rights(d);
	look_karpenter(d);
	look_pods(d);
	look_machines(d);
	look_lease(d);
	look_leftovers(d);
}

int
doctor_run(const struct doctor_setup *setup, struct kubeconfig *access,
	   const struct timing *t, struct findings *f, struct err *e)
{
	static struct doctor d;	/* too large for a stack */
	int rc;

	d = (struct doctor){.setup = setup,
			    .timing = t,
			    .f = f,
			    .wait_until_ms = clock_boot_ms() + setup->wait_ms};
	rc = doctor_open(&d, access, e);
	if (rc == 0) {
		doctor_look(&d);
		/* A time that is over was reported, a signal was not. */
		if (lease_session_sleep(d.session, 0, e))
			rc = e->code == ERR_CANCELLED ? -1 : 0;
	}
	for (unsigned i = 0; i < DOCTOR_WEBHOOKS_MAX; i++)
		free(d.bundles[i]);
	lease_session_free(d.session);
	kube_free(d.kube);
	clock_free(d.clock);
	kubeconfig_done(access);
	return rc;
}
