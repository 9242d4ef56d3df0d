/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/stamp.h"
#include "golden/golden.h"
#include "suite.h"
#include "wire/api/object.h"

static const struct hold_key today = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE};
static const struct hold_key custom = {"example.com/keep", "yes"};

static const char *const holds[] = {"absent", "same", "other"};
static const char *const marks[] = {"absent", "time", "odd"};
static const char *const types[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK",
				    "ERROR"};

static void
put_time(struct buf *b, const char *name, int64_t ms)
{
	char text[STAMP_BYTES];

	if (ms == STAMP_NONE)
		return;
	stamp_format(ms, text);
	buf_printf(b, "%s=%s\n", name, text);
}

static void
put_text(struct buf *b, const char *name, const char *s)
{
	if (s[0] != '\0')
		buf_printf(b, "%s=%s\n", name, s);
}

static void
put_flag(struct buf *b, const char *name, bool set)
{
	if (set)
		buf_printf(b, "%s\n", name);
}

static void
put_object(struct buf *b, const struct object *o)
{
	buf_printf(b, "%s %s\n", object_kind_name(o->kind), o->name);
	put_text(b, "uid", o->uid);
	put_text(b, "rv", o->rv);
	put_text(b, "pool", o->nodepool);
	put_time(b, "created", o->created_ms);
	put_flag(b, "deleting", o->deleting);
	put_time(b, "deleted", o->deleted_ms);
	put_flag(b, "karpenter", o->karpenter);
	buf_printf(b, "hold=%s\nmark=%s\n", holds[o->hold], marks[o->mark]);
	put_time(b, "mark_time", o->mark_ms);
	put_flag(b, "has_held_key", o->has_held_key);
	if (o->is_other)
		buf_printf(b, "other \"%s\"=\"%s\"\n", o->other_hold.key,
			   o->other_hold.value);
	put_text(b, "node_name", o->node_name);
	put_flag(b, "launched", o->launched);
	put_flag(b, "launch_known", o->launch_known);
	put_time(b, "ready", o->ready_ms);
	put_flag(b, "rebooted", o->rebooted);
	put_flag(b, "disrupted", o->disrupted);
	put_flag(b, "repaired", o->repaired);
	put_time(b, "disrupted_at", o->disrupted_ms);
	put_flag(b, "exposed", o->exposed);
	put_flag(b, "drifted", o->drifted);
	put_flag(b, "has_class", o->has_class);
	put_text(b, "replaces", o->replaces);
	put_flag(b, "registered", o->registered);
	put_text(b, "owner_name", o->owner_name);
	put_text(b, "owner_uid", o->owner_uid);
}

/* Reads one watch line under today's hold and, where that gives another result,
 * under another hold. */
static void
put_line(struct buf *b, const char *bytes, size_t n, enum kind kind,
	 const struct hold_key *hold)
{
	enum watch_type type;
	struct object o;
	struct err e = {0};
	int code = -1;

	if (object_watch_decode(bytes, n, kind, hold, &type, &o, &code, &e)) {
		buf_printf(b, "error %s\n", e.text);
	} else if (type == WATCH_ERROR) {
		buf_printf(b, "ERROR %d %s\n", code, e.text);
	} else if (type == WATCH_BOOKMARK) {
		buf_printf(b, "BOOKMARK %s\n", o.rv);
	} else {
		buf_printf(b, "%s ", types[type]);
		put_object(b, &o);
	}
}

static void
golden_node(const char *bytes, size_t n, char *out, size_t cap)
{
	struct buf b;

	buf_init(&b, out, cap);
	put_line(&b, bytes, n, KIND_NODE, &today);
}

static void
golden_claim(const char *bytes, size_t n, char *out, size_t cap)
{
	struct buf b;

	buf_init(&b, out, cap);
	put_line(&b, bytes, n, KIND_NODECLAIM, &today);
}

static void
golden_status(const char *bytes, size_t n, char *out, size_t cap)
{
	struct status st;
	struct buf b;

	buf_init(&b, out, cap);
	if (watch_status_decode(bytes, n, &st))
		buf_printf(&b, "code=%d\nreason=%s\nmessage=%s\n", st.code,
			   st.reason, st.message);
	else
		buf_puts(&b, "no Status\n");
}

START_TEST(test_nodes)
{
	golden_folder("tests/golden/nodes", golden_node);
}
END_TEST

START_TEST(test_claims)
{
	golden_folder("tests/golden/nodeclaims", golden_claim);
}
END_TEST

START_TEST(test_status)
{
	golden_folder("tests/golden/status", golden_status);
}
END_TEST

static int
decode(const char *annotations, const struct hold_key *hold, struct object *o,
       struct err *e)
{
	char text[1024];
	int n = snprintf(text, sizeof(text),
			 "{\"metadata\":{\"name\":\"n\",\"uid\":\"u\","
			 "\"resourceVersion\":\"1\",\"creationTimestamp\":"
			 "\"2026-01-02T03:04:05Z\",\"annotations\":%s}}",
			 annotations);

	return object_decode(text, (size_t)n, KIND_NODE, hold, o, e);
}

#define M "\"" MARK_KEY "\":\"2026-01-01T00:00:00Z\""
#define K(text) ",\"" HELD_KEY_KEY "\":\"" text "\""
#define DEF ",\"karpenter.sh/do-not-disrupt\":\"true\""
#define KEEP(v) ",\"example.com/keep\":\"" v "\""

/* Whose mark is it when the hold is not the default? */
static const struct {
	const char *name, *annotations;
	enum hold hold;
	const char *other; /* the key of the hold for which the mark stands */
	enum tenure tenure;
} other_marks[] = {
	{"own", "{" M KEEP("yes") K("example.com/keep=yes") "}", HOLD_SAME,
	 NULL, TENURE_OURS},
	{"own, hold gone", "{" M K("example.com/keep=yes") "}", HOLD_ABSENT,
	 NULL, TENURE_YIELDED},
	{"mark of the default", "{" M DEF "}", HOLD_OTHER, DEFAULT_HOLD_KEY,
	 TENURE_PERSON},
	{"mark of the default, hold gone", "{" M "}", HOLD_OTHER,
	 DEFAULT_HOLD_KEY, TENURE_PERSON},
	{"mark of the default beside the hold", "{" M KEEP("yes") "}",
	 HOLD_OTHER, DEFAULT_HOLD_KEY, TENURE_PERSON},
	{"same key, another value",
	 "{" M KEEP("old") K("example.com/keep=old") "}", HOLD_OTHER,
	 "example.com/keep", TENURE_PERSON},
	{"held-key names the default",
	 "{" M DEF K("karpenter.sh/do-not-disrupt=true") "}", HOLD_OTHER,
	 DEFAULT_HOLD_KEY, TENURE_PERSON},
	{"held-key that says nothing", "{" M KEEP("yes") K("nothing") "}",
	 HOLD_OTHER, "", TENURE_PERSON},
	{"held-key without a mark",
	 "{\"a\":\"b\"" KEEP("yes") K("example.com/keep=yes") "}", HOLD_SAME,
	 NULL, TENURE_PERSON},
	{"annotations null", "null", HOLD_ABSENT, NULL, TENURE_FREE},
};

START_TEST(test_other_marks)
{
	const char *name = other_marks[_i].name;
	const char *other = other_marks[_i].other;
	struct object o;
	struct err e = {0};

	ck_assert_msg(decode(other_marks[_i].annotations, &custom, &o, &e) == 0,
		      "%s: %s", name, e.text);
	ck_assert_msg(o.hold == other_marks[_i].hold &&
			      o.is_other == (other != NULL) &&
			      (other == NULL ||
			       strcmp(o.other_hold.key, other) == 0),
		      "%s", name);
	ck_assert_msg(object_tenure(o.hold, o.mark) == other_marks[_i].tenure,
		      "%s", name);
}
END_TEST

/* Of others' annotations as many as the API server stores: they do not keep the
 * object out of the table. */
START_TEST(test_many_annotations)
{
	static char text[400000];
	struct object o;
	struct err e = {0};
	size_t n = 0;

	n += (size_t)sprintf(text, "{\"metadata\":{\"name\":\"n\",\"uid\":\"u\","
				   "\"resourceVersion\":\"1\","
				   "\"creationTimestamp\":"
				   "\"2026-01-02T03:04:05Z\","
				   "\"annotations\":{" M
				   K("example.com/keep=yes"));
	for (int i = 0; i < 19000; i++)
		n += (size_t)sprintf(text + n, ",\"%x\":\"v\"", i);
	n += (size_t)sprintf(text + n, KEEP("yes") "}}}");
	ck_assert_msg(object_decode(text, n, KIND_NODE, &custom, &o, &e) == 0,
		      "%s", e.text);
	ck_assert_int_eq(o.mark, MARK_TIME);
	ck_assert_int_eq(o.hold, HOLD_SAME);
}
END_TEST

/* Of a NodeClaim that cannot be read only the metadata counts, also where
 * annotations come first and many more members follow. */
START_TEST(test_unread)
{
	static const char text[] =
		"{\"type\":\"DELETED\",\"object\":{\"metadata\":{"
		"\"annotations\":{\"karpenter.sh/do-not-disrupt\":\"true\"},"
		"\"creationTimestamp\":\"2026-01-02T03:04:05Z\","
		"\"labels\":{\"karpenter.sh/nodepool\":\"web\"},"
		"\"name\":\"c\",\"resourceVersion\":\"7\",\"uid\":\"u\"},"
		"\"status\":{\"nodeName\":\"n\",\"conditions\":[{\"type\":"
		"\"Initialized\",\"status\":\"True\"},{";
	struct object o = {.name = "before"};
	enum watch_type type = WATCH_ADDED;

	ck_assert_int_eq(object_unread_decode(text, strlen(text), &today, &type,
					      &o),
			 0);
	ck_assert_int_eq(type, WATCH_DELETED);
	ck_assert(o.unread && o.karpenter && !o.launch_known);
	ck_assert_str_eq(o.name, "c");
	ck_assert_str_eq(o.nodepool, "web");
	ck_assert_str_eq(o.node_name, "");
	ck_assert_int_eq(o.hold, HOLD_SAME);
	ck_assert_int_eq(o.ready_ms, STAMP_NONE);
	o = (struct object){.name = "before"};
	type = WATCH_ADDED;
	ck_assert_int_eq(object_unread_decode(text, 200, &today, &type, &o),
			 -1);
	ck_assert_str_eq(o.name, "before");
	ck_assert_int_eq(type, WATCH_ADDED);
	ck_assert_int_eq(object_unread_decode(text + 27, strlen(text) - 27,
					      &today, NULL, &o),
			 0);
	ck_assert_str_eq(o.name, "c");
}
END_TEST

START_TEST(test_untouched)
{
	char rv[RV_BYTES] = "before", cont[CONTINUE_BYTES] = "before";
	enum watch_type type = WATCH_DELETED;
	struct object o = {.name = "before"};
	struct err e = {0};
	int code = 7;

	ck_assert_int_eq(decode("7", &today, &o, &e), -1);
	ck_assert_str_eq(e.text, "Node n: metadata.annotations is no object");
	ck_assert_str_eq(o.name, "before");
	ck_assert_int_eq(object_watch_decode("{\"type\":\"ADDED\",\"object\":{}}", 28,
				      KIND_NODE, &today, &type, &o, &code, &e),
			 -1);
	ck_assert_int_eq(type, WATCH_DELETED);
	ck_assert_int_eq(code, 7);
	ck_assert_str_eq(o.name, "before");
	ck_assert_int_eq(object_list_meta_decode("{}", 2, rv, cont, &e), -1);
	ck_assert_str_eq(rv, "before");
	ck_assert_str_eq(cont, "before");
}
END_TEST

START_TEST(test_list_meta)
{
	static char text[CONTINUE_BYTES + 100];
	char rv[RV_BYTES], cont[CONTINUE_BYTES], token[CONTINUE_BYTES + 1];
	struct err e = {0};
	int n;

	memset(token, 'c', sizeof(token));
	for (int i = 0; i < 2; i++) {
		token[CONTINUE_BYTES - i] = '\0';
		n = snprintf(text, sizeof(text),
			     "{\"metadata\":{\"continue\":\"%s\","
			     "\"resourceVersion\":\"42\"},\"items\":[]}",
			     token);
		ck_assert_int_eq(
			object_list_meta_decode(text, (size_t)n, rv, cont, &e),
			i == 0 ? -1 : 0);
	}
	ck_assert_str_eq(cont, token);
	ck_assert_str_eq(rv, "42");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/object");
	TCase *tc = tcase_create("objects");

	tcase_add_test(tc, test_nodes);
	tcase_add_test(tc, test_claims);
	tcase_add_test(tc, test_status);
	tcase_add_loop_test(tc, test_other_marks, 0,
			    sizeof(other_marks) / sizeof(other_marks[0]));
	tcase_add_test(tc, test_many_annotations);
	tcase_add_test(tc, test_unread);
	tcase_add_test(tc, test_untouched);
	tcase_add_test(tc, test_list_meta);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
