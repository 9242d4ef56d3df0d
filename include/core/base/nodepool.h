/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_NODEPOOL_H
#define CORE_BASE_NODEPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"

/*
 * What we keep of a NodePool: what people and GitOps say in its annotations
 * (docs/rules.md#nodepool-annotations). wire/api/nodepool makes one of each
 * watch line.  A plain struct, copied with `=`; any thread.
 */
enum nodepool_key {
	NODEPOOL_ENABLED,
	NODEPOOL_HOLD_UNTIL,
	NODEPOOL_RELEASED_AT,
	NODEPOOL_HOLD_DURATION,
	NODEPOOL_MAX_HOLD_DURATION,
	NODEPOOL_KEY_COUNT,
};

#define NODEPOOL_BAD_BYTES 64	/* of a bad value: enough to recognize it */

struct nodepool {
	char name[NODEPOOL_BYTES];
	char uid[UID_BYTES];
	char rv[RV_BYTES];	/* metadata.resourceVersion, opaque */
	bool disabled;		/* enabled: "false" */
	int64_t hold_until_ms;	/* server_ms; STAMP_NONE: none */
	int64_t released_at_ms;	/* server_ms; STAMP_NONE: none.  A moment ahead
				   of now is bad, too: whoever has a clock
				   reports it */
	int64_t hold_ms;	/* -1: the config's */
	int64_t max_hold_ms;	/* -1: the config's; 0: no cap */

	/* The value that does not count, cut at a whole character; "(empty)"
	 * for an empty one; "" where the annotation is good or missing. */
	char bad[NODEPOOL_KEY_COUNT][NODEPOOL_BAD_BYTES];
};

/* Makes *p a NodePool without name and annotations. */
void nodepool_init(struct nodepool *p);

/* Takes one annotation's value, UTF-8; NULL: it is missing.  A bad value leaves
 * the field at its default and is kept in bad[k].  The bounds are those of the
 * configuration. */
void nodepool_set(struct nodepool *p, enum nodepool_key k, const char *value);

/* The annotation's key: "karpenter-node-holder.io/enabled", … */
const char *nodepool_key_name(enum nodepool_key k);

/* What was expected in its place, for people: "a duration such as 10m". */
const char *nodepool_expected(enum nodepool_key k);

#endif
