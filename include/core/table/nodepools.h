/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TABLE_NODEPOOLS_H
#define CORE_TABLE_NODEPOOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/nodepool.h"
#include "core/rules/admit.h"

/*
 * The NodePools as they are seen, and what their annotations and the rules
 * together say of a NodePool's machines (docs/rules.md#nodepool-annotations).
 * There are dozens of them, so a scan is as good as an index.  Not thread-safe:
 * callers hold the owner's lock.
 */
struct nodepool_terms {
	bool out;		/* excluded or disabled: its machines are never
				   held */
	int64_t until_ms;	/* held by hand until then; STAMP_NONE: not, or
				   that time has passed */
	int64_t released_ms;	/* machines created before do not count;
				   STAMP_NONE: none, or yet to come */
	int64_t hold_ms;
	int64_t max_ms;		/* the cap of a scope that is this NodePool;
				   0: no cap */
};

struct nodepools {
	const struct rules *rules;
	struct nodepool *at;	/* a free one has the name "" */
	uint32_t *generation;	/* of the list or watch that showed it last */
	uint32_t top, max;
};

int nodepools_init(struct nodepools *p, const struct rules *rules,
		   uint32_t max);
void nodepools_done(struct nodepools *p);

/* The NodePool of that name; NULL if it has not been seen. */
const struct nodepool *nodepools_find(const struct nodepools *p,
				      const char *name);
/* Adds or replaces a NodePool.  Returns false if there is no room; its
 * annotations then do not count. */
bool nodepools_put(struct nodepools *p, const struct nodepool *nodepool,
		   uint32_t generation);
void nodepools_drop(struct nodepools *p, const char *name);
/* A NodePool that was last shown by another generation, and so is missing from
 * the list; NULL: there is none. */
const struct nodepool *nodepools_stale(const struct nodepools *p,
				       uint32_t generation);

/* The terms of any NodePool, seen or not, as of now. */
struct nodepool_terms nodepools_terms(const struct nodepools *p,
				      const char *name, int64_t now_ms);

/* The first moment after `ms` at which time alone changes a NodePool's terms;
 * STAMP_NONE: never. */
int64_t nodepools_next_ms(const struct nodepools *p, int64_t ms);
/* Does one of the NodePool's moments lie in (from_ms, to_ms]? */
bool nodepool_turns(const struct nodepool *nodepool, int64_t from_ms,
		    int64_t to_ms);

#endif
