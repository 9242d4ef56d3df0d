/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_SERVE_H
#define CMD_SERVE_H

#include "timing.h"
#include "wire/config.h"
#include "wire/kubeconfig.h"

/* Runs until SIGTERM or SIGINT; the exit code.  access is taken over.  Start
 * it before any thread: it blocks the signals. */
int serve_run(const struct config *c, struct kubeconfig *access,
	      const struct timing *t);

#endif
