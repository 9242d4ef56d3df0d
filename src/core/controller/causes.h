/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_CAUSES_H
#define CORE_CONTROLLER_CAUSES_H

#include <stdbool.h>

/*
 * Causes for which something has to be done again for all machines or for all
 * scopes.  Any file that learns of a cause adds it.  Only controller_advance
 * takes a cause out and does the work.
 */
enum cause {
	/* Causes that may have moved every deadline. */
	CAUSE_CLOCK = 1 << 0,  /* The API server's clock was set. */
	CAUSE_LISTED = 1 << 1, /* All objects of a kind are known now. */
	/* Causes for which the cap and the released-at of all scopes have to be
	 * set again. */
	CAUSE_LEAD = 1 << 2,  /* A lead has begun or ended. */
	CAUSE_DEBTS = 1 << 3, /* An earlier leader's debts were restored. */
};

struct causes {
	unsigned bits;
};

static inline void
causes_add(struct causes *c, enum cause why)
{
	c->bits |= why;
}

/* Removes these causes.  Returns whether any of them was present. */
static inline bool
causes_take(struct causes *c, unsigned which)
{
	bool any = (c->bits & which) != 0;

	c->bits &= ~which;
	return any;
}

#endif
