/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TABLE_NODEPOOLS_H
#define CORE_TABLE_NODEPOOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/nodepool.h"
#include "core/rules/admit.h"

/*
 * The NodePools as they are seen, and what their annotations and the rules
 * together say of a pool's machines (design §4).  Dozens of pools: a scan is
 * as good as an index.  Not thread-safe: under the owner's lock.
 */
struct nodepool_terms {
	bool out;		/* excluded or disabled: never held */
	int64_t until_ms;	/* held until; STAMP_NONE: not, or passed */
	int64_t released_ms;	/* what was created before does not count;
				   STAMP_NONE: none, or yet to come */
	int64_t hold_ms;
	int64_t max_ms;		/* of a scope that is this pool; 0: no cap */
};

struct nodepools {
	const struct rules *rules;
	struct nodepool *at;	/* "" names a free one */
	uint32_t *generation;	/* of the list or watch that last showed it */
	uint32_t top, max;
};

int nodepools_init(struct nodepools *p, const struct rules *rules,
		   uint32_t max);
void nodepools_done(struct nodepools *p);

/* The pool by that name; NULL: not seen. */
const struct nodepool *nodepools_find(const struct nodepools *p,
				      const char *name);
/* false: there is no room; its annotations do not count. */
bool nodepools_put(struct nodepools *p, const struct nodepool *pool,
		   uint32_t generation);
void nodepools_drop(struct nodepools *p, const char *name);
/* One that another generation has shown last: gone from the list. */
const struct nodepool *nodepools_stale(const struct nodepools *p,
				       uint32_t generation);

/* Of any pool, seen or not, as of now. */
struct nodepool_terms nodepools_terms(const struct nodepools *p,
				      const char *name, int64_t now_ms);

/* When time alone changes a pool's terms, the soonest after `ms`;
 * STAMP_NONE: never. */
int64_t nodepools_next_ms(const struct nodepools *p, int64_t ms);
/* Does one of its moments lie in (from_ms, to_ms]? */
bool nodepool_turns(const struct nodepool *pool, int64_t from_ms,
		    int64_t to_ms);

#endif
