/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_CERT_RENEWER_H
#define DAEMON_CERT_RENEWER_H

#include "edge/timing.h"
#include "serving_cert.h"
#include "state.h"
#include "wire/config/config.h"
#include "worker.h"

/* The certificate renewer is the worker for selfSigned.  It keeps a CA and a
 * serving certificate in a Secret, and the CA in the webhook's caBundle.
 * core/protocol/renewal decides what to do.  The worker acts while this replica
 * leads, or if this replica has had no valid certificate for a while.  Replicas
 * read the certificate from the mounted Secret and never get it from this
 * worker directly. */
struct cert_renewer;

/* Everything but namespace_name must outlive the renewer. */
struct cert_renewer_setup {
	struct state *shared;
	struct kube *kube;
	const struct config *config;
	struct serving_cert *pair;   /* the pair that this replica serves */
	const char *namespace_name;  /* of the Secret and the Service */
	const struct timing *timing; /* only call_ms is used */
};

/* Main calls this.  It returns NULL on failure, and *e says why.  Stopping the
 * worker cuts the call in progress.  Call state_stop before you stop the
 * worker. */
struct cert_renewer *cert_renewer_new(const struct cert_renewer_setup *o,
				      struct worker *worker, struct err *e);
/* Main calls this after the join.  NULL is allowed. */
void cert_renewer_free(struct cert_renewer *r);

#endif
