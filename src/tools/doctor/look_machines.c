/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "look.h"
#include "wire/api/resource.h"

#define RBAC "/apis/rbac.authorization.k8s.io/v1"

/* --- Nodes and NodeClaims ------------------------------------------------- */

static void
place_pods(struct doctor *d, const struct carried *node)
{
	for (unsigned i = 0; i < d->pods_n; i++) {
		struct pod_facts *p = &d->pods[i];

		if (strcmp(p->node, node->name) != 0)
			continue;
		memcpy(p->nodepool, node->nodepool, sizeof(p->nodepool));
		p->grace = true; /* assumed if the NodePool is not known */
		for (unsigned k = 0; k < d->pools_n; k++)
			if (strcmp(d->pool_names[k], p->nodepool) == 0)
				p->grace = d->pools[k].grace;
	}
}

/* Returns whether the template of the Node's NodePool sets the hold.
 * look_nodepools has already reported such a template. */
static bool
is_held_by_template(const struct doctor *d, const struct carried *node)
{
	for (unsigned i = 0; i < d->pools_n; i++)
		if (strcmp(d->pool_names[i], node->nodepool) == 0)
			return d->pools[i].holds;
	return false;
}

/* The Lease's hold counts, also if no replica answers or some of them are
 * configured otherwise. */
static const struct hold_key *
hold_of(const struct doctor *d)
{
	return d->holder.hold.key[0] != '\0' ? &d->holder.hold
					     : &d->config.rules.hold;
}

static int
take_machine(struct doctor *d, const char *bytes, size_t n, struct err *e)
{
	struct carried c;

	if (facts_carried_decode(bytes, n, hold_of(d), &c, e))
		return -1;
	if (c.marked && d->holder.marked[0] == '\0')
		(void)snprintf(d->holder.marked, sizeof(d->holder.marked), "%s",
			       c.name);
	d->holder.marks[d->listing] += c.marked;
	if (c.other && d->holder.other[0] == '\0')
		memcpy(d->holder.other, c.name, sizeof(c.name));
	d->holder.others[d->listing] += c.other;
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
	d->holder.marks[d->listing] = d->holder.others[d->listing] = 0;
	if (d->listing == KIND_NODE)
		memset(d->left.nodes, 0, sizeof(d->left.nodes));
}

/* Judges where the holder's pods run.  The renewer's pod may run on any node.
 */
static void
judge_pods(struct doctor *d)
{
	static struct pod_facts own[DOCTOR_PODS_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < d->pods_n; i++)
		if (strcmp(d->pods[i].component, "renewer") != 0)
			own[n++] = d->pods[i];
	judge_placement(own, n, &d->place, d->f);
}

static void
judge_runs(struct doctor *d)
{
	struct holder_facts *h = &d->holder;

	h->deployments_known = d->sites_known;
	h->deployed = d->here != NULL && d->here->deployed;
	h->available = d->here != NULL ? d->here->holder.available : 0;
	h->elects = d->config.leader.enabled;
	h->observes = d->place.observes;
	h->rolled_ms = d->here != NULL && d->here->deployed
			       ? d->here->holder.rolled_ms
			       : STAMP_NONE;
	judge_holder(h, &d->place, clock_now(d->clock).server_ms, d->f);
}

void
look_machines(struct doctor *d)
{
	int rc;

	d->holder.marks_known = true;
	for (int k = 0; k < KIND_COUNT; k++) {
		d->listing = (enum kind)k;
		rc = ask_list(d, &(struct ask_list){
					 .check = DOCTOR_HOLDER,
					 .what = k == KIND_NODE ? "Nodes"
								: "NodeClaims",
					 .path = resources[k].path,
					 .accept = ACCEPT_METADATA_LIST,
					 .begin = begin_machines,
					 .item = take_machine,
				 });
		if (rc < 0)
			d->holder.marks_known = false;
		if (k == KIND_NODE && rc == 0 && d->pods_known)
			judge_pods(d);
	}
	judge_runs(d);
}

/* --- the Go program ------------------------------------------------------- */

static bool
is_there(struct doctor *d, const char *path, const char *what)
{
	struct kube_reply r;
	struct err e = {0};
	int rc = ask_get(d, path, &r, &e);

	if (rc < 0)
		findings_unknown(d->f, DOCTOR_LEFTOVERS, what, e.text, path);
	return rc == 0;
}

void
look_leftovers(struct doctor *d)
{
	d->left.role = is_there(d, RBAC "/clusterroles/" DOCTOR_NAME "-role",
				"the Go program's ClusterRole");
	d->left.binding = is_there(
		d, RBAC "/clusterrolebindings/" DOCTOR_NAME "-rolebinding",
		"the Go program's ClusterRoleBinding");
	judge_leftovers(&d->left, hold_of(d)->key, d->f);
}
