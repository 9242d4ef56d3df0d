/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_DISABLED_NODEPOOLS_H
#define DAEMON_DISABLED_NODEPOOLS_H

#include <stdbool.h>

/*
 * The set of the names of the NodePools that people have disabled.  Every
 * replica keeps one for its webhook.  Any thread may call any function: the set
 * has a lock of its own, under which nothing else is locked or called.  A
 * lookup in an empty set, the usual case, takes no lock.  The set holds
 * SCOPES_MAX names.  Further NodePools count as enabled.
 */
struct disabled_nodepools;

/* Main calls these two.  _new returns NULL if memory is short. */
struct disabled_nodepools *disabled_nodepools_new(void);
void disabled_nodepools_free(struct disabled_nodepools *d);

/* _listing begins a list of NodePools, and _set adds each name that it shows as
 * disabled.  _listed ends a complete list: it drops the names that the list did
 * not show. */
void disabled_nodepools_listing(struct disabled_nodepools *d);
void disabled_nodepools_listed(struct disabled_nodepools *d);
void disabled_nodepools_set(struct disabled_nodepools *d, const char *nodepool,
			    bool disabled);

/* The webhook calls this with the name of the NodePool from the review.  The
 * empty name is in no set. */
bool disabled_nodepools_has(struct disabled_nodepools *d, const char *nodepool);

#endif
