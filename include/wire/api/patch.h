/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_PATCH_H
#define WIRE_API_PATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/object.h"

/*
 * The bodies of our writes.  Nothing but annotations is ever in them.  Keys
 * and values may hold any byte: they are escaped (RFC 6901, RFC 8259).
 */
#define PATCH_BYTES 8192	/* any body below fits, were every byte of a
				   key and a value to come out as \u00XX */

#define PATCH_MERGE_TYPE "application/merge-patch+json"	/* RFC 7396 */
#define PATCH_JSON_TYPE "application/json-patch+json"	/* RFC 6902 */

/* Merge patch: hold + mark (+ held-key where the hold is not the default; a
 * stale one is dropped where it is) at metadata.resourceVersion rv: 409 if
 * the object has moved on. */
void patch_hold(struct buf *b, const struct hold_key *hold, const char *rv,
		int64_t mark_ms);

/* Merge patch: what the claim replaces, and that this is said of this claim
 * (its uid), at metadata.resourceVersion rv. */
void patch_classify(struct buf *b, const char *replaces, const char *uid,
		    const char *rv);

/* Merge patch: removes what is there of both annotations.  409 or 422, and
 * nothing done, where the object has another uid. */
void patch_declassify(struct buf *b, const char *uid);

/* What a clear stands on. */
struct patch_clear {
	const char *uid;
	const char *rv;		/* tested where the mark is odd */
	bool mark_exact;	/* MARK_TIME: the mark's own text is tested */
	int64_t mark_ms;
	const struct hold_key *hold;	/* the one the mark stands for; NULL:
					   drop the mark alone */
	bool has_held_key;	/* the held-key annotation goes as well */
};

/* JSON Patch: test uid, test mark (or rv), test hold, remove them; one failed
 * test means 422 and nothing done. */
void patch_clear(struct buf *b, const struct patch_clear *c);

/* JSON Patch for an object under admission: adds hold and mark (and the
 * held-key as patch_hold does).  has_annotations: the map is there and is an
 * object; without it the whole map is added. */
void patch_admit(struct buf *b, const struct hold_key *hold, int64_t mark_ms,
		 bool has_annotations, bool has_held_key);

/* The held-key annotation's text, KEY=VALUE, KEY up to the first '='.  -1,
 * with *out untouched, if it is none or too long. */
int held_key_parse(const char *text, struct hold_key *out);

#endif
