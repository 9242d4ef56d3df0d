/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <string.h>

#include "wire/api/object.h"
#include "wire/api/patch.h"

static void
check_object(const struct object *o)
{
	PROMISE(o->name[0] != '\0' && o->uid[0] != '\0' && o->rv[0] != '\0');
	PROMISE(o->kind == KIND_NODE || o->karpenter);
	PROMISE(o->mark == MARK_ABSENT || o->karpenter);
	PROMISE(!o->is_other ||
		(o->mark == MARK_ABSENT && o->hold == HOLD_OTHER));
	PROMISE((o->mark == MARK_TIME) == (o->mark_ms != STAMP_NONE));
}

static void
check_body(struct buf *b)
{
	PROMISE(!b->full);
	promise_json(b->data, b->len);
	b->len = 0;
}

/* What we write on it, whatever its names and versions are. */
static void
write_all(const struct object *o, const struct hold_key *hold)
{
	static char body[PATCH_BYTES];
	const struct patch_clear exact = {
		.uid = o->uid,
		.mark_exact = true,
		.mark_ms = o->mark == MARK_TIME ? o->mark_ms : 0,
		.hold = hold,
		.has_held_key = o->has_held_key,
	};
	const struct patch_clear odd = {.uid = o->uid, .rv = o->rv};
	struct buf b;

	buf_init(&b, body, sizeof(body));
	patch_hold(&b, hold, o->rv, 0);
	check_body(&b);
	patch_clear(&b, &exact);
	check_body(&b);
	patch_clear(&b, &odd);
	check_body(&b);
	patch_classify(&b, o->replaces, o->uid, o->rv);
	check_body(&b);
	patch_declassify(&b, o->uid);
	check_body(&b);
}

static void
check_line(const char *text, size_t n, enum kind kind,
	   const struct hold_key *hold)
{
	enum watch_type type;
	struct object o;
	struct err e = {0};
	int code;

	if (object_watch_decode(text, n, kind, hold, &type, &o, &code, &e))
		promise_refused(&e);
	else if (type == WATCH_ERROR)
		PROMISE(code >= 0 && code < 1000);
	else if (type == WATCH_BOOKMARK)
		PROMISE(o.rv[0] != '\0');
	else
		check_object(&o);
	if (object_decode(text, n, kind, hold, &o, &e) == 0) {
		check_object(&o);
		write_all(&o, hold);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct hold_key holds[] = {
		{DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE},
		{"example.com/keep", "yes"},
	};
	const char *text = (const char *)data;
	char rv[RV_BYTES], cont[CONTINUE_BYTES];
	struct status st;
	struct err e = {0};

	for (int i = 0; i < 4; i++)
		check_line(text, n, i & 1 ? KIND_NODECLAIM : KIND_NODE,
			   &holds[i / 2]);
	if (object_list_meta_decode(text, n, rv, cont, &e) == 0)
		PROMISE(rv[0] != '\0');
	if (watch_status_decode(text, n, &st))
		promise_utf8(st.message);
	return 0;
}
