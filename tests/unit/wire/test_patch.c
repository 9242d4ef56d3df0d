/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/stamp.h"
#include "suite.h"
#include "wire/api/patch.h"
#include "wire/json/json.h"

#define NOW INT64_C(1767323045000) /* 2026-01-02T03:04:05Z */
#define NOW_TEXT "2026-01-02T03:04:05Z"
#define PATH "\"path\":\"/metadata/annotations/"
#define MARK_PATH PATH "karpenter-node-holder.io~1held-since\""
#define HELD_PATH PATH "karpenter-node-holder.io~1held-key\""
#define HOLD_PATH PATH "karpenter.sh~1do-not-disrupt\""
#define TEST_UID                                                               \
	"{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"u-1\"}"

static const struct hold_key usual = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE};
static const struct hold_key other = {"example.com/keep.it", "a=\"b\"\n"};

START_TEST(test_hold)
{
	char out[PATCH_BYTES];
	struct buf b;

	buf_init(&b, out, sizeof(out));
	patch_hold(&b, &usual, "4711", NOW);
	ck_assert_str_eq(out,
			 "{\"metadata\":{\"resourceVersion\":\"4711\","
			 "\"annotations\":{\"karpenter.sh/do-not-disrupt\":"
			 "\"true\",\"karpenter-node-holder.io/held-since\":"
			 "\"" NOW_TEXT "\","
			 "\"karpenter-node-holder.io/held-key\":null}}}");
	buf_init(&b, out, sizeof(out));
	patch_hold(&b, &other, "4711", NOW);
	ck_assert_str_eq(out, "{\"metadata\":{\"resourceVersion\":\"4711\","
			      "\"annotations\":{\"example.com/keep.it\":"
			      "\"a=\\\"b\\\"\\n\","
			      "\"karpenter-node-holder.io/held-since\":"
			      "\"" NOW_TEXT "\","
			      "\"karpenter-node-holder.io/held-key\":"
			      "\"example.com/keep.it=a=\\\"b\\\"\\n\"}}}");
}
END_TEST

static const struct {
	const char *name;
	struct patch_clear c;
	const char *want;
} clears[] = {
	{"usual",
	 {.uid = "u-1",
	  .rv = "9",
	  .mark_exact = true,
	  .mark_ms = NOW,
	  .hold = &usual},
	 "[" TEST_UID ",{\"op\":\"test\"," MARK_PATH ",\"value\":\"" NOW_TEXT
	 "\"},{\"op\":\"test\"," HOLD_PATH ",\"value\":\"true\"},"
	 "{\"op\":\"remove\"," HOLD_PATH "},"
	 "{\"op\":\"remove\"," MARK_PATH "}]"},
	{"odd mark",
	 {.uid = "u-1", .rv = "9", .mark_ms = STAMP_NONE, .hold = &usual},
	 "[" TEST_UID
	 ",{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\","
	 "\"value\":\"9\"},{\"op\":\"test\"," HOLD_PATH ",\"value\":\"true\"},"
	 "{\"op\":\"remove\"," HOLD_PATH "},"
	 "{\"op\":\"remove\"," MARK_PATH "}]"},
	{"mark alone",
	 {.uid = "u-1", .rv = "9", .mark_exact = true, .mark_ms = NOW},
	 "[" TEST_UID ",{\"op\":\"test\"," MARK_PATH ",\"value\":\"" NOW_TEXT
	 "\"},{\"op\":\"remove\"," MARK_PATH "}]"},
	{"odd mark alone, held-key",
	 {.uid = "u-1", .rv = "9", .has_held_key = true},
	 "[" TEST_UID
	 ",{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\","
	 "\"value\":\"9\"},{\"op\":\"remove\"," MARK_PATH "},"
	 "{\"op\":\"remove\"," HELD_PATH "}]"},
	{"another hold",
	 {.uid = "u-1",
	  .rv = "9",
	  .mark_exact = true,
	  .mark_ms = NOW,
	  .hold = &other,
	  .has_held_key = true},
	 "[" TEST_UID ",{\"op\":\"test\"," MARK_PATH ",\"value\":\"" NOW_TEXT
	 "\"},{\"op\":\"test\"," PATH "example.com~1keep.it\","
	 "\"value\":\"a=\\\"b\\\"\\n\"},"
	 "{\"op\":\"remove\"," PATH "example.com~1keep.it\"},"
	 "{\"op\":\"remove\"," MARK_PATH "},"
	 "{\"op\":\"remove\"," HELD_PATH "}]"},
};

START_TEST(test_clear)
{
	char out[PATCH_BYTES];
	struct buf b;

	buf_init(&b, out, sizeof(out));
	patch_clear(&b, &clears[_i].c);
	ck_assert_msg(strcmp(out, clears[_i].want) == 0, "%s: %s",
		      clears[_i].name, out);
}
END_TEST

START_TEST(test_declassify)
{
	char out[PATCH_BYTES];
	struct buf b;

	buf_init(&b, out, sizeof(out));
	patch_declassify(&b, "u-1");
	ck_assert_str_eq(out, "{\"metadata\":{\"uid\":\"u-1\","
			      "\"annotations\":{\"" CLASS_KEY
			      "\":null,\"" CLASS_UID_KEY "\":null}}}");
}
END_TEST

START_TEST(test_classify)
{
	char out[PATCH_BYTES];
	struct buf b;

	buf_init(&b, out, sizeof(out));
	patch_classify(&b, "substitute/u-\"0\"", "u-1", "42");
	ck_assert_str_eq(out, "{\"metadata\":{\"resourceVersion\":\"42\","
			      "\"annotations\":{\"" CLASS_KEY
			      "\":\"substitute/u-\\\"0\\\"\",\"" CLASS_UID_KEY
			      "\":\"u-1\"}}}");
}
END_TEST

START_TEST(test_admit)
{
	char out[PATCH_BYTES];
	struct buf b;

	buf_init(&b, out, sizeof(out));
	patch_admit(&b, &usual, NOW, false, false);
	ck_assert_str_eq(out,
			 "[{\"op\":\"add\",\"path\":\"/metadata/annotations\","
			 "\"value\":{\"karpenter.sh/do-not-disrupt\":\"true\","
			 "\"karpenter-node-holder.io/held-since\":"
			 "\"" NOW_TEXT "\"}}]");
	buf_init(&b, out, sizeof(out));
	patch_admit(&b, &usual, NOW, true, true);
	ck_assert_str_eq(out, "[{\"op\":\"add\"," HOLD_PATH
			      ",\"value\":\"true\"},{\"op\":\"add\"," MARK_PATH
			      ",\"value\":\"" NOW_TEXT "\"},"
			      "{\"op\":\"remove\"," HELD_PATH "}]");
}
END_TEST

/* A patch with the longest and strangest key and value still fits and is
 * JSON. */
START_TEST(test_bounds)
{
	static struct hold_key worst;
	struct patch_clear c = {.rv = "18446744073709551615",
				.hold = &worst,
				.has_held_key = true};
	char out[PATCH_BYTES], uid[UID_BYTES] = {0};
	struct buf b;

	memset(worst.key, 1, sizeof(worst.key) - 1);
	memset(worst.value, 1, sizeof(worst.value) - 1);
	memset(uid, 1, sizeof(uid) - 1);
	c.uid = uid;
	for (int i = 0; i < 4; i++) {
		buf_init(&b, out, sizeof(out));
		if (i == 0)
			patch_hold(&b, &worst, c.rv, NOW);
		else if (i == 1)
			patch_clear(&b, &c);
		else
			patch_admit(&b, &worst, NOW, i == 2, true);
		ck_assert(!b.full);

		AUTO_JSON root =
			json_parse(out, b.len, &json_bounds_default, NULL);

		ck_assert_ptr_nonnull(root);
	}
}
END_TEST

START_TEST(test_too_small)
{
	char out[64];
	struct buf b;

	for (size_t cap = 1; cap <= sizeof(out); cap++) {
		buf_init(&b, out, cap);
		patch_admit(&b, &usual, NOW, true, false);
		ck_assert(b.full);
	}
}
END_TEST

static const struct {
	const char *text;
	int rc;
	const char *key, *value;
} held_keys[] = {
	{"a=b", 0, "a", "b"},	  {"a=", 0, "a", ""},
	{"a=b=c", 0, "a", "b=c"}, {"x/y==", 0, "x/y", "="},
	{"=b", -1, "was", "was"}, {"", -1, "was", "was"},
	{"ab", -1, "was", "was"}, {"a b=c", -1, "was", "was"},
	{"x/=c", -1, "was", "was"}, {"X/y=c", -1, "was", "was"},
	{"a=b\n", -1, "was", "was"}, {"a=\xff", -1, "was", "was"},
};

START_TEST(test_held_key)
{
	struct hold_key k = {"was", "was"};

	ck_assert_int_eq(patch_hold_parse(held_keys[_i].text, &k),
			 held_keys[_i].rc);
	ck_assert_str_eq(k.key, held_keys[_i].key);
	ck_assert_str_eq(k.value, held_keys[_i].value);
}
END_TEST

/* Key and value are at their bounds, and then one byte beyond. */
START_TEST(test_held_key_bounds)
{
	static char text[HELD_KEY_BYTES + 2];
	struct hold_key k = {"was", "was"};

	for (size_t extra = 0; extra < 3; extra++) {
		size_t key = KEY_BYTES - 1 + (extra == 1);
		size_t value = VALUE_BYTES - 1 + (extra == 2);

		memset(text, 'x', sizeof(text));
		text[63] = text[127] = text[191] = '.';
		text[253] = '/';
		text[key] = '=';
		text[key + 1 + value] = '\0';
		ck_assert_int_eq(patch_hold_parse(text, &k), extra == 0 ? 0 : -1);
		ck_assert_uint_eq(strlen(k.key), KEY_BYTES - 1);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/patch");
	TCase *tc = tcase_create("patch");

	tcase_add_test(tc, test_hold);
	tcase_add_loop_test(tc, test_clear, 0,
			    sizeof(clears) / sizeof(clears[0]));
	tcase_add_test(tc, test_classify);
	tcase_add_test(tc, test_declassify);
	tcase_add_test(tc, test_admit);
	tcase_add_test(tc, test_bounds);
	tcase_add_test(tc, test_too_small);
	tcase_add_loop_test(tc, test_held_key, 0,
			    sizeof(held_keys) / sizeof(held_keys[0]));
	tcase_add_test(tc, test_held_key_bounds);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
