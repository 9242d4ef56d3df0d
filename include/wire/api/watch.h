/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_WATCH_H
#define WIRE_API_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/base/limits.h"
#include "wire/json/json.h"

/*
 * Decodes the two forms that all kinds share: a line of a watch
 * (metav1.WatchEvent) and a Status (metav1.Status).  The functions keep no
 * state; any thread may call them.
 */
enum watch_type {
	WATCH_ADDED,
	WATCH_MODIFIED,
	WATCH_DELETED,
	WATCH_BOOKMARK, /* only its resourceVersion is set */
	/* The line reports an error.  status_code is the code of its Status (0:
	 * none), and e has the message.  `decode` is not called. */
	WATCH_ERROR,
};

/* The members of a line that are read, for `keep` of watch_line_decode.
 * `object` is the table of the members of the line's object.  That table must
 * have WATCH_STATUS_KEEP, metadata with its resourceVersion, and whatever else
 * `decode` needs. */
#define WATCH_LINE_KEEP(object)                                                \
	{"type", NULL},                                                        \
	{                                                                      \
		"object", object                                               \
	}
/* The members of a Status, which is the object of a line that reports an
 * error. */
#define WATCH_STATUS_KEEP                                                      \
	{"kind", NULL}, {"code", NULL}, {"reason", NULL},                      \
	{                                                                      \
		"message", NULL                                                \
	}
/* The caller's function, which decodes the object of a watch line, or an item
 * of a list.  It returns -1 with *e set on failure. */
typedef int watch_object_fn(void *ctx, const struct json *object,
			    struct err *e);
/* Decodes one line.  Calls `decode` with the line's object, unless the line is
 * a bookmark or an error, and fails if `decode` fails.  Sets bookmark_rv for
 * WATCH_BOOKMARK only.  For WATCH_ERROR it also returns 0; it sets *status_code
 * to the Status' code and *e to its message. */
int watch_line_decode(const char *bytes, size_t n, const struct json_keep *keep,
		      const struct json_bounds *bounds, enum watch_type *type,
		      int *status_code, char bookmark_rv[RV_BYTES],
		      watch_object_fn *decode, void *ctx, struct err *e);

/* Decodes an item of a list: calls `decode` with the item, of which only the
 * members that `keep` names are read. */
int watch_item_decode(const char *bytes, size_t n, const struct json_keep *keep,
		      const struct json_bounds *bounds, watch_object_fn *decode,
		      void *ctx, struct err *e);

/* Decodes the beginning of a list item or, if `type` is not NULL, of a watch
 * line that may be too large for the functions above.  Members of the object
 * that did not come whole are missing.  Returns -1 with nothing set if what
 * `decode` needs is missing, or if the line has no object. */
int watch_unread_decode(const char *bytes, size_t n,
			const struct json_keep *keep, enum watch_type *type,
			watch_object_fn *decode, void *ctx);

/* A metav1.Status. */
struct status {
	int code;
	char reason[64];
	char message[API_MESSAGE_BYTES];
};
/* Decodes a Status.  A missing member becomes 0 or "", and long texts are cut.
 * Returns false, with *out untouched, if the bytes are no Status, such as the
 * plain text "404 page not found" for a CRD that is not served. */
bool watch_status_decode(const char *bytes, size_t n, struct status *out);

#endif
