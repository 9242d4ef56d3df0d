/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_CLIENT_H
#define TOOLS_CLIENT_H

#include "edge/kube/kube.h"
#include "edge/timing.h"

/* Calls kube_new for a command: with credential plugins, the deadlines of *t,
 * and holderctl as the user agent.  On success it takes ownership of *access
 * and zeroes it.  If c is not NULL, the clock learns the server's time from the
 * replies. */
struct kube *client_new(struct kubeconfig *access, struct clock *c,
			const struct timing *t, struct err *e);

#endif
