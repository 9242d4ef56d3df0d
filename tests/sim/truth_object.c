/* SPDX-License-Identifier: Apache-2.0 */
#include "truth_parts.h"

#include <string.h>

#define OTHER_HELD_KEY "example.com/keep=yes"

/* Returns the annotation that the mark stands for, or ANN_COUNT if it is not
 * known. */
static enum ann
marked_hold(const struct thing *t)
{
	const char *key = t->notes.at[ANN_HELD_KEY];

	if (strcmp(key, OTHER_HELD_KEY) == 0)
		return ANN_OTHER_HOLD;
	return key[0] == '\0' || strchr(key, '=') != NULL ? ANN_HOLD
							  : ANN_COUNT;
}

static enum ann
our_hold(const struct rules *r)
{
	return strcmp(r->hold.key, ann_keys[ANN_OTHER_HOLD]) == 0
		       ? ANN_OTHER_HOLD
		       : ANN_HOLD;
}

static bool
has_our_value(const struct thing *t, const struct rules *r)
{
	return strcmp(t->notes.at[our_hold(r)], r->hold.value) == 0;
}

/* A mark for another hold is not ours. */
static bool
has_mark(const struct thing *t, const struct rules *r)
{
	return t->notes.at[ANN_MARK][0] != '\0' &&
	       marked_hold(t) == our_hold(r);
}

/* With mode observe, what was told counts as if it stood there, unless a person
 * has a say. */
static bool
is_told(const struct thing *t)
{
	return t->told > 0 && t->notes.at[ANN_MARK][0] == '\0' &&
	       t->notes.at[t->told - 1][0] == '\0';
}

bool
truth_marked(const struct thing *t, const struct rules *r)
{
	return t != NULL && (is_told(t) || has_mark(t, r));
}

bool
truth_held(const struct thing *t, const struct rules *r)
{
	if (is_told(t))
		return t->told == (int)our_hold(r) + 1;
	return has_mark(t, r) && has_our_value(t, r);
}

/* Does a person decide about the object?  It has a hold without our mark, or
 * our mark without the hold, or a mark that is not ours, or the claim's own hold
 * was copied beside our mark. */
bool
truth_person(const struct thing *t, const struct rules *r)
{
	enum ann k = our_hold(r);

	if (t == NULL)
		return false;
	if (has_mark(t, r))
		return t->notes.by[k] == BY_PERSON || !has_our_value(t, r);
	return t->notes.at[k][0] != '\0' || t->notes.at[ANN_MARK][0] != '\0';
}

bool
truth_opted_out(const struct thing *t, const struct rules *r)
{
	return has_mark(t, r) && !has_our_value(t, r);
}

bool
truth_unmarked(const struct thing *t)
{
	enum ann k = t->notes.at[ANN_MARK][0] != '\0' ? marked_hold(t)
						      : ANN_COUNT;

	for (enum ann a = ANN_HOLD; a <= ANN_OTHER_HOLD; a++)
		if (a != k && t->notes.at[a][0] != '\0' &&
		    t->notes.by[a] == BY_US)
			return true;
	return false;
}

bool
truth_classed(const struct thing *claim)
{
	return claim->class[0] != '\0' &&
	       strcmp(claim->class_uid, claim->uid) == 0;
}
