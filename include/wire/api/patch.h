/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_PATCH_H
#define WIRE_API_PATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/object.h"

/*
 * The bodies of our writes (docs/rules.md#writes).  They contain nothing but
 * annotations.  Keys and values may contain any byte: they are escaped (RFC
 * 6901, RFC 8259).  Stateless; any thread.
 */
#define PATCH_BYTES 8192	/* any body below fits, even if every byte of a
				   key and a value came out as \u00XX */

#define PATCH_MERGE_TYPE "application/merge-patch+json"	/* RFC 7396 */
#define PATCH_JSON_TYPE "application/json-patch+json"	/* RFC 6902 */

/* A merge patch at metadata.resourceVersion rv: adds hold and mark.  It adds
 * the held-key where the hold is not the default, and removes a stale one where
 * it is.  The API server answers 409 if the object has changed. */
void patch_hold(struct buf *b, const struct hold_key *hold, const char *rv,
		int64_t mark_ms);

/* A merge patch at metadata.resourceVersion rv: what the claim replaces, and
 * that this is said of this claim (its uid). */
void patch_classify(struct buf *b, const char *replaces, const char *uid,
		    const char *rv);

/* A merge patch that removes what is there of both annotations.  If the object
 * has another uid, the API server answers 409 or 422 and does nothing. */
void patch_declassify(struct buf *b, const char *uid);

/* What a clear tests before it removes anything. */
struct patch_clear {
	const char *uid;
	const char *rv;		/* tested if the mark is odd */
	bool mark_exact;	/* MARK_TIME: the mark's own text is tested */
	int64_t mark_ms;
	const struct hold_key *hold;	/* the hold that the mark stands for;
					   NULL: remove the mark alone */
	bool has_held_key;	/* the held-key annotation is removed as well */
};

/* A JSON Patch: tests uid, mark (or rv) and hold, and removes them.  If a test
 * fails, the API server answers 422 and does nothing. */
void patch_clear(struct buf *b, const struct patch_clear *c);

/* A JSON Patch for an object under admission: adds hold and mark (and the
 * held-key as patch_hold does).  has_annotations: the map is there and is an
 * object; without it the whole map is added. */
void patch_admit(struct buf *b, const struct hold_key *hold, int64_t mark_ms,
		 bool has_annotations, bool has_held_key);

/* Parses the held-key annotation's text, KEY=VALUE, with KEY up to the first
 * '='. Returns -1, with *out untouched, if it is not in that form or too
 * long. */
int held_key_parse(const char *text, struct hold_key *out);

#endif
