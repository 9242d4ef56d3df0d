/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_PACKED_H
#define CORE_BASE_PACKED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/strings.h"

/*
 * Compact forms of uids and resourceVersions.  Both are opaque texts, but every
 * API server writes a uid as a UUID in lower case, and a resourceVersion as a
 * decimal number, which will not exceed 18 digits for centuries.  Such a text
 * is kept as 16 or 8 bytes, and any other text as a reference to a string.
 * Each text comes back exactly as it was.  Two values that were packed with the
 * same `struct strings` are equal if and only if their texts are equal.
 *
 * The owner of a packed value gives it back with packed_uid_drop or
 * packed_version_drop.  A zeroed value is not the empty text, but a UUID of
 * zeros or the version "0".  UID_NONE and VERSION_NONE are the empty text.
 */
struct uid {
	/* The two halves of the UUID.  If high is UINT64_MAX, low is instead
	 * the reference of a text. */
	uint64_t high, low;
};
#define UID_NONE ((struct uid){UINT64_MAX, 0})

struct version {
	/* A number below VERSION_TEXT, or VERSION_TEXT plus the reference of a
	 * text. */
	uint64_t n;
};
#define VERSION_TEXT (UINT64_C(1) << 63)
#define VERSION_NONE ((struct version){VERSION_TEXT})

/* Pack a text, which is shorter than UID_BYTES or RV_BYTES.  Return -1 if there
 * is no room for it; *out is then untouched. */
int packed_uid_take(struct strings *s, const char *text, struct uid *out);
int packed_version_take(struct strings *s, const char *text,
			struct version *out);
void packed_uid_drop(struct strings *s, struct uid u);
void packed_version_drop(struct strings *s, struct version v);

/* Pack a text only for comparisons.  The caller does not give the result back.
 * Return false if no packed value can be equal to the text. */
bool packed_uid_find(const struct strings *s, const char *text,
		     struct uid *out);
bool packed_version_find(const struct strings *s, const char *text,
			 struct version *out);

/* Returns a number for a resourceVersion, for comparisons only: 0 for the empty
 * text, and different numbers for different versions.  (Two texts that are not
 * numbers have the same number with a probability of 2^-63.) */
uint64_t packed_version_key(const char *text);

/* Write the text to `out`. */
void packed_uid_text(const struct strings *s, struct uid u,
		     char out[UID_BYTES]);
void packed_version_text(const struct strings *s, struct version v,
			 char out[RV_BYTES]);

/* Compares the texts of two uids as strcmp does. */
int packed_uid_compare(const struct strings *s, struct uid a, struct uid b);

static inline bool
packed_uid_equals(struct uid a, struct uid b)
{
	return a.high == b.high && a.low == b.low;
}

static inline bool
packed_uid_is_none(struct uid u)
{
	return packed_uid_equals(u, UID_NONE);
}

#endif
