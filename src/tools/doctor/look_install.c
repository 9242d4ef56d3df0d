/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "look.h"

#define POLICIES                                                               \
	"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"

/* --- the webhook's Service ------------------------------------------------ */

static void
begin_slices(struct doctor *d)
{
	d->endpoints = 0;
}

static int
take_slice(struct doctor *d, const char *bytes, size_t n, struct err *e)
{
	return facts_slice_decode(bytes, n, &d->endpoints, e);
}

static bool
list_slices(struct doctor *d, const struct webhook_facts *w)
{
	char path[200 + 2 * NODEPOOL_BYTES];

	(void)snprintf(path, sizeof(path),
		       "/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices"
		       "?labelSelector=kubernetes.io%%2Fservice-name%%3D%s",
		       finding_name(w->namespace_), finding_name(w->service));
	return ask_list(d, &(struct ask_list){.check = DOCTOR_ADMISSION,
					      .what = "EndpointSlices",
					      .path = path,
					      .begin = begin_slices,
					      .item = take_slice}) == 0;
}

static void
look_service(struct doctor *d, const struct webhook_facts *w)
{
	struct service_facts s = {.there = false};
	char path[80 + 2 * NODEPOOL_BYTES];
	struct kube_reply r;
	struct err e = {0};
	int rc = 1;

	(void)snprintf(path, sizeof(path), "/api/v1/namespaces/%s/services/%s",
		       finding_name(w->namespace_), finding_name(w->service));
	/* deploy/check grants rights in the holder's namespace only. */
	if (strcmp(w->namespace_, d->place.namespace_) == 0)
		rc = ask_get(d, path, &r, &e);
	if (rc == 0)
		rc = facts_service_decode(r.body, r.body_bytes, w, &s, &e);
	if (rc < 0) {
		findings_unknown(d->f, DOCTOR_ADMISSION, "the Service", e.text,
				 path);
		return;
	}
	s.slices_known = s.there && list_slices(d, w);
	s.ready = d->endpoints;
	judge_service(&s, w, d->pods, d->pods_n, &d->place, d->f);
}

void
look_services(struct doctor *d)
{
	for (unsigned i = 0; i < d->hooks_n; i++)
		if (d->hooks[i].service[0] != '\0')
			look_service(d, &d->hooks[i]);
}

/* --- the policies that bound our accounts --------------------------------- */

static int
get_policy(struct doctor *d, const char *kind, struct policy_facts *w,
	   struct kube_reply *r, struct err *e)
{
	char path[200];

	(void)snprintf(path, sizeof(path), POLICIES "%s/%s", kind, w->name);
	return ask_get(d, path, r, e);
}

static int
read_policy(struct doctor *d, struct policy_facts *w)
{
	const char *key = d->config.rules.hold.key;
	struct kube_reply r;
	struct err e = {0};
	int rc = get_policy(d, "ies", w, &r, &e);

	if (rc == 0)
		rc = facts_policy_decode(r.body, r.body_bytes,
					 d->place.namespace_, key, w, &e);
	if (rc >= 0)
		rc = get_policy(d, "ybindings", w, &r, &e);
	if (rc == 0)
		rc = facts_policy_binding_decode(r.body, r.body_bytes, w, &e);
	if (rc < 0)
		findings_unknown(d->f, DOCTOR_RIGHTS,
				 "ValidatingAdmissionPolicies", e.text,
				 POLICIES "ies");
	return rc;
}

void
look_policies(struct doctor *d)
{
	struct policy_facts holder = {.name = DOCTOR_NAME},
			    renewer = {.name = DOCTOR_NAME "-renewer"},
			    tickets = {.name = DOCTOR_NAME "-tickets"};

	if (read_policy(d, &holder) >= 0)
		judge_policy(&holder, d->config.rules.hold.key, &d->place,
			     d->f);
	if (d->place.renewer && read_policy(d, &renewer) >= 0)
		judge_policy(&renewer, NULL, &d->place, d->f);
	if (d->place.tickets[0] != '\0' && read_policy(d, &tickets) >= 0)
		judge_tickets_policy(&tickets, &d->place, d->f);
}

/* --- the PodDisruptionBudget ---------------------------------------------- */

static void
begin_budgets(struct doctor *d)
{
	d->budget = (struct budget_facts){.known = false};
}

static int
take_budget(struct doctor *d, const char *bytes, size_t n, struct err *e)
{
	return facts_budget_decode(bytes, n, d->here->holder.labels, &d->budget,
				   e);
}

void
look_budget(struct doctor *d)
{
	char path[80 + NODEPOOL_BYTES];

	if (d->here == NULL || !d->here->deployed)
		return;
	(void)snprintf(path, sizeof(path),
		       "/apis/policy/v1/namespaces/%s/poddisruptionbudgets",
		       finding_name(d->place.namespace_));
	d->budget.known = ask_list(d, &(struct ask_list){
					      .check = DOCTOR_PLACEMENT,
					      .what = "PodDisruptionBudgets",
					      .path = path,
					      .begin = begin_budgets,
					      .item = take_budget,
				      }) == 0;
	judge_redundancy(&d->here->holder, &d->budget, &d->place, d->f);
}
