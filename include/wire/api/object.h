/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_OBJECT_H
#define WIRE_API_OBJECT_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/base/object.h"
#include "wire/api/watch.h"
#include "wire/json/json.h"

/*
 * Decodes Nodes and NodeClaims and their watch lines to struct object.  Nodes
 * come as PartialObjectMetadata.  NodeClaims come whole (karpenter.sh/v1) or,
 * in the fresh list before a release, as PartialObjectMetadata too.  The
 * functions keep no state; any thread may call them.
 */

/*
 * Decodes one item of a list, or the body of a GET.  `hold` is today's hold,
 * the one in the configuration.  ERR_INPUT names what is wrong, such as a
 * missing uid or a name over its bound.
 *
 * out->deleted_ms: a deletionTimestamp that is no time counts as missing, but
 * the object is being deleted all the same.
 *
 * out->previous_key: a mark without a held-key stands for the default hold.  A
 * held-key that cannot be read (patch_held_key_parse) stands for a hold that is
 * not there, with previous_key.key "" and previous_hold HOLD_ABSENT.  A release
 * then removes only the mark and the held-key, never a value that a person may
 * have set.
 */
int object_decode(const char *bytes, size_t n, enum kind kind,
		  const struct hold_key *hold, struct object *out,
		  struct err *e);

/* Decodes one watch line (metav1.WatchEvent).  Of a BOOKMARK only out->rv is
 * set.  Returns 0 also for WATCH_ERROR, which leaves *out untouched and sets
 * *status_code and *e (watch_line_decode). */
int object_watch_decode(const char *bytes, size_t n, enum kind kind,
			const struct hold_key *hold, enum watch_type *type,
			struct object *out, int *status_code, struct err *e);

/* Reads metadata.resourceVersion and metadata.continue ("" if missing) of a
 * list's envelope (metav1.ListMeta).  ERR_INPUT also if "items" is neither a
 * list nor null; Go writes an empty list as null. */
int object_list_meta_decode(const char *bytes, size_t n, char rv[RV_BYTES],
			    char cont[CONTINUE_BYTES], struct err *e);

/* Returns whether managedFields show no person as the writer of the object's
 * hold k.  The writer was then this program, Karpenter (which copies from
 * NodeClaims), or an unknown one: its entry was merged, or an admission webhook
 * has set the hold.  managedFields that cannot be decoded count as empty. */
bool object_hold_is_unowned(const char *bytes, size_t n,
			    const struct hold_key *k);

/* These two are for wire/admission as well.  object_annotation_read gets one
 * string of a map of labels or annotations.  *out belongs to the map, and is
 * NULL if there is no such key.  object_hold_read finds out whether the
 * annotations have hold k with its value, with another value, or not at all.
 * Both return -1 with ERR_INPUT if the value is no string.  map may be NULL. */
int object_annotation_read(const struct json *map, const char *key,
			   const char **out, struct err *e);
int object_hold_read(const struct json *annotations, const struct hold_key *k,
		     enum hold *out, struct err *e);

#endif
