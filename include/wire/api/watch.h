/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_WATCH_H
#define WIRE_API_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/base/limits.h"
#include "wire/json/json.h"

/*
 * What all decoders of API objects share: a line of a watch
 * (metav1.WatchEvent), a Status (metav1.Status), and the strings of the
 * metadata.  The functions keep no state; any thread may call them.
 */
enum watch_type {
	WATCH_ADDED,
	WATCH_MODIFIED,
	WATCH_DELETED,
	WATCH_BOOKMARK,	/* only its version is set */
	WATCH_ERROR,	/* status_code is the Status' code (0: none), e has its
			   message, and what is decoded stays untouched */
};

/* Decodes one line.  It calls `decode` with the line's object, unless the line
 * is a bookmark or an error, and fails if decode does.  It sets bookmark_rv for
 * WATCH_BOOKMARK only.  For WATCH_ERROR it returns 0, too, and sets
 * *status_code to the Status' code and *e to its message. */
typedef int watch_object_fn(void *ctx, const struct json *object,
			    struct err *e);
int watch_line_decode(const char *bytes, size_t n, enum watch_type *type,
		      int *status_code, char bookmark_rv[RV_BYTES],
		      watch_object_fn *decode, void *ctx, struct err *e);

/* Decode a metav1.Status, from bytes or from JSON.  What the Status does not
 * have becomes 0 or "", and long texts are cut.  They return false, with *out
 * untouched, if it is no Status, such as the plain text "404 page not found"
 * for a CRD that is not served. */
struct status {
	int code;
	char reason[64];
	char message[200];
};
bool status_decode(const char *bytes, size_t n, struct status *out);

/* Copy the string `key` of map to dst[cap].  If it is missing or null,
 * text_copy copies "" and text_need fails.  Both fail with ERR_INPUT if it is
 * no string or too long; `what` names it in the error. */
int text_copy(const struct json *map, const char *key, char *dst, size_t cap,
	      const char *what, struct err *e);
int text_need(const struct json *map, const char *key, char *dst, size_t cap,
	      const char *what, struct err *e);

/* Gets the member `key`, which has to be an object.  If it is missing or null,
 * *out is NULL or that null, both of which the json functions accept. */
int map_read(const struct json *object, const char *key, const char *what,
	     const struct json **out, struct err *e);

/* Returns whether an ownerReference or ObjectReference names a NodeClaim of any
 * version. */
bool reference_is_claim(const struct json *ref);

/* Copies the resourceVersion of an object that we will write.  It fails if
 * there is none, because a write without it would overwrite any change. */
int version_read(const struct json *meta, char rv[RV_BYTES], struct err *e);

#endif
