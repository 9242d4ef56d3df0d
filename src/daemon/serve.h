/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_SERVE_H
#define DAEMON_SERVE_H

#include "edge/timing.h"
#include "wire/config/config.h"
#include "wire/kubeconfig/kubeconfig.h"

/* Runs until SIGTERM or SIGINT; the exit code.  access is taken over.  Start
 * it before any thread: it blocks the signals. */
int serve_run(const struct config *c, struct kubeconfig *access,
	      const struct timing *t);

#endif
