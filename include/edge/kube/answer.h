/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_KUBE_ANSWER_H
#define EDGE_KUBE_ANSWER_H

#include <stdbool.h>

#include "edge/kube/kube.h"

/*
 * What an API server's answer means.  Every caller that acts on a status asks
 * answer_class, and maps the class to an outcome of its own step machine.
 */
enum answer_class {
	ANSWER_FAILED,	/* anything else, 401 and 408 too (another token may
			   come), or none: no word on the object; a write may
			   have been done */
	ANSWER_OK,	/* 200, 201 */
	ANSWER_GONE,	/* 404 with a Status: no such object */
	ANSWER_UNSERVED,	/* 404 in plain text: no such resource */
	ANSWER_EXISTS,	/* 409, reason AlreadyExists */
	ANSWER_CONFLICT,	/* 409 of another reason: another version, or a
				   quota's */
	ANSWER_EXPIRED,	/* 410: a version or a page that is too old */
	ANSWER_INVALID,	/* 422: a test of a JSON patch failed, or the object
			   would be invalid */
	ANSWER_BUSY,	/* 429, 503: not done; reply->retry_after_ms */
	ANSWER_BLOCKED,	/* 500: an admission webhook of somebody's fails
			   closed */
	ANSWER_REFUSED,	/* any other 4xx */
};

/* A 404 of a proxy is FAILED: it says nothing of what the API server has.
 * r->status 0, no answer, is FAILED, and r->body is not read. */
enum answer_class answer_class(const struct kube_reply *r);

/* A refusal in words: the Status's message, or "HTTP 500". */
#define ANSWER_TEXT 200
const char *answer_text(const struct kube_reply *r, char text[ANSWER_TEXT]);

/* ANSWER_UNSERVED: a CRD that is not installed. */
bool answer_unserved(const struct kube_reply *r);

#endif
