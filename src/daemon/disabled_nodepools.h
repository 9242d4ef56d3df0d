/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_DISABLED_NODEPOOLS_H
#define DAEMON_DISABLED_NODEPOOLS_H

#include <stdbool.h>

/*
 * The NodePools that people have disabled, for the webhook of every replica:
 * names behind a lock of their own that nothing else is taken under.  Where
 * there are none, which is the rule, the webhook takes no lock at all.
 */
struct closed;

struct closed *closed_new(void);	/* NULL: no memory */
void closed_free(struct closed *c);

/* A list begins; listed: it is complete, what it did not show is gone. */
void closed_listing(struct closed *c);
void closed_listed(struct closed *c);
void closed_set(struct closed *c, const char *pool, bool disabled);

bool closed_has(struct closed *c, const char *pool);

#endif
