/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_OBJECT_H
#define WIRE_API_OBJECT_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/base/object.h"
#include "wire/api/watch.h"
#include "wire/json/json.h"

/*
 * Decodes Nodes and NodeClaims and their watch lines to struct object.  The API
 * server sends Nodes as PartialObjectMetadata.  It sends whole NodeClaims
 * (karpenter.sh/v1), or PartialObjectMetadata in the fresh list that is made
 * before a release.  The functions keep no state; any thread may call them.
 */

/*
 * Decodes one item of a list, or the body of a GET.  `hold` is the hold that
 * the holder sets.  ERR_INPUT names what is wrong, such as a missing uid or a
 * name over its bound.
 *
 * If the deletionTimestamp cannot be read as a time, out->deleted_ms is
 * STAMP_NONE, but out->deleting is true all the same.
 */
int object_decode(const char *bytes, size_t n, enum kind kind,
		  const struct hold_key *hold, struct object *out,
		  struct err *e);

/* Decodes one watch line (metav1.WatchEvent).  For WATCH_BOOKMARK only
 * out->kind and out->rv are set.  For WATCH_ERROR it also returns 0; it sets
 * *status_code and *e (watch_line_decode), and leaves *out untouched. */
int object_watch_decode(const char *bytes, size_t n, enum kind kind,
			const struct hold_key *hold, enum watch_type *type,
			struct object *out, int *status_code, struct err *e);

/* Decodes only the metadata of a NodeClaim that object_decode or, if `type` is
 * not NULL, object_watch_decode has refused.  The n bytes may be the beginning
 * of a longer text.  Sets out->unread.  Returns -1 if the metadata cannot be
 * decoded either. */
int object_unread_decode(const char *bytes, size_t n,
			 const struct hold_key *hold, enum watch_type *type,
			 struct object *out);

/* Reads metadata.resourceVersion and metadata.continue of a list's envelope
 * (metav1.ListMeta).  If metadata.continue is missing, cont becomes "".
 * ERR_INPUT: there is no resourceVersion, or "items" is neither a list nor
 * null.  (Go writes an empty list as null.) */
int object_list_meta_decode(const char *bytes, size_t n, char rv[RV_BYTES],
			    char cont[CONTINUE_BYTES], struct err *e);

/* Returns whether managedFields show no person as the writer of the object's
 * hold k.  If it returns true, the writer is this program, Karpenter (which
 * copies from NodeClaims), or unknown.  The writer is unknown if an admission
 * webhook has set the hold, or if the API server has merged the writer's entry
 * with others.  managedFields that cannot be decoded count as empty. */
bool object_hold_is_unowned(const char *bytes, size_t n,
			    const struct hold_key *k);

/* wire/admission uses these two functions, too.  object_annotation_read gets
 * one string of a map of labels or annotations.  *out belongs to the map, and
 * is NULL if the map has no such key.  object_marks_read sets the members of *o
 * from `hold` to `other_hold`.  The held-key names the hold of a mark, and a
 * mark without a held-key belongs to the default hold.  Both return -1 with
 * ERR_INPUT if a value is no string.  The map may be NULL. */
int object_annotation_read(const struct json *map, const char *key,
			   const char **out, struct err *e);
int object_marks_read(const struct json *annotations,
		      const struct hold_key *hold, struct object *o,
		      struct err *e);

#endif
