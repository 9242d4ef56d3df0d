/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/str.h"
#include "core/base/utf8.h"
#include "run.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* --- err ------------------------------------------------------------------ */

START_TEST(err_sets_and_wraps)
{
	struct err e = {0};

	ck_assert_int_eq(err_set(&e, ERR_LIMIT, "%d pools", 3), -1);
	ck_assert_int_eq(e.code, ERR_LIMIT);
	ck_assert_str_eq(e.text, "3 pools");
	ck_assert_int_eq(err_wrap(&e, "list %s", "nodes"), -1);
	ck_assert_int_eq(e.code, ERR_LIMIT);
	ck_assert_str_eq(e.text, "list nodes: 3 pools");
}
END_TEST

START_TEST(err_may_be_null)
{
	ck_assert_int_eq(err_set(NULL, ERR_INPUT, "x"), -1);
	ck_assert_int_eq(err_wrap(NULL, "x"), -1);
}
END_TEST

START_TEST(err_cuts_long_text)
{
	struct err e = {0};
	char longer[400];

	memset(longer, 'a', sizeof(longer));
	longer[399] = '\0';
	err_set(&e, ERR_INPUT, "%s", longer);
	ck_assert_uint_eq(strlen(e.text), sizeof(e.text) - 1);
	err_wrap(&e, "context");
	ck_assert_uint_eq(strlen(e.text), sizeof(e.text) - 1);
	ck_assert_int_eq(strncmp(e.text, "context: aaa", 12), 0);
	err_wrap(&e, "%s", longer);
	ck_assert_uint_eq(strlen(e.text), sizeof(e.text) - 1);
	ck_assert_str_eq(e.text + sizeof(e.text) - 5, "a…");
}
END_TEST

/* --- buf ------------------------------------------------------------------ */

START_TEST(buf_is_filled_to_the_last_byte)
{
	char storage[8];
	struct buf b;

	buf_init(&b, storage, sizeof(storage));
	buf_add(&b, "abc", 3);
	buf_puts(&b, "defg");
	ck_assert(!b.full);
	ck_assert_uint_eq(b.len, 7);
	ck_assert_str_eq(storage, "abcdefg");
	buf_puts(&b, "");
	ck_assert(!b.full);
	buf_add(&b, "h", 1);
	ck_assert(b.full);
	ck_assert_str_eq(storage, "abcdefg");
}
END_TEST

START_TEST(buf_full_stays)
{
	char storage[4];
	struct buf b;

	buf_init(&b, storage, sizeof(storage));
	buf_puts(&b, "long");
	ck_assert(b.full);
	buf_puts(&b, "a");
	buf_printf(&b, "%d", 1);
	ck_assert_uint_eq(b.len, 0);
	ck_assert_str_eq(storage, "");
}
END_TEST

START_TEST(buf_printf_fits_or_not)
{
	char storage[6];
	struct buf b;

	buf_init(&b, storage, sizeof(storage));
	buf_printf(&b, "%d", 12345);
	ck_assert(!b.full);
	ck_assert_str_eq(storage, "12345");
	buf_init(&b, storage, sizeof(storage));
	buf_puts(&b, "1");
	buf_printf(&b, "%d", 23456);
	ck_assert(b.full);
	ck_assert_str_eq(storage, "1");
	ck_assert_uint_eq(b.len, 1);
}
END_TEST

START_TEST(buf_of_one_byte)
{
	char storage[1];
	struct buf b;

	buf_init(&b, storage, 1);
	ck_assert_str_eq(storage, "");
	buf_json(&b, "");
	ck_assert(b.full);
	ck_assert_str_eq(storage, "");
}
END_TEST

START_TEST(str_wipe_leaves_nothing)
{
	char text[] = "secret\0rest";

	str_wipe(NULL);
	str_wipe(text);
	ck_assert_mem_eq(text, "\0\0\0\0\0\0\0rest", sizeof(text));
}
END_TEST

START_TEST(str_copy_fits_or_not)
{
	char dst[4] = "old";

	ck_assert_int_eq(str_copy(dst, sizeof(dst), "four"), -1);
	ck_assert_str_eq(dst, "old");
	ck_assert_int_eq(str_copy(dst, sizeof(dst), "new"), 0);
	ck_assert_str_eq(dst, "new");
	ck_assert_int_eq(str_copy(dst, sizeof(dst), ""), 0);
	ck_assert_str_eq(dst, "");
}
END_TEST

static const struct {
	const char *text;
	size_t cap;
	const char *cut, *shortened;
} too_long[] = {
	{"", 1, "", ""},
	{"a", 1, "", ""},
	{"abc", 3, "ab", "ab"},		/* no room for the ellipsis */
	{"abcdef", 7, "abcdef", "abcdef"},
	{"abcdef", 6, "abcde", "ab…"},
	{"abcdef", 4, "abc", "…"},
	{"aäbcdef", 6, "aäbc", "a…"},
	{"aäbcdef", 7, "aäbcd", "aä…"},
	{"ab\U0001f512\U0001f512", 9, "ab\U0001f512", "ab…"},
};

START_TEST(str_cut_and_str_shorten)
{
	char dst[16];

	str_cut(dst, too_long[_i].cap, too_long[_i].text);
	ck_assert_str_eq(dst, too_long[_i].cut);
	str_shorten(dst, too_long[_i].cap, too_long[_i].text);
	ck_assert_str_eq(dst, too_long[_i].shortened);
	str_shorten(dst, too_long[_i].cap, NULL);
	ck_assert_str_eq(dst, "");
}
END_TEST

/* --- UTF-8 (RFC 3629 §4) -------------------------------------------------- */

static const struct {
	const char *name, *bytes;
	size_t n, len;
} sequences[] = {
	{"nothing", "", 0, 0},
	{"ASCII", "a", 1, 1},
	{"NUL is a character", "\0", 1, 1},
	{"DEL", "\x7f", 1, 1},
	{"tail alone", "\x80", 1, 0},
	{"overlong 2", "\xc0\x80", 2, 0},
	{"overlong 2, last", "\xc1\xbf", 2, 0},
	{"first 2", "\xc2\x80", 2, 2},
	{"last 2", "\xdf\xbf", 2, 2},
	{"2 cut", "\xc2", 1, 0},
	{"2 without tail", "\xc2" "a", 2, 0},
	{"overlong 3", "\xe0\x9f\xbf", 3, 0},
	{"first 3", "\xe0\xa0\x80", 3, 3},
	{"below surrogates", "\xed\x9f\xbf", 3, 3},
	{"first surrogate", "\xed\xa0\x80", 3, 0},
	{"last surrogate", "\xed\xbf\xbf", 3, 0},
	{"above surrogates", "\xee\x80\x80", 3, 3},
	{"U+FFFF", "\xef\xbf\xbf", 3, 3},
	{"3 cut", "\xe2\x82", 2, 0},
	{"3 without tail", "\xe2\x82" "a", 3, 0},
	{"overlong 4", "\xf0\x8f\xbf\xbf", 4, 0},
	{"first 4", "\xf0\x90\x80\x80", 4, 4},
	{"U+10FFFF", "\xf4\x8f\xbf\xbf", 4, 4},
	{"U+110000", "\xf4\x90\x80\x80", 4, 0},
	{"F5", "\xf5\x80\x80\x80", 4, 0},
	{"FF", "\xff", 1, 0},
	{"4 cut", "\xf0\x90\x80", 3, 0},
	{"more follows", "\xc3\xa9xyz", 5, 2},
};

START_TEST(utf8_table)
{
	ck_assert_msg(utf8_len(sequences[_i].bytes, sequences[_i].n) ==
			      sequences[_i].len,
		      "%s: %zu", sequences[_i].name,
		      utf8_len(sequences[_i].bytes, sequences[_i].n));
}
END_TEST

/* --- JSON strings --------------------------------------------------------- */

static const struct {
	const char *name, *in, *out;
} strings[] = {
	{"empty", "", "\"\""},
	{"plain", "node-1.example", "\"node-1.example\""},
	{"quote and backslash", "a\"b\\c", "\"a\\\"b\\\\c\""},
	{"newline", "a\nb", "\"a\\nb\""},
	{"tab", "\t", "\"\\u0009\""},
	{"control", "\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
	{"slash stays", "a/b", "\"a/b\""},
	{"two bytes", "\xc3\xa9", "\"\xc3\xa9\""},
	{"four bytes", "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
	{"bad byte", "a\xff" "b", "\"a\xef\xbf\xbd" "b\""},
	{"C1", "\xc2\x80\xc2\x9f\xc2\xa0", "\"\\u0080\\u009f\xc2\xa0\""},
	{"an ALM", "\xd8\x9b\xd8\x9c\xd8\x9d", "\"\xd8\x9b\\u061c\xd8\x9d\""},
	{"LRM and RLM", "\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\x90",
	 "\"\xe2\x80\x8d\\u200e\\u200f\xe2\x80\x90\""},
	{"lines and directions", "\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xae\xe2\x80\xaf",
	 "\"\xe2\x80\xa7\\u2028\\u202e\xe2\x80\xaf\""},
	{"isolates", "\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xaf\xe2\x81\xb0",
	 "\"\xe2\x81\xa5\\u2066\\u206f\xe2\x81\xb0\""},
	{"cut at the end", "a\xe2\x82", "\"a\xef\xbf\xbd\xef\xbf\xbd\""},
};

START_TEST(json_table)
{
	char storage[64];
	struct buf b;

	buf_init(&b, storage, sizeof(storage));
	buf_json(&b, strings[_i].in);
	ck_assert_msg(!b.full, "%s", strings[_i].name);
	ck_assert_msg(strcmp(storage, strings[_i].out) == 0, "%s: %s",
		      strings[_i].name, storage);
}
END_TEST

/* Reads what buf_json wrote: enough of RFC 8259 §7, and nothing else. */
static size_t
unescape(const char *json, char *out)
{
	size_t n = 0;
	unsigned v;

	ck_assert_int_eq(*json++, '"');
	while (*json != '"') {
		ck_assert_msg((unsigned char)*json >= 0x20, "raw control");
		if (*json != '\\') {
			out[n++] = *json++;
			continue;
		}
		json++;
		switch (*json++) {
		case 'n':
			out[n++] = '\n';
			break;
		case 'u':
			ck_assert_int_eq(sscanf(json, "%4x", &v), 1);
			json += 4;
			if (v >= 0x800) {
				out[n++] = (char)(0xe0 | v >> 12);
				out[n++] = (char)(0x80 | (v >> 6 & 0x3f));
			} else if (v >= 0x80) {
				out[n++] = (char)(0xc0 | v >> 6);
			}
			out[n++] = (char)(v < 0x80 ? v : 0x80 | (v & 0x3f));
			break;
		default:
			out[n++] = json[-1];
		}
	}
	ck_assert_int_eq(json[1], '\0');
	out[n] = '\0';
	return n;
}

static size_t
random_character(struct dice *d, char *out)
{
	static const char *const wide[] = {
		"\xc3\xa9",	      "\xe2\x82\xac", "\xf0\x9f\x98\x80",
		"\xc2\x9b",	      "\xd8\x9c",	"\xe2\x80\xae",
		"\xe2\x81\xa6"};
	const char *w;

	if (roll(d, 4) > 0) {
		*out = (char)(1 + roll(d, 127));
		return 1;
	}
	w = wide[roll(d, COUNT(wide))];
	memcpy(out, w, strlen(w));
	return strlen(w);
}

START_TEST(json_round_trip)
{
	struct dice d = dice_new(1);

	for (int i = 0; i < 5000; i++) {
		char in[128], storage[1024], back[1024];
		size_t n = 0, chars = roll(&d, 30);
		struct buf b;

		while (chars-- > 0)
			n += random_character(&d, in + n);
		in[n] = '\0';
		buf_init(&b, storage, sizeof(storage));
		buf_json(&b, in);
		ck_assert(!b.full);
		ck_assert_uint_eq(b.len, strlen(storage));
		ck_assert_uint_eq(unescape(storage, back), n);
		ck_assert_str_eq(back, in);
	}
}
END_TEST

START_TEST(json_of_any_bytes_is_utf8)
{
	struct dice d = dice_new(2);

	for (int i = 0; i < 5000; i++) {
		char in[40], storage[512];
		size_t n = roll(&d, 39);
		struct buf b;

		for (size_t k = 0; k < n; k++)
			in[k] = (char)(1 + roll(&d, 255));
		in[n] = '\0';
		buf_init(&b, storage, sizeof(storage));
		buf_json(&b, in);
		ck_assert(!b.full);
		for (size_t at = 0; at < b.len;) {
			size_t len = utf8_len(storage + at, b.len - at);

			ck_assert_uint_gt(len, 0);
			at += len;
		}
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("text");
	TCase *err = run_case(s, "err"), *buf = run_case(s, "buf");
	TCase *utf8 = run_case(s, "utf8"), *json = run_case(s, "json");

	tcase_add_test(err, err_sets_and_wraps);
	tcase_add_test(err, err_may_be_null);
	tcase_add_test(err, err_cuts_long_text);
	tcase_add_test(buf, buf_is_filled_to_the_last_byte);
	tcase_add_test(buf, buf_full_stays);
	tcase_add_test(buf, buf_printf_fits_or_not);
	tcase_add_test(buf, buf_of_one_byte);
	tcase_add_test(buf, str_wipe_leaves_nothing);
	tcase_add_test(buf, str_copy_fits_or_not);
	tcase_add_loop_test(buf, str_cut_and_str_shorten, 0, COUNT(too_long));
	tcase_add_loop_test(utf8, utf8_table, 0, COUNT(sequences));
	tcase_add_loop_test(json, json_table, 0, COUNT(strings));
	tcase_add_test(json, json_round_trip);
	tcase_add_test(json, json_of_any_bytes_is_utf8);
	return suite_run(s);
}
