/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/yaml/yaml.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "suite.h"

#define F "f.yaml"

static const struct {
	const char *name, *text, *error;
} refused[] = {
	{"empty", "", "f.yaml:1:1: nothing in it, expected a mapping"},
	{"only a comment", "# x\n",
	 "f.yaml:1:1: nothing in it, expected a mapping"},
	{"duplicate key", "a: 1\nb: 2\na: 3\n",
	 "f.yaml:3:1: \"a\" stands twice, expected it once"},
	{"first of several duplicates", "b: 1\nb: 2\na: 1\na: 2\n",
	 "f.yaml:4:1: \"a\" stands twice, expected it once"},
	{"duplicate key, other quotes", "{a: 1, \"a\": 2}",
	 "f.yaml:1:8: \"a\" stands twice, expected it once"},
	{"duplicate key below", "x:\n  - a: 1\n    a: 2\n",
	 "f.yaml:3:5: \"a\" stands twice, expected it once"},
	{"alias", "a: *x\n",
	 "f.yaml:1:4: an alias (*), expected plain values"},
	{"anchor on a scalar", "a: &x 1\n",
	 "f.yaml:1:4: an anchor (&), expected plain values"},
	{"anchor on a map", "a: &x\n  b: 1\n",
	 "f.yaml:1:4: an anchor (&), expected plain values"},
	{"anchor on a list", "a: &x [1]\n",
	 "f.yaml:1:4: an anchor (&), expected plain values"},
	{"tag", "a: !!int 1\n",
	 "f.yaml:1:4: a tag (!), expected plain values"},
	{"own tag", "a: !x {}\n",
	 "f.yaml:1:4: a tag (!), expected plain values"},
	{"second document", "a: 1\n---\nb: 2\n",
	 "f.yaml:2:1: a second document, expected one"},
	{"key that is a list", "? [a]\n: 1\n",
	 "f.yaml:1:3: a key that is no scalar, expected a name"},
	{"key that is a map", "{{a: 1}: 2}",
	 "f.yaml:1:2: a key that is no scalar, expected a name"},
	{"NUL", "a: \"x\\0y\"\n", "f.yaml:1:4: a NUL byte, expected text"},
	{"no YAML", "a: b: c\n",
	 "f.yaml:1:5: mapping values are not allowed in this context, "
	 "expected YAML"},
	{"open quotes", "a: \"x\n",
	 "f.yaml:2:1: found unexpected end of stream, expected YAML"},
	{"no UTF-8", "a: 1\nb: \xff\n",
	 "f.yaml:2:4: invalid leading UTF-8 octet, expected YAML"},
	{"control character", "a: 1\nb: \x01\n",
	 "f.yaml:2:4: control characters are not allowed, expected YAML"},
	{"half a map", "{a: [1, 2}",
	 "f.yaml:1:10: did not find expected ',' or ']', expected YAML"},
};

START_TEST(test_refused)
{
	struct err e = {0};
	struct yaml *v = yaml_tree_parse(F, refused[_i].text,
					 strlen(refused[_i].text), &e);

	ck_assert_msg(v == NULL, "%s: accepted", refused[_i].name);
	ck_assert_msg(strcmp(e.text, refused[_i].error) == 0,
		      "%s:\n got %s\nwant %s", refused[_i].name, e.text,
		      refused[_i].error);
	ck_assert_int_eq(e.code, ERR_INPUT);
}
END_TEST

static const struct {
	const char *name, *text, *string;	/* NULL: it is no string */
} strings[] = {
	{"quoted true", "\"true\"", "true"},
	{"single quotes", "'10'", "10"},
	{"plain word", "cluster", "cluster"},
	{"plain with spaces", "a b", "a b"},
	{"duration", "10m", "10m"},
	{"version", "1.2.3", "1.2.3"},
	{"address", "10.0.0.1", "10.0.0.1"},
	{"e without digits", "e5", "e5"},
	{"dot", ".", "."},
	{"dash", "a-", "a-"},
	{"block", "|\n  true\n", "true\n"},
	{"empty in quotes", "\"\"", ""},
	{"quoted null", "'null'", "null"},
	{"escapes", "\"a\\n\\u00e9\\/\"", "a\n\xc3\xa9/"},
	{"true", "true", NULL},
	{"True", "True", NULL},
	{"yes", "yes", NULL},
	{"Off", "Off", NULL},
	{"n", "n", NULL},
	{"nothing", "", NULL},
	{"null", "null", NULL},
	{"tilde", "~", NULL},
	{"number", "10", NULL},
	{"negative", "-1", NULL},
	{"underscores", "1_000", NULL},
	{"float", "1.5", NULL},
	{"float without 0", ".5", NULL},
	{"exponent", "1e3", NULL},
	{"hex", "0x1F", NULL},
	{"octal", "0o17", NULL},
	{"infinity", "-.inf", NULL},
	{"not a number", ".NaN", NULL},
	{"list", "[a]", NULL},
	{"map", "{a: b}", NULL},
};

START_TEST(test_strings)
{
	char text[64];
	struct err e = {0};
	const char *got;

	(void)snprintf(text, sizeof(text), "k: %s\n", strings[_i].text);
	AUTO_YAML root = yaml_tree_parse(F, text, strlen(text), &e);
	ck_assert_msg(root != NULL, "%s: %s", strings[_i].name, e.text);
	got = yaml_string(yaml_member(root, "k"));
	if (strings[_i].string == NULL)
		ck_assert_msg(got == NULL, "%s: %s", strings[_i].name, got);
	else
		ck_assert_msg(got && strcmp(got, strings[_i].string) == 0,
			      "%s: %s", strings[_i].name, got ? got : "-");
}
END_TEST

START_TEST(test_walk)
{
	static const char text[] = "a: 1\n"
				   "b:\n"
				   "  - x\n"
				   "  - {k: v}\n"
				   "c: ~\n";
	struct err e = {0};
	AUTO_YAML root = yaml_tree_parse(F, text, sizeof(text) - 1, &e);
	const struct yaml *b = yaml_member(root, "b"), *v;

	ck_assert(yaml_is_map(root));
	ck_assert_str_eq(yaml_text(yaml_member(root, "a")), "1");
	ck_assert(yaml_is_plain(yaml_member(root, "a")));
	ck_assert(yaml_is_list(b));
	v = yaml_first(b);
	ck_assert_str_eq(yaml_text(v), "x");
	ck_assert(yaml_key(v) == NULL);
	v = yaml_next(v);
	ck_assert_str_eq(yaml_text(yaml_member(v, "k")), "v");
	ck_assert(yaml_next(v) == NULL);
	ck_assert(yaml_is_null(yaml_member(root, "c")));
	ck_assert(yaml_member(root, "d") == NULL);
	ck_assert_int_eq(yaml_fail(v, &e, "here"), -1);
	ck_assert_str_eq(e.text, "f.yaml:4:5: here");
	ck_assert_int_eq(yaml_fail_key(b, &e, "key %d", 1), -1);
	ck_assert_str_eq(e.text, "f.yaml:2:1: key 1");
}
END_TEST

START_TEST(test_nothing_asked_of_nothing)
{
	ck_assert(yaml_member(NULL, "a") == NULL);
	ck_assert(yaml_first(NULL) == NULL && yaml_next(NULL) == NULL);
	ck_assert(yaml_text(NULL) == NULL && yaml_string(NULL) == NULL);
	ck_assert(yaml_key(NULL) == NULL && !yaml_is_map(NULL));
	ck_assert(!yaml_is_list(NULL) && !yaml_is_scalar(NULL));
	ck_assert(!yaml_is_null(NULL) && !yaml_is_plain(NULL));
	yaml_tree_free(NULL);
}
END_TEST

/* kubectl writes such text with -o json. */
START_TEST(test_json)
{
	static const char text[] = "{\n\t\"a\": \"https:\\/\\/h\",\n"
				   "\t\"b\":true,\"c\":[1,null,\"x\"]\n}\n";
	struct err e = {0};
	AUTO_YAML root = yaml_tree_parse(F, text, sizeof(text) - 1, &e);

	ck_assert_msg(root != NULL, "%s", e.text);
	ck_assert_str_eq(yaml_string(yaml_member(root, "a")), "https://h");
	ck_assert(yaml_string(yaml_member(root, "b")) == NULL);
	ck_assert_str_eq(yaml_text(yaml_member(root, "b")), "true");
	ck_assert(yaml_is_null(
		yaml_next(yaml_first(yaml_member(root, "c")))));
}
END_TEST

static char *
repeat(const char *s, size_t n, const char *end)
{
	size_t len = strlen(s);
	char *out = malloc(n * len + strlen(end) + 1);

	ck_assert(out != NULL);
	for (size_t i = 0; i < n; i++)
		memcpy(out + i * len, s, len);
	strcpy(out + n * len, end);
	return out;
}

static void
assert_limit(char *text, const char *said)
{
	struct err e = {0};

	ck_assert(yaml_tree_parse(F, text, strlen(text), &e) == NULL);
	ck_assert_int_eq(e.code, ERR_LIMIT);
	ck_assert_msg(strstr(e.text, said) != NULL, "%s", e.text);
	free(text);
}

static void
assert_parses(char *text)
{
	struct err e = {0};
	AUTO_YAML root = yaml_tree_parse(F, text, strlen(text), &e);

	ck_assert_msg(root != NULL, "%s", e.text);
	free(text);
}

START_TEST(test_bounds)
{
	char *open = repeat("[", YAML_DEPTH_MAX, "");
	char *end = repeat("]", YAML_DEPTH_MAX, "");
	char *both = malloc(2 * YAML_DEPTH_MAX + 1);

	ck_assert(both != NULL);
	strcpy(both, open);
	strcat(both, end);
	assert_parses(both);
	assert_limit(repeat("[", YAML_DEPTH_MAX + 1, ""), "nested too deeply");
	/* The list itself counts as a value, too. */
	assert_parses(repeat("- a\n", YAML_NODES_MAX - 1, ""));
	assert_limit(repeat("- a\n", YAML_NODES_MAX, ""), "too many values");
	assert_limit(repeat("#", CONFIG_BYTES_MAX + 1, ""), "expected at most");
	free(open);
	free(end);
}
END_TEST

START_TEST(test_long_file_name)
{
	char file[301];
	struct err e = {0};

	memset(file, 'd', 300);
	memcpy(file + 290, "/conf.yaml", 11);
	ck_assert(yaml_tree_parse(file, "a: *b", 5, &e) == NULL);
	ck_assert(strstr(e.text, "/conf.yaml:1:4: an alias") != NULL);
	ck_assert(strstr(e.text, "plain values") != NULL);
	ck_assert(yaml_tree_parse(file, "a: *b", 5, NULL) == NULL);
}
END_TEST

START_TEST(test_show)
{
	char out[YAML_SHOW_BYTES];

	ck_assert_str_eq(yaml_show("a\"b\n", out), "\"a\\\"b\\n\"");
	ck_assert_str_eq(
		yaml_show("0123456789012345678901234567890123456789", out),
		"\"0123456789012345678901234567890123456789\"");
	/* The text is cut between characters, not within one. */
	ck_assert_str_eq(
		yaml_show("01234567890123456789012345678901234567\xc3\xa9\xc3"
			  "\xa9",
			  out),
		"\"01234567890123456789012345678901234567\xc3\xa9…\"");
	ck_assert_str_eq(yaml_show("\xff", out), "\"\xef\xbf\xbd\"");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/yaml");
	TCase *t = tcase_create("yaml");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, test_refused, 0,
			    sizeof(refused) / sizeof(refused[0]));
	tcase_add_loop_test(t, test_strings, 0,
			    sizeof(strings) / sizeof(strings[0]));
	tcase_add_test(t, test_walk);
	tcase_add_test(t, test_nothing_asked_of_nothing);
	tcase_add_test(t, test_json);
	tcase_add_test(t, test_bounds);
	tcase_add_test(t, test_long_file_name);
	tcase_add_test(t, test_show);
	suite_add_tcase(s, t);
	return suite_run(s);
}
