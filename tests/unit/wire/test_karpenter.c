/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "golden/golden.h"
#include "suite.h"
#include "wire/karpenter/line.h"
#include "wire/karpenter/matrix.h"
#include "wire/karpenter/record.h"

static const char *const whats[LINE_WHATS] = {
	[LINE_FACT] = "",	[LINE_NOTHING] = "nothing",
	[LINE_OTHER] = "other", [LINE_INCOMPLETE] = "incomplete",
	[LINE_BARE] = "bare",	[LINE_TEXT] = "text",
	[LINE_BROKEN] = "broken",
	[LINE_REFUSED] = "refused",
	[LINE_UNTIL] = "until",	[LINE_VERSION] = "version",
};

/* What is written of a fact is read as the same fact. */
static void
check_again(const struct fact *f, const char *written, size_t n)
{
	struct fact *kept = fact_copy(f), again;
	struct line *l = line_new();
	const char *message;

	ck_assert_int_eq(fact_compare(kept, f), 0);
	ck_assert_int_eq(line_read(l, written, n - 1, &again, &message),
			 LINE_FACT);
	ck_assert_int_eq(fact_compare(kept, &again), 0);
	line_free(l);
	free(kept);
}

static void
sign_line(struct line *l, const char *bytes, size_t n, struct buf *b)
{
	const char *message = "";
	size_t before;
	struct fact f;
	enum line_what what = line_read(l, bytes, n, &f, &message);

	if (what == LINE_FACT) {
		do {
			before = b->len;
			record_write(b, &f);
			check_again(&f, b->data + before, b->len - before);
		} while (line_more(l, &f));
		return;
	}
	buf_printf(b, "%s", whats[what]);
	if (what == LINE_OTHER || what == LINE_INCOMPLETE ||
	    what == LINE_REFUSED || what == LINE_VERSION)
		buf_printf(b, ": %s", message);
	buf_puts(b, "\n");
}

static void
golden_sign(const char *bytes, size_t n, char *out, size_t cap)
{
	const char *end = bytes + n, *next;
	struct line *l = line_new();
	struct buf b;

	buf_init(&b, out, cap);
	for (; bytes < end; bytes = next + 1) {
		next = memchr(bytes, '\n', (size_t)(end - bytes));
		sign_line(l, bytes, (size_t)(next - bytes), &b);
	}
	ck_assert(!b.full);
	line_free(l);
}

START_TEST(test_golden)
{
	golden_folder("tests/golden/karpenter", golden_sign);
}
END_TEST

#define READ(text) line_read(l, text, sizeof(text) - 1, &f, &message)
#define CLAIM "\"time\":\"2026-01-02T03:04:05Z\",\"NodeClaim\":{\"name\":\"a\"}"
#define CREATED "{\"logger\":\"controller\",\"message\":\"created nodeclaim\"," CLAIM "}"

/* Pieces of another line that is too long do not end up in the next one. */
START_TEST(test_pieces)
{
	static char piece[600000];
	struct line *l = line_new();
	const char *message;
	struct fact f;

	memset(piece, 'x', sizeof(piece));
	memcpy(piece, "2026-01-02T03:04:05Z stdout P ", 30);
	ck_assert_int_eq(line_read(l, piece, sizeof(piece), &f, &message),
			 LINE_NOTHING);
	ck_assert_int_eq(line_read(l, piece, sizeof(piece), &f, &message),
			 LINE_NOTHING);
	ck_assert_int_eq(READ("2026-01-02T03:04:05Z stdout F }"), LINE_BROKEN);
	ck_assert_int_eq(READ("2026-01-02T03:04:05Z stdout F " CREATED),
			 LINE_FACT);
	ck_assert_int_eq(READ("2026-01-02T03:04:05Z stderr P {\"message\":"),
			 LINE_NOTHING);
	ck_assert_int_eq(READ("2026-01-02T03:04:05Z stdout F " CREATED),
			 LINE_FACT);
	ck_assert_int_eq(READ("2026-01-02T03:04:05Z stderr F \"created "
			      "nodeclaim\"," CLAIM "}"),
			 LINE_FACT);
	ck_assert_str_eq(f.claim, "a");
	line_free(l);
}
END_TEST

START_TEST(test_time)
{
	struct line *l = line_new();
	const char *message;
	struct fact f;

	ck_assert_int_eq(READ("{\"time\":\"1970-01-01T00:00:01.5Z\","
			      "\"message\":\"other\"}"),
			 LINE_OTHER);
	ck_assert_str_eq(message, "other");
	ck_assert_int_eq(line_time(l), 1500);
	ck_assert_int_eq(READ("{\"message\":\"other\"}"), LINE_OTHER);
	ck_assert_int_eq(line_time(l), STAMP_NONE);
	line_free(l);
}
END_TEST

START_TEST(test_order)
{
	static const struct fact_node one[] = {{"n", "c"}}, two[] = {{"n", "d"}};
	struct fact a, b;

	fact_init(&a, FACT_CREATED, 5);
	fact_init(&b, FACT_CREATED, 5);
	ck_assert_int_eq(fact_compare(&a, &b), 0);
	b.at_ms = 6;
	ck_assert_int_lt(fact_compare(&a, &b), 0);
	ck_assert_int_gt(fact_compare(&b, &a), 0);
	fact_init(&b, FACT_GONE, 5);
	ck_assert_int_lt(fact_compare(&a, &b), 0);
	fact_init(&b, FACT_CREATED, 5);
	b.claim = "b";
	ck_assert_int_lt(fact_compare(&a, &b), 0);
	fact_init(&a, FACT_DECIDED, 5);
	fact_init(&b, FACT_DECIDED, 5);
	a.nodes = one;
	b.nodes = two;
	a.nodes_n = b.nodes_n = 1;
	ck_assert_int_lt(fact_compare(&a, &b), 0);
}
END_TEST

static const struct {
	const char *text;
	int64_t v;	/* -1: refused */
} dollars[] = {
	{"0.11", 110000}, {"12", 12000000},	  {"0.1234567", 123456},
	{".5", 500000},	  {"1.", 1000000},	  {"", -1},
	{".", -1},	  {"1.2.3", -1},	  {"1e3", -1},
	{"$1", -1},	  {"99999999999999999", -1},
};

START_TEST(test_dollars)
{
	int64_t v = -1;

	ck_assert_int_eq(dollars_parse(dollars[_i].text,
				       strlen(dollars[_i].text), &v),
			 dollars[_i].v < 0 ? -1 : 0);
	ck_assert_int_eq(v, dollars[_i].v);
	ck_assert_int_eq(dollars_parse("-1.5", 4, &v), 0);
	ck_assert_int_eq(v, -1500000);
}
END_TEST

#define COUNTER                                                                \
	"{\"metric\":{\"__name__\":\"karpenter_nodeclaims_created_total\","      \
	"\"nodepool\":\"p%u\"},\"values\":[[1772445600,\"1\"]]}"

/* More counters than there is room for are refused, and those that are known
 * go on. */
START_TEST(test_counters)
{
	struct matrix *m = matrix_new();
	enum snapshot_what what = SNAPSHOT_TAKEN;
	struct err e = {0};
	char text[256];
	unsigned n;

	ck_assert_ptr_nonnull(m);
	for (n = 0; what == SNAPSHOT_TAKEN && n < 3 * SIMULATE_FACTS_MAX;
	     n++) {
		(void)snprintf(text, sizeof(text), COUNTER, n);
		what = matrix_series(m, text, strlen(text), &e);
	}
	ck_assert_int_eq(what, SNAPSHOT_FAILED);
	ck_assert_int_eq(e.code, ERR_LIMIT);
	ck_assert_uint_eq(n, SIMULATE_FACTS_MAX + 1);
	(void)snprintf(text, sizeof(text), COUNTER, 17u);
	ck_assert_int_eq(matrix_series(m, text, strlen(text), &e),
			 SNAPSHOT_TAKEN);
	matrix_free(m);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/karpenter");
	TCase *tc = tcase_create("karpenter");

	tcase_add_test(tc, test_golden);
	tcase_add_test(tc, test_pieces);
	tcase_add_test(tc, test_time);
	tcase_add_test(tc, test_order);
	tcase_add_loop_test(tc, test_dollars, 0,
			    sizeof(dollars) / sizeof(dollars[0]));
	tcase_add_test(tc, test_counters);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
