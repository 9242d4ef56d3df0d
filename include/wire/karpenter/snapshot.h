/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_SNAPSHOT_H
#define WIRE_KARPENTER_SNAPSHOT_H

#include <stddef.h>

#include "core/base/err.h"
#include "wire/json/json.h"
#include "wire/karpenter/fact.h"

/*
 * Makes facts of the objects that the API server has now: the items of `kubectl
 * get nodeclaims,events -o json` (docs/what-if.md#from-the-api-server).  A
 * NodeClaim tells when it was created, launched, registered and ready, and
 * whether it is being deleted.  Karpenter's Events on NodeClaims tell which
 * claims were disrupted (DisruptionTerminating), and which replace others
 * (DisruptionLaunching).  Of the latter Event we make a second FACT_CREATED,
 * which says who created the claim.  The functions keep no state; any thread
 * may call them.
 */
typedef int snapshot_fn(void *ctx, const struct fact *f, struct err *e);

enum snapshot_what {
	SNAPSHOT_TAKEN,
	SNAPSHOT_OTHER,	 /* the item has no fact */
	SNAPSHOT_BROKEN, /* not JSON, or beyond the bounds of limits.h */
	SNAPSHOT_FAILED, /* fn has failed, and set *e */
};

/* Calls fn for each fact of one item, in any order.  The fact is valid during
 * the call.  `kind` is "NodeClaim" or "Event" for items of the API server's
 * lists, which do not say their kind, and NULL for items that do. */
enum snapshot_what snapshot_item(const char *bytes, size_t n, const char *kind,
				 snapshot_fn *fn, void *ctx, struct err *e);

/* Like snapshot_item, for an item that is parsed already.  snapshot_keep names
 * the members that it reads, and those that wire/api/watch needs to read a line
 * of a watch. */
extern const struct json_keep snapshot_keep[];
enum snapshot_what snapshot_object(const struct json *object, const char *kind,
				   snapshot_fn *fn, void *ctx, struct err *e);

#endif
