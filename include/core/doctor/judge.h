/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DOCTOR_JUDGE_H
#define CORE_DOCTOR_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/nodepool.h"
#include "core/base/object.h"
#include "core/doctor/finding.h"
#include "core/rules/rules.h"

/*
 * Judges facts about a cluster.  Each function adds its findings to *f and
 * reports what it examined by findings_looked.  src/tools/doctor requests the
 * facts from the API server, and wire/doctor decodes them.  All facts are plain
 * values; the functions keep no state and read no clock.  docs/check.md lists
 * the findings.
 */

/* Where and how the holder is installed.  The commands in findings contain
 * these values. */
struct doctor_place {
	char namespace_[NODEPOOL_BYTES];
	/* The Deployments of the holder and of its renewer. */
	char deployment[NAME_BYTES], renewer_deployment[NAME_BYTES];
	long long replicas;	  /* of the holder's Deployment */
	char account[NAME_BYTES]; /* the ServiceAccount of the holder's pods */
	char lease[NAME_BYTES];
	char config_map[NAME_BYTES]; /* "" if not known */
	char release[NAME_BYTES];    /* the Helm release, or "" */
	bool renewer;		     /* components/self-signed is installed */
	char renewer_account[NAME_BYTES]; /* its ServiceAccount, if it is */
	char secret[NAME_BYTES];	  /* with the serving certificate */
	/* The MutatingWebhookConfiguration whose caBundle is maintained. */
	char configuration[NAME_BYTES];
	bool injected; /* cert-manager's cainjector maintains caBundle */
	bool observes; /* mode: observe */
	/* The namespace of the tickets, or "" if it is not there. */
	char tickets[NODEPOOL_BYTES];
};

/* Sets the finding's `fix` to a command that applies one part of the
 * installation again.  The command changes neither the configuration nor the
 * number of replicas, except that Helm sets what the release's values say.  To
 * apply an object does not take away what somebody has added to it. */
enum fix_part {
	FIX_WEBHOOK,
	FIX_POLICY,
	FIX_RENEWER_POLICY,
	FIX_RBAC,
	FIX_RENEWER_RBAC,
	FIX_SERVICE,
	FIX_ACCOUNT,
	FIX_TICKETS,
};
void fix_apply(struct finding *x, const struct doctor_place *p,
	       enum fix_part part);
/* Appends a command that runs if the finding's `fix` succeeds. */
void fix_then(struct finding *x, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Sets the finding's `fix` to a command that makes the binding of this
 * MutatingAdmissionPolicy or ValidatingAdmissionPolicy.  To apply the policy as
 * well would take out of it what repeats the configuration. */
void fix_binding(struct finding *x, const struct doctor_place *p,
		 const char *policy, bool mutating);
/* Sets the finding's `fix` to a command that restarts the holder's pods. */
void fix_restart(struct finding *x, const struct doctor_place *p);
/* Sets the finding's `fix` to commands that remove all holds and marks.  If the
 * holder runs, they stop it meanwhile, and put the webhook back as it was. */
void fix_clear(struct finding *x, const struct doctor_place *p, bool runs);
/* Sets the finding's `fix` to commands that set mode: enforce. */
void fix_enforce(struct finding *x, const struct doctor_place *p);
/* Sets the finding's `fix` to commands that edit the configuration and restart
 * the pods. */
void fix_configuration(struct finding *x, const struct doctor_place *p);

/* --- admission ------------------------------------------------------------ */

#define WEBHOOK_CONDITION_BYTES 600
#define WEBHOOK_URL_BYTES 600

/* Our webhook in a MutatingWebhookConfiguration. */
struct webhook_facts {
	char configuration[NAME_BYTES];
	unsigned index; /* its place among the configuration's webhooks */
	/* whether it is called for the creation of Nodes, and of NodeClaims */
	bool nodes, claims;
	bool others;	     /* whether it is called for anything else */
	unsigned conditions; /* number of matchConditions */
	/* The expression of the first condition, with one blank for each run of
	 * white space.  "" if there is no condition, or if the expression does
	 * not fit. */
	char condition[WEBHOOK_CONDITION_BYTES];
	bool narrowed; /* it has a namespaceSelector or an objectSelector */
	bool fails;    /* its failurePolicy is Fail */
	bool exact;    /* its matchPolicy is Exact */
	bool once;     /* its reinvocationPolicy is Never */
	long long timeout_s;
	/* The namespace of its Service, or "" if it has a URL. */
	char namespace_[NODEPOOL_BYTES];
	char service[NODEPOOL_BYTES];
	long long port;
	/* The URL that is called.  "" if it is too long, or if there is neither
	 * a Service nor a URL. */
	char url[WEBHOOK_URL_BYTES];
	bool injected; /* cert-manager's cainjector maintains caBundle */
};

/* Judges the n registered webhooks, or the MutatingAdmissionPolicy and its
 * binding. */
void judge_admission(const struct webhook_facts *at, unsigned n, bool policy,
		     bool binding, const struct doctor_place *p,
		     struct findings *f);

struct bundle_facts {
	bool present;  /* caBundle exists and is valid base64 */
	bool readable; /* it consists of certificates only */
	unsigned certificates;
	int64_t latest_ms; /* the latest notAfter of its certificates */
};
void judge_bundle(const struct webhook_facts *w, const struct bundle_facts *b,
		  const struct doctor_place *p, int64_t now_ms,
		  struct findings *f);

/* The result of a TLS connection to the webhook's address, verified with its
 * caBundle.  `why` is the reason for any result except SERVED_VERIFIED. */
enum served {
	SERVED_VERIFIED,
	SERVED_REFUSED, /* no CA in caBundle issued the server's certificate */
	SERVED_DATES,	/* the server's certificate is not valid now */
	SERVED_NAME,	/* the server's certificate is for another name */
	/* The webhook was not reached, but according to /status no CA in
	 * caBundle issued its certificate. */
	SERVED_UNSIGNED,
	SERVED_CUT, /* the handshake ended before the certificate came */
	SERVED_UNREACHED,
};
void judge_served(const struct webhook_facts *w, enum served served,
		  const char *why, bool in_cluster,
		  const struct doctor_place *p, struct findings *f);

enum dry_run {
	DRY_RUN_NONE, /* not tried */
	DRY_RUN_HELD,
	DRY_RUN_UNHELD,
	DRY_RUN_FAILED, /* refused, or without a reply */
};
struct dry_run_facts {
	/* The NodePool of the objects in the dry run. */
	char nodepool[NODEPOOL_BYTES];
	enum dry_run result[KIND_COUNT];
	char why[KIND_COUNT][sizeof(((struct err *)0)->text)];
	int64_t waited_ms;
};
/* Returns the expected result.  With `mode: observe` it is DRY_RUN_UNHELD. */
enum dry_run judge_dry_run_expected(const struct rules *r);
void judge_dry_run(const struct dry_run_facts *d, const struct rules *r,
		   const struct doctor_place *p, struct findings *f);

/* --- versions ------------------------------------------------------------- */

#define VERSION_BYTES 40
struct version {
	bool known;
	unsigned major, minor;
	char text[VERSION_BYTES];
};
/* Reads forms such as "1.14.1", "v1.36.3+k3s1" and "1.30".  For any other text,
 * out->known is false. */
void judge_version_parse(const char *text, struct version *out);

void judge_kubernetes(const struct version *v, struct findings *f);

#define KARPENTER_LEASE "karpenter-leader-election"
struct karpenter_facts {
	bool served;		/* any version of karpenter.sh is served */
	bool v1;		/* karpenter.sh/v1 is served */
	bool claims, pools;	/* whether v1 has NodeClaims, and NodePools */
	unsigned deployments;	/* number of Deployments of Karpenter */
	struct version version; /* that of the first Deployment */
	/* Namespace and name of the first Deployment. */
	char namespace_[NODEPOOL_BYTES], name[NAME_BYTES];
	/* The total of all Deployments. */
	long long replicas, available;
	/* The namespace of the Lease KARPENTER_LEASE that was renewed last, or
	 * "" if there is none. */
	char lease_namespace[NODEPOOL_BYTES];
	int64_t lease_us; /* the renewTime of that Lease, or STAMP_NONE */
	bool lease_live;
	/* that Lease was never renewed, or not for more than a day */
	bool lease_left;
};
void judge_karpenter(const struct karpenter_facts *k, const struct rules *r,
		     const struct doctor_place *p, struct findings *f);

/* --- rights --------------------------------------------------------------- */

enum right_where { RIGHT_CLUSTER, RIGHT_OWN, RIGHT_DEFAULT, RIGHT_OF_TICKETS };
/* Who has the right, and for what. */
enum right_use {
	RIGHT_NEEDED, /* the holder cannot work without it */
	RIGHT_TICKETS,
	RIGHT_EVENTS,
	RIGHT_RENEWS, /* of the renewer */
	RIGHT_USES,
};
/* The only object to which a right applies. */
enum right_name { RIGHT_ANY, RIGHT_LEASE, RIGHT_SECRET, RIGHT_WEBHOOK };
/* One right that deploy/base or components/tickets gives to the holder, or
 * components/self-signed to the renewer. */
struct right {
	const char *group, *resource, *verb;
	enum right_where where;
	enum right_name name;
	enum right_use use;
};
#define RIGHTS_N 24
extern const struct right rights[RIGHTS_N];

/* allowed[i] says whether the account has rights[i].  With `mode: observe` the
 * holder does not need the rights to patch Nodes and NodeClaims. */
void judge_rights(const bool allowed[RIGHTS_N], const struct rules *r,
		  const struct doctor_place *p, struct findings *f);

/* --- NodePools ------------------------------------------------------------ */

/* A NodePool's nodeClassRef. */
struct node_class {
	char group[NAME_BYTES], kind[NODEPOOL_BYTES], name[NAME_BYTES];
};
/* A key that was to be one of our annotations of a NodePool, and is none. */
enum strange_where { STRANGE_ANNOTATION, STRANGE_LABEL, STRANGE_TEMPLATE };
struct strange_key {
	char key[KEY_BYTES]; /* "" after the last one */
	const char *meant;   /* the key of ours, or "" if not known */
	bool beside;	     /* the NodePool also has that annotation */
	bool bare;	     /* it has no annotations at all */
	enum strange_where where;
};
struct nodepool_facts {
	struct nodepool pool;
	bool fixed;		/* it has spec.replicas */
	bool never;		/* its consolidateAfter is Never */
	bool template_holds;	/* its template has the hold annotation */
	bool blocked;		/* its budgets never allow any disruption */
	int64_t consolidate_ms; /* consolidateAfter, or -1 if Never, missing or
				    unreadable */
	bool only_empty;	/* its consolidationPolicy is WhenEmpty */
	int64_t expire_ms;	/* expireAfter, or -1 if Never or unreadable */
	bool grace;		/* it has a terminationGracePeriod */
	/* Its name is "" if the nodeClassRef is missing. */
	struct node_class class;
	struct strange_key strange[DOCTOR_STRANGE_MAX]; /* the first ones */
};
void judge_nodepool(const struct nodepool_facts *n, const struct rules *r,
		    int64_t now_ms, struct findings *f);

/* Which result of docs/study.md applies to a NodePool, by its
 * consolidationPolicy and its consolidateAfter. */
enum study_row {
	/* no result applies, or the holder leaves the NodePool alone */
	STUDY_SILENT,
	STUDY_EMPTY,   /* WhenEmpty: consolidation moves no pod */
	STUDY_EAGER,   /* 0s: the holder spares more moves if this is 30s */
	STUDY_PATIENT, /* 5m or more: few moves without a holder */
	STUDY_ROWS,
};
enum study_row judge_consolidation(const struct nodepool_facts *n,
				   const struct rules *r);

/* Judges whether nodePools.include and nodePools.exclude fit the n existing
 * NodePools. */
void judge_patterns(const struct rules *r,
		    const char (*nodepools)[NODEPOOL_BYTES], unsigned n,
		    const struct doctor_place *p, struct findings *f);

/* --- the holder ----------------------------------------------------------- */

/* A Deployment of Karpenter, of the holder or of the Go program. */
struct deployment_facts {
	char name[NAME_BYTES], namespace_[NODEPOOL_BYTES];
	char app[NODEPOOL_BYTES];	/* label app.kubernetes.io/name */
	char component[NODEPOOL_BYTES]; /* label app.kubernetes.io/component */
	char account[NAME_BYTES];	/* its ServiceAccount */
	/* the first ConfigMap and the first Secret that it mounts */
	char config_map[NAME_BYTES], secret[NAME_BYTES];
	char release[NAME_BYTES]; /* its Helm release, or "" */
	struct version version; /* from its version label or its first image */
	char failure[300];	/* why its pods cannot be created, or "" */
	/* The labels of its pods, as "\nKEY=VALUE\n…\n".  What does not fit is
	 * left out. */
	char labels[DOCTOR_LABELS_BYTES];
	/* `observed` is status.observedGeneration. */
	long long generation, observed;
	long long replicas, updated, ready, available;
	/* When its newest version came to run, or STAMP_NONE. */
	int64_t rolled_ms;
};

/* A pod of the holder, or of its renewer. */
struct pod_facts {
	char name[NAME_BYTES];
	char node[NAME_BYTES]; /* "" before it is scheduled */
	char component[NODEPOOL_BYTES];
	bool kept; /* it has the annotation karpenter.sh/do-not-disrupt */
	bool ready;
	char trouble[240];    /* why its container is not running, or "" */
	char metrics_port[8]; /* number of its port "metrics", or "" if none */
	/* The ports of its first container, as " NAME NUMBER …". */
	char ports[100];
	/* The NodePool of its node, or "" if the node is not Karpenter's. */
	char nodepool[NODEPOOL_BYTES];
	bool grace; /* that NodePool has a terminationGracePeriod */
};

/* Judges the Deployment of the holder, or of its renewer.  `at` has the n pods
 * of the holder and of the renewer. */
void judge_rollout(const struct deployment_facts *d, const struct pod_facts *at,
		   unsigned n, const struct doctor_place *p,
		   struct findings *f);

/* The part of a holder's /status that is judged. */
#define TOLD_N 8
#define TOLD_BYTES KEY_BYTES
struct leader_facts {
	char replica[NAME_BYTES];
	bool electing;
	bool valid;	      /* its certificate is valid */
	int64_t not_after_ms; /* its notAfter, or STAMP_NONE if there is none */
	uint64_t authority;   /* the CA's key id, or 0 if unknown */
	uint64_t waiting;     /* number of machines with a failed write */
	char waits[NODEPOOL_BYTES];  /* the first NodePool of such machines */
	char unseen[NODEPOOL_BYTES]; /* a resource that it cannot watch */
	/* What it says of an object that is too large to be read, or "". */
	char unread[NAME_BYTES];
	/* The first NodePool that is held, although none of its `bare` machines
	 * has a hold.  "" if there is none. */
	char unheld[NODEPOOL_BYTES];
	long long bare;
	bool stale; /* its configuration file has changed since it was read */
	/* The values that the holder has for the flags in told_flags
	 * (wire/doctor/facts.h), in their order.  "" if unknown. */
	char told[TOLD_N][TOLD_BYTES];
	bool patterns_told;
	struct patterns include, exclude;
};
void judge_leader(const struct leader_facts *l, const struct webhook_facts *w,
		  const struct doctor_place *p, int64_t now_ms,
		  struct findings *f);
/* Names what somebody else has registered for Nodes or NodeClaims, as words for
 * `kubectl get`. */
void judge_foreign(const char *registered, struct findings *f);
/* Reports that a request for this pod's /status failed. */
void judge_unanswered(const struct pod_facts *at, const char *why,
		      const struct doctor_place *p, struct findings *f);

/* The Service that the webhook names, and its endpoints. */
struct service_facts {
	bool there;
	bool port; /* it has the port that the webhook names */
	/* the port named "webhook", or else the first port, or 0 */
	long long first_port;
	/* the targetPort of the port that the webhook names */
	char target[NODEPOOL_BYTES];
	/* Labels in its selector that our pods lack, or "" if it selects our
	 * pods. */
	char selector[300];
	bool slices_known;
	unsigned ready; /* number of ready endpoints */
};
void judge_service(const struct service_facts *s, const struct webhook_facts *w,
		   const struct pod_facts *at, unsigned n,
		   const struct doctor_place *p, struct findings *f);

/* A ValidatingAdmissionPolicy that bounds one of our accounts. */
struct policy_facts {
	const char *name;
	bool policy, binding;
	bool denies; /* its binding has the action Deny */
	bool here;   /* it applies to accounts in our namespace */
	bool key;    /* it allows the hold annotation */
	/* The only namespace that its binding selects by name, or "". */
	char selects[NODEPOOL_BYTES];
	/* The expression of its variable `holds`; "" if there is none, or if it
	 * does not fit. */
	char holds[300];
};
void judge_policy(const struct policy_facts *w, const char *hold_key,
		  const struct doctor_place *p, struct findings *f);

/* Reports that the holder is not in namespace `asked`. */
void judge_elsewhere(const char *asked, const struct doctor_place *p,
		     struct findings *f);
/* Reports that another holder runs in namespace `other`, as this Deployment.
 * It may lead there without one; then `deployment` is NULL. */
void judge_second(const char *other, const char *deployment,
		  const struct doctor_place *p, struct findings *f);

/* The PodDisruptionBudgets that select the holder's pods. */
struct budget_facts {
	bool known;		/* they could be read */
	char first[NAME_BYTES]; /* "" if there is none */
	char second[NAME_BYTES];
	/* The name of one that allows no disruption although all its pods are
	 * healthy, or "". */
	char blocks[NAME_BYTES];
};
/* Judges whether a holder with several replicas has a PodDisruptionBudget, and
 * whether a drain can evict its pods. */
void judge_redundancy(const struct deployment_facts *d,
		      const struct budget_facts *b,
		      const struct doctor_place *p, struct findings *f);

struct holder_facts {
	bool deployments_known, lease_known, marks_known;
	bool deployed;	     /* there is a Deployment of it */
	long long available; /* number of available pods */
	bool elects;	     /* leader election is enabled */
	bool observes;	     /* mode: observe */
	int64_t rolled_ms;   /* as in struct deployment_facts */
	bool lease_live;     /* the Lease has a holder and has not expired */
	/* The Lease has not expired by its own duration, but its holder did not
	 * renew it while we looked. */
	bool lease_silent;
	bool leader_is_pod; /* `leader` is a pod of the holder */
	char leader[NAME_BYTES];
	unsigned marks[KIND_COUNT]; /* number of objects with a mark */
	char marked[NAME_BYTES];    /* the name of the first of them */
	/* The Lease's hold, or a key of "".  Number of objects with a mark for
	 * another, and the name of the first of them. */
	struct hold_key hold;
	unsigned others[KIND_COUNT];
	char other[NAME_BYTES];
};
void judge_holder(const struct holder_facts *h, const struct doctor_place *p,
		  int64_t now_ms, struct findings *f);

/* Judges whether the namespace of the tickets is there. */
enum tickets_place { TICKETS_THERE, TICKETS_ENDING, TICKETS_GONE };
void judge_tickets(const char *namespace_name, enum tickets_place t,
		   const struct doctor_place *p, struct findings *f);

/* Judges the policy that refuses tickets that would hold nothing. */
void judge_tickets_policy(const struct policy_facts *w,
			  const struct doctor_place *p, struct findings *f);

void judge_placement(const struct pod_facts *at, unsigned n,
		     const struct doctor_place *p, struct findings *f);

/* --- the Go program ------------------------------------------------------- */

enum { LEFT_CONSOLIDATE, LEFT_EVICT, LEFT_HOLD, LEFT_COUNT };
struct leftover_facts {
	/* Name and namespace of its Deployment, or "". */
	char deployment[NAME_BYTES], namespace_[NODEPOOL_BYTES];
	bool role, binding; /* its ClusterRole and ClusterRoleBinding exist */
	/* Number of Nodes with do-not-consolidate, with do-not-evict, and with
	 * a hold of unknown origin: without a mark, not from the NodePool's
	 * template, and with no person as its field manager. */
	unsigned nodes[LEFT_COUNT];
	/* the name of the first of these Nodes, for each number */
	char node[LEFT_COUNT][NAME_BYTES];
};
void judge_leftovers(const struct leftover_facts *l, const char *hold_key,
		     struct findings *f);

#endif
