/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_STR_H
#define CORE_BASE_STR_H

#include <stddef.h>
#include <stdint.h>

/* Strings in storage of a fixed size.  Any thread may call these. */

/* Overwrites a secret string up to its NUL.  The compiler does not optimize the
 * writes away, even if the string is freed next.  s may be NULL. */
void str_wipe(char *s);

/* Copies s into dst[cap].  Returns -1, with dst untouched, if it does not fit.
 */
int str_copy(char *dst, size_t cap, const char *s);
/* Copies as much of s into dst[cap] as fits, and cuts it after a whole UTF-8
 * character.  It always succeeds.  An s of NULL counts as "". */
void str_cut(char *dst, size_t cap, const char *s);
/* Copies s as str_cut does, for people to read: if the text does not fit, the
 * copy ends with "…". */
void str_shorten(char *dst, size_t cap, const char *s);

/* Returns the digest (FNV-1a) of the bytes that gave the digest `before`, and
 * then of these.  `before` is STR_DIGEST_NONE if there are none. */
#define STR_DIGEST_NONE UINT64_C(14695981039346656037)
uint64_t str_digest(uint64_t before, const char *bytes, size_t n);

/* Returns Levenshtein's distance, ignoring case, between `a` and `known`, a
 * word of our own shorter than STR_WORD_BYTES.  Of a longer `a` only the
 * beginning counts. */
#define STR_WORD_BYTES 96
unsigned str_distance(const char *a, const char *known);

#endif
