/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_RECORDER_RECORDER_H
#define TOOLS_RECORDER_RECORDER_H

#include <stdint.h>

#include "core/base/err.h"
#include "edge/timing.h"
#include "wire/kubeconfig/kubeconfig.h"

/*
 * The command `record` (docs/what-if.md#record): watches NodeClaims and
 * Karpenter's Events, and prints what is new as a record.  The times in the
 * record come from the objects.  There is one exception: the end of a NodeClaim
 * has the time at which the recorder saw it.
 *
 * Each of the two watches has a thread that collects facts, and the caller's
 * thread prints the facts in order.  While nobody reads stdout, all three
 * threads wait.  A signal of edge/signals.h ends the wait; a second one ends
 * the process at once.
 */
struct recorder_setup {
	/* How long to record after both first lists are complete.  0: until a
	 * signal comes. */
	int64_t for_ms;
};

/* Records until for_ms is over or a signal comes.  It takes ownership of what
 * *access contains.  Returns -1 with *e set if a first list fails, or if a fact
 * cannot be printed.  Later failures are retried, and stderr reports when
 * trouble begins. */
int recorder_run(const struct recorder_setup *s, struct kubeconfig *access,
		 const struct timing *t, struct err *e);

#endif
