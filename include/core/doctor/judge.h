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
 * Judges facts about a cluster: each function adds to *f what is wrong in the
 * facts it is given, and says with findings_looked what it saw.  wire/doctor
 * decodes the facts from answers of the API server, and src/tools/doctor asks
 * for them.  All facts are plain values; the functions keep no state and read
 * no clock.  docs/check.md lists the findings.
 */

/* Where the installation is, and how it was installed.  Commands in findings
 * name it. */
struct doctor_place {
	char namespace_[NODEPOOL_BYTES];
	char account[NAME_BYTES]; /* the holder's ServiceAccount */
	char lease[NAME_BYTES];
	char config_map[NAME_BYTES]; /* "" if not known */
	char release[NAME_BYTES];    /* Helm's, or "" if not by Helm */
	bool renewer;		     /* components/self-signed is there */
	bool injected; /* cert-manager's cainjector keeps caBundle */
	bool observes; /* mode: observe */
};

/* Makes the mend a command that applies a part of what was installed anew, with
 * nothing else: neither the configuration nor the number of replicas. */
enum mend_part { MEND_WEBHOOK, MEND_POLICY, MEND_RBAC, MEND_SERVICE };
void mend_apply(struct finding *x, const struct doctor_place *p,
		enum mend_part part);
/* Makes the mend a command that opens the configuration and then starts the
 * pods with it. */
void mend_configuration(struct finding *x, const struct doctor_place *p);

/* --- admission ------------------------------------------------------------ */

#define WEBHOOK_CONDITION_BYTES 600
#define WEBHOOK_URL_BYTES 600

/* Our webhook in a MutatingWebhookConfiguration. */
struct webhook_facts {
	char configuration[NAME_BYTES];
	unsigned index;	     /* its place among the configuration's webhooks */
	bool nodes, claims;  /* it is called when one is created */
	bool others;	     /* … and for what we do not answer */
	unsigned conditions; /* how many matchConditions it has */
	char condition[WEBHOOK_CONDITION_BYTES]; /* the first expression,
				each run of white space as one blank; "": none,
				or one that does not fit */
	bool narrowed; /* a namespaceSelector or objectSelector */
	bool fails;    /* failurePolicy Fail */
	bool exact;    /* matchPolicy Exact */
	bool once;     /* reinvocationPolicy Never */
	long long timeout_s;
	char namespace_[NODEPOOL_BYTES]; /* the namespace of its Service; "": it
					    has a URL */
	char service[NODEPOOL_BYTES];
	long long port;
	char url[WEBHOOK_URL_BYTES]; /* where it is called; "": neither
					   Service nor URL, or too long */
	bool injected; /* cert-manager's cainjector keeps caBundle */
};

/* Judges what is registered: n webhooks, or else the MutatingAdmissionPolicy
 * and its binding. */
void judge_admission(const struct webhook_facts *at, unsigned n, bool policy,
		     bool binding, const struct doctor_place *p,
		     struct findings *f);

struct bundle_facts {
	bool present;  /* caBundle is there and is base64 */
	bool readable; /* all of it is certificates */
	unsigned certificates;
	int64_t latest_ms; /* the latest notAfter */
};
void judge_bundle(const struct webhook_facts *w, const struct bundle_facts *b,
		  const struct doctor_place *p, int64_t now_ms,
		  struct findings *f);

/* The result of a TLS connection to the webhook's address, with the server
 * verified by the webhook's caBundle.  `why` gives the reason for every result
 * but SERVED_VERIFIED. */
enum served {
	SERVED_VERIFIED,
	SERVED_REFUSED,	 /* caBundle does not verify the server that answered */
	SERVED_DATES,	 /* the server's certificate is not valid now */
	SERVED_NAME,	 /* the server's certificate is for another name */
	SERVED_UNSIGNED, /* the webhook was not reached, but /status says that
			    another CA has signed its certificate */
	SERVED_CUT,	 /* the handshake was cut before a certificate was
			    seen */
	SERVED_UNREACHED,
};
void judge_served(const struct webhook_facts *w, enum served served,
		  const char *why, bool in_cluster,
		  const struct doctor_place *p, struct findings *f);

enum dry_run {
	DRY_RUN_NONE, /* nothing was tried */
	DRY_RUN_HELD,
	DRY_RUN_UNHELD,
	DRY_RUN_FAILED, /* the dry run was refused, or had no answer */
};
struct dry_run_facts {
	char nodepool[NODEPOOL_BYTES]; /* the NodePool of the machines that the
					  dry run would create */
	enum dry_run result[KIND_COUNT];
	char why[KIND_COUNT][sizeof(((struct err *)0)->text)];
	int64_t waited_ms;
};
/* Returns what ought to come back, which is DRY_RUN_UNHELD with `mode:
 * observe`. */
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
/* Reads "1.14.1", "v1.36.3+k3s1", "1.30".  Anything else is not known. */
void judge_version_parse(const char *text, struct version *out);

void judge_kubernetes(const struct version *v, struct findings *f);

#define KARPENTER_LEASE "karpenter-leader-election"
struct karpenter_facts {
	bool served;		/* any version of karpenter.sh is served */
	bool v1, claims, pools; /* whether karpenter.sh/v1 is served, and which
				   resources it has */
	unsigned deployments;	/* how many Deployments of Karpenter there
				   are */
	struct version version; /* the version of the first Deployment */
	/* namespace and name of the first Deployment */
	char namespace_[NODEPOOL_BYTES], name[NAME_BYTES];
	/* the replicas of all Deployments together */
	long long replicas, available;
	/* Its Lease KARPENTER_LEASE, in this namespace; "": there is none.  Of
	 * several it is the one that was renewed last. */
	char lease_namespace[NODEPOOL_BYTES];
	int64_t lease_us; /* when the Lease was last renewed; STAMP_NONE:
			     never */
	bool lease_live;
	bool lease_left; /* the Lease has not been renewed for over a day */
};
void judge_karpenter(const struct karpenter_facts *k, const struct rules *r,
		     const struct doctor_place *p, struct findings *f);

/* --- rights --------------------------------------------------------------- */

enum right_where { RIGHT_CLUSTER, RIGHT_OWN, RIGHT_DEFAULT };
/* One right that deploy/base gives to the holder. */
struct right {
	const char *group, *resource, *verb;
	enum right_where where;
	bool lease;  /* the right is limited to the one Lease */
	bool needed; /* the holder cannot do its work without this right */
};
#define RIGHTS_N 17
extern const struct right rights[RIGHTS_N];

/* allowed[i]: the holder has rights[i].  With `mode: observe` it needs none to
 * write on Nodes and NodeClaims. */
void judge_rights(const bool allowed[RIGHTS_N], const struct rules *r,
		  const struct doctor_place *p, struct findings *f);

/* --- NodePools ------------------------------------------------------------ */

/* How a machine of a NodePool is described to Karpenter's provider. */
struct node_class {
	char group[NAME_BYTES], kind[NODEPOOL_BYTES], name[NAME_BYTES];
};
struct nodepool_facts {
	struct nodepool pool;
	bool fixed;		 /* spec.replicas */
	bool never;		 /* consolidateAfter: Never */
	bool template_holds;	 /* its template has the hold's annotation */
	bool blocked;		 /* its budgets allow no disruption, at any time
				   and for any reason */
	int64_t expire_ms;	 /* expireAfter, or -1 if never, or it cannot be
				    read */
	bool grace;		 /* terminationGracePeriod */
	struct node_class class; /* the name is "" if the class is missing */
};
void judge_nodepool(const struct nodepool_facts *n, const struct rules *r,
		    struct findings *f);

/* Judges nodePools.include and nodePools.exclude by the n NodePools that are
 * there. */
void judge_patterns(const struct rules *r,
		    const char (*nodepools)[NODEPOOL_BYTES], unsigned n,
		    const struct doctor_place *p, struct findings *f);

/* --- the holder ----------------------------------------------------------- */

/* A Deployment of Karpenter, of the holder or of the Go program. */
struct deployment_facts {
	char name[NAME_BYTES], namespace_[NODEPOOL_BYTES];
	char app[NODEPOOL_BYTES]; /* app.kubernetes.io/name */
	char component[NODEPOOL_BYTES];
	char account[NAME_BYTES];	/* its ServiceAccount */
	char config_map[NAME_BYTES];	/* the first that it mounts */
	char release[NAME_BYTES];	/* the name of its Helm release; "":
					none */
	struct version version;		/* from the version label, or from the
					first image */
	long long generation, observed; /* observed: what its controller has
					   seen */
	long long replicas, updated, ready, available;
};

/* A pod of the holder, or of its renewer. */
struct pod_facts {
	/* node is "" if the pod has none yet */
	char name[NAME_BYTES], node[NAME_BYTES];
	char component[NODEPOOL_BYTES];
	bool kept; /* its annotation keeps Karpenter off its node */
	bool ready;
	char trouble[240];    /* what its kubelet says of its container; "":
				   nothing */
	char metrics_port[8]; /* "" if it has no port of that name */
	char ports[100];      /* of its first container: " NAME NUMBER …" */
	char nodepool[NODEPOOL_BYTES]; /* the NodePool of its node; "": the node
					  is not Karpenter's */
	bool grace; /* the NodePool has a terminationGracePeriod */
};

/* Judges the Deployment of the holder, or of its renewer.  `at` has the n pods
 * of both. */
void judge_rollout(const struct deployment_facts *d, const struct pod_facts *at,
		   unsigned n, const struct doctor_place *p,
		   struct findings *f);

/* What a holder's /status says, as far as it is judged. */
#define TOLD_N 7
#define TOLD_BYTES KEY_BYTES
struct leader_facts {
	char replica[NAME_BYTES];
	bool electing;
	bool valid;		     /* its certificate is valid */
	int64_t not_after_ms;	     /* STAMP_NONE if it serves none */
	uint64_t authority;	     /* who signed its certificate; 0: not
					told */
	uint64_t waiting;	     /* machines with a write that failed */
	char waits[NODEPOOL_BYTES];  /* the first NodePool that has such
					machines */
	char unseen[NODEPOOL_BYTES]; /* a resource that it cannot watch */
	/* Its configuration, by the names of flags (told_flags in
	 * wire/doctor/facts.h), or "" if not told. */
	char told[TOLD_N][TOLD_BYTES];
	bool patterns_told;
	struct patterns include, exclude;
};
void judge_leader(const struct leader_facts *l, const struct webhook_facts *w,
		  const struct doctor_place *p, int64_t now_ms,
		  struct findings *f);
/* Reports that this pod was asked for its /status and gave none. */
void judge_unanswered(const struct pod_facts *at, const char *why,
		      const struct doctor_place *p, struct findings *f);

/* The Service that the webhook names, and its endpoints. */
struct service_facts {
	bool there;
	bool port;		     /* it has the port that the webhook
					names */
	long long first_port;	     /* the first port that it has; 0: none */
	char target[NODEPOOL_BYTES]; /* where that port leads: a name or a
					   number */
	char selector[300]; /* what its selector requires and our pods lack; "":
			       it selects them */
	bool slices_known;
	unsigned ready; /* how many endpoints are ready */
};
void judge_service(const struct service_facts *s, const struct webhook_facts *w,
		   const struct pod_facts *at, unsigned n,
		   const struct doctor_place *p, struct findings *f);

/* A ValidatingAdmissionPolicy that bounds one of our accounts. */
struct policy_facts {
	const char *name;
	bool policy, binding;
	bool denies; /* its binding denies what the policy refuses */
	bool here;   /* it is about accounts in our namespace */
	bool key;    /* it allows the hold's annotation */
};
void judge_policy(const struct policy_facts *w, const char *hold_key,
		  const struct doctor_place *p, struct findings *f);

/* Reports that the holder was looked for in namespace `asked`, where it is
 * not. */
void judge_elsewhere(const char *asked, const struct doctor_place *p,
		     struct findings *f);
/* Reports that another holder runs in namespace `other`. */
void judge_second(const char *other, const struct doctor_place *p,
		  struct findings *f);

/* Judges whether there is a PodDisruptionBudget, if there is more than one
 * replica. */
void judge_redundancy(const struct deployment_facts *d, bool budget_known,
		      bool budget, const struct doctor_place *p,
		      struct findings *f);

struct holder_facts {
	bool deployments_known, lease_known, marks_known;
	long long available; /* how many pods are available */
	bool elects;	     /* the configuration has leader election */
	bool observes;	     /* the configuration has `mode: observe` */
	bool lease_live;     /* somebody has the Lease and has renewed it in
				time */
	char leader[NAME_BYTES];
	unsigned marks[KIND_COUNT];
	char marked[NAME_BYTES]; /* the first object with a mark */
};
void judge_holder(const struct holder_facts *h, const struct doctor_place *p,
		  struct findings *f);

void judge_placement(const struct pod_facts *at, unsigned n,
		     const struct doctor_place *p, struct findings *f);

/* --- the Go program ------------------------------------------------------- */

enum { LEFT_CONSOLIDATE, LEFT_EVICT, LEFT_HOLD, LEFT_COUNT };
struct leftover_facts {
	/* name and namespace of its Deployment, or "" if none */
	char deployment[NAME_BYTES], namespace_[NODEPOOL_BYTES];
	bool role, binding; /* whether its ClusterRole and its
			       ClusterRoleBinding are left */
	/* Nodes with do-not-consolidate, do-not-evict, and with a hold that has
	 * no mark, is not from their NodePool's template, and has no person on
	 * record as its writer. */
	unsigned nodes[LEFT_COUNT];
	char node[LEFT_COUNT][NAME_BYTES]; /* the first object of each kind that
					      is left */
};
void judge_leftovers(const struct leftover_facts *l, const char *hold_key,
		     struct findings *f);

#endif
