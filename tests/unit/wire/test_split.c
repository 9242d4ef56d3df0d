/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "golden/golden.h"
#include "suite.h"
#include "wire/api/object.h"
#include "wire/api/split.h"

#define OUT_BYTES 16384

/* the bound of the splitter that calls note_item */
static size_t item_most;

static int
note_item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct buf *b = ctx;

	(void)e;
	if (n > item_most) {
		buf_printf(b, "cut %zu ", n);
		n = item_most;
	} else {
		buf_puts(b, "item ");
	}
	buf_add(b, bytes, n);
	buf_puts(b, "\n");
	return 0;
}

/* Feeds a copy in memory of its own, so that ASan sees each byte that is read
 * of it and when. */
static int
feed(struct split *s, const char *bytes, size_t n, struct err *e)
{
	char *copy = malloc(n > 0 ? n : 1);
	int failed;

	memcpy(copy, bytes, n);
	failed = split_feed(s, copy, n, e);
	free(copy);
	return failed;
}

/* Feeds the bytes in pieces of `step`, of which the first has `first` bytes,
 * and writes what came of them. */
static void
run_bounded(enum split_mode mode, size_t item_max, const char *bytes, size_t n,
	    size_t first, size_t step, struct buf *out)
{
	struct split *s = split_new_bounded(mode, item_max, note_item, out);
	struct err e = {0};
	size_t len, at = 0, piece = first;
	int failed = 0;

	item_most = item_max;
	while (at < n && !failed) {
		if (piece > n - at)
			piece = n - at;
		failed = feed(s, bytes + at, piece, &e);
		at += piece;
		piece = step;
	}
	if (!failed)
		failed = split_end(s, &e);
	if (failed)
		buf_printf(out, "error %d %s\n", (int)e.code, e.text);
	else
		buf_printf(out, "envelope %s\n", split_envelope(s, &len));
	split_free(s);
}

static void
run(enum split_mode mode, const char *bytes, size_t n, size_t first,
    size_t step, struct buf *out)
{
	run_bounded(mode, ITEM_BYTES_MAX, bytes, n, first, step, out);
}

static void
golden_list(const char *bytes, size_t n, char *out, size_t cap)
{
	char rv[RV_BYTES], cont[CONTINUE_BYTES];
	struct buf b, again;
	char *other = malloc(cap);
	const char *env;
	struct err e = {0};

	buf_init(&b, out, cap);
	run(SPLIT_LIST, bytes, n, n, n, &b);
	/* The stream may be cut anywhere: the outcome is the same. */
	for (size_t first = 0; first <= n; first++) {
		buf_init(&again, other, cap);
		run(SPLIT_LIST, bytes, n, first, n, &again);
		ck_assert_msg(strcmp(out, other) == 0, "cut at %zu: %s", first,
			      other);
	}
	for (size_t step = 1; step < 8; step++) {
		buf_init(&again, other, cap);
		run(SPLIT_LIST, bytes, n, step, step, &again);
		ck_assert_msg(strcmp(out, other) == 0, "step %zu: %s", step,
			      other);
	}
	free(other);
	env = strstr(out, "envelope ");
	if (env == NULL)
		return;
	env += strlen("envelope ");
	if (object_list_meta_decode(env, strlen(env), rv, cont, &e))
		buf_printf(&b, "no list: %s\n", e.text);
	else
		buf_printf(&b, "resourceVersion %s\ncontinue %s\n", rv, cont);
}

START_TEST(test_lists)
{
	golden_folder("tests/golden/lists", golden_list);
}
END_TEST

static const struct {
	const char *name, *in, *want;
} lines[] = {
	{"two", "{\"a\":1}\n{\"b\":2}\n",
	 "item {\"a\":1}\nitem {\"b\":2}\nenvelope \n"},
	{"blank lines", "\n\n{}\n\n", "item {}\nenvelope \n"},
	{"nothing", "", "envelope \n"},
	{"cut", "{}\n{\"a\"", "item {}\nerror 6 the stream ended in a line\n"},
};

START_TEST(test_lines)
{
	char out[OUT_BYTES];
	struct buf b;
	size_t n = strlen(lines[_i].in);

	for (size_t first = 0; first <= n; first++) {
		buf_init(&b, out, sizeof(out));
		run(SPLIT_LINES, lines[_i].in, n, first, n, &b);
		ck_assert_msg(strcmp(out, lines[_i].want) == 0, "%s at %zu: %s",
			      lines[_i].name, first, out);
	}
}
END_TEST

/* What is larger than 8 bytes is cut, and only that. */
static const struct {
	const char *name;
	enum split_mode mode;
	const char *in, *want;
} large[] = {
	{"a line", SPLIT_LINES, "{}\n{\"a\":\"12\"}\n{\"b\":2}\n",
	 "item {}\ncut 10 {\"a\":\"12\nitem {\"b\":2}\nenvelope \n"},
	{"at the bound", SPLIT_LINES, "12345678\n123456789\n\n1\n",
	 "item 12345678\ncut 9 12345678\nitem 1\nenvelope \n"},
	{"two in a row", SPLIT_LINES, "123456789\n1234567890\n",
	 "cut 9 12345678\ncut 10 12345678\nenvelope \n"},
	{"the last line is cut", SPLIT_LINES, "{}\n123456789",
	 "item {}\nerror 6 the stream ended in a line\n"},
	{"an item", SPLIT_LIST,
	 "{\"items\":[{},{\"a\":\"],}\\\"\"},{\"b\":2}],\"z\":1}",
	 "item {}\ncut 13 {\"a\":\"],\nitem {\"b\":2}\n"
	 "envelope {\"items\":[],\"z\":1}\n"},
	{"the only item", SPLIT_LIST, "{\"items\":[[1,[2,3],4]]}",
	 "cut 11 [1,[2,3]\nenvelope {\"items\":[]}\n"},
	{"an item is missing after it", SPLIT_LIST, "{\"items\":[123456789,]}",
	 "cut 9 12345678\nerror 1 a list lacks an item\n"},
	{"the list is cut in it", SPLIT_LIST, "{\"items\":[123456789",
	 "error 6 the stream ended in a list\n"},
	{"a matrix", SPLIT_MATRIX,
	 "{\"result\":[1],\"data\":{\"x\":{\"result\":[2]},\"results\":[3],"
	 "\"result\":[{\"a\":[4]},{\"result\":[5]},[6]]},\"result\":[7]}",
	 "cut 9 {\"a\":[4]\ncut 14 {\"result\nitem [6]\n"
	 "envelope {\"result\":[1],\"data\":{\"x\":{\"result\":[2]},"
	 "\"results\":[3],\"result\":[]},\"result\":[7]}\n"},
	{"no matrix", SPLIT_MATRIX, "{\"items\":[1],\"data\":[{\"result\":1}]}",
	 "envelope {\"items\":[1],\"data\":[{\"result\":1}]}\n"},
};

START_TEST(test_cut)
{
	char out[OUT_BYTES];
	struct buf b;
	size_t n = strlen(large[_i].in);

	for (size_t step = 1; step <= n; step++)
		for (size_t first = 1; first <= n; first++) {
			buf_init(&b, out, sizeof(out));
			run_bounded(large[_i].mode, 8, large[_i].in, n, first,
				    step, &b);
			ck_assert_msg(strcmp(out, large[_i].want) == 0,
				      "%s at %zu, then by %zu: %s",
				      large[_i].name, first, step, out);
		}
}
END_TEST

static int
refuse_item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	(void)ctx;
	(void)bytes;
	(void)n;
	return err_set(e, ERR_INPUT, "no such item");
}

START_TEST(test_refused)
{
	struct split *s = split_new(SPLIT_LIST, refuse_item, NULL);
	struct split *l = split_new(SPLIT_LINES, refuse_item, NULL);
	struct err e = {0};

	ck_assert_int_eq(split_feed(s, "{\"items\":[1,2]}", 15, &e), -1);
	ck_assert_str_eq(e.text, "no such item");
	ck_assert_int_eq(split_feed(l, "1\n", 2, &e), -1);
	split_free(s);
	split_free(l);
	split_free(NULL);
}
END_TEST

/* What a stream showed of its only item. */
struct seen {
	size_t kept, cut;
};

static int
count_item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct seen *seen = ctx;

	(void)e;
	(void)bytes;
	if (n <= ITEM_BYTES_MAX)
		seen->kept += n;
	else
		seen->cut += n;
	return 0;
}

/* Feeds an item of n bytes, in pieces. */
static int
long_item(enum split_mode mode, size_t n, size_t piece, struct seen *seen,
	  struct err *e)
{
	struct split *s = split_new(mode, count_item, seen);
	size_t head = mode == SPLIT_LIST ? 10 : 0, all = head + n + 2;
	char *text = malloc(all);
	int failed = 0;

	memcpy(text, "{\"items\":[", head);
	memset(text + head, '1', n);
	memcpy(text + head + n, mode == SPLIT_LIST ? "]}" : "\n\n", 2);
	for (size_t at = 0; at < all && !failed; at += piece)
		failed = split_feed(s, text + at,
				    all - at < piece ? all - at : piece, e);
	split_free(s);
	free(text);
	return failed;
}

START_TEST(test_item_bound)
{
	enum split_mode mode = _i < 2 ? SPLIT_LIST : SPLIT_LINES;
	size_t piece = _i % 2 ? 65536 : 16u << 20;
	struct seen at = {0}, past = {0};
	struct err e = {0};

	ck_assert_int_eq(long_item(mode, ITEM_BYTES_MAX, piece, &at, &e), 0);
	ck_assert_uint_eq(at.kept, ITEM_BYTES_MAX);
	ck_assert_uint_eq(at.cut, 0);
	ck_assert_int_eq(long_item(mode, ITEM_BYTES_MAX + 1, piece, &past, &e),
			 0);
	ck_assert_uint_eq(past.kept, 0);
	ck_assert_uint_eq(past.cut, ITEM_BYTES_MAX + 1);
}
END_TEST

START_TEST(test_envelope_bound)
{
	static char text[ENVELOPE_BYTES_MAX + 1];
	size_t n;
	struct err e = {0};
	struct split *s = split_new(SPLIT_LIST, count_item, NULL);

	memset(text, ' ', sizeof(text));
	ck_assert_int_eq(split_feed(s, text, sizeof(text) - 1, &e), 0);
	ck_assert_ptr_nonnull(split_envelope(s, &n));
	ck_assert_uint_eq(n, ENVELOPE_BYTES_MAX);
	ck_assert_int_eq(split_feed(s, text, 1, &e), -1);
	ck_assert_int_eq(e.code, ERR_LIMIT);
	split_free(s);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/list");
	TCase *tc = tcase_create("list");

	tcase_add_test(tc, test_lists);
	tcase_add_loop_test(tc, test_lines, 0,
			    sizeof(lines) / sizeof(lines[0]));
	tcase_add_loop_test(tc, test_cut, 0,
			    sizeof(large) / sizeof(large[0]));
	tcase_add_test(tc, test_refused);
	tcase_add_loop_test(tc, test_item_bound, 0, 4);
	tcase_add_test(tc, test_envelope_bound);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
