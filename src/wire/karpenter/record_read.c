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

enum reader_what
record_read(const struct json *line, struct pieces *p, struct fact *f)
{
	const char *at = json_string(json_member(line, "at"));
	const struct json *pods = json_member(line, "pods");
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
	    pieces_take_name(json_member(line, "action"), NODEPOOL_BYTES,
			     &f->action) ||
	    pieces_take_name(json_member(line, "reason"), NODEPOOL_BYTES,
			     &f->reason) ||
	    find_maker(json_member(line, "maker"), &f->maker) ||
	    (!json_is_unset(pods) &&
	     (json_integer(pods, &f->pods) != 0 || f->pods < 0)) ||
	    read_dollars(json_member(line, "savings"), &f->savings) ||
	    read_dollars(json_member(line, "price"), &f->price) ||
	    (kind == FACT_DECIDED &&
	     pieces_add_list(p, f, json_member(line, "nodes"), "node",
			     "claim")) ||
	    !fact_whole(f))
		return READ_INCOMPLETE;
	return READ_FACT;
}
