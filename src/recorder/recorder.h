/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDER_RECORDER_H
#define RECORDER_RECORDER_H

#include <stdint.h>

#include "core/base/err.h"
#include "edge/timing.h"
#include "wire/kubeconfig/kubeconfig.h"

/*
 * The command `record` (docs/what-if.md#record): lists NodeClaims and
 * Karpenter's Events again and again, and prints what is new as a record.  The
 * times are those of the objects, so the pause between two lists hardly
 * matters; only when a NodeClaim went is known as exactly as that.
 */
struct recorder_setup {
	int64_t every_ms;	/* from one list to the next, above 0 */
	int64_t for_ms;		/* when to stop; 0: at SIGINT or SIGTERM */
};

/* Runs until it is over.  *access becomes the recorder's.  Returns -1 with *e
 * set if the first lists fail, or if nothing can be printed.  Later lists that
 * fail are told on stderr, once for each time that they begin to fail. */
int recorder_run(const struct recorder_setup *s, struct kubeconfig *access,
		 const struct timing *t, struct err *e);

#endif
