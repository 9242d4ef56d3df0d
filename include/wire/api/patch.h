/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_PATCH_H
#define WIRE_API_PATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/object.h"

/*
 * Encodes the bodies of our writes to Nodes and NodeClaims
 * (docs/rules.md#writes).  They change nothing but annotations.  Keys and
 * values may contain any byte; they are escaped (RFC 6901, RFC 8259).  The
 * functions append to b, keep no state, and may be called by any thread.
 */
#define PATCH_BYTES 8192 /* any body fits, even with every byte escaped */

#define PATCH_MERGE_TYPE "application/merge-patch+json" /* RFC 7396 */
#define PATCH_JSON_TYPE "application/json-patch+json"	/* RFC 6902 */

/* Writes a merge patch that adds the hold and a mark with the time mark_ms
 * (server time).  It adds the held-key if the hold is not the default one, and
 * otherwise removes a stale held-key.  It contains the resourceVersion rv, so
 * the API server answers 409 if the object has changed. */
void patch_hold(struct buf *b, const struct hold_key *hold, const char *rv,
		int64_t mark_ms);

/* Writes a merge patch that sets CLASS_KEY to `replaces` and CLASS_UID_KEY to
 * the uid of the NodeClaim itself.  Like the patch of patch_hold, it contains
 * the resourceVersion rv. */
void patch_classify(struct buf *b, const char *replaces, const char *uid,
		    const char *rv);

/* Writes a merge patch that removes CLASS_KEY and CLASS_UID_KEY if they are
 * there.  If the object with this name has another uid, the API server answers
 * 409 or 422 and does nothing. */
void patch_declassify(struct buf *b, const char *uid);

/* What patch_clear tests, and what it removes besides the mark. */
struct patch_clear {
	const char *uid;
	/* The resourceVersion; tested unless mark_exact is set. */
	const char *rv;
	/* Whether the text of the mark is tested instead of rv
	 * (machines_entry_mark_exact). */
	bool mark_exact;
	int64_t mark_ms; /* the mark's time, if mark_exact */
	/* The hold to remove: the one that the mark stands for.  NULL: no hold
	 * is removed. */
	const struct hold_key *hold;
	bool has_held_key; /* whether to remove the held-key, too */
};

/* Writes a JSON Patch that tests the uid, the hold (if given), and either the
 * mark's text (mark_exact) or the resourceVersion.  It then removes the mark
 * and, as *c says, the hold and the held-key.  If a test fails, the API server
 * answers 422 and does nothing. */
void patch_clear(struct buf *b, const struct patch_clear *c);

/* Writes a JSON Patch for the object in an AdmissionReview.  It adds hold and
 * mark, and adds or removes the held-key as patch_hold does.  has_annotations:
 * whether the object has a map of annotations; if not, the patch adds the map.
 * has_held_key: whether the map has a held-key. */
void patch_admit(struct buf *b, const struct hold_key *hold, int64_t mark_ms,
		 bool has_annotations, bool has_held_key);

/* Parses a hold as KEY=VALUE, with KEY up to the first '='.  Such a text is in
 * the held-key annotation and in the Lease.  Returns -1, with *out untouched,
 * if the text is not in that form or too long, if KEY or VALUE is none that a
 * configuration may have, or if KEY is one of our own keys. */
int patch_hold_parse(const char *text, struct hold_key *out);

#endif
