/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/strings.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The arena may have at most one string for this many of its bytes. */
#define STRING_BYTES_LEAST 32

/*
 * The arena is an array of units.  The first unit stays zeroed and is the empty
 * string.  The units after it, up to `top`, are divided into places, each of
 * which has a string or is free.  Two free places are never next to each other,
 * and the last place before `top` is never free.  A string begins in the first
 * unit of its place and continues in the units after it.  A free place of more
 * than one unit has its size, in units, in its second unit and in its last
 * unit.
 */
struct string_unit {
	/* In the first unit of a string, the number of its users.  In the first
	 * unit of a free place, the next free place of the same class
	 * (class_of), or 0.  In the second and the last unit of a free place,
	 * its size.  The bits below are part of the same word. */
	uint32_t word;
#define FREE (1u << 31)	       /* A free place begins here. */
#define ALONE (1u << 30)       /* The free place has only this unit. */
#define BEHIND_FREE (1u << 29) /* The place before this string is free. */
#define NUMBER (BEHIND_FREE - 1)
	union {
		char text[4]; /* The beginning of the string. */
		/* In a free place, the previous free place of the same class,
		 * or 0. */
		uint32_t before;
	};
};

/* --- the index ------------------------------------------------------------ */

static uint32_t
text_hash(const void *ctx, uint32_t ref)
{
	return index_hash_text(strings_text(ctx, ref));
}

static bool
text_same(const void *ctx, uint32_t ref, const void *key)
{
	return strcmp(strings_text(ctx, ref), key) == 0;
}

int
strings_init(struct strings *s, size_t bytes)
{
	*s = (struct strings){
		.top = 1,
		.cap = (uint32_t)(bytes / sizeof(*s->at)),
		.max = (uint32_t)(bytes / STRING_BYTES_LEAST),
	};
	assert(s->cap <= NUMBER);
	s->at = calloc(s->cap, sizeof(*s->at));
	if (s->at == NULL ||
	    index_init(&s->index, s->max, s->cap, text_hash, text_same, s)) {
		strings_done(s);
		return -1;
	}
	return 0;
}

void
strings_done(struct strings *s)
{
	free(s->at);
	index_done(&s->index);
	*s = (struct strings){0};
}

const char *
strings_text(const struct strings *s, uint32_t ref)
{
	return (const char *)&s->at[ref] + offsetof(struct string_unit, text);
}

uint32_t
strings_find(const struct strings *s, const char *text)
{
	return text[0] == '\0'
		       ? 0
		       : index_find(&s->index, index_hash_text(text), text);
}

/* --- the arena ------------------------------------------------------------ */

static uint32_t
units_of(const char *text)
{
	size_t n = offsetof(struct string_unit, text) + strlen(text) + 1;

	return (uint32_t)((n + sizeof(struct string_unit) - 1) /
			  sizeof(struct string_unit));
}

static uint32_t
number(const struct strings *s, uint32_t at)
{
	return s->at[at].word & NUMBER;
}

static bool
is_free(const struct strings *s, uint32_t at)
{
	return at < s->top && (s->at[at].word & FREE);
}

static uint32_t
free_units(const struct strings *s, uint32_t at)
{
	return s->at[at].word & ALONE ? 1 : number(s, at + 1);
}

/* Returns the element of s->free for places of this size.  All sizes larger
 * than any string share one class. */
static uint32_t *
class_of(struct strings *s, uint32_t units)
{
	return &s->free[units < STRINGS_CLASSES ? units : STRINGS_CLASSES];
}

static void
free_add(struct strings *s, uint32_t at, uint32_t units)
{
	uint32_t *first = class_of(s, units);

	if (units > 1)
		s->at[at + 1].word = s->at[at + units - 1].word = units;
	s->at[at].word = FREE | (units == 1 ? ALONE : 0) | *first;
	s->at[at].before = 0;
	if (*first != 0)
		s->at[*first].before = at;
	*first = at;
	s->at[at + units].word |= BEHIND_FREE;
}

static void
free_remove(struct strings *s, uint32_t at)
{
	uint32_t units = free_units(s, at), next = number(s, at);
	uint32_t before = s->at[at].before;

	if (next != 0)
		s->at[next].before = before;
	if (before != 0)
		s->at[before].word = (s->at[before].word & ~NUMBER) | next;
	else
		*class_of(s, units) = next;
	s->at[at + units].word &= ~BEHIND_FREE;
}

/* Frees the place, and joins it with the free places on both sides of it. */
static void
place_free(struct strings *s, uint32_t at, uint32_t units)
{
	uint32_t end = at + units;

	if (s->at[at].word & BEHIND_FREE) {
		at -= s->at[at - 1].word & ALONE ? 1 : number(s, at - 1);
		free_remove(s, at);
	}
	if (is_free(s, end)) {
		uint32_t more = free_units(s, end);

		free_remove(s, end);
		end += more;
	}
	if (end == s->top)
		s->top = at;
	else
		free_add(s, at, end - at);
}

/* Returns a place of this size, or 0 if there is no room.  It takes a free
 * place, or the beginning of a larger free place, or else units from `top`
 * on. */
static uint32_t
place_take(struct strings *s, uint32_t units)
{
	uint32_t class = units, at, left;

	while (class < STRINGS_CLASSES && s->free[class] == 0)
		class ++;
	at = s->free[class];
	if (at != 0) {
		left = free_units(s, at) - units;
		free_remove(s, at);
		if (left > 0)
			free_add(s, at + units, left);
	} else if (s->cap - s->top >= units) {
		at = s->top;
		s->top += units;
	}
	s->at[at].word = 0;
	return at;
}

/* --- references ----------------------------------------------------------- */

uint32_t
strings_take(struct strings *s, const char *text)
{
	uint32_t ref = strings_find(s, text), units = units_of(text);

	assert(units < STRINGS_CLASSES);
	if (ref == 0)
		return 0;
	if (ref == NO_ID) {
		ref = s->n < s->max ? place_take(s, units) : 0;
		if (ref == 0)
			return NO_ID;
		memcpy((char *)&s->at[ref] + offsetof(struct string_unit, text),
		       text, strlen(text) + 1);
		index_add(&s->index, ref);
		s->n++;
	}
	s->at[ref].word++;
	return ref;
}

void
strings_drop(struct strings *s, uint32_t ref)
{
	if (ref == 0 || ref == NO_ID)
		return;
	assert(number(s, ref) > 0);
	s->at[ref].word--;
	if (number(s, ref) > 0)
		return;
	index_remove(&s->index, ref);
	place_free(s, ref, units_of(strings_text(s, ref)));
	s->n--;
}

int
strings_set(struct strings *s, uint32_t *ref, const char *text)
{
	uint32_t new;

	if (strcmp(strings_text(s, *ref), text) == 0)
		return 0;
	new = strings_take(s, text);
	if (new == NO_ID)
		return -1;
	strings_drop(s, *ref);
	*ref = new;
	return 0;
}
