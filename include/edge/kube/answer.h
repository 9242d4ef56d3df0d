/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_KUBE_ANSWER_H
#define EDGE_KUBE_ANSWER_H

#include <stdbool.h>

#include "edge/kube/kube.h"

/* What an API server's refusal says, in words. */
#define ANSWER_TEXT 200
const char *answer_text(const struct kube_reply *r, char text[ANSWER_TEXT]);

/* The resource is not there at all: a CRD that is not installed answers with
 * a plain-text 404, an object that is missing with a Status. */
bool answer_unserved(const struct kube_reply *r);

#endif
