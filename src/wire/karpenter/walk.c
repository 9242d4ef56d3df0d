/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/base/stamp.h"
#include "reader_parts.h"

/* Looks in the members of objects and the elements of arrays for objects that
 * judge.c recognizes.  A string is read like the stream. */

/* Reads a string that journald has written as an array of its bytes.  Returns
 * whether the array is one. */
static bool
walk_bytes(struct reader *r, const struct json *v, const struct around *a)
{
	char *text = NULL;
	size_t n = 0;
	long long c;

	for (const struct json *i = v; i != NULL; i = json_next(i), n++)
		if (json_integer(i, &c) != 0 || c < 0 || c > UINT8_MAX)
			return false;
	text = n < 2 ? NULL : malloc(n);
	if (text == NULL)
		return false;
	n = 0;
	for (const struct json *i = v; i != NULL; i = json_next(i))
		text[n++] = json_integer(i, &c) == 0 ? (char)c : ' ';
	r->read(r, text, n, false, a);
	free(text);
	return true;
}

/* Reads the members that are strings first, because a raw line has its own time
 * and its parsed members may not. */
static void
walk_members(struct reader *r, const struct json *o, struct around a)
{
	int64_t at;

	if (when_object(o, &at)) {
		a.at_ms = at;
		a.before_n = a.behind_n = 0;
	}
	a.kind = json_says(o, "kind", "NodeClaimList") ? "NodeClaim"
		 : json_says(o, "kind", "EventList")   ? "Event"
						       : NULL;
	a.in = o;
	r->inside++;
	for (int strings = 1; strings >= 0; strings--)
		for (const struct json *v = json_first(o);
		     v != NULL && !r->failed; v = json_next(v)) {
			if ((json_string(v) != NULL) != strings)
				continue;
			a.name = json_key(v);
			walk(r, v, a);
		}
	if (--r->inside == 0)
		judge_forget(r, 0);
}

static void
walk_elements(struct reader *r, const struct json *array, struct around a)
{
	const struct json *first = json_first(array);
	unsigned told = r->told_n;
	int64_t at;

	if (walk_bytes(r, first, &a))
		return;
	/* Loki and tables have the time beside the line. */
	for (const struct json *v = first; v != NULL; v = json_next(v))
		if (json_string(v) != NULL && when_value(v, &at)) {
			a.at_ms = at;
			break;
		}
	for (const struct json *v = first; v != NULL && !r->failed;
	     v = json_next(v)) {
		if (json_string(v) != NULL && when_value(v, &at)) {
			a.at_ms = at;
			continue;
		}
		/* Another element is another line. */
		judge_forget(r, told);
		walk(r, v, a);
	}
}

void
walk(struct reader *r, const struct json *v, struct around a)
{
	uint64_t found = r->found;

	if (a.depth > READER_DEPTH_MAX)
		return;
	a.depth += json_is_object(v);
	a.piece = json_string(v);
	if (a.piece != NULL)
		r->read(r, a.piece, strlen(a.piece), false, &a);
	else if (json_is_array(v))
		walk_elements(r, v, a);
	else if (json_is_object(v) && !judge_value(r, v, &a)) {
		walk_members(r, v, a);
		if (r->found == found)
			(void)judge_log(r, v, &a, true);
	}
}
