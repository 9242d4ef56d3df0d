/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "parts.h"
#include "wire/api/lease.h"
#include "wire/api/resource.h"

#define NAME "karpenter-node-holder"
#define DEPLOYMENTS "/apis/apps/v1/deployments"
#define RBAC "/apis/rbac.authorization.k8s.io/v1"

/* --- Deployments ---------------------------------------------------------- */

static void
take_holder(struct doctor *d, const struct deployment_facts *x)
{
	if (d->place.namespace_[0] == '\0')
		(void)str_copy(d->place.namespace_,
			       sizeof(d->place.namespace_), x->namespace_);
	if (strcmp(d->place.namespace_, x->namespace_) != 0)
		return;
	d->holder.deployments++;
	d->holder.available += x->available;
	if (x->account[0] != '\0')
		(void)str_copy(d->place.account, sizeof(d->place.account),
			       x->account);
}

static int
take_deployment(struct doctor *d, const char *bytes, size_t n, struct err *e)
{
	struct deployment_facts x;

	if (deployment_facts_decode(bytes, n, &x, e))
		return -1;
	if (strcmp(x.app, "karpenter") == 0) {
		if (d->karpenter.deployments++ == 0)
			d->karpenter.version = x.version;
	} else if (strcmp(x.app, NAME) == 0 &&
		   strcmp(x.component, "controller") == 0) {
		take_holder(d, &x);
	}
	return 0;
}

static void
begin_deployments(struct doctor *d)
{
	d->karpenter.deployments = d->holder.deployments = 0;
	d->holder.available = 0;
}

static void
begin_go_program(struct doctor *d)
{
	d->left.deployment[0] = '\0';
}

static int
take_go_program(struct doctor *d, const char *bytes, size_t n, struct err *e)
{
	struct deployment_facts x;

	if (deployment_facts_decode(bytes, n, &x, e))
		return -1;
	(void)str_copy(d->left.deployment, sizeof(d->left.deployment), x.name);
	(void)str_copy(d->left.namespace_, sizeof(d->left.namespace_),
		       x.namespace_);
	return 0;
}

/* The first of: --namespace, the configuration, where the webhook's Service is,
 * where a Deployment of the holder is, and what the manifests say. */
static void
find_place(struct doctor *d)
{
	const struct config *c = d->setup->config;
	const char *given = d->setup->namespace_flag;

	if (given == NULL && c->leader.namespace_[0] != '\0')
		given = c->leader.namespace_;
	if (given == NULL && d->hooks_n > 0)
		given = d->hooks[0].namespace_;
	if (given != NULL)
		str_cut(d->place.namespace_, sizeof(d->place.namespace_),
			given);
	(void)str_copy(d->place.account, sizeof(d->place.account), NAME);
	(void)str_copy(d->place.lease, sizeof(d->place.lease), c->leader.name);
}

void
look_deployments(struct doctor *d)
{
	find_place(d);
	d->holder.deployments_known =
		doctor_list(d, &(struct doctor_list){
				       .check = DOCTOR_HOLDER,
				       .what = "Deployments",
				       .path = DEPLOYMENTS
				       "?labelSelector=app.kubernetes.io%2Fname"
				       "%20in%20%28karpenter%2C" NAME "%29",
				       .begin = begin_deployments,
				       .item = take_deployment,
			       }) == 0;
	(void)doctor_list(d, &(struct doctor_list){
				     .check = DOCTOR_LEFTOVERS,
				     .what = "Deployments",
				     .path = DEPLOYMENTS
				     "?fieldSelector=metadata.name%3D" NAME
				     "-watcher",
				     .begin = begin_go_program,
				     .item = take_go_program,
			     });
	if (d->place.namespace_[0] == '\0')
		(void)str_copy(d->place.namespace_,
			       sizeof(d->place.namespace_), NAME);
}

/* --- Pods and machines ---------------------------------------------------- */

static int
take_pod(struct doctor *d, const char *bytes, size_t n, struct err *e)
{
	struct pod_facts p;
	int rc = pod_facts_decode(bytes, n, &p, e);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (d->pods_n == DOCTOR_PODS_MAX)
		return err_set(e, ERR_LIMIT, "more than %d pods",
			       DOCTOR_PODS_MAX);
	d->pods[d->pods_n++] = p;
	return 0;
}

static void
begin_pods(struct doctor *d)
{
	d->pods_n = 0;
}

void
look_pods(struct doctor *d)
{
	char path[400];

	(void)snprintf(path, sizeof(path),
		       "/api/v1/namespaces/%s/pods?labelSelector="
		       "app.kubernetes.io%%2Fname%%3D" NAME
		       "%%2Capp.kubernetes.io%%2Fcomponent%%3Dcontroller",
		       finding_name(d->place.namespace_));
	d->pods_known = doctor_list(d, &(struct doctor_list){
					       .check = DOCTOR_PLACEMENT,
					       .what = "Pods",
					       .path = path,
					       .begin = begin_pods,
					       .item = take_pod,
				       }) == 0;
}

static void
place_pods(struct doctor *d, const struct carried *node)
{
	for (unsigned i = 0; i < d->pods_n; i++) {
		struct pod_facts *p = &d->pods[i];

		if (strcmp(p->node, node->name) != 0)
			continue;
		memcpy(p->nodepool, node->nodepool, sizeof(p->nodepool));
		p->grace = true;	/* unless it is known to have none */
		for (unsigned k = 0; k < d->pools_n; k++)
			if (strcmp(d->pools[k].name, p->nodepool) == 0)
				p->grace = d->pools[k].grace;
	}
}

/* What its NodePool's template sets was reported with the NodePool. */
static bool
is_held_by_template(const struct doctor *d, const struct carried *node)
{
	for (unsigned i = 0; i < d->pools_n; i++)
		if (strcmp(d->pools[i].name, node->nodepool) == 0)
			return d->pools[i].holds;
	return false;
}

static int
take_machine(struct doctor *d, const char *bytes, size_t n, struct err *e)
{
	struct carried c;

	if (carried_decode(bytes, n, &d->setup->config->rules.hold, &c, e))
		return -1;
	if (c.marked && d->holder.marked[0] == '\0')
		(void)snprintf(d->holder.marked, sizeof(d->holder.marked),
			       "%s", c.name);
	d->holder.marks[d->listing] += c.marked;
	if (d->listing != KIND_NODE)
		return 0;
	place_pods(d, &c);
	c.left[LEFT_HOLD] = c.left[LEFT_HOLD] && !is_held_by_template(d, &c);
	for (int i = 0; i < LEFT_COUNT; i++)
		if (c.left[i] && d->left.nodes[i]++ == 0)
			memcpy(d->left.node[i], c.name, sizeof(c.name));
	return 0;
}

static void
begin_machines(struct doctor *d)
{
	d->holder.marks[d->listing] = 0;
	if (d->listing == KIND_NODE)
		memset(d->left.nodes, 0, sizeof(d->left.nodes));
}

void
look_machines(struct doctor *d)
{
	int rc;

	d->holder.marks_known = true;
	for (int k = 0; k < KIND_COUNT; k++) {
		d->listing = (enum kind)k;
		rc = doctor_list(d, &(struct doctor_list){
					    .check = DOCTOR_HOLDER,
					    .what = k == KIND_NODE
							    ? "Nodes"
							    : "NodeClaims",
					    .path = resources[k].path,
					    .accept = ACCEPT_METADATA_LIST,
					    .begin = begin_machines,
					    .item = take_machine,
				    });
		if (rc < 0)
			d->holder.marks_known = false;
		if (k == KIND_NODE && rc == 0 && d->pods_known)
			judge_placement(d->pods, d->pods_n, &d->place, d->f);
	}
}

/* --- who leads ------------------------------------------------------------ */

static bool
is_live(const struct lease_record *r, int64_t now_ms)
{
	return r->holder[0] != '\0' && r->renew_us != STAMP_NONE &&
	       r->renew_us / 1000 + (int64_t)r->duration_s * 1000 > now_ms;
}

static void
lease_once(struct doctor *d, struct err *e)
{
	static struct lease_record record;	/* too large for a stack */
	struct holder_facts *h = &d->holder;
	char path[120 + 2 * NAME_BYTES];
	struct kube_reply r;
	int rc;

	(void)snprintf(path, sizeof(path), LEASE_ITEM_PATH,
		       finding_name(d->place.namespace_),
		       finding_name(d->place.lease));
	rc = doctor_get(d, path, &r, e);
	if (rc == 0)
		rc = lease_decode(r.body, r.body_bytes, false, &record,
				  e);
	h->lease_known = rc >= 0;
	if (rc == 0) {
		h->lease_live = is_live(&record, clock_now(d->clock).server_ms);
		str_cut(h->leader, sizeof(h->leader), record.holder);
	}
}

/* In the first seconds of an installation nobody leads yet. */
void
look_lease(struct doctor *d)
{
	struct holder_facts *h = &d->holder;
	struct err e = {0};

	h->elects = d->setup->config->leader.enabled;
	h->observes = d->setup->config->rules.mode == MODE_OBSERVE;
	do
		lease_once(d, &e);
	while (h->elects && !h->lease_live &&
	       clock_boot_ms() < d->wait_until_ms &&
	       lease_session_sleep(d->session, DOCTOR_AGAIN_MS, &e) == 0);
	if (!h->lease_known)
		findings_unknown(d->f, DOCTOR_HOLDER, "the Lease", e.text);
	judge_holder(h, &d->place, d->f);
}

/* --- the Go program -------------------------------------------------------- */

static bool
is_there(struct doctor *d, const char *path, const char *what)
{
	struct kube_reply r;
	struct err e = {0};
	int rc = doctor_get(d, path, &r, &e);

	if (rc < 0)
		findings_unknown(d->f, DOCTOR_LEFTOVERS, what, e.text);
	return rc == 0;
}

void
look_leftovers(struct doctor *d)
{
	d->left.role = is_there(d, RBAC "/clusterroles/" NAME "-role",
				"the Go program's ClusterRole");
	d->left.binding =
		is_there(d, RBAC "/clusterrolebindings/" NAME "-rolebinding",
			 "the Go program's ClusterRoleBinding");
	judge_leftovers(&d->left, d->setup->config->rules.hold.key, d->f);
}
