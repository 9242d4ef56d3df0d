/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/kube/answer.h"

#include <stdio.h>
#include <string.h>

#include "wire/api/object.h"

const char *
answer_text(const struct kube_reply *r, char text[ANSWER_TEXT])
{
	struct status st;

	if (status_decode(r->body, r->body_bytes, &st) && st.message[0] != '\0')
		(void)snprintf(text, ANSWER_TEXT, "%s", st.message);
	else
		(void)snprintf(text, ANSWER_TEXT, "HTTP %d", r->status);
	return text;
}

bool
answer_unserved(const struct kube_reply *r)
{
	/* k8s.io/apiserver/pkg/util/notfoundhandler; a proxy says it otherwise. */
	return r->status == 404 &&
	       strncmp(r->body, "404 page not found", 18) == 0;
}
