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
	WATCH_BOOKMARK, /* only its version is set */
	WATCH_ERROR,	/* status_code is the Status' code (0: none), e has its
			   message, and the output stays untouched */
};

/* Decodes one line.  It calls `decode` with the line's object, unless the line
 * is a bookmark or an error, and fails if decode does.  It sets bookmark_rv for
 * WATCH_BOOKMARK only.  For WATCH_ERROR it returns 0, too, and sets
 * *status_code to the Status' code and *e to its message.  `keep` names the
 * members that are read: WATCH_LINE_KEEP of a list with WATCH_STATUS_KEEP,
 * metadata with its resourceVersion, and the members that `decode` needs. */
#define WATCH_LINE_KEEP(object)                                                \
	{"type", NULL},                                                        \
	{                                                                      \
		"object", object                                               \
	}
#define WATCH_STATUS_KEEP                                                      \
	{"kind", NULL}, {"code", NULL}, {"reason", NULL},                      \
	{                                                                      \
		"message", NULL                                                \
	}
typedef int watch_object_fn(void *ctx, const struct json *object,
			    struct err *e);
int watch_line_decode(const char *bytes, size_t n, const struct json_keep *keep,
		      const struct json_bounds *bounds, enum watch_type *type,
		      int *status_code, char bookmark_rv[RV_BYTES],
		      watch_object_fn *decode, void *ctx, struct err *e);

/* Decodes an item of a list with the same function.  It reads the members that
 * `keep` names. */
int watch_item_decode(const char *bytes, size_t n, const struct json_keep *keep,
		      const struct json_bounds *bounds, watch_object_fn *decode,
		      void *ctx, struct err *e);

/* Decode a metav1.Status, from bytes or from JSON.  Members that it lacks
 * become 0 or "", and long texts are cut.  They return false, with *out
 * untouched, if it is no Status, such as the plain text "404 page not found"
 * for a CRD that is not served. */
struct status {
	int code;
	char reason[64];
	char message[API_MESSAGE_BYTES];
};
bool watch_status_decode(const char *bytes, size_t n, struct status *out);

#endif
