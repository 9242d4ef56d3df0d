/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_NODEPOOL_H
#define CORE_BASE_NODEPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"

/*
 * What we keep of a NodePool: what people and GitOps say in its annotations
 * (design §4).  A plain struct, copied with `=`; wire/api/nodepool makes one of each
 * watch line.  Any thread.
 */
enum nodepool_key {
	NODEPOOL_ENABLED,
	NODEPOOL_HOLD_UNTIL,
	NODEPOOL_RELEASED_AT,
	NODEPOOL_HOLD_DURATION,
	NODEPOOL_MAX_HOLD_DURATION,
	NODEPOOL_KEY_COUNT,
};

#define NODEPOOL_BAD_BYTES 64	/* of a bad value: enough to know it again */

struct nodepool {
	char name[POOL_BYTES];
	char uid[UID_BYTES];
	char rv[RV_BYTES];	/* metadata.resourceVersion, opaque */
	bool disabled;		/* enabled: "false" */
	int64_t hold_until_ms;	/* server_ms; STAMP_NONE: none */
	int64_t released_at_ms;	/* server_ms; STAMP_NONE: none.  One ahead of
				   now is bad too: who has a clock says so */
	int64_t hold_ms;	/* -1: the config's */
	int64_t max_hold_ms;	/* -1: the config's; 0: no cap */

	/* The value that does not count, cut at a whole character; "(empty)"
	 * for an empty one; "": fine, or not there. */
	char bad[NODEPOOL_KEY_COUNT][NODEPOOL_BAD_BYTES];
};

/* No name, no annotations. */
void nodepool_init(struct nodepool *p);

/* One annotation's value, UTF-8; NULL: not there.  A bad one leaves the field
 * at its default and stands in bad[k].  Bounds are the config's. */
void nodepool_set(struct nodepool *p, enum nodepool_key k, const char *value);

/* "karpenter-node-holder.io/enabled", … */
const char *nodepool_key_name(enum nodepool_key k);

/* What should have stood there, for people: "a duration such as 10m". */
const char *nodepool_expected(enum nodepool_key k);

#endif
