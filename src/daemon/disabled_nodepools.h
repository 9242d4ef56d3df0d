/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_DISABLED_NODEPOOLS_H
#define DAEMON_DISABLED_NODEPOOLS_H

#include <stdbool.h>

/*
 * The NodePools that people have disabled, for the webhook of every replica:
 * names behind a lock of their own that nothing else is taken under.  Where
 * there are none, which is the rule, the webhook takes no lock at all.
 */
struct disabled_nodepools;

struct disabled_nodepools *disabled_nodepools_new(void);	/* NULL: no memory */
void disabled_nodepools_free(struct disabled_nodepools *c);

/* A list begins; listed: it is complete, what it did not show is gone. */
void disabled_nodepools_listing(struct disabled_nodepools *c);
void disabled_nodepools_listed(struct disabled_nodepools *c);
void disabled_nodepools_set(struct disabled_nodepools *c, const char *pool,
			    bool disabled);

bool disabled_nodepools_has(struct disabled_nodepools *c, const char *pool);

#endif
