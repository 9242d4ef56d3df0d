/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_STRINGS_H
#define CORE_BASE_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/index.h"
#include "core/base/limits.h"

/*
 * Strings that many owners share.  Each string is kept once, with a count of
 * its references, in an arena of a fixed size.  A reference is a number; 0 is
 * the empty string, which needs no room and no count.  Two strings are equal
 * if and only if their references are.
 *
 *	strings_take	gives the caller a reference to a text
 *	strings_drop	takes a reference back
 *
 * The text of a reference stays where it is until the last owner gives the
 * reference back.  strings_init allocates all memory, but only what is used is
 * touched, from the low end on.  Not thread-safe.
 *
 * A string takes 4 bytes besides its text and NUL, rounded up to a multiple of
 * 8.  The room of a string that is freed is joined with free room beside it and
 * used again.  Names that take at most eight tenths of the arena always find
 * room, however often they change (tests/unit/core/test_strings.c).  Strings
 * never move, so short strings that stay could split the free room into places
 * that are too small for long strings.
 */
#define STRING_BYTES NAME_BYTES /* the longest string, with its NUL */
#define STRINGS_CLASSES ((4 + STRING_BYTES + 7) / 8 + 1)

struct strings {
	struct string_unit *at; /* a reference is a place in here */
	/* `cap` is the number of elements of `at`.  The elements from `top` on
	 * are unused. */
	uint32_t top, cap;
	uint32_t n, max; /* number of strings, and its maximum */
	/* The first free place of each size in units, or 0.  The last element
	 * is for larger sizes. */
	uint32_t free[STRINGS_CLASSES + 1];
	struct index index; /* finds a reference by its text */
};

/* `bytes` is the size of the arena, less than 4 GiB.  The arena takes at most
 * one string for every 32 bytes, however short the strings are.  Returns -1 if
 * there is no memory; *s is then empty. */
int strings_init(struct strings *s, size_t bytes);
void strings_done(struct strings *s);

/* Returns a reference to the text, which is shorter than STRING_BYTES.  The
 * caller owns it and gives it back with strings_drop.  Returns NO_ID if there
 * is no room.  strings_drop accepts NO_ID and ignores it. */
uint32_t strings_take(struct strings *s, const char *text);
void strings_drop(struct strings *s, uint32_t ref);
/* Sets *ref to a reference to this text, and drops the reference that *ref was
 * before.  Returns -1, with *ref untouched, if there is no room. */
int strings_set(struct strings *s, uint32_t *ref, const char *text);
/* Returns the reference to the text without making the caller an owner, or
 * NO_ID if the text is not kept. */
uint32_t strings_find(const struct strings *s, const char *text);
/* Returns the text, which belongs to *s and is valid until the last owner gives
 * the reference back. */
const char *strings_text(const struct strings *s, uint32_t ref);

#endif
