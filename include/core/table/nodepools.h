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
 * cluster has dozens of NodePools, but it may have thousands.  The table is
 * therefore never scanned because of a single change, or because a moment has
 * come.  Times are server_ms.  Not thread-safe: callers hold the owner's lock.
 */

/* Why a NodePool's machines belong to no scope. */
enum nodepool_out {
	NODEPOOL_IN,	   /* its machines count */
	NODEPOOL_EXCLUDED, /* the configuration excludes it */
	NODEPOOL_DISABLED, /* its annotation disables it */
	NODEPOOL_INERT,	   /* Karpenter never consolidates its nodes */
};

/* Returns the word for it, such as "excluded".  Static; NULL: NODEPOOL_IN. */
const char *nodepools_out_name(enum nodepool_out out);

/* What applies to the machines of one NodePool at one moment. */
struct nodepool_terms {
	bool out;		     /* its machines are not held at all: it is
				   excluded, disabled, or inert and not held by
				   hand */
	enum nodepool_out uncounted; /* not NODEPOOL_IN if `out` is true */
	int64_t until_ms;    /* its machines are held by hand until then;
				   STAMP_NONE: they are not, or the time has
				   passed */
	int64_t released_ms; /* machines created before then do not count;
				   STAMP_NONE: there is no released-at, or it
				   lies ahead */
	int64_t hold_ms;     /* the quiet time of its machines */
	int64_t max_ms;	     /* the cap if the NodePool is a scope of its
				   own, or 0 if no cap */
};

struct nodepools {
	const struct rules *rules;
	struct nodepool *at; /* a free one has the name "" */
	/* By place: the number of the latest list that showed the NodePool.  If
	 * a watch showed it later, the number of the last list before that.  In
	 * a free place: the next free place + 1. */
	uint32_t *generation;
	uint32_t top, max;
	uint32_t free; /* the first free place below top + 1; 0:
				   none */
	struct index by_name;
	int64_t ms; /* moments up to this have come:
				   nodepools_turned */
	/* By place.  The next moment at which time alone changes the NodePool's
	 * terms; and, of those whose machines count, the released-at, or
	 * STAMP_NONE if there is none or it has not come. */
	struct heap moments, released;
};

/* Makes an empty table for max NodePools, which must not move.  The rules
 * outlive it.  Returns -1 if there is no memory; call nodepools_done in either
 * case. */
int nodepools_init(struct nodepools *p, const struct rules *rules,
		   uint32_t max);
void nodepools_done(struct nodepools *p);

/* Returns the NodePool with that name, or NULL if it has not been seen.  The
 * table owns it, and it is valid until it is put or dropped. */
const struct nodepool *nodepools_find(const struct nodepools *p,
				      const char *name);
/* Adds or replaces a NodePool.  Returns false if there is no room; its
 * annotations then do not count. */
bool nodepools_put(struct nodepools *p, const struct nodepool *nodepool,
		   uint32_t generation);
/* Removes the NodePool; it may be absent. */
void nodepools_drop(struct nodepools *p, const char *name);
/* Returns a NodePool that the list with this generation did not show, or NULL.
 * Call it after the list is complete, and drop what it returns, until it
 * returns NULL.  *i starts at 0. */
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

/* Returns a NodePool whose terms time alone has changed since the table was
 * last brought up to a moment, each once, or NULL.  Call it until it returns
 * NULL: the table has then been brought up to now_ms. */
const struct nodepool *nodepools_turned(struct nodepools *p, int64_t now_ms);
/* Returns the first moment after that at which nodepools_turned has another
 * one, or STAMP_NONE. */
int64_t nodepools_next_ms(const struct nodepools *p);
/* Returns the earliest released-at of those whose machines belong to a scope,
 * as of that moment; STAMP_NONE: one of them has none, or there are none. */
int64_t nodepools_released_ms(const struct nodepools *p);
/* Call this when the API server's clock may have been set back to now_ms.
 * Moments after now_ms that had passed are ahead again. */
void nodepools_set_back(struct nodepools *p, int64_t now_ms);

#endif
