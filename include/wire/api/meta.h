/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_META_H
#define WIRE_API_META_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/base/limits.h"
#include "wire/json/json.h"

/*
 * With these functions the decoders of API objects read strings and maps,
 * mostly those of the metadata (metav1.ObjectMeta).  The functions keep no
 * state; any thread may call them.
 */

/* Copy the string under `key` in map to dst[cap].  If the string is missing,
 * null or "", meta_text_copy copies "" and meta_text_need fails.  Both fail
 * with ERR_INPUT if the value is no string or too long.  `what` names the value
 * in the error. */
int meta_text_copy(const struct json *map, const char *key, char *dst,
		   size_t cap, const char *what, struct err *e);
int meta_text_need(const struct json *map, const char *key, char *dst,
		   size_t cap, const char *what, struct err *e);

/* Gets the member `key`, which has to be an object, null or missing.  If the
 * member is missing, *out is NULL.  If the member is null, *out is a value of
 * type null.  The functions of wire/json accept both.  Any other value is
 * ERR_INPUT. */
int meta_map_read(const struct json *object, const char *key, const char *what,
		  const struct json **out, struct err *e);

/* Returns whether an ownerReference or ObjectReference names a NodeClaim of any
 * version. */
bool meta_reference_is_claim(const struct json *ref);

/* Copies the resourceVersion of an object that we will write.  It fails if
 * there is none, because a write without a resourceVersion would overwrite any
 * change of others. */
int meta_version_read(const struct json *meta, char rv[RV_BYTES],
		      struct err *e);

#endif
