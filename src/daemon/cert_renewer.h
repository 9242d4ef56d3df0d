/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_CERT_RENEWER_H
#define DAEMON_CERT_RENEWER_H

#include "edge/timing.h"
#include "serving_cert.h"
#include "state.h"
#include "wire/config/config.h"
#include "worker.h"

/* The worker that keeps, while we lead or nothing is served, a CA and a
 * serving certificate of our own in a Secret, and the CA in the webhook's
 * caBundle: core/protocol/renewal says what to do.  What replicas serve comes
 * to them through the mounted Secret. */
struct cert_renewer;

/* All of it but namespace_name outlives the renewer. */
struct cert_renewer_setup {
	struct state *shared;
	struct kube *kube;
	const struct config *config;
	struct serving_cert *pair;	/* what is served here */
	const char *namespace_name;	/* of Secret and Service */
	const struct timing *timing;	/* call_ms */
};

/* NULL: *e says why.  The worker's stop cuts the call under way; state_stop
 * has to come before it. */
struct cert_renewer *cert_renewer_new(const struct cert_renewer_setup *o,
				      struct worker *worker, struct err *e);
void cert_renewer_free(struct cert_renewer *r);	/* after the join; NULL is
						   fine */

#endif
