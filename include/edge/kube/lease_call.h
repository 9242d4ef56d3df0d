/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_KUBE_LEASE_CALL_H
#define EDGE_KUBE_LEASE_CALL_H

#include "edge/kube/kube.h"
#include "wire/api/lease.h"

/* A step of core/protocol/lease as a call to the API server, and back.
 * Stateless; any thread. */
struct lease_call {
	char path[300 + 2 * NAME_BYTES];
	char body[LEASE_BODY_BYTES];
};

/* Makes the request *q, which points into *c: keep *c while the request is
 * under way. */
void lease_call_make(struct lease_call *c, const char *namespace_name,
		     const char *name, const struct lease_todo *todo,
		     struct kube_request *q);

/* Turns an answer into an outcome.  no: why there is no answer; ERR_NONE if
 * there is one.  *record is memory that the outcome may point to.  If the
 * outcome is FAILED, *why says why. */
void lease_call_answered(const struct kube_reply *r, const struct err *no,
			 struct lease_record *record, struct lease_outcome *o,
			 struct err *why);

/* Makes an identity as controller-runtime does: the host's name and something
 * that is unique to this process. */
void lease_identity(const char *suffix, char out[LEASE_HOLDER_BYTES]);

#endif
