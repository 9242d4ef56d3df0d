/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_HEALTH_H
#define DAEMON_HEALTH_H

#include "edge/timing.h"
#include "hook.h"
#include "serving_cert.h"
#include "state.h"
#include "worker.h"

/*
 * /healthz, /livez, /readyz and /metrics on the metrics address, as the API
 * server and controller-runtime answer them.
 */
struct health {
	struct state *shared;
	struct hook *hook;
	struct serving_cert *pair;
	const struct worker *workers;	/* checked by their kinds' names */
	unsigned workers_n;
	const struct timing *timing;
	const char *cluster_scope;
	const char *lease_name;
	_Atomic int64_t main_beat_ms;
	struct server *server;
};

int health_start(struct health *h, const char *address, struct err *e);
void health_stop(struct health *h);
void health_beat(struct health *h);	/* main, each round */

#endif
