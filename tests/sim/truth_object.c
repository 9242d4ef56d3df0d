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
todays_hold(const struct rules *r)
{
	return strcmp(r->hold.key, ann_keys[ANN_OTHER_HOLD]) == 0
		       ? ANN_OTHER_HOLD
		       : ANN_HOLD;
}

static bool
has_our_value(const struct thing *t, enum ann a)
{
	return a != ANN_COUNT &&
	       strcmp(t->notes.at[a], a == ANN_HOLD ? "true" : "yes") == 0;
}

static bool
has_mark(const struct thing *t)
{
	return t->notes.at[ANN_MARK][0] != '\0';
}

/* With mode observe, what was told counts as if it stood there, unless a person
 * has a say. */
static bool
is_told(const struct thing *t)
{
	return t->told > 0 && !has_mark(t) &&
	       t->notes.at[t->told - 1][0] == '\0';
}

bool
truth_marked(const struct thing *t)
{
	return t != NULL && (is_told(t) || has_mark(t));
}

bool
truth_held_today(const struct thing *t, const struct rules *r)
{
	return t->notes.at[todays_hold(r)][0] != '\0';
}

bool
truth_held(const struct thing *t, const struct rules *r)
{
	enum ann today = todays_hold(r);

	if (is_told(t))
		return t->told == (int)today + 1;
	return has_mark(t) && has_our_value(t, today) &&
	       marked_hold(t) == today;
}

/* Does a person decide about the object?  It has a hold without our mark, or
 * our mark without the hold, or the claim's own hold was copied beside our
 * mark. */
bool
truth_person(const struct thing *t, const struct rules *r)
{
	enum ann today = todays_hold(r);

	if (t == NULL)
		return false;
	if (!has_mark(t))
		return t->notes.at[today][0] != '\0';
	return t->notes.by[today] == BY_PERSON ||
	       !has_our_value(t, marked_hold(t));
}

bool
truth_opted_out(const struct thing *t)
{
	return has_mark(t) && marked_hold(t) != ANN_COUNT &&
	       !has_our_value(t, marked_hold(t));
}

bool
truth_classed(const struct thing *claim)
{
	return claim->class[0] != '\0' &&
	       strcmp(claim->class_uid, claim->uid) == 0;
}
