/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "suite.h"
#include "wire/json/json.h"
#include "wire/json/json_printf.h"

/* Parses from memory of the exact size, so that ASan sees one byte too many. */
static struct json *
parse(const char *text, size_t n, struct err *e)
{
	char *copy = malloc(n > 0 ? n : 1);
	struct json *root;

	memcpy(copy, text, n);
	root = json_parse(copy, n, &json_bounds_default, e);
	free(copy);
	return root;
}

static const char *const good[] = {
	"null",
	"true",
	" false ",
	"0",
	"-1.5e+10",
	"\"\"",
	"[]",
	"{}",
	"[[],{}]",
	"{\"a\":[1,2,{\"b\":null}]}\r\n\t ",
	"\"\\\"\\\\\\/"
	"\\b\\f\\n\\r\\t\\u0001\\u00e9\\ud83d\\ude00\\uDBFF\\uDFFF\"",
	"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbf\x7f\"",
	"{\"a\":1,\"a\":2,\"\":3}",
	"\"sixteen plain bytes and more, then \\u0041 and \xc3\xa9\"",
};

START_TEST(test_good)
{
	struct err e = {0};
	AUTO_JSON root = parse(good[_i], strlen(good[_i]), &e);

	ck_assert_msg(root != NULL, "%s: %s", good[_i], e.text);
}
END_TEST

#define BAD(text, why)                                                         \
	{                                                                      \
		text, sizeof(text) - 1, why                                    \
	}
static const struct {
	const char *text;
	size_t n;
	const char *why;
} bad[] = {
	BAD("", "not JSON: nothing at byte 0"),
	BAD(" ", "not JSON: unfinished document at byte 1"),
	BAD("\xef\xbb\xbf{}", "not JSON: unexpected byte at byte 0"),
	BAD("{}\0", "not JSON: unexpected byte at byte 2"),
	BAD("\0", "not JSON: unexpected byte at byte 0"),
	BAD("{}\x0b", "not JSON: unexpected byte at byte 2"),
	BAD("[1,\f2]", "not JSON: unexpected byte at byte 3"),
	BAD("{} {}", "not JSON: more than one document at byte 3"),
	BAD("1 2", "not JSON: more than one document at byte 2"),
	BAD("nullx", "not JSON: unexpected byte at byte 4"),
	BAD("truefalse", "not JSON: more than one document at byte 4"),
	BAD("{", "not JSON: unfinished document at byte 1"),
	BAD("[1", "not JSON: unfinished document at byte 2"),
	BAD("]", "not JSON: unexpected bracket at byte 0"),
	BAD("[]]", "not JSON: unexpected bracket at byte 2"),
	BAD("[}", "not JSON: syntax error at byte 1"),
	BAD("[1,]", "not JSON: syntax error at byte 3"),
	BAD("{\"a\"}", "not JSON: syntax error at byte 4"),
	BAD("{a:1}", "not JSON: syntax error at byte 1"),
	BAD("{'a':1}", "not JSON: unexpected byte at byte 1"),
	BAD("[1] // x", "not JSON: unexpected byte at byte 4"),
	BAD("NaN", "not JSON: unexpected byte at byte 0"),
	BAD("\"abc", "not JSON: unfinished string at byte 0"),
	BAD("[\"abcdefghijklmnop", "not JSON: unfinished string at byte 1"),
	BAD("\"abc\\", "not JSON: bad \\u escape at byte 4"),
	BAD("\"abc\\\"", "not JSON: unfinished string at byte 0"),
	BAD("\"\\u0000\"", "not JSON: \\u0000 at byte 1"),
	BAD("\"12345678\\u0000\"", "not JSON: \\u0000 at byte 9"),
	BAD("\"\\u12\"", "not JSON: bad \\u escape at byte 1"),
	BAD("\"\\u12g4\"", "not JSON: bad \\u escape at byte 1"),
	BAD("\"\\ud800\"", "not JSON: lone surrogate at byte 1"),
	BAD("\"\\udc00\"", "not JSON: lone surrogate at byte 1"),
	BAD("\"\\udc00\\ud800\"", "not JSON: lone surrogate at byte 1"),
	BAD("\"\\ud800\\ud800\"", "not JSON: lone surrogate at byte 1"),
	BAD("\"\\ud800\\n1234\"", "not JSON: lone surrogate at byte 1"),
	BAD("\"a\nb\"", "not JSON: control byte in a string at byte 2"),
	BAD("\"a\0b\"", "not JSON: control byte in a string at byte 2"),
	BAD("\"1234567\x1f\"", "not JSON: control byte in a string at byte 8"),
	BAD("\"\xe9\"", "not JSON: invalid UTF-8 at byte 1"),
	BAD("\"12345678\xff\"", "not JSON: invalid UTF-8 at byte 9"),
	BAD("\"\xc0\xaf\"", "not JSON: invalid UTF-8 at byte 1"),
	BAD("\"\xed\xa0\x80\"", "not JSON: invalid UTF-8 at byte 1"),
	BAD("\"\xf4\x90\x80\x80\"", "not JSON: invalid UTF-8 at byte 1"),
	BAD("\"\xe2\x82", "not JSON: invalid UTF-8 at byte 1"),
	BAD("\"\\x41\"", "not JSON: syntax error at byte 1"),
};

START_TEST(test_bad)
{
	struct err e = {0};
	AUTO_JSON root = parse(bad[_i].text, bad[_i].n, &e);

	ck_assert_ptr_null(root);
	ck_assert_int_eq(e.code, ERR_INPUT);
	ck_assert_str_eq(e.text, bad[_i].why);
}
END_TEST

/* Parses head, n times unit, and tail. */
static struct json *
parse_many(const char *head, const char *unit, size_t n, const char *tail,
	   struct err *e)
{
	size_t h = strlen(head), u = strlen(unit), t = strlen(tail);
	char *text = malloc(h + n * u + t + 1), *p = text;
	struct json *root;

	memcpy(p, head, h);
	p += h;
	for (size_t i = 0; i < n; i++, p += u)
		memcpy(p, unit, u);
	memcpy(p, tail, t);
	root = json_parse(text, h + n * u + t, &json_bounds_default, e);
	free(text);
	return root;
}

/* n units make n + extra values.  One unit more exceeds the bound. */
static const struct {
	const char *head, *unit, *tail;
	size_t extra;
} counted[] = {
	{"[", "1,", "1]", 2},
	{"[", "\"\",", "\"\"]", 2},
	{"[", "[],", "[]]", 2},
	{"[", "{ \n},", "{}]", 2},
	{"[[],[[]],{\"a\":1},", "null,", "[[1]]]", 9},
	{"{", "\"k\":1,", "\"k\":{}}", 2},
	{"{", "\"a,[{\":1,", "\"k\":{}}", 2},
};

START_TEST(test_values)
{
	size_t n = JSON_VALUES_MAX - counted[_i].extra;
	struct err e = {0};
	AUTO_JSON fits = parse_many(counted[_i].head, counted[_i].unit, n,
				    counted[_i].tail, &e);

	ck_assert_msg(fits != NULL, "%s", e.text);

	AUTO_JSON more = parse_many(counted[_i].head, counted[_i].unit, n + 1,
				    counted[_i].tail, &e);

	ck_assert_ptr_null(more);
	ck_assert_int_eq(e.code, ERR_LIMIT);
	ck_assert_ptr_nonnull(strstr(e.text, "more than 100000 values"));
}
END_TEST

START_TEST(test_depth)
{
	char open[JSON_DEPTH_MAX + 2], shut[JSON_DEPTH_MAX + 2];
	struct err e = {0};

	memset(open, '[', sizeof(open));
	memset(shut, ']', sizeof(shut));
	open[JSON_DEPTH_MAX] = shut[JSON_DEPTH_MAX] = '\0';

	AUTO_JSON fits = parse_many(open, "1", 1, shut, &e);

	ck_assert_msg(fits != NULL, "%s", e.text);

	AUTO_JSON more = parse_many(open, "[1]", 1, shut, &e);

	ck_assert_ptr_null(more);
	ck_assert_int_eq(e.code, ERR_LIMIT);
	ck_assert_str_eq(e.text, "JSON nested deeper than 64 at byte 64");
}
END_TEST

/* A caller may pass NULL for the error. */
START_TEST(test_no_err)
{
	ck_assert_ptr_null(parse("[", 1, NULL));
	ck_assert_ptr_null(parse("", 0, NULL));
	ck_assert_ptr_null(parse("[}", 2, NULL));
}
END_TEST

START_TEST(test_members)
{
	static const char text[] =
		"{\"a\":1,\"A\":2,\"a\":3,"
		"\"n\":{\"deep\":{\"x\":\"y\"}},\"l\":[1,2]}";
	static const char *const path[] = {"n", "deep", "x"};
	static const char *const astray[] = {"n", "l", "x"};
	AUTO_JSON root = parse(text, strlen(text), NULL);
	const struct json *l = json_member(root, "l");
	long long v = 0;

	ck_assert_int_eq(json_integer(json_member(root, "a"), &v), 0);
	ck_assert_int_eq(v, 1);
	ck_assert_int_eq(json_integer(json_member(root, "A"), &v), 0);
	ck_assert_int_eq(v, 2);
	ck_assert_ptr_null(json_member(root, "N"));
	ck_assert_ptr_null(json_member(l, "a"));
	ck_assert_ptr_null(json_member(NULL, "a"));
	ck_assert_str_eq(json_string(json_path(root, path, 3)), "y");
	ck_assert_ptr_null(json_path(root, astray, 3));
	ck_assert(json_says(json_path(root, path, 2), "x", "y"));
	ck_assert(!json_says(json_path(root, path, 2), "x", "Y"));
	ck_assert(!json_says(root, "a", "1"));
	ck_assert_str_eq(json_key(json_first(root)), "a");
	ck_assert_int_eq(json_integer(json_next(json_first(l)), &v), 0);
	ck_assert_int_eq(v, 2);
	ck_assert_ptr_null(json_next(json_next(json_first(l))));
	ck_assert_ptr_null(json_first(json_member(root, "a")));
	ck_assert_ptr_null(json_first(NULL));
	ck_assert_ptr_null(json_key(NULL));
}
END_TEST

START_TEST(test_types)
{
	static const char text[] = "[null,true,false,\"s\",[],{}]";
	AUTO_JSON root = parse(text, strlen(text), NULL);
	const struct json *v = json_first(root);

	ck_assert(json_is_null(v) && !json_is_null(NULL));
	v = json_next(v);
	ck_assert(json_is_true(v));
	v = json_next(v);
	ck_assert(!json_is_true(v));
	v = json_next(v);
	ck_assert_str_eq(json_string(v), "s");
	v = json_next(v);
	ck_assert(json_is_array(v) && json_string(v) == NULL);
	v = json_next(v);
	ck_assert(json_is_object(v) && !json_is_array(v));
	ck_assert(!json_is_object(NULL) && !json_is_true(NULL));
}
END_TEST

START_TEST(test_integers)
{
	static const struct {
		const char *text;
		int rc;
		long long v;
	} t[] = {
		{"0", 0, 0},
		{"-7", 0, -7},
		{"1e3", 0, 1000},
		{"9007199254740991", 0, 9007199254740991},
		{"-9007199254740991", 0, -9007199254740991},
		{"9007199254740992", -1, 0},
		{"1.5", -1, 0},
		{"1e300", -1, 0},
		{"-1e999", -1, 0},
		{"\"1\"", -1, 0},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		AUTO_JSON root = parse(t[i].text, strlen(t[i].text), NULL);
		long long v = 0;

		ck_assert_msg(json_integer(root, &v) == t[i].rc && v == t[i].v,
			      "%s", t[i].text);
	}
}
END_TEST

static const struct json_keep inner[] = {
	{"x", NULL}, {NULL, NULL}};
static const struct json_keep wanted[] = {
	{"a", NULL}, {"in", inner}, {NULL, NULL}};

/* The value as text, in which everything that was kept can be seen. */
static void
show(const struct json *v, char *out, size_t cap)
{
	size_t n = strlen(out);
	long long i;

	if (json_string(v) != NULL) {
		(void)snprintf(out + n, cap - n, "'%s'", json_string(v));
	} else if (json_integer(v, &i) == 0) {
		(void)snprintf(out + n, cap - n, "%lld", i);
	} else if (json_is_object(v) || json_is_array(v)) {
		(void)snprintf(out + n, cap - n, json_is_object(v) ? "{" : "[");
		for (const struct json *m = json_first(v); m;
		     m = json_next(m)) {
			if (json_is_object(v))
				(void)snprintf(out + strlen(out),
					       cap - strlen(out), "%s:",
					       json_key(m));
			show(m, out, cap);
			(void)snprintf(out + strlen(out), cap - strlen(out),
				       ";");
		}
		(void)snprintf(out + strlen(out), cap - strlen(out), "%s",
			       json_is_object(v) ? "}" : "]");
	} else {
		(void)snprintf(out + n, cap - n, json_is_null(v) ? "null"
						 : json_is_true(v) ? "true"
								   : "false");
	}
}

static const struct {
	const char *text, *kept;
} picked[] = {
	{"{}", "{}"},
	{"7", "7"},
	{"\"x\"", "'x'"},
	{"{\"b\":1}", "{}"},
	{"{\"a\":1}", "{a:1;}"},
	{" { \"a\" : 1 , \"b\" : 2 } ", "{a:1;}"},
	{"{\"b\":{\"a\":1},\"a\":2}", "{a:2;}"},
	{"{\"a\":1,\"a\":2}", "{a:1;a:2;}"},
	{"{\"a\":{\"b\":[{\"c\":null}]}}", "{a:{b:[{c:null;};];};}"},
	{"{\"b\":[1,{\"a\":\"]}\"}],\"in\":{\"y\":1,\"x\":true,\"z\":[]}}",
	 "{in:{x:true;};}"},
	{"{\"in\":[{\"y\":1,\"x\":2},3,{\"y\":4},[{\"x\":5}],[]],\"c\":0}",
	 "{in:[{x:2;};3;{};[{x:5;};];[];];}"},
	{"{\"in\":null}", "{in:null;}"},
	{"{\"aa\":1,\"\":2,\"A\":3}", "{}"},
	/* An escape in a key: cJSON knows what it is. */
	{"{\"\\u0061\":1,\"\\u0062\":{\"x\":2}}", "{a:1;b:{x:2;};}"},
	{"[{\"a\":1,\"b\":2},{\"b\":3}]", "[{a:1;};{};]"},
};

START_TEST(test_picked)
{
	const char *text = picked[_i].text;
	struct err e = {0};
	char out[200] = "";
	AUTO_JSON root = json_pick(text, strlen(text), wanted,
				   &json_bounds_default, &e);

	ck_assert_msg(root != NULL, "%s: %s", text, e.text);
	show(root, out, sizeof(out));
	ck_assert_str_eq(out, picked[_i].kept);
}
END_TEST

/* What is left out has to be JSON all the same. */
/* What is kept of the beginning of a text: what came whole, and the objects
 * around it that may be cut. */
static const struct {
	const char *text, *kept, *flat;
} cuts[] = {
	{"{", "{}", "{}"},
	{"{\"a\"", "{}", "{}"},
	{"{\"a\":", "{}", "{}"},
	{"{\"a\":{\"x\":1", "{}", "{}"},
	{"{\"a\":{\"x\":1}", "{a:{x:1;};}", "{a:{x:1;};}"},
	{"{\"a\":\"xyz", "{}", "{}"},
	{"{\"a\":[1,2", "{}", "{}"},
	{"{\"a\":1,\"in\":{\"x\":2", "{a:1;in:{x:2;};}", "{a:1;}"},
	{"{\"a\":1,\"in\":{\"x\":2,\"y\":[\"very long, and never closed",
	 "{a:1;in:{x:2;};}", "{a:1;}"},
	{"{\"a\":1,\"in\":[{\"x\":2},{\"x\"", "{a:1;}", "{a:1;}"},
	{"{\"b\":[1,2,{\"a\":3", "{}", "{}"},
	{"{\"a\":1,\"b\":2}", "{a:1;}", "{a:1;}"},
};

START_TEST(test_pick_cut)
{
	const char *text = cuts[_i].text;
	char *exact = malloc(strlen(text));
	struct json_bounds bounds = json_bounds_stored;
	struct err e = {0};

	memcpy(exact, text, strlen(text));
	for (bounds.cut_depth = 1; bounds.cut_depth < 4; bounds.cut_depth++) {
		char out[200] = "";
		AUTO_JSON root = json_pick(exact, strlen(text), wanted, &bounds,
					   &e);

		ck_assert_msg(root != NULL, "%s: %s", text, e.text);
		show(root, out, sizeof(out));
		ck_assert_msg(strcmp(out, bounds.cut_depth == 1
						  ? cuts[_i].flat
						  : cuts[_i].kept) == 0,
			      "%s: %s", text, out);
	}
	free(exact);
}
END_TEST

/* It is no cut if the text goes on, or if nothing of an object came. */
START_TEST(test_pick_not_cut)
{
	static const char *const not_cut[] = {
		"{\"a\" 1,\"b\":\"some text that follows\"}", "", "[1,2", "\"x",
		"{\"a\":x, and some text that follows it"};
	struct json_bounds bounds = json_bounds_stored;
	struct err e;

	bounds.cut_depth = 2;
	for (size_t i = 0; i < sizeof(not_cut) / sizeof(not_cut[0]); i++)
		ck_assert_msg(json_pick(not_cut[i], strlen(not_cut[i]), wanted, &bounds,
					&e) == NULL,
			      "%s", not_cut[i]);
}
END_TEST

START_TEST(test_pick_checks_all)
{
	char text[200];
	struct err whole, part;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *p = text + snprintf(text, sizeof(text), "{\"b\":");
		size_t n = (size_t)(p - text) + bad[i].n;

		memcpy(p, bad[i].text, bad[i].n);
		p[bad[i].n] = '}';
		whole = part = (struct err){0};

		AUTO_JSON all = json_parse(text, n + 1, &json_bounds_default,
					   &whole);
		AUTO_JSON some = json_pick(text, n + 1, wanted,
					   &json_bounds_default, &part);

		ck_assert_ptr_null(all);
		ck_assert_ptr_null(some);
		ck_assert_int_eq(whole.code, ERR_INPUT);
		ck_assert_str_eq(part.text, whole.text);
	}
}
END_TEST

START_TEST(test_pick_bounds)
{
	struct json_bounds b = json_bounds_default;
	static const char text[] = "{\"b\":[1,2,3],\"a\":[1,2],\"in\":{}}";
	struct err e = {0};

	b.values_max = 9;
	b.kept_values_max = 5;
	b.kept_bytes_max = strlen("{\"a\":[1,2],\"in\":{}}");

	AUTO_JSON fits = json_pick(text, strlen(text), wanted, &b, &e);

	ck_assert_msg(fits != NULL, "%s", e.text);
	b.kept_bytes_max--;

	AUTO_JSON long_one = json_pick(text, strlen(text), wanted, &b, &e);

	ck_assert_ptr_null(long_one);
	ck_assert_int_eq(e.code, ERR_LIMIT);
	b.kept_bytes_max++;
	b.kept_values_max--;

	AUTO_JSON many = json_pick(text, strlen(text), wanted, &b, &e);

	ck_assert_ptr_null(many);
	ck_assert_int_eq(e.code, ERR_LIMIT);
	b.kept_values_max++;
	b.values_max--;

	AUTO_JSON more = json_pick(text, strlen(text), wanted, &b, &e);

	ck_assert_ptr_null(more);
	ck_assert_int_eq(e.code, ERR_LIMIT);
}
END_TEST

/* --- writing -------------------------------------------------------------- */

static void
written_is(const struct buf *b, const char *want)
{
	ck_assert_str_eq(b->data, want);
	ck_assert_uint_eq(b->len, strlen(want));
	ck_assert(!b->full);
}

START_TEST(test_printf_values)
{
	const char *none = NULL;
	char storage[256];
	struct buf b;

	buf_init(&b, storage, sizeof(storage));
	json_printf(&b, "%s %s %s %s %d %u %lld %llu %.3f '%u%%'", "a\"'%s\n",
		    none, json_bool(true), json_bool(false), -1, 4000000000u,
		    -5000000000LL, 18446744073709551615ULL, 1.0625, 7u);
	written_is(&b, "\"a\\\"'%s\\n\" null true false -1 4000000000 "
		       "-5000000000 18446744073709551615 1.062 \"7%\"");
	/* A string that says so is no truth value. */
	b.len = 0;
	json_printf(&b, "%s", "true");
	written_is(&b, "\"true\"");
}
END_TEST

START_TEST(test_printf_commas)
{
	char storage[256];
	struct buf b;

	buf_init(&b, storage, sizeof(storage));
	json_printf(&b, ",{");
	json_printf(&b, ",'a':%s", "{");
	json_printf(&b, ",'b':[");
	json_printf(&b, ",%d", 1);
	json_printf(&b, ",%d", 2);
	json_printf(&b, "],'c':{},'d':null");
	json_printf(&b, ",%s:%d}", "e", 3);
	written_is(&b, "{\"a\":\"{\",\"b\":[1,2],\"c\":{},\"d\":null,\"e\":3}");
}
END_TEST

/* Eight bytes at a time, or one: what is next to a quotation mark in the text,
 * in the table of characters, or but for the highest bit. */
START_TEST(test_printf_quotes)
{
	static const char want[] = "\"\"\"\"\"\"\"\"&(\"&\"(§\"1§234567\"&\"(\"";
	char storage[sizeof(want)];
	struct buf b;

	buf_init(&b, storage, sizeof(want));
	json_printf(&b, "''''''''&('&'(§'1§234567'&'('");
	written_is(&b, want);
	buf_init(&b, storage, sizeof(want) - 1);
	json_printf(&b, "''''''''&('&'(§'1§234567'&'('");
	ck_assert(b.full);
	ck_assert_str_eq(storage, "");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/json");
	TCase *tc = tcase_create("json");

	tcase_add_loop_test(tc, test_good, 0, sizeof(good) / sizeof(good[0]));
	tcase_add_loop_test(tc, test_bad, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_loop_test(tc, test_values, 0,
			    sizeof(counted) / sizeof(counted[0]));
	tcase_add_test(tc, test_depth);
	tcase_add_test(tc, test_no_err);
	tcase_add_test(tc, test_members);
	tcase_add_test(tc, test_types);
	tcase_add_test(tc, test_integers);
	tcase_add_loop_test(tc, test_picked, 0,
			    sizeof(picked) / sizeof(picked[0]));
	tcase_add_loop_test(tc, test_pick_cut, 0,
			    sizeof(cuts) / sizeof(cuts[0]));
	tcase_add_test(tc, test_pick_not_cut);
	tcase_add_test(tc, test_pick_checks_all);
	tcase_add_test(tc, test_pick_bounds);
	tcase_add_test(tc, test_printf_values);
	tcase_add_test(tc, test_printf_commas);
	tcase_add_test(tc, test_printf_quotes);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
