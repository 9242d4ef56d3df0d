/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_SERVE_H
#define DAEMON_SERVE_H

#include "edge/timing.h"
#include "wire/config/config.h"
#include "wire/kubeconfig/kubeconfig.h"

/* Runs the daemon until SIGTERM or SIGINT and returns the exit code of the
 * process.  It takes ownership of what *access contains.  Call it before any
 * thread is started, because it blocks the signals for all threads. */
int serve_run(const struct config *c, struct kubeconfig *access,
	      const struct timing *t);

/* Like serve_run, for `certs --renew`: runs the certificate renewer alone,
 * without a Lease and without a port.  If two of these processes run at the
 * same time, they only cost each other retries. */
int serve_renew(const struct config *c, struct kubeconfig *access,
		const struct timing *t);

#endif
