/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_TRUTH_H
#define TESTS_SIM_TRUTH_H

#include "holder.h"

/*
 * What ought to be, computed from the world alone and without any of the
 * product's code; and the invariants, checked after every step.
 */

#define SLACK_MS 15000		/* hint, fresh list, clocks of seconds, lag */
#define CLOCKS_MS 3500		/* replicas and API server differ by seconds,
				   and stamps are whole ones */
#define TROUBLE_SLACK_MS 100000	/* the longest backoffs, one after the other */
#define WRITES_MAX 6		/* to one object, beside two for each turn, for
				   what a person does, an Event, a restart */
#define TRIES_MAX 40		/* calls for one object in a minute, in trouble */

struct truth {
	struct world *w;
	struct holder *holders;
	int holders_n;
	uint64_t seen_rv;	/* the world has not changed since … */
	int64_t seen_at, looked_at;
	const struct holder *seen_leader;
};

void truth_init(struct truth *t, struct world *w, struct holder *holders,
		int holders_n);
/* When the machine's own quiet time ends, as of now (server time); STAMP_NONE:
 * its NodePool is left out.  One of its objects is there. */
int64_t truth_own_ms(const struct world *w, const struct rules *r,
		     const struct machine *m);
void truth_check(struct truth *t);
/* Faults have stopped and everything is quiet for good (I8). */
void truth_last(struct truth *t);

#endif
