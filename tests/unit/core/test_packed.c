/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/packed.h"
#include "run.h"

static struct strings s;

static void
setup(void)
{
	ck_assert_int_eq(strings_init(&s, 4096), 0);
}

static void
teardown(void)
{
	strings_done(&s);
}

/* string: it is kept as a string. */
static const struct {
	const char *text;
	bool string;
} uids[] = {
	{"", false},
	{"00000000-0000-0000-0000-000000000000", false},
	{"01234567-89ab-cdef-0123-456789abcdef", false},
	{"fffffffe-ffff-ffff-ffff-ffffffffffff", false},
	/* It begins as references do. */
	{"ffffffff-ffff-ffff-0000-000000000000", true},
	{"ffffffff-ffff-ffff-ffff-ffffffffffff", true},
	{"01234567-89AB-cdef-0123-456789abcdef", true},
	{"01234567-89ab-cdef-0123-456789abcdeg", true},
	{"01234567-89ab-cdef-0123-456789abcde", true},
	{"01234567-89ab-cdef-0123-456789abcdef0", true},
	{"0123456789abcdef-0123-4567-89abcdef00", true},
	{"01234567_89ab_cdef_0123_456789abcdef", true},
	{"01234567-89ab-cdef-0123-456789abcde\xc3", true},
	{"c7", true},
	{"0", true},
	{"123456789012345678901234567890123456789", true},
};

START_TEST(uid_comes_back)
{
	const char *text = uids[_i].text;
	struct uid u, again;
	char out[UID_BYTES];

	ck_assert(packed_uid_find(&s, text, &u) != uids[_i].string);
	ck_assert_int_eq(packed_uid_take(&s, text, &u), 0);
	ck_assert_uint_eq(s.n, uids[_i].string);
	packed_uid_text(&s, u, out);
	ck_assert_str_eq(out, text);
	ck_assert(packed_uid_find(&s, text, &again) && packed_uid_equals(u, again));
	ck_assert(packed_uid_is_none(u) == (text[0] == '\0'));
	for (size_t i = 0; i < sizeof(uids) / sizeof(uids[0]); i++) {
		int order;

		ck_assert_int_eq(packed_uid_take(&s, uids[i].text, &again), 0);
		order = packed_uid_compare(&s, u, again);
		ck_assert((order < 0) == (strcmp(text, uids[i].text) < 0));
		ck_assert((order > 0) == (strcmp(text, uids[i].text) > 0));
		packed_uid_drop(&s, again);
	}
	for (size_t i = 0; i < sizeof(uids) / sizeof(uids[0]); i++)
		ck_assert((packed_uid_find(&s, uids[i].text, &again) &&
			   packed_uid_equals(u, again)) == (i == (size_t)_i));
	packed_uid_drop(&s, u);
	ck_assert_uint_eq(s.n, 0);
}
END_TEST

static const struct {
	const char *text;
	bool string;
} versions[] = {
	{"", false},
	{"0", false},
	{"1", false},
	{"9007199254740993", false},
	{"999999999999999999", false},
	{"1000000000000000000", true},	/* more digits than are read */
	{"9223372036854775808", true},
	{"18446744073709551615", true},
	{"18446744073709551617", true},
	{"99999999999999999999999999", true},
	{"00", true},
	{"01", true},
	{"-1", true},
	{"+1", true},
	{"1 ", true},
	{"1.0", true},
	{"c", true},
	{"1234567890123456789012345678901", true},
};

START_TEST(version_comes_back)
{
	const char *text = versions[_i].text;
	struct version v, again;
	char out[RV_BYTES];

	ck_assert(packed_version_find(&s, text, &v) != versions[_i].string);
	ck_assert_int_eq(packed_version_take(&s, text, &v), 0);
	ck_assert_uint_eq(s.n, versions[_i].string);
	packed_version_text(&s, v, out);
	ck_assert_str_eq(out, text);
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		ck_assert((packed_version_find(&s, versions[i].text, &again) &&
			   again.n == v.n) == (i == (size_t)_i));
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		ck_assert((packed_version_key(versions[i].text) ==
			   packed_version_key(text)) == (i == (size_t)_i));
	ck_assert((packed_version_key(text) == 0) == (text[0] == '\0'));
	packed_version_drop(&s, v);
	ck_assert_uint_eq(s.n, 0);
}
END_TEST

START_TEST(random_numbers)
{
	struct dice d = dice_new(1);
	char text[UID_BYTES], out[UID_BYTES];

	for (int i = 0; i < 20000; i++) {
		struct version v;
		struct uid u;

		snprintf(text, sizeof(text),
			 "%04x%04x-%04x-%04x-%04x-%04x%04x%04x",
			 roll(&d, 65536), roll(&d, 65536), roll(&d, 65536),
			 roll(&d, 65536), roll(&d, 65536), roll(&d, 65536),
			 roll(&d, 65536), roll(&d, 65536));
		ck_assert(packed_uid_take(&s, text, &u) == 0);
		packed_uid_text(&s, u, out);
		ck_assert(strcmp(out, text) == 0);
		snprintf(text, sizeof(text), "%u%0*u", 1 + roll(&d, 9),
			 1 + (int)roll(&d, 17), roll(&d, 10));
		ck_assert(packed_version_take(&s, text, &v) == 0);
		packed_version_text(&s, v, out);
		ck_assert(strcmp(out, text) == 0);
		packed_version_drop(&s, v);
	}
}
END_TEST

/* What is full takes no text, but every UUID and number. */
START_TEST(full)
{
	struct uid u = UID_NONE;
	struct version v = VERSION_NONE;
	char text[16];

	for (int i = 0; i < 4096; i++) {
		snprintf(text, sizeof(text), "%d", i);
		if (strings_take(&s, text) == NO_ID)
			break;
	}
	ck_assert_int_eq(packed_uid_take(&s, "c7", &u), -1);
	ck_assert(packed_uid_is_none(u));
	ck_assert_int_eq(packed_version_take(&s, "c7", &v), -1);
	ck_assert(v.n == VERSION_TEXT);
	ck_assert_int_eq(packed_uid_take(&s, uids[2].text, &u), 0);
	ck_assert_int_eq(packed_version_take(&s, versions[2].text, &v), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("packed");
	TCase *c = run_case(suite, "packed");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_loop_test(c, uid_comes_back, 0,
			    sizeof(uids) / sizeof(uids[0]));
	tcase_add_loop_test(c, version_comes_back, 0,
			    sizeof(versions) / sizeof(versions[0]));
	tcase_add_test(c, random_numbers);
	tcase_add_test(c, full);
	return suite_run(suite);
}
