/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_DOCTOR_LOOK_H
#define TOOLS_DOCTOR_LOOK_H

#include "doctor.h"
#include "edge/clock.h"
#include "edge/kube/session.h"
#include "wire/doctor/facts.h"

#define DOCTOR_NAME "karpenter-node-holder"

/* A namespace in which a holder is or was installed. */
struct doctor_site {
	char namespace_[NODEPOOL_BYTES];
	bool deployed, renews, has_lease;
	/* The Deployments of the holder (valid if `deployed`) and of the
	 * renewer (valid if `renews`). */
	struct deployment_facts holder, renewer;
	bool lease_live;
};

/*
 * The state of `holderctl check`.  The functions look_… ask the API server,
 * have the answers decoded, and pass the facts to the judges (core/doctor).  A
 * look_… function may use what an earlier one has found, so doctor_look
 * (doctor.c) calls them in a fixed order.  With --wait all of them are
 * repeated.
 */
struct doctor {
	const struct doctor_setup *setup;
	const struct timing *timing;
	struct clock *clock;
	struct kube *kube;
	struct session *session;
	struct findings *f;
	int64_t begin_ms; /* boot time at which the command began */
	struct doctor_place place;
	/* The configuration from the command line, which look_leader replaces
	 * by the leader's. */
	struct config config;
	/* Beginning of the key identifier of the CA that signed the leader's
	 * serving certificate, or 0 if it is not known. */
	uint64_t authority;

	struct webhook_facts hooks[DOCTOR_WEBHOOKS_MAX];
	char *bundles[DOCTOR_WEBHOOKS_MAX]; /* owned */
	unsigned hooks_n;
	bool admission_known, policy, binding;
	/* What others have registered for Nodes, as words for `kubectl get`:
	 * that of earlier lists, the bytes of these, and the type that is
	 * listed. */
	char foreign[FINDING_WHAT_BYTES / 2];
	size_t foreign_before;
	const char *foreign_type;

	struct doctor_site sites[DOCTOR_SITES_MAX];
	unsigned sites_n;
	/* The site to check, or NULL if no holder was found. */
	const struct doctor_site *here;
	bool sites_known, leases_known;

	struct pod_facts pods[DOCTOR_PODS_MAX];
	unsigned pods_n;
	bool pods_known;

	/* The NodePools, and for each of them whether it has a
	 * terminationGracePeriod and whether its template sets the hold. */
	char pool_names[DOCTOR_NODEPOOLS_MAX][NODEPOOL_BYTES];
	struct {
		bool grace, holds;
	} pools[DOCTOR_NODEPOOLS_MAX];
	unsigned pools_n, pools_seen;
	/* Number of NodePools for each enum study_row. */
	unsigned by_row[STUDY_ROWS];
	/* The NodePools for which dry runs are made. */
	struct nodepool_facts tried[DOCTOR_TRIED_MAX];
	unsigned tried_n;
	struct dry_run_facts dry_run;

	struct karpenter_facts karpenter;
	struct holder_facts holder;
	struct leftover_facts left;
	unsigned endpoints; /* Number of ready endpoints of the Service. */
	struct budget_facts budget;

	/* Number of items of the current list that could not be decoded, and
	 * why the first of them could not be decoded. */
	unsigned unread;
	struct err unread_why;
	enum kind listing;
};

/* Each of these functions sends one request.  It returns 0 for the status 200
 * or 201, 1 for 404, and -1 with *e set for any other status or if there is no
 * answer.  Only ask_get repeats the request while the API server is busy or
 * unreachable. */
int ask_get(struct doctor *d, const char *path, struct kube_reply *r,
	    struct err *e);
int ask_get_once(struct doctor *d, const char *path, struct kube_reply *r,
		 struct err *e);
int ask_post(struct doctor *d, const char *path, const struct buf *body,
	     struct kube_reply *r, struct err *e);

/* ask_list lists `path`.  ask_list calls `begin` whenever the list begins or
 * starts again, and `item` for each item.  A list or an item that cannot be
 * read becomes a finding of `check`.  ask_list returns what session_list
 * returns. */
struct ask_list {
	enum doctor_check check;
	const char *what;	   /* in messages, such as "Nodes" */
	const char *path, *accept; /* as in struct session_list */
	void (*begin)(struct doctor *d);
	int (*item)(struct doctor *d, const char *bytes, size_t n,
		    struct err *e);
};
int ask_list(struct doctor *d, const struct ask_list *list);

/* look_cluster.c.  Returns -1 if nothing else can be checked. */
int look_api(struct doctor *d);
/* look_admission.c */
void look_admission(struct doctor *d);
void look_foreign(struct doctor *d);
/* look_place.c: where the installation is, and its configuration */
void look_place(struct doctor *d);
void look_pods(struct doctor *d);
void look_lease(struct doctor *d);
void look_leader(struct doctor *d);
void look_tickets(struct doctor *d);
/* look_admission.c */
void look_nodepools(struct doctor *d);
void look_dry_run(struct doctor *d);
/* look_install.c */
void look_services(struct doctor *d);
void look_policies(struct doctor *d);
void look_budget(struct doctor *d);
/* look_bundle.c */
void look_bundle(struct doctor *d);
/* look_cluster.c */
void look_rights(struct doctor *d);
void look_karpenter(struct doctor *d);
/* look_machines.c */
void look_machines(struct doctor *d);
void look_leftovers(struct doctor *d);

#endif
