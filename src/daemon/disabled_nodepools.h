/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_DISABLED_NODEPOOLS_H
#define DAEMON_DISABLED_NODEPOOLS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The set of the names of the NodePools that the webhook leaves alone, because
 * people have disabled them or because a hold can do nothing for them
 * (docs/rules.md#nodepools-left-alone).  Every replica keeps such a set for its
 * webhook.  Any thread may call any function: the set has a leaf lock of its
 * own.  A lookup in an empty set, which is the usual case, takes no lock.  The
 * set holds at most SCOPES_MAX names.  Further NodePools count as enabled.
 * Times are server_ms.
 */
struct disabled_nodepools;

/* Main calls both functions.  disabled_nodepools_new returns NULL if there is
 * no memory. */
struct disabled_nodepools *disabled_nodepools_new(void);
void disabled_nodepools_free(struct disabled_nodepools *d);

/* Call disabled_nodepools_listing when a list of NodePools begins,
 * disabled_nodepools_set for each NodePool that a list or a watch shows, and
 * disabled_nodepools_listed when a list is complete, which drops the names that
 * the list did not show.  alone_ms is the time from which the NodePool is left
 * alone (nodepool_alone_ms).  INT64_MIN means always.  INT64_MAX means never
 * and removes the name. */
void disabled_nodepools_listing(struct disabled_nodepools *d);
void disabled_nodepools_listed(struct disabled_nodepools *d);
void disabled_nodepools_set(struct disabled_nodepools *d, const char *nodepool,
			    int64_t alone_ms);

/* Returns whether the NodePool is left alone now.  The webhook calls this with
 * the name in the review.  The empty name is in no set. */
bool disabled_nodepools_has(struct disabled_nodepools *d, const char *nodepool,
			    int64_t now_ms);

#endif
