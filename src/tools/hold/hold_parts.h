/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_HOLD_HOLD_PARTS_H
#define TOOLS_HOLD_HOLD_PARTS_H

#include "edge/exec/child.h"
#include "hold.h"
#include "keeper.h"

/* The state that all ways to hold share. */
struct holding {
	const struct hold_setup *setup;
	const struct timing *timing;
	struct clock *clock;
	struct kube *kube;
	struct keeper keeper;
	struct child child;
};

/* Call these after keeper_open.  Each returns the exit code, or -1 with *e
 * set. */
int hold_while(struct holding *h, struct err *e);
int hold_query(struct holding *h, struct err *e);

#endif
