/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_WATCH_H
#define WIRE_API_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/base/limits.h"
#include "wire/json/json.h"

/*
 * What is the same for everything that is listed or watched: a line of a watch
 * (metav1.WatchEvent), a Status, a string of the metadata.  Stateless; any
 * thread.
 */
enum watch_type {
	WATCH_ADDED,
	WATCH_MODIFIED,
	WATCH_DELETED,
	WATCH_BOOKMARK,	/* only its version is set */
	WATCH_ERROR,	/* status_code is the Status' code (0: none), e has its
			   message, and what is decoded stays untouched */
};

/* Decodes one line.  `decode` is called with the line's object, unless it is a
 * bookmark or an error.  Sets *status_code for WATCH_ERROR only, and
 * bookmark_rv for WATCH_BOOKMARK only.  Returns 0 also for WATCH_ERROR. */
typedef int watch_object_fn(void *ctx, const struct json *object,
			    struct err *e);
int watch_line_decode(const char *bytes, size_t n, enum watch_type *type,
		      int *status_code, char bookmark_rv[RV_BYTES],
		      watch_object_fn *decode, void *ctx, struct err *e);

/* Is this body a metav1.Status?  Fills code, reason and message as far as they
 * are there ("" otherwise).  false: it is no Status, such as the plain text
 * "404 page not found" of a CRD that is not served. */
struct status {
	int code;
	char reason[64];
	char message[200];
};
bool status_decode(const char *bytes, size_t n, struct status *out);
bool status_read(const struct json *root, struct status *out);

/* Copy the string `key` of map to dst[cap].  If it is missing or null,
 * text_copy gives "" and text_need fails.  `what` names it in the error. */
int text_copy(const struct json *map, const char *key, char *dst, size_t cap,
	      const char *what, struct err *e);
int text_need(const struct json *map, const char *key, char *dst, size_t cap,
	      const char *what, struct err *e);

/* A map that may be missing or null: *out is then NULL or that null. */
int map_read(const struct json *object, const char *key, const char *what,
	     const struct json **out, struct err *e);

/* Does an ownerReference or an ObjectReference name a NodeClaim? */
bool reference_is_claim(const struct json *ref);

/* The resourceVersion of an object that we are to write: without it a write
 * would go over whatever is there. */
int version_read(const struct json *meta, char rv[RV_BYTES], struct err *e);

#endif
