/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_DOCTOR_FACTS_H
#define WIRE_DOCTOR_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/doctor/judge.h"

/*
 * Decodes what `holderctl check` reads into the facts of core/doctor/judge.h,
 * and encodes what it sends.  Each decoder reads one item of a list or one
 * answer.  On failure the code is ERR_INPUT or ERR_LIMIT.  The functions keep
 * no state; any thread may call them.
 */

/* Decodes a MutatingWebhookConfiguration.  Returns 1 if it has our webhook, 0
 * if it has not, and -1 on failure.  *bundle is the webhook's caBundle as PEM,
 * which the caller frees, or NULL if it is missing, too long or not the base64
 * of a text. */
int facts_webhook_decode(const char *bytes, size_t n, struct webhook_facts *out,
			 char **bundle, struct err *e);

/* Decodes a webhook configuration or an admission policy.  Returns 1 if it is
 * not the holder's and is called for writes of Nodes or NodeClaims, 0 if not,
 * and -1 on failure. */
int facts_foreign_decode(const char *bytes, size_t n, char name[NAME_BYTES],
			 struct err *e);

/* Decodes a NodePool.  `hold` is the hold of the configuration. */
int facts_nodepool_decode(const char *bytes, size_t n,
			  const struct hold_key *hold,
			  struct nodepool_facts *out, struct err *e);

/* Decodes a Namespace that exists. */
int facts_namespace_decode(const char *bytes, size_t n, enum tickets_place *out,
			   struct err *e);

int facts_deployment_decode(const char *bytes, size_t n,
			    struct deployment_facts *out, struct err *e);

/* Sets all members of *out but nodepool and grace.  Returns 1 if the pod has
 * ended or is being deleted, 0 if not, and -1 on failure. */
int facts_pod_decode(const char *bytes, size_t n, struct pod_facts *out,
		     struct err *e);

/* facts_leader_decode sets out->told[i] to the value that the leader has for
 * the flag told_flags[i] (wire/config). */
extern const char *const told_flags[TOLD_N];
/* Decodes an answer of /status in JSON. */
int facts_leader_decode(const char *bytes, size_t n, struct leader_facts *out,
			struct err *e);

/* What an answer of /status says of one ticket (docs/rules.md#tickets).  It is
 * for `holderctl hold`. */
struct ticket_facts {
	bool leads;    /* whether the replica that answers leads */
	bool observes; /* whether the mode is observe */
	bool reads;    /* whether the holder has tickets.namespace */
	bool listed;   /* whether the answer lists this ticket */
	/* How many tickets the answer has left out for lack of room. */
	uint64_t left_out;
	/* End of the ticket's hold; STAMP_NONE: the ticket holds nothing. */
	int64_t until_ms;
	/* The renewTime that the leader has seen; STAMP_NONE: not known. */
	int64_t renewed_ms;
	uint64_t nodepools; /* how many NodePools the ticket holds */
	char problem[160];  /* why the ticket does not hold, or "" */
};
int facts_ticket_decode(const char *bytes, size_t n, const char *ticket,
			struct ticket_facts *out, struct err *e);

/* facts_service_decode decodes the Service that w names.  facts_slice_decode
 * decodes one of its EndpointSlices, and adds the number of ready endpoints to
 * *ready. */
int facts_service_decode(const char *bytes, size_t n,
			 const struct webhook_facts *w,
			 struct service_facts *out, struct err *e);
int facts_slice_decode(const char *bytes, size_t n, unsigned *ready,
		       struct err *e);

/* Decode a ValidatingAdmissionPolicy and its binding.  Each function sets only
 * the members of *out that its own object determines.  namespace_name is the
 * namespace of the holder, and hold_key is the key of its hold annotation. */
int facts_policy_decode(const char *bytes, size_t n, const char *namespace_name,
			const char *hold_key, struct policy_facts *out,
			struct err *e);
int facts_policy_binding_decode(const char *bytes, size_t n,
				struct policy_facts *out, struct err *e);

/* Decodes a PodDisruptionBudget and adds it to *out if it selects the holder's
 * pods, which have these labels (struct deployment_facts). */
int facts_budget_decode(const char *bytes, size_t n, const char *labels,
			struct budget_facts *out, struct err *e);

/* What `check` reads of a Node or NodeClaim.  left[] has a meaning for Nodes
 * only. */
struct carried {
	char name[NAME_BYTES], nodepool[NODEPOOL_BYTES];
	bool marked;
	bool other;	       /* its mark stands for another hold */
	bool left[LEFT_COUNT]; /* as in struct leftover_facts */
};
int facts_carried_decode(const char *bytes, size_t n,
			 const struct hold_key *hold, struct carried *out,
			 struct err *e);

/* Decodes the answer to GET /version. */
int facts_kubernetes_decode(const char *bytes, size_t n, struct version *out,
			    struct err *e);
/* Decode the answers to GET /apis/karpenter.sh and GET
 * /apis/karpenter.sh/v1. */
int facts_group_decode(const char *bytes, size_t n, struct karpenter_facts *out,
		       struct err *e);
int facts_group_resources_decode(const char *bytes, size_t n,
				 struct karpenter_facts *out, struct err *e);

/* facts_access_body writes the body of a POST to ACCESS_PATH, which asks
 * whether the holder has a right; ACCESS_BYTES are enough.  facts_access_decode
 * decodes the answer. */
#define ACCESS_PATH "/apis/authorization.k8s.io/v1/subjectaccessreviews"
#define ACCESS_BYTES 2048
void facts_access_body(struct buf *b, const struct right *r,
		       const struct doctor_place *p);
int facts_access_decode(const char *bytes, size_t n, bool *allowed,
			struct err *e);

/* Writes a Node or NodeClaim of NodePool n, as the body of a POST to
 * dry_run_paths[kind].  The POST is a dry run, so it creates nothing.
 * DRY_RUN_BYTES are enough. */
extern const char *const dry_run_paths[KIND_COUNT];
#define DRY_RUN_BYTES 4096
void facts_dry_run_body(struct buf *b, enum kind kind,
			const struct nodepool_facts *n);
/* Sets *held to whether the object that came back has our mark. */
int facts_dry_run_decode(const char *bytes, size_t n, bool *held,
			 struct err *e);

#endif
