/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_SERVE_H
#define DAEMON_SERVE_H

#include "edge/timing.h"
#include "wire/config/config.h"
#include "wire/kubeconfig/kubeconfig.h"

/* Runs the daemon until SIGTERM or SIGINT and returns the exit code of the
 * process.  It takes ownership of what *access holds.  Call it before any
 * thread is started because it blocks the signals. */
int serve_run(const struct config *c, struct kubeconfig *access,
	      const struct timing *t);

/* The same for `certs --renew`: it runs the certificate renewer alone, without
 * a Lease and without a port.  If two such processes run at once, they only
 * cost each other retries. */
int serve_renew(const struct config *c, struct kubeconfig *access,
		const struct timing *t);

#endif
