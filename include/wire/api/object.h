/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_OBJECT_H
#define WIRE_API_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/object.h"
#include "wire/api/watch.h"
#include "wire/json/json.h"

/*
 * API objects and watch lines to core/base/object.  Nodes come as
 * PartialObjectMetadata, NodeClaims whole (karpenter.sh/v1) or, in the fresh
 * list, as PartialObjectMetadata too.  Stateless; any thread.
 */

/*
 * One item of a list, or the object of a line.  `hold` is today's hold.
 * ERR_INPUT names what is wrong (no uid, a name over its bound, …).
 *
 * out->deleted_ms: a deletionTimestamp that is no time is as good as none; the
 * object is being deleted all the same.
 *
 * out->former: a mark without a held-key stands for the default hold.  A
 * held-key that cannot be read (held_key_parse) stands for a hold that is not
 * there, former.key "" and former_hold HOLD_ABSENT: the mark and the held-key
 * then go alone, and no value is removed that may be a person's.
 */
int object_decode(const char *bytes, size_t n, enum kind kind,
		  const struct hold_key *hold, struct object *out,
		  struct err *e);

/* One watch line (metav1.WatchEvent).  0 also for WATCH_ERROR. */
int watch_decode(const char *bytes, size_t n, enum kind kind,
		 const struct hold_key *hold, enum watch_type *type,
		 struct object *out, int *status_code, struct err *e);

/* metadata.resourceVersion and metadata.continue ("" if none) of a list's
 * envelope (metav1.ListMeta).  ERR_INPUT also where "items" is no list, nor
 * null, as Go writes an empty one. */
int list_meta_decode(const char *bytes, size_t n, char rv[RV_BYTES],
		     char cont[CONTINUE_BYTES], struct err *e);

/* For wire/admission as well: one string of labels or annotations (NULL where
 * there is none; -1: it is no string), and what it says of hold k. */
int annotation_read(const struct json *map, const char *key, const char **out,
		    struct err *e);
int hold_read(const struct json *annotations, const struct hold_key *k,
	      enum hold *out, struct err *e);

#endif
