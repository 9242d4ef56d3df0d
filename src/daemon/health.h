/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_HEALTH_H
#define DAEMON_HEALTH_H

#include "edge/timing.h"
#include "hook.h"
#include "serving_cert.h"
#include "state.h"
#include "status.h"
#include "worker.h"

/*
 * The server on the metrics address.  It serves /healthz, /livez and /readyz as
 * the API server does, /metrics as controller-runtime does, and /status.  Main
 * fills in the fields up to lease_name, calls status_init for `status`, and
 * then calls the functions below.  The server's worker writes the pages of
 * metrics and of /status.  Its serving thread answers the probes itself,
 * without the table, so no probe waits for another request.
 */
struct health {
	struct state *shared;
	struct hook *hook;
	struct serving_cert *pair;
	/* Each check of /livez finds the worker by the name of the worker's
	 * kind. */
	const struct worker *workers;
	unsigned workers_n;
	const struct timing *timing;
	const char *cluster_scope;
	const char *lease_name;
	struct status status;
	_Atomic int64_t main_beat_ms;
	struct server *server;
};

/* health_start returns -1 if the server cannot be started, and *e says why.
 * Everything that the fields point to must outlive health_stop. */
int health_start(struct health *h, const char *address, struct err *e);
void health_stop(struct health *h);
/* Main calls this in each round of its loop.  If the last call is too long ago,
 * the check "main" of /livez fails. */
void health_beat(struct health *h);

#endif
