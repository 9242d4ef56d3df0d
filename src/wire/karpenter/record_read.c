/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "parts.h"

static int
find_kind(const char *what, enum fact_kind *out)
{
	for (int k = 0; what != NULL && k < FACT_COUNT; k++)
		if (strcmp(what, fact_name((enum fact_kind)k)) == 0) {
			*out = (enum fact_kind)k;
			return 0;
		}
	return -1;
}

static int
find_maker(const struct json *v, enum fact_maker *out)
{
	const char *name = json_string(v);

	if (json_is_unset(v))
		name = "";
	for (int m = 0; name != NULL && m < MAKER_COUNT; m++)
		if (strcmp(name, fact_maker_name((enum fact_maker)m)) == 0) {
			*out = (enum fact_maker)m;
			return 0;
		}
	return -1;
}

/* Reads an amount of dollars.  If there is none, *out stays as it is. */
static int
read_dollars(const struct json *v, int64_t *out)
{
	const char *s = json_string(v);

	if (json_is_unset(v))
		return 0;
	return s == NULL ? -1 : fact_dollars_parse(s, strlen(s), out);
}

static int
read_numbers(const struct json *line, struct fact *f)
{
	const struct json *pods = json_member(line, "pods");

	if (!json_is_unset(pods) &&
	    (json_integer(pods, &f->pods) || f->pods < 0))
		return -1;
	return read_dollars(json_member(line, "savings"), &f->savings) ||
			       read_dollars(json_member(line, "price"),
					    &f->price)
		       ? -1
		       : 0;
}

static int
read_why(const struct json *line, struct fact *f)
{
	return pieces_take_name(json_member(line, "action"), NODEPOOL_BYTES,
				&f->action) ||
			       pieces_take_name(json_member(line, "reason"),
						NODEPOOL_BYTES, &f->reason)
		       ? -1
		       : 0;
}

/* Reads the members that only a decision has. */
static int
read_decision_of(const struct json *line, struct pieces *p, struct fact *f)
{
	return read_why(line, f) || read_numbers(line, f) ||
			       pieces_add_list(p, f, json_member(line, "nodes"),
					       "node", "claim")
		       ? -1
		       : 0;
}

enum reader_what
record_read(const struct json *line, struct pieces *p, struct fact *f)
{
	const char *at = json_string(json_member(line, "at"));
	enum fact_kind kind;
	int64_t ms;

	if (at == NULL || stamp_parse(at, &ms) ||
	    find_kind(json_string(json_member(line, "what")), &kind))
		return READ_INCOMPLETE;
	fact_init(f, kind, ms);
	if (pieces_take_name(json_member(line, "claim"), NAME_BYTES,
			     &f->claim) ||
	    pieces_take_name(json_member(line, "node"), NAME_BYTES, &f->node) ||
	    pieces_take_name(json_member(line, "pool"), NODEPOOL_BYTES,
			     &f->pool) ||
	    (kind == FACT_CREATED &&
	     find_maker(json_member(line, "maker"), &f->maker)) ||
	    (kind == FACT_DECIDED && read_decision_of(line, p, f)) ||
	    ((kind == FACT_DELETING || kind == FACT_HELD ||
	      kind == FACT_RELEASED) &&
	     read_why(line, f)) ||
	    !fact_whole(f))
		return READ_INCOMPLETE;
	return READ_FACT;
}
