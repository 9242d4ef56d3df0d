/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_JOB_H
#define DAEMON_JOB_H

#include "core/rules/rules.h"
#include "edge/timing.h"
#include "state.h"
#include "wire/api/pager.h"

/*
 * A job carries out one action of the controller by calls to the API server.
 * The job makes each request and interprets the reply.  A list needs one call
 * for each page.  A read needs a second call if the whole NodeClaim is too
 * large or cannot be decoded.  Every other action needs one call.  Only the
 * sweeper's thread calls these functions.
 */
struct job {
	bool used;
	struct action action;
	struct pager pager; /* the pages of a list */
	/* the job_env of job_start, for the items of a page */
	const struct job_env *env;
	/* Whether the read asks for metadata only. */
	bool metadata;
	/* *out of job_answered points to this text */
	char why[API_MESSAGE_BYTES];
};

struct job_env {
	struct state *shared;
	const struct rules *rules;
	const struct timing *timing;
};

/* Begins a new action. */
void job_init(struct job *j, const struct action *a);

/* Sends the next request of the job on a free lane.  *v must outlive the job.
 * `tag` comes back with the reply.  It returns -1 if the request cannot be
 * sent, and *e says why. */
int job_start(const struct job_env *v, struct job *j, uint64_t tag,
	      struct kube_lanes *lanes, struct err *e);

/* With MODE_OBSERVE the sweeper calls this instead of running a job.  It logs
 * the write that the controller would make, and sets *out, which points to
 * *a. */
void job_tell(const struct job_env *v, const struct action *a,
	      struct controller_outcome *out);

/* Takes the reply.  If there is no reply, *e says why.  It returns true if the
 * action is over, and *out is the outcome, which points into *j.  It returns
 * false if the job needs another call: call job_start again. */
bool job_answered(const struct job_env *v, struct job *j,
		  const struct kube_reply *r, const struct err *e,
		  struct controller_outcome *out);

#endif
