/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "look.h"
#include "wire/api/lease.h"

/*
 * Finds out where the holder runs and what it reports.  look_place lists
 * Deployments and Leases in all namespaces, makes a site for each namespace
 * that has or had a holder, and chooses the site to check.  look_pods,
 * look_lease and look_leader then ask for the pods, the Lease and the leader's
 * /status of that site.
 *
 * The answers are decoded by wire/doctor and judged by core/doctor.  The
 * leader's configuration is copied into d->config, which later checks use.  An
 * object that cannot be read becomes a finding, and the check goes on.
 */

#define DEPLOYMENTS "/apis/apps/v1/deployments"
#define LEASES "/apis/coordination.k8s.io/v1/leases"
/* A Lease that was not renewed for this time was left behind by a former
 * installation. */
#define LEASE_LEFT_MS (24 * 3600 * INT64_C(1000))

/* --- where holders are ---------------------------------------------------- */

/* Returns the site of this namespace.  If there is none yet, adds it.  If there
 * is no room for another site, returns the last one. */
static struct doctor_site *
site_of(struct doctor *d, const char *namespace_name)
{
	unsigned i = 0;

	while (i < d->sites_n &&
	       strcmp(d->sites[i].namespace_, namespace_name) != 0)
		i++;
	if (i == DOCTOR_SITES_MAX)
		return &d->sites[DOCTOR_SITES_MAX - 1];
	if (i == d->sites_n) {
		d->sites[d->sites_n++] =
			(struct doctor_site){.deployed = false};
		(void)str_copy(d->sites[i].namespace_,
			       sizeof(d->sites[i].namespace_), namespace_name);
	}
	return &d->sites[i];
}

static void
take_karpenter(struct karpenter_facts *k, const struct deployment_facts *x)
{
	if (k->deployments++ == 0) {
		k->version = x->version;
		memcpy(k->namespace_, x->namespace_, sizeof(k->namespace_));
		memcpy(k->name, x->name, sizeof(k->name));
	}
	k->replicas += x->replicas;
	k->available += x->available;
}

static int
take_deployment(struct doctor *d, const char *bytes, size_t n, struct err *e)
{
	struct deployment_facts x;
	struct doctor_site *s;

	if (facts_deployment_decode(bytes, n, &x, e))
		return -1;
	if (strcmp(x.app, "karpenter") == 0) {
		take_karpenter(&d->karpenter, &x);
	} else if (strcmp(x.component, "controller") == 0) {
		s = site_of(d, x.namespace_);
		s->deployed = true;
		s->holder = x;
	} else if (strcmp(x.component, "renewer") == 0) {
		s = site_of(d, x.namespace_);
		s->renews = true;
		s->renewer = x;
	}
	return 0;
}

static void
begin_deployments(struct doctor *d)
{
	d->karpenter = (struct karpenter_facts){.served = false};
	d->sites_n = 0;
}

static bool
is_live(const struct lease_record *r, int64_t now_ms)
{
	return r->holder[0] != '\0' && r->renew_us != STAMP_NONE &&
	       r->renew_us / 1000 + (int64_t)r->duration_s * 1000 > now_ms;
}

static int
take_lease(struct doctor *d, const char *bytes, size_t n, struct err *e)
{
	static struct lease_record record; /* too large for a stack */
	char namespace_name[NODEPOOL_BYTES];
	struct doctor_site *s;

	if (lease_item_decode(bytes, n, namespace_name, &record, e))
		return -1;
	s = site_of(d, namespace_name);
	s->has_lease = true;
	s->lease_live = is_live(&record, clock_now(d->clock).server_ms);
	return 0;
}

static int
take_karpenter_lease(struct doctor *d, const char *bytes, size_t n,
		     struct err *e)
{
	static struct lease_record record; /* too large for a stack */
	int64_t now_ms = clock_now(d->clock).server_ms;
	char namespace_name[NODEPOOL_BYTES];
	struct karpenter_facts *k = &d->karpenter;

	if (lease_item_decode(bytes, n, namespace_name, &record, e))
		return -1;
	if (k->lease_namespace[0] != '\0' && record.renew_us <= k->lease_us)
		return 0;
	memcpy(k->lease_namespace, namespace_name, sizeof(namespace_name));
	k->lease_us = record.renew_us;
	k->lease_live = is_live(&record, now_ms);
	k->lease_left = record.renew_us == STAMP_NONE ||
			record.renew_us / 1000 + LEASE_LEFT_MS < now_ms;
	return 0;
}

static void
begin_leases(struct doctor *d)
{
	(void)d; /* nothing to reset: take_lease finds existing sites */
}

static bool
list_leases(struct doctor *d, enum doctor_check check, const char *name,
	    int (*item)(struct doctor *, const char *, size_t, struct err *))
{
	char path[120 + NAME_BYTES];

	(void)snprintf(path, sizeof(path),
		       LEASES "?fieldSelector=metadata.name%%3D%s",
		       finding_name(name));
	return ask_list(d, &(struct ask_list){.check = check,
					      .what = "Leases",
					      .path = path,
					      .begin = begin_leases,
					      .item = item}) == 0;
}

/* --- the Go program ------------------------------------------------------- */

static void
begin_go_program(struct doctor *d)
{
	d->left.deployment[0] = '\0';
}

static int
take_go_program(struct doctor *d, const char *bytes, size_t n, struct err *e)
{
	struct deployment_facts x;

	if (facts_deployment_decode(bytes, n, &x, e))
		return -1;
	(void)str_copy(d->left.deployment, sizeof(d->left.deployment), x.name);
	(void)str_copy(d->left.namespace_, sizeof(d->left.namespace_),
		       x.namespace_);
	return 0;
}

/* --- which site is meant -------------------------------------------------- */

/* Returns whether a holder is deployed in this namespace, or leads in it. */
static bool
is_site(const struct doctor_site *s)
{
	return s->deployed || s->lease_live;
}

/* Chooses the site in the namespace of --namespace, else of the configuration,
 * else of the webhook's Service.  If none of these is known, or the namespace
 * has no holder, chooses the first site that has a holder. */
static void
choose_site(struct doctor *d)
{
	const struct config *c = d->setup->config;
	const char *asked = d->setup->namespace_flag, *given;

	if (asked == NULL && c->leader.namespace_[0] != '\0')
		asked = c->leader.namespace_;
	given = asked;
	if (given == NULL && d->hooks_n > 0 && d->hooks[0].namespace_[0] != 0)
		given = d->hooks[0].namespace_;
	for (unsigned i = 0; i < d->sites_n; i++) {
		const struct doctor_site *s = &d->sites[i];
		bool wanted =
			given != NULL && strcmp(s->namespace_, given) == 0;

		if (is_site(s) && (d->here == NULL || wanted))
			d->here = s;
	}
	if (d->here != NULL)
		given = d->here->namespace_;
	str_cut(d->place.namespace_, sizeof(d->place.namespace_),
		given != NULL ? given : DOCTOR_NAME);
	if (asked != NULL && strcmp(asked, d->place.namespace_) != 0)
		judge_elsewhere(asked, &d->place, d->f);
	for (unsigned i = 0; i < d->sites_n; i++)
		if (d->here != NULL && d->here != &d->sites[i] &&
		    (d->sites[i].lease_live || d->sites[i].holder.ready > 0))
			judge_second(d->sites[i].namespace_,
				     d->sites[i].deployed
					     ? d->sites[i].holder.name
					     : NULL,
				     &d->place, d->f);
}

static void
take_names(struct doctor_place *p, const struct doctor_site *s)
{
	const struct deployment_facts *x = &s->holder;

	memcpy(p->deployment, x->name, sizeof(p->deployment));
	p->replicas = x->replicas;
	if (x->account[0] != '\0')
		memcpy(p->account, x->account, sizeof(p->account));
	if (x->secret[0] != '\0')
		memcpy(p->secret, x->secret, sizeof(p->secret));
	memcpy(p->config_map, x->config_map, sizeof(p->config_map));
	memcpy(p->release, x->release, sizeof(p->release));
	p->renewer = s->renews;
	memcpy(p->renewer_deployment, s->renewer.name,
	       sizeof(p->renewer_deployment));
	memcpy(p->renewer_account, s->renewer.account,
	       sizeof(p->renewer_account));
}

void
look_place(struct doctor *d)
{
	struct doctor_place *p = &d->place;

	d->sites_known =
		ask_list(d, &(struct ask_list){
				    .check = DOCTOR_HOLDER,
				    .what = "Deployments",
				    .path = DEPLOYMENTS
				    "?labelSelector=app.kubernetes.io%2Fname"
				    "%20in%20%28karpenter%2C" DOCTOR_NAME "%29",
				    .begin = begin_deployments,
				    .item = take_deployment,
			    }) == 0;
	(void)ask_list(d, &(struct ask_list){
				  .check = DOCTOR_LEFTOVERS,
				  .what = "Deployments",
				  .path = DEPLOYMENTS
				  "?fieldSelector=metadata.name%3D" DOCTOR_NAME
				  "-watcher",
				  .begin = begin_go_program,
				  .item = take_go_program,
			  });
	d->leases_known = list_leases(
		d, DOCTOR_HOLDER, d->setup->config->leader.name, take_lease);
	(void)list_leases(d, DOCTOR_KARPENTER, KARPENTER_LEASE,
			  take_karpenter_lease);
	(void)str_copy(p->lease, sizeof(p->lease),
		       d->setup->config->leader.name);
	choose_site(d);
	(void)str_copy(p->account, sizeof(p->account), DOCTOR_NAME);
	(void)str_copy(p->deployment, sizeof(p->deployment), DOCTOR_NAME);
	(void)str_copy(p->secret, sizeof(p->secret),
		       d->setup->config->self_signed.secret);
	(void)str_copy(p->configuration, sizeof(p->configuration),
		       d->hooks_n > 0
			       ? d->hooks[0].configuration
			       : d->setup->config->self_signed.configuration);
	if (d->here != NULL && d->here->deployed)
		take_names(p, d->here);
	p->injected = d->hooks_n > 0 && d->hooks[0].injected;
}

/* --- pods ----------------------------------------------------------------- */

static int
take_pod(struct doctor *d, const char *bytes, size_t n, struct err *e)
{
	struct pod_facts p;
	int rc = facts_pod_decode(bytes, n, &p, e);

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
		       "app.kubernetes.io%%2Fname%%3D" DOCTOR_NAME
		       "%%2Capp.kubernetes.io%%2Fcomponent%%20in%%20"
		       "%%28controller%%2Crenewer%%29",
		       finding_name(d->place.namespace_));
	d->pods_known = ask_list(d, &(struct ask_list){
					    .check = DOCTOR_PLACEMENT,
					    .what = "Pods",
					    .path = path,
					    .begin = begin_pods,
					    .item = take_pod,
				    }) == 0;
	if (d->here == NULL)
		return;
	if (d->here->deployed)
		judge_rollout(&d->here->holder, d->pods, d->pods_n, &d->place,
			      d->f);
	if (d->here->renews)
		judge_rollout(&d->here->renewer, d->pods, d->pods_n, &d->place,
			      d->f);
}

/* --- who leads ------------------------------------------------------------ */

/* Returns whether this pod's identities begin like this one: with the name of
 * the pod or, in the host's network, of its node. */
static bool
is_named(const struct pod_facts *p, const char *identity)
{
	size_t n = strcspn(identity, "_");

	return n > 0 &&
	       ((strncmp(p->name, identity, n) == 0 && p->name[n] == '\0') ||
		(strncmp(p->node, identity, n) == 0 && p->node[n] == '\0'));
}

static bool
is_pod(const struct doctor *d, const char *identity)
{
	for (unsigned i = 0; i < d->pods_n; i++)
		if (is_named(&d->pods[i], identity))
			return true;
	return !d->pods_known || d->pods_n == DOCTOR_PODS_MAX;
}

/* Reads the Lease, and sets what is known of it.  Returns what ask_get
 * returns. */
static int
read_lease(struct doctor *d, struct lease_record *record)
{
	struct holder_facts *h = &d->holder;
	char path[120 + 2 * NAME_BYTES];
	struct kube_reply r;
	struct err e = {0};
	int rc;

	(void)snprintf(path, sizeof(path), LEASE_ITEM_PATH,
		       finding_name(d->place.namespace_),
		       finding_name(d->place.lease));
	rc = ask_get(d, path, &r, &e);
	if (rc == 0)
		rc = lease_decode(r.body, r.body_bytes, false, record, &e);
	h->lease_known = rc >= 0;
	if (rc < 0)
		findings_unknown(d->f, DOCTOR_HOLDER, "the Lease", e.text,
				 path);
	h->lease_live =
		rc == 0 && is_live(record, clock_now(d->clock).server_ms);
	if (rc == 0) {
		str_cut(h->leader, sizeof(h->leader), record->holder);
		h->hold = record->hold;
	}
	return rc;
}

/* Waits for a change of the Lease, for as long as the replicas wait for a
 * leader.  A killed leader is no pod either, and neither is `uninstall`.  The
 * replicas did not write a duration above LEASE_MS_MAX. */
static bool
lease_changes(struct doctor *d, const struct lease_record *first)
{
	static struct lease_record record; /* too large for a stack */
	int64_t ms = (int64_t)first->duration_s * 1000, until_ms;
	struct err e = {0};

	if (ms > LEASE_MS_MAX)
		ms = d->setup->config->leader.lease_ms;
	until_ms = clock_boot_ms() + ms + DOCTOR_TAKEOVER_MS;
	while (clock_boot_ms() < until_ms) {
		if (session_sleep(d->session, DOCTOR_AGAIN_MS, &e))
			return true;
		if (read_lease(d, &record) != 0 ||
		    record.renew_us != first->renew_us ||
		    record.transitions != first->transitions ||
		    strcmp(record.holder, first->holder) != 0)
			return true;
	}
	return false;
}

void
look_lease(struct doctor *d)
{
	static struct lease_record record; /* too large for a stack */
	struct holder_facts *h = &d->holder;
	int64_t until_ms = clock_boot_ms() + DOCTOR_TAKEOVER_MS;
	struct err e = {0};

	/* Of a leader that was just killed, the time may be over before another
	 * replica has taken the Lease. */
	while (read_lease(d, &record) == 0 && !h->lease_live &&
	       clock_boot_ms() < until_ms)
		if (session_sleep(d->session, DOCTOR_AGAIN_MS, &e))
			break;
	if (!h->lease_live)
		return;
	h->leader_is_pod = is_pod(d, record.holder);
	if (h->leader_is_pod &&
	    record.renew_us / 1000 + d->setup->config->leader.lease_ms >
		    clock_now(d->clock).server_ms)
		return;
	if (lease_changes(d, &record))
		return;
	h->lease_silent = h->lease_live;
	h->lease_live = false;
}

/* --- what the leader says ------------------------------------------------- */

/* Returns the pod of the leader.  Without a leader, returns any replica,
 * because every replica knows most of the status.  A ready replica is
 * preferred. */
static const struct pod_facts *
pod_to_ask(const struct doctor *d)
{
	const struct pod_facts *best = NULL;

	for (unsigned i = 0; i < d->pods_n; i++) {
		const struct pod_facts *p = &d->pods[i];

		if (p->metrics_port[0] == '\0' ||
		    strcmp(p->component, "controller") != 0)
			continue;
		if (d->holder.lease_live && is_named(p, d->holder.leader))
			return p;
		if (best == NULL || (p->ready && !best->ready))
			best = p;
	}
	return best;
}

static void
take_configuration(struct doctor *d, const struct leader_facts *l)
{
	struct rules *r = &d->config.rules;
	struct err e = {0};
	bool known;

	for (int i = 0; i < TOLD_N; i++)
		if (l->told[i][0] != '\0')
			(void)config_flag(&d->config, told_flags[i], l->told[i],
					  NULL, &known, &e);
	if (l->patterns_told) {
		r->include = l->include;
		r->exclude = l->exclude;
	}
	d->config.leader.enabled = l->electing;
	d->place.observes = r->mode == MODE_OBSERVE;
}

static int
ask_status(struct doctor *d, const char *path, struct leader_facts *l,
	   struct err *e)
{
	struct kube_reply r;

	return ask_get_once(d, path, &r, e) ||
	       facts_leader_decode(r.body, r.body_bytes, l, e);
}

/* Asks the leader or another replica for its /status, through the API server's
 * pod proxy.  edge/kube follows no redirect, because a hostile pod could answer
 * with a redirect to get our token. */
void
look_leader(struct doctor *d)
{
	static struct leader_facts l; /* too large for a stack */
	const struct pod_facts *p = pod_to_ask(d);
	char path[120 + 2 * NAME_BYTES], what[40 + NAME_BYTES];
	struct err e = {0};
	int rc;

	d->place.observes = d->config.rules.mode == MODE_OBSERVE;
	if (p == NULL)
		return;
	(void)snprintf(path, sizeof(path),
		       "/api/v1/namespaces/%s/pods/http:%s:%s/proxy/status"
		       "?format=json",
		       finding_name(d->place.namespace_), finding_name(p->name),
		       p->metrics_port);
	(void)snprintf(what, sizeof(what), "/status of pod %s", p->name);
	rc = ask_status(d, path, &l, &e);
	/* A hold that has just begun may not have been written yet. */
	if (rc == 0 && l.unheld[0] != '\0' &&
	    session_sleep(d->session, DOCTOR_HOLDS_MS, &e) == 0)
		rc = ask_status(d, path, &l, &e);
	if (rc != 0) {
		/* A pod can answer like that, too, and name whom it likes. */
		if (strncmp(e.text, "403", 3) == 0)
			finding_fix(findings_unknown(d->f, DOCTOR_HOLDER, what,
						     e.text, path),
				    "kubectl -n %s auth can-i get pods "
				    "--subresource=proxy",
				    finding_name(d->place.namespace_));
		else
			judge_unanswered(p, e.text, &d->place, d->f);
		return;
	}
	take_configuration(d, &l);
	d->authority = l.authority;
	judge_leader(&l, d->hooks_n > 0 ? &d->hooks[0] : NULL, &d->place,
		     clock_now(d->clock).server_ms, d->f);
}

/* The leader cannot tell whether the namespace of its tickets is there: a list
 * in a namespace that is not there is empty. */
void
look_tickets(struct doctor *d)
{
	const char *name = d->config.rules.tickets;
	enum tickets_place t = TICKETS_GONE;
	char path[40 + NODEPOOL_BYTES];
	struct kube_reply r;
	struct err e = {0};
	int rc;

	if (name[0] == '\0')
		return;
	(void)snprintf(path, sizeof(path), "/api/v1/namespaces/%s",
		       finding_name(name));
	rc = ask_get(d, path, &r, &e);
	if (rc == 0)
		rc = facts_namespace_decode(r.body, r.body_bytes, &t, &e);
	if (rc < 0)
		findings_unknown(d->f, DOCTOR_HOLDER,
				 "the namespace of the tickets", e.text, path);
	else
		judge_tickets(name, t, &d->place, d->f);
	if (rc < 0 || t == TICKETS_THERE)
		(void)str_copy(d->place.tickets, sizeof(d->place.tickets),
			       name);
}
