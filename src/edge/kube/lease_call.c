/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/kube/lease_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "edge/kube/answer.h"

void
lease_call_make(struct lease_call *c, const char *namespace_name,
		const char *name, const struct lease_todo *todo,
		struct kube_request *q)
{
	struct buf b;

	*q = (struct kube_request){.method = "GET",
				   .path = c->path,
				   .timeout_ms = todo->timeout_ms};
	buf_init(&b, c->body, sizeof(c->body));
	(void)snprintf(c->path, sizeof(c->path), LEASE_ITEM_PATH,
		       namespace_name, name);
	if (todo->step == LEASE_CREATE) {
		q->method = "POST";
		(void)snprintf(c->path, sizeof(c->path), LEASE_PATH,
			       namespace_name);
		q->content_type = LEASE_CREATE_TYPE;
		lease_create(&b, namespace_name, name, todo->record);
	} else if (todo->step == LEASE_UPDATE) {
		q->method = "PATCH";
		q->content_type = LEASE_UPDATE_TYPE;
		lease_update(&b, todo->record, todo->with_spec,
			     todo->with_state);
	}
	if (b.len > 0) {
		q->body = b.data;
		q->body_bytes = b.len;
	}
}

static enum lease_code
lease_code_of(const struct kube_reply *r)
{
	switch (answer_class(r)) {
	case ANSWER_OK:
		return LEASE_OK;
	case ANSWER_GONE:
		return LEASE_NOT_FOUND;
	case ANSWER_EXISTS:
	case ANSWER_CONFLICT:
		return LEASE_CONFLICT;
	case ANSWER_BUSY:
		return LEASE_BUSY;
	default:
		return LEASE_FAILED;
	}
}

void
lease_call_answered(const struct kube_reply *r, const struct err *no_answer,
		    bool observes, struct lease_record *record,
		    struct lease_outcome *o, struct err *why)
{
	char text[ANSWER_TEXT];

	*o = (struct lease_outcome){.code = LEASE_FAILED, .retry_after_ms = -1};
	*why = *no_answer;
	if (no_answer->code != ERR_NONE)
		return;
	o->code = lease_code_of(r);
	o->refused = o->code == LEASE_FAILED && r->status < 500;
	if (o->code == LEASE_OK &&
	    lease_decode(r->body, r->body_bytes, observes, record, why)) {
		o->code = LEASE_FAILED;
		o->refused = true;
	}
	if (o->code == LEASE_OK)
		o->record = record;
	if (o->code == LEASE_BUSY)
		o->retry_after_ms = r->retry_after_ms;
	if (o->code == LEASE_FAILED && why->code == ERR_NONE)
		(void)err_set(why, ERR_INPUT, "%s", answer_text(r, text));
}

void
lease_call_identity(const char *suffix, char out[LEASE_HOLDER_BYTES])
{
	char host[65] = "holder";
	const char *name = getenv("POD_NAME");
	unsigned char r[8] = {0};

	(void)gethostname(host, sizeof(host) - 1);
	if (name == NULL || name[0] == '\0')
		name = host;
	(void)!getrandom(r, sizeof(r), 0);
	(void)snprintf(out, LEASE_HOLDER_BYTES,
		       "%.*s_%02x%02x%02x%02x%02x%02x%02x%02x%s",
		       (int)(LEASE_HOLDER_BYTES - 18 - strlen(suffix)), name,
		       r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], suffix);
}
