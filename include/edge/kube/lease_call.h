/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_KUBE_LEASE_CALL_H
#define EDGE_KUBE_LEASE_CALL_H

#include "edge/kube/kube.h"
#include "wire/api/lease.h"

/* A step of core/protocol/lease as a call to the API server, and back. */
struct lease_call {
	char path[300 + 2 * NAME_BYTES];
	char body[LEASE_BODY_BYTES];
};

/* The request stands on *c, for as long as it is under way. */
void lease_call_make(struct lease_call *c, const char *namespace_name,
		     const char *name, const struct lease_todo *todo,
		     struct kube_request *q);

/* no: why there is no answer, ERR_NONE where there is one.  *record is what
 * the outcome may stand on.  FAILED: *why says it. */
void lease_call_answered(const struct kube_reply *r, const struct err *no,
			 struct lease_record *record, struct lease_outcome *o,
			 struct err *why);

/* As controller-runtime: the host's name and something of this process. */
void lease_identity(const char *suffix, char out[LEASE_HOLDER_BYTES]);

#endif
