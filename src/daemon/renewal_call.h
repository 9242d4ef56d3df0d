/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_RENEWAL_CALL_H
#define DAEMON_RENEWAL_CALL_H

#include "core/protocol/renewal.h"
#include "edge/certs/certs.h"
#include "edge/kube/answer.h"
#include "state.h"
#include "wire/api/secret.h"
#include "wire/api/webhook_config.h"
#include "wire/config/config.h"

/*
 * Performs one step of core/protocol/renewal as calls to the API server and
 * returns the outcome.  Every write carries the resource version that was read.
 * If somebody else writes at the same time, this therefore costs a retry and
 * nothing else.  Only the cert renewer's thread calls these functions.
 */
#define RENEWAL_BODY_BYTES                                                     \
	(WEBHOOKS_BODY_BYTES > SECRET_BODY_BYTES ? WEBHOOKS_BODY_BYTES         \
						 : SECRET_BODY_BYTES)

/* The data of all steps.  It takes some 750 KiB, so keep it on the heap. */
struct renewal_call {
	struct state *shared;
	struct kube_stream *stream;
	const struct config *config;
	int64_t call_ms;
	char namespace_name[64]; /* of the Secret and the Service */
	char names_text[2][2 * NAME_BYTES];
	struct certs_names names;
	bool stands_in; /* whether this replica acts without the lead */

	struct renewal_view view; /* the result of the last read */
	struct secret secret;
	struct webhooks webhooks;
	char pem[WEBHOOKS_BUNDLE_MAX];
	char body[RENEWAL_BODY_BYTES];
};

struct renewal_call_result {
	/* outcome.view points to `view` of struct renewal_call */
	struct renewal_outcome outcome;
	enum answer_class answer;
	int status; /* the HTTP status; 0: there was no reply, see err */
	struct kube_reply reply;
	struct err err;
};

/* Fills in `names` and `names_text`.  The caller fills in the other members
 * that stand before `view` in the struct. */
void renewal_call_names(struct renewal_call *r);

/* Performs any step but RENEWAL_WAIT.  RENEWAL_READ fills in r->view.  Steps
 * that write use what the last RENEWAL_READ read. */
void renewal_call_step(struct renewal_call *r, const struct renewal_todo *todo,
		       struct renewal_call_result *out);

/* Frees what was read and wipes keys. */
void renewal_call_forget(struct renewal_call *r);

#endif
