/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/kube/answer.h"

#include <stdio.h>
#include <string.h>

#include "wire/api/watch.h"

const char *
answer_text(const struct kube_reply *r, char text[ANSWER_TEXT])
{
	struct status st;

	if (watch_status_decode(r->body, r->body_bytes, &st) &&
	    st.message[0] != '\0')
		(void)snprintf(text, ANSWER_TEXT, "%s", st.message);
	else
		(void)snprintf(text, ANSWER_TEXT, "HTTP %d", r->status);
	return text;
}

bool
answer_unserved(const struct kube_reply *r)
{
	/* The API server sends this text for a path that it does not serve
	 * (k8s.io/apiserver/pkg/util/notfoundhandler).  A proxy's 404 has
	 * another text. */
	return r->status == 404 &&
	       strncmp(r->body, "404 page not found", 18) == 0;
}

static bool
read_status(const struct kube_reply *r, struct status *st)
{
	return watch_status_decode(r->body, r->body_bytes, st);
}

/* Returns whether an admission webhook could not be called, which the API
 * server reports as an internal error (k8s.io/apiserver
 * pkg/admission/plugin/webhook/errors). */
static bool
webhook_failed(const struct kube_reply *r)
{
	struct status st;

	return read_status(r, &st) &&
	       strstr(st.message, "failed calling webhook") != NULL;
}

static bool
already_exists(const struct kube_reply *r)
{
	struct status st;

	return read_status(r, &st) && strcmp(st.reason, "AlreadyExists") == 0;
}

static enum answer_class
class_of_404(const struct kube_reply *r)
{
	struct status st;

	if (answer_unserved(r))
		return ANSWER_UNSERVED;
	return read_status(r, &st) ? ANSWER_GONE : ANSWER_FAILED;
}

enum answer_class
answer_class(const struct kube_reply *r)
{
	switch (r->status) {
	case 200:
	case 201:
		return ANSWER_OK;
	case 401:
	case 408:
		return ANSWER_FAILED;
	case 404:
		return class_of_404(r);
	case 409:
		return already_exists(r) ? ANSWER_EXISTS : ANSWER_CONFLICT;
	case 410:
		return ANSWER_EXPIRED;
	case 422:
		return ANSWER_INVALID;
	case 429:
	case 503:
		return ANSWER_BUSY;
	case 500:
		return webhook_failed(r) ? ANSWER_BLOCKED : ANSWER_FAILED;
	default:
		return r->status >= 400 && r->status < 500 ? ANSWER_REFUSED
							   : ANSWER_FAILED;
	}
}
