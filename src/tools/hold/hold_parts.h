/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_HOLD_HOLD_PARTS_H
#define TOOLS_HOLD_HOLD_PARTS_H

#include "edge/exec/child.h"
#include "hold.h"
#include "keeper.h"

/* What the ways to hold have in common. */
struct holding {
	const struct hold_setup *setup;
	const struct timing *timing;
	struct clock *clock;
	struct kube *kube;
	struct keeper keeper;
	struct child child;
};

/* Each returns the exit code, or -1 with *e set.  The keeper is open. */
int hold_while(struct holding *h, struct err *e);
int hold_query(struct holding *h, struct err *e);

#endif
