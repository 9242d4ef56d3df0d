/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/strings.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define STRING_BYTES_LEAST 32	/* of the arena, for each string */

/* A string begins with a unit and goes on over those behind it.  The first
 * unit of the arena stays zeroed and is the empty string. */
struct string_unit {
	uint32_t users;	/* free: the next place of the same size; 0: none */
	char text[4];	/* its beginning */
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

static void
place_free(struct strings *s, uint32_t ref, uint32_t units)
{
	s->at[ref].users = s->free[units];
	s->free[units] = ref;
}

/* Returns a place of that size, or 0: one that was used before, or one that
 * was not, or the beginning of a larger one. */
static uint32_t
place_take(struct strings *s, uint32_t units)
{
	uint32_t size = units, ref;

	if (s->free[units] == 0 && s->cap - s->top >= units) {
		ref = s->top;
		s->top += units;
		return ref;
	}
	while (size < STRINGS_CLASSES && s->free[size] == 0)
		size++;
	if (size == STRINGS_CLASSES)
		return 0;
	ref = s->free[size];
	s->free[size] = s->at[ref].users;
	if (size > units)
		place_free(s, ref + units, size - units);
	return ref;
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
		s->at[ref].users = 0;
		memcpy((char *)&s->at[ref] + offsetof(struct string_unit, text),
		       text, strlen(text) + 1);
		index_add(&s->index, ref);
		s->n++;
	}
	s->at[ref].users++;
	return ref;
}

void
strings_drop(struct strings *s, uint32_t ref)
{
	if (ref == 0 || ref == NO_ID)
		return;
	assert(s->at[ref].users > 0);
	if (--s->at[ref].users > 0)
		return;
	index_remove(&s->index, ref);
	place_free(s, ref, units_of(strings_text(s, ref)));
	if (--s->n > 0)
		return;
	s->top = 1;
	memset(s->free, 0, sizeof(s->free));
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
