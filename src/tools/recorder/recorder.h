/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_RECORDER_RECORDER_H
#define TOOLS_RECORDER_RECORDER_H

#include <stdint.h>

#include "core/base/err.h"
#include "edge/timing.h"
#include "wire/kubeconfig/kubeconfig.h"

/*
 * The command `record` (docs/what-if.md#record): watches NodeClaims and
 * Karpenter's Events, and prints what is new as a record.  The times are those
 * of the objects; only when a NodeClaim went is our own.
 *
 * A thread for each of the two watches keeps what it brings; the caller's
 * thread prints it, in order.  While nobody reads stdout all of them wait,
 * until SIGINT, SIGTERM or SIGHUP comes; a second one ends the process at once.
 */
struct recorder_setup {
	int64_t for_ms; /* when to stop, from the first complete lists
				   on; 0: at a signal */
};

/* Runs until it is over.  *access becomes the recorder's.  Returns -1 with *e
 * set if the first lists fail, or if not all can be printed.  Whatever fails
 * later is told on stderr, once for each time that it begins to fail, and tried
 * again. */
int recorder_run(const struct recorder_setup *s, struct kubeconfig *access,
		 const struct timing *t, struct err *e);

#endif
