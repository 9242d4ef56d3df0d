/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_CAUSES_H
#define CORE_CONTROLLER_CAUSES_H

#include <stdbool.h>

/*
 * Why something has to be done again for all machines or for all scopes.  Any
 * file that learns of a cause adds it.  controller_advance alone takes it and
 * does the work.
 */
enum cause {
	/* Every deadline may have moved. */
	CAUSE_CLOCK = 1 << 0,  /* the API server's clock was set */
	CAUSE_LISTED = 1 << 1, /* objects of a kind are known from now on */
	/* The deadlines of boots that failed may have moved. */
	CAUSE_NODEPOOL = 1 << 2, /* a NodePool's terms have changed */
	/* All scopes have to be told their caps and released-at. */
	CAUSE_LEAD = 1 << 3,  /* a lead has begun or ended */
	CAUSE_DEBTS = 1 << 4, /* an earlier leader's debts were taken over */
};

struct causes {
	unsigned bits;
};

static inline void
causes_add(struct causes *c, enum cause why)
{
	c->bits |= why;
}

/* Takes these causes out.  Returns whether any of them was there. */
static inline bool
causes_take(struct causes *c, unsigned which)
{
	bool any = (c->bits & which) != 0;

	c->bits &= ~which;
	return any;
}

#endif
