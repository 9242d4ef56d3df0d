/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_JOB_H
#define DAEMON_JOB_H

#include "core/rules/admit.h"
#include "edge/timing.h"
#include "state.h"
#include "wire/api/pager.h"

/*
 * One action of the controller as calls to the API server: which request, and
 * what its answer means.  A list is one call a page, all others are one call.
 */
struct job {
	bool used;
	struct action action;
	struct pager pager;	/* of a list */
	char why[NOTE_WHY_BYTES];	/* outcome.why */
};

struct job_env {
	struct state *shared;
	const struct rules *rules;
	const struct timing *timing;
};

/* Of another action; what it is stands in j->action. */
void job_init(struct job *j);

int job_start(const struct job_env *v, const struct job *j, uint64_t tag,
	      struct kube_lanes *pool, struct err *e);

/* An answer came, or none (e->code).  true: the action is over, *out says how;
 * false: the job goes on with another call. */
bool job_answered(const struct job_env *v, struct job *j,
		  const struct kube_reply *r, const struct err *e,
		  struct outcome *out);

#endif
