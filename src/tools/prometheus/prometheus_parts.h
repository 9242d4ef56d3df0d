/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_PROMETHEUS_PROMETHEUS_PARTS_H
#define TOOLS_PROMETHEUS_PROMETHEUS_PARTS_H

#include "edge/kube/kube.h"
#include "prometheus.h"

/* What prometheus.c has for the other files of this room. */

/* Returns the client, or NULL with *e set. */
struct kube *prometheus_open(const struct prometheus_setup *s, struct err *e);
/* Say what is wrong, and which flag to look at: *e after a call that ended
 * without an answer, and *r as an answer that is not 2xx. */
void prometheus_unanswered(struct err *e);
void prometheus_refused(const struct kube_reply *r, struct err *e);

#endif
