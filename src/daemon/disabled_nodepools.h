/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_DISABLED_NODEPOOLS_H
#define DAEMON_DISABLED_NODEPOOLS_H

#include <stdbool.h>

/*
 * The names of the NodePools that people have disabled, as a set that every
 * replica keeps for its webhook.  Any thread may call any function: a lock of
 * its own protects the set, and nothing else is taken or called under it.
 * Where the set is empty, as it usually is, a look at it takes no lock.  It
 * holds SCOPES_MAX names; more than that are taken for enabled.
 */
struct disabled_nodepools;

struct disabled_nodepools *disabled_nodepools_new(void);	/* NULL: no memory */
void disabled_nodepools_free(struct disabled_nodepools *c);

/* A list of NodePools begins.  What it shows comes through _set; when it is
 * complete, _listed drops the names that it did not show. */
void disabled_nodepools_listing(struct disabled_nodepools *c);
void disabled_nodepools_listed(struct disabled_nodepools *c);
void disabled_nodepools_set(struct disabled_nodepools *c, const char *pool,
			    bool disabled);

/* For the webhook, with the NodePool's name from the review; "" is in no set. */
bool disabled_nodepools_has(struct disabled_nodepools *c, const char *pool);

#endif
