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
 * One step of core/protocol/renewal as calls to the API server, and what came of it.
 * Every write stands on the version that was read, so that a second leader, or
 * a person, costs a retry and nothing else.
 */
#define RENEW_BODY_BYTES                                                       \
	(WEBHOOKS_BODY_BYTES > SECRET_BODY_BYTES ? WEBHOOKS_BODY_BYTES         \
						 : SECRET_BODY_BYTES)

struct renew {
	struct state *shared;
	struct kube_stream *stream;
	const struct config *config;
	int64_t call_ms;
	char namespace_name[64];	/* of Secret and Service */
	char names_text[2][2 * NAME_BYTES];
	struct certs_names names;
	bool stands_in;		/* acts without the lead */

	struct renewal_view view;	/* as read */
	struct secret secret;
	struct webhooks webhooks;
	char pem[WEBHOOKS_BUNDLE_MAX];
	char body[RENEW_BODY_BYTES];
};

struct renewal_call_result {
	enum renewal_outcome outcome;
	enum answer_class answer;
	int status;		/* HTTP; 0: no answer, err says why */
	int64_t retry_after_ms;	/* -1: none */
	struct kube_reply reply;
	struct err err;
};

/* The fields before the view are the caller's, these are not. */
void renewal_call_names(struct renew *r);

/* Any but a wait.  A READ leaves r->view. */
void renewal_call_step(struct renew *r, const struct renewal_todo *todo,
		struct renewal_call_result *out);

/* What was read; keys are wiped. */
void renewal_call_forget(struct renew *r);

#endif
