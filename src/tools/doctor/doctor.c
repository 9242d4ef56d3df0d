/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include <stdlib.h>

#include "look.h"
#include "tools/client.h"

static int
doctor_open(struct doctor *d, struct session *calls, struct kubeconfig *access,
	    struct err *e)
{
	d->clock = clock_new();
	if (d->clock == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	d->kube = client_new(access, d->clock, d->timing, e);
	if (d->kube == NULL)
		return -1;
	d->session = calls;
	return session_open(calls,
			    &(struct session_setup){
				    .kube = d->kube,
				    .program = "holderctl",
				    .timing = d->timing,
				    .until_ms = d->begin_ms +
						d->setup->wait_ms +
						d->setup->timeout_ms,
				    .calls = 1,
			    },
			    e);
}

static void
doctor_look(struct doctor *d)
{
	if (look_api(d))
		return;
	look_admission(d);
	look_place(d);
	look_pods(d);
	look_lease(d);
	look_leader(d);
	look_tickets(d);
	look_nodepools(d);
	look_dry_run(d);
	if (d->admission_known)
		judge_admission(d->hooks, d->hooks_n, d->policy, d->binding,
				&d->place, d->f);
	look_services(d);
	look_bundle(d);
	look_rights(d);
	look_policies(d);
	look_karpenter(d);
	look_machines(d);
	look_budget(d);
	look_leftovers(d);
	findings_sort(d->f);
	if (d->admission_known && findings_want(d->f, "admission-foreign"))
		look_foreign(d);
	findings_sort(d->f);
}

/* Returns false while there is an error that may go away by itself, for example
 * because the cluster or the installation is still starting. */
static bool
is_settled(const struct findings *f)
{
	/* DOCTOR_ADMISSION is in the list for this case: the webhook was
	 * registered after look_admission and before the dry run.  Then the
	 * dry run passes, and only the error of DOCTOR_ADMISSION shows that the
	 * check has to be repeated. */
	static const enum doctor_check at[] = {DOCTOR_API, DOCTOR_ADMISSION,
					       DOCTOR_BUNDLE, DOCTOR_DRY_RUN,
					       DOCTOR_HOLDER};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		if (f->of[at[i]].worst == FINDING_ERROR)
			return false;
	return true;
}

static void
doctor_forget(struct doctor *d)
{
	for (unsigned i = 0; i < DOCTOR_WEBHOOKS_MAX; i++) {
		free(d->bundles[i]);
		d->bundles[i] = NULL;
	}
}

int
doctor_run(const struct doctor_setup *setup, struct kubeconfig *access,
	   const struct timing *t, struct findings *f, struct err *e)
{
	static struct doctor d, empty; /* too large for a stack */
	struct session calls;
	struct err over = {0};
	int rc;

	empty = (struct doctor){.setup = setup,
				.timing = t,
				.f = f,
				.begin_ms = clock_boot_ms(),
				.config = *setup->config};
	rc = doctor_open(&empty, &calls, access, e);
	for (bool again = rc == 0; again;) {
		d = empty;
		findings_init(f);
		doctor_look(&d);
		doctor_forget(&d);
		again = !is_settled(f) &&
			clock_boot_ms() < d.begin_ms + setup->wait_ms &&
			session_sleep(&calls, DOCTOR_AGAIN_MS, &over) == 0;
	}
	/* If a signal has come, the command fails.  If the session's time is
	 * over, a finding says so already. */
	if (rc == 0 && session_sleep(&calls, 0, e))
		rc = e->code == ERR_CANCELLED ? -1 : 0;
	if (empty.session != NULL)
		session_close(&calls);
	kube_free(empty.kube);
	clock_free(empty.clock);
	kubeconfig_done(access);
	return rc;
}
