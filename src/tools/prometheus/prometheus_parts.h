/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_PROMETHEUS_PROMETHEUS_PARTS_H
#define TOOLS_PROMETHEUS_PROMETHEUS_PARTS_H

#include "edge/kube/kube.h"
#include "prometheus.h"

/* Functions of prometheus.c for the other files of this room. */

/* Returns the client, or NULL with *e set. */
struct kube *prometheus_open(const struct prometheus_setup *s, struct err *e);
/* Both functions complete *e with the flag to check.  prometheus_unanswered
 * takes the error of a call that ended without an answer.  prometheus_refused
 * makes *e from an answer that is not 2xx. */
void prometheus_unanswered(struct err *e);
void prometheus_refused(const struct kube_reply *r, struct err *e);

#endif
