/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_KUBE_ANSWER_H
#define EDGE_KUBE_ANSWER_H

#include <stdbool.h>

#include "edge/kube/kube.h"

/* What the refusal of an API server says, in words, written to text.  Any
 * thread. */
#define ANSWER_TEXT 200
const char *answer_text(const struct kube_reply *r, char text[ANSWER_TEXT]);

/* Is the resource not served at all?  A CRD that is not installed answers with
 * a plain-text 404, a missing object with a Status. */
bool answer_unserved(const struct kube_reply *r);

#endif
