/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_KUBE_ANSWER_H
#define EDGE_KUBE_ANSWER_H

#include <stdbool.h>

#include "core/base/limits.h"
#include "edge/kube/kube.h"

/*
 * Classifies the answers of an API server.  Every caller that acts on a status
 * calls answer_class, and maps the class to an outcome of its own step machine.
 */
enum answer_class {
	/* There is no answer, or one that is not listed below, such as a 401 or
	 * 408.  The state of the object is unknown: a write may have been done.
	 * A retry may help. */
	ANSWER_FAILED,
	ANSWER_OK,	 /* 200, 201 */
	ANSWER_GONE,	 /* 404 with a Status: no such object */
	ANSWER_UNSERVED, /* 404 in plain text: no such resource */
	ANSWER_EXISTS,	 /* 409, reason AlreadyExists */
	/* 409 for any other reason: the object has another version, or a quota
	 * does not allow the write. */
	ANSWER_CONFLICT,
	ANSWER_EXPIRED, /* 410: a version or a page that is too old */
	ANSWER_INVALID, /* 422: a test of a JSON patch failed, or the object
			   would be invalid */
	/* 429, 503: the API server did not execute the request.  See
	 * reply->retry_after_ms. */
	ANSWER_BUSY,
	ANSWER_BLOCKED, /* 500 because somebody's admission webhook cannot be
			   called and has failurePolicy Fail */
	ANSWER_REFUSED, /* any other 4xx */
};

/* Returns the class of an answer.  A 404 from a proxy is ANSWER_FAILED, because
 * the object may exist all the same.  If there is no answer (r->status 0), the
 * class is ANSWER_FAILED, too. */
enum answer_class answer_class(const struct kube_reply *r);

/* Writes the reason of a refusal to text, for people: the message of the Status
 * in the answer, or else its HTTP status, such as "HTTP 500".  Returns text. */
#define ANSWER_TEXT API_MESSAGE_BYTES
const char *answer_text(const struct kube_reply *r, char text[ANSWER_TEXT]);

/* Returns whether the class is ANSWER_UNSERVED, which means that a CRD is not
 * installed. */
bool answer_unserved(const struct kube_reply *r);

#endif
