/* SPDX-License-Identifier: Apache-2.0 */
#include "look.h"

/* --- the API server ------------------------------------------------------- */

int
look_api(struct doctor *d)
{
	struct version v = {.known = false};
	struct kube_reply r;
	struct err e = {0};

	if (ask_get_once(d, "/version", &r, &e)) {
		findings_unknown(d->f, DOCTOR_API, "the API server", e.text,
				 "/version");
		return -1;
	}
	if (facts_kubernetes_decode(r.body, r.body_bytes, &v, &e)) {
		findings_unknown(d->f, DOCTOR_API, "/version", e.text,
				 "/version");
		return -1;
	}
	judge_kubernetes(&v, d->f);
	return 0;
}

/* --- rights --------------------------------------------------------------- */

void
look_rights(struct doctor *d)
{
	bool allowed[RIGHTS_N] = {false};
	char body[ACCESS_BYTES];
	struct kube_reply r;
	struct err e = {0};
	struct buf b;

	for (unsigned i = 0; i < RIGHTS_N; i++) {
		allowed[i] =
			(rights[i].use == RIGHT_RENEWS && !d->place.renewer) ||
			(rights[i].use == RIGHT_TICKETS &&
			 d->place.tickets[0] == '\0');
		if (allowed[i])
			continue;
		buf_init(&b, body, sizeof(body));
		facts_access_body(&b, &rights[i], &d->place);
		if (ask_post(d, ACCESS_PATH, &b, &r, &e) != 0 ||
		    facts_access_decode(r.body, r.body_bytes, &allowed[i],
					&e)) {
			findings_unknown(d->f, DOCTOR_RIGHTS,
					 "create SubjectAccessReviews", e.text,
					 READY_PATH);
			return;
		}
	}
	judge_rights(allowed, &d->config.rules, &d->place, d->f);
}

/* --- Karpenter ------------------------------------------------------------ */

void
look_karpenter(struct doctor *d)
{
	struct karpenter_facts *k = &d->karpenter;
	struct kube_reply r;
	struct err e = {0};
	int rc = ask_get(d, "/apis/karpenter.sh", &r, &e);

	if (rc == 0)
		rc = facts_group_decode(r.body, r.body_bytes, k, &e);
	if (rc == 0 && k->v1)
		rc = ask_get(d, "/apis/karpenter.sh/v1", &r, &e);
	if (rc == 0 && k->v1)
		rc = facts_group_resources_decode(r.body, r.body_bytes, k, &e);
	if (rc < 0)
		findings_unknown(d->f, DOCTOR_KARPENTER,
				 "what is served of karpenter.sh", e.text,
				 "/apis/karpenter.sh");
	else
		judge_karpenter(k, &d->config.rules, &d->place, d->f);
}
