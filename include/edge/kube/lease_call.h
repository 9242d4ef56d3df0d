/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_KUBE_LEASE_CALL_H
#define EDGE_KUBE_LEASE_CALL_H

#include "edge/kube/kube.h"
#include "wire/api/lease.h"

/* Turns a step of core/protocol/lease into a call to the API server, and the
 * answer into an outcome.  The struct is the memory for one request.  It takes
 * almost 500 KiB, so do not put it on the stack.  The functions keep no state;
 * any thread may call them. */
struct lease_call {
	char path[300 + 2 * NAME_BYTES];
	char body[LEASE_BODY_BYTES];
};

/* Makes the request *q for a LEASE_GET, LEASE_CREATE or LEASE_UPDATE.  *q
 * points into *c, which has to stay until the request is started. */
void lease_call_make(struct lease_call *c, const char *namespace_name,
		     const char *name, const struct lease_todo *todo,
		     struct kube_request *q);

/* Turns an answer into an outcome.  *no_answer says why there is no answer; its
 * code is ERR_NONE if there is an answer.  If `observes` is true, it reads the
 * state that leaders in mode observe write, and otherwise the state that
 * leaders in mode enforce write.  *record is the caller's memory; if o->code is
 * LEASE_OK, *o points to it.  If o->code is LEASE_FAILED, *why says why;
 * otherwise why->code is ERR_NONE. */
void lease_call_answered(const struct kube_reply *r,
			 const struct err *no_answer, bool observes,
			 struct lease_record *record, struct lease_outcome *o,
			 struct err *why);

/* Makes an identity as controller-runtime does: the name of the Pod ($POD_NAME)
 * or else of the host, an underscore, 16 random hex digits, and `suffix` (at
 * most 32 bytes).  A name that is too long is cut.  `kubectl karpenter-holder`
 * finds the leading Pod by its name in the identity.  $POD_NAME comes first
 * because the host's name is not the Pod's if the Pod uses the host's
 * network. */
void lease_call_identity(const char *suffix, char out[LEASE_HOLDER_BYTES]);

#endif
