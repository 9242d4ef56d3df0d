/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_JOB_H
#define DAEMON_JOB_H

#include "core/rules/rules.h"
#include "edge/timing.h"
#include "state.h"
#include "wire/api/pager.h"

/*
 * A job carries out one action of the controller as calls to the API server.
 * It builds each request and interprets the reply.  A list takes one call for
 * each page.  A read takes a second call if the whole NodeClaim is too large or
 * cannot be decoded.  Every other action takes one call.  The sweeper's thread
 * makes all calls.
 */
struct job {
	bool used;
	struct action action;
	struct pager pager;	     /* the pages of a list */
	const struct job_env *env;   /* for the items of a page */
	bool metadata;		     /* the read asks for metadata only */
	char why[API_MESSAGE_BYTES]; /* outcome.why points to it */
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

/* With MODE_OBSERVE this takes the place of a job.  It logs the write that the
 * controller wants and that is not made, and sets *out, which points to *a. */
void job_tell(const struct job_env *v, const struct action *a,
	      struct controller_outcome *out);

/* Takes the reply, or in *e the reason why there is none.  It returns true if
 * the action is over, and *out is the outcome, which points into *j.  It
 * returns false if the job needs another call: call job_start again. */
bool job_answered(const struct job_env *v, struct job *j,
		  const struct kube_reply *r, const struct err *e,
		  struct controller_outcome *out);

#endif
