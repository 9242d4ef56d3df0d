/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCTOR_PARTS_H
#define DOCTOR_PARTS_H

#include "doctor.h"
#include "edge/clock.h"
#include "edge/kube/kube.h"
#include "uninstall/lease_session.h"
#include "wire/doctor/facts.h"

/*
 * One run of `check --cluster`.  The functions look_… ask the API server, have
 * the answers decoded, and hand the facts to the judges.  doctor.c calls them
 * in the order in which they are declared here: later ones use what earlier
 * ones have found.
 */
struct doctor {
	const struct doctor_setup *setup;
	const struct timing *timing;
	struct clock *clock;
	struct kube *kube;
	struct lease_session *session;
	struct findings *f;
	struct doctor_place place;

	/* of NodePools: which have a terminationGracePeriod or a template that
	 * holds, and those whose machines should be held */
	struct {
		char name[NODEPOOL_BYTES];
		bool grace, holds;
	} pools[DOCTOR_NODEPOOLS_MAX];
	unsigned pools_n, pools_seen;
	struct nodepool_facts tried[DOCTOR_TRIED_MAX];
	unsigned tried_n;
	int64_t wait_until_ms;	/* boot time */
	struct dry_run_facts dry_run;

	struct webhook_facts hooks[DOCTOR_WEBHOOKS_MAX];
	char *bundles[DOCTOR_WEBHOOKS_MAX];	/* owned */
	unsigned hooks_n;

	struct karpenter_facts karpenter;
	struct holder_facts holder;
	struct pod_facts pods[DOCTOR_PODS_MAX];
	unsigned pods_n;
	bool pods_known;
	struct leftover_facts left;

	/* Of the list under way: what could not be decoded. */
	unsigned unread;
	struct err unread_why;
	enum kind listing;
};

/* Makes one call.  Returns 0 for an answer 200 or 201, 1 for a 404, and -1 with
 * *e for any other and for none.  doctor_get tries again while the API server
 * is busy or away; doctor_post does not. */
int doctor_get(struct doctor *d, const char *path, struct kube_reply *r,
	       struct err *e);
int doctor_post(struct doctor *d, const char *path, const struct buf *body,
		struct kube_reply *r, struct err *e);

/* Lists `path`, calls `begin` when the list begins or begins anew, and passes
 * each item on.  What cannot be listed or decoded becomes a finding of check c.
 * Returns as lease_session_list does. */
struct doctor_list {
	enum doctor_check check;
	const char *what;	/* "Nodes" */
	const char *path, *accept;	/* as in struct lease_session_list */
	void (*begin)(struct doctor *d);
	int (*item)(struct doctor *d, const char *bytes, size_t n,
		    struct err *e);
};
int doctor_list(struct doctor *d, const struct doctor_list *list);

/* look_cluster.c.  It returns -1 if nothing else can be asked. */
int look_api(struct doctor *d);
/* look_admission.c */
void look_nodepools(struct doctor *d);
void look_dry_run(struct doctor *d);	/* leaves the judgement to doctor.c */
void look_admission(struct doctor *d);
/* look_holder.c.  It also finds out where the installation is. */
void look_deployments(struct doctor *d);
/* look_bundle.c */
void look_bundle(struct doctor *d);
/* look_cluster.c */
void look_rights(struct doctor *d);
void look_karpenter(struct doctor *d);
/* look_holder.c */
void look_pods(struct doctor *d);
void look_machines(struct doctor *d);
void look_lease(struct doctor *d);
void look_leftovers(struct doctor *d);

#endif
