/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TABLE_NODEPOOLS_H
#define CORE_TABLE_NODEPOOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/index.h"
#include "core/base/nodepool.h"
#include "core/rules/rules.h"

/*
 * The table of the NodePools that have been seen.  nodepools_terms combines a
 * NodePool's annotations and spec with the configuration
 * (docs/rules.md#nodepool-annotations, docs/rules.md#nodepools-left-alone).  A
 * cluster has dozens of NodePools, but it may have thousands.  Therefore
 * neither a single change nor the passing of time causes a scan of the table.
 * Times are server_ms.  Not thread-safe: callers hold the owner's lock.
 */

/* Why a NodePool's machines belong to no scope. */
enum nodepool_out {
	NODEPOOL_IN,	   /* its machines count */
	NODEPOOL_EXCLUDED, /* the configuration excludes it */
	NODEPOOL_DISABLED, /* its annotation disables it */
	NODEPOOL_INERT,	   /* Karpenter never consolidates its nodes */
};

/* Returns the word for the reason, such as "excluded", or NULL for NODEPOOL_IN.
 * Static. */
const char *nodepools_out_name(enum nodepool_out out);

/* What applies to the machines of one NodePool at one moment. */
struct nodepool_terms {
	/* The NodePool's machines are not held at all, because the NodePool is
	 * excluded, disabled, or inert and held by neither a hold-until nor a
	 * ticket. */
	bool out;
	/* Why the NodePool's machines belong to no scope, or NODEPOOL_IN if
	 * they belong to a scope.  If `out` is true, it is not NODEPOOL_IN. */
	enum nodepool_out uncounted;
	/* When the hold by the hold-until annotation or by tickets ends.
	 * STAMP_NONE if there is no such hold, or if it has ended. */
	int64_t until_ms;
	bool by_ticket; /* until_ms is the end of a ticket */
	/* Machines created before this time do not count.  STAMP_NONE if there
	 * is no released-at annotation, or if its time is in the future. */
	int64_t released_ms;
	int64_t hold_ms; /* the quiet time of its machines */
};

struct nodepools {
	const struct rules *rules;
	/* Indexed by place.  A free place has the name "". */
	struct nodepool *at;
	/* Indexed by place: the number of the latest list that showed the
	 * NodePool.  If a watch has shown it since, the number of the list
	 * before that watch.  In a free place: the next free place, plus 1, or
	 * 0 if there is none. */
	uint32_t *generation;
	uint32_t top, max;
	/* The first free place below top, plus 1, or 0 if there is none. */
	uint32_t free;
	struct index by_name;
	/* The table is up to date as of this time, which nodepools_turned and
	 * nodepools_set_back set. */
	int64_t ms;
	/* The ids in both heaps are places.  `moments` has the next moment at
	 * which time alone changes the NodePool's terms.  `released` has the
	 * released-at of each NodePool whose machines count, or STAMP_NONE if
	 * there is none or if it is in the future. */
	struct heap moments, released;
};

/* Makes an empty table for max NodePools.  *p must not be moved afterwards, and
 * the rules must outlive it.  Returns -1 if there is no memory; call
 * nodepools_done in either case. */
int nodepools_init(struct nodepools *p, const struct rules *rules,
		   uint32_t max);
void nodepools_done(struct nodepools *p);

/* Returns the NodePool with that name, or NULL if it has not been seen.  The
 * result belongs to the table, and is valid until that NodePool is put or
 * dropped. */
const struct nodepool *nodepools_find(const struct nodepools *p,
				      const char *name);
/* Adds or replaces a NodePool.  Returns false if there is no room; the
 * NodePool's annotations then have no effect. */
bool nodepools_put(struct nodepools *p, const struct nodepool *nodepool,
		   uint32_t generation);
/* Removes the NodePool if it is in the table. */
void nodepools_drop(struct nodepools *p, const char *name);
/* Returns a NodePool that the list with this generation did not show, or NULL
 * if there is none.  After the list is complete, call this until it returns
 * NULL, and drop each NodePool that it returns.  *i starts at 0. */
const struct nodepool *nodepools_stale(const struct nodepools *p,
				       uint32_t generation, uint32_t *i);

/* Returns what applies now to the machines of this NodePool.  A NodePool that
 * has not been seen has the terms of the configuration. */
struct nodepool_terms nodepools_terms(const struct nodepools *p,
				      const char *name, int64_t now_ms);
/* Returns the terms of the NodePool in place i, for a caller that iterates over
 * all places. */
struct nodepool_terms nodepools_terms_at(const struct nodepools *p, uint32_t i,
					 int64_t now_ms);

/* Returns a NodePool whose terms have changed by time alone since the table was
 * last up to date, or NULL.  Each such NodePool is returned once.  Call it
 * until it returns NULL; the table is then up to date as of now_ms. */
const struct nodepool *nodepools_turned(struct nodepools *p, int64_t now_ms);
/* Returns the next moment at which nodepools_turned has another NodePool to
 * return, or STAMP_NONE. */
int64_t nodepools_next_ms(const struct nodepools *p);
/* Returns the earliest released-at of the NodePools whose machines belong to a
 * scope, as of the now_ms of the last nodepools_turned or nodepools_set_back.
 * Returns STAMP_NONE if one of these NodePools has no released-at whose time
 * has come, or if there are no such NodePools. */
int64_t nodepools_released_ms(const struct nodepools *p);
/* Call this when the API server's clock has jumped by by_ms.  It shifts the
 * ends of the tickets that hold NodePools. */
void nodepools_shift_tickets(struct nodepools *p, int64_t by_ms);
/* Call this when the API server's clock may have been set back to now_ms.
 * Moments after now_ms that had passed are then in the future again. */
void nodepools_set_back(struct nodepools *p, int64_t now_ms);

#endif
