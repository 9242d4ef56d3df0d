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
#include "wire/karpenter/matrix.h"
#include "wire/karpenter/reader.h"
#include "wire/karpenter/record.h"

static const char *const whats[READ_WHATS] = {
	[READ_FACT] = "",
	[READ_OBJECT] = "object ",
	[READ_SERIES] = "series",
	[READ_ANSWER] = "answer",
	[READ_NOTHING] = "nothing",
	[READ_OTHER] = "other",
	[READ_INCOMPLETE] = "incomplete",
	[READ_UNDECIDED] = "undecided",
	[READ_BARE] = "bare",
	[READ_BROKEN] = "broken",
	[READ_LONG] = "long",
	[READ_REFUSED] = "refused",
	[READ_UNTIL] = "until",
	[READ_VERSION] = "version",
};

/* Reads a whole stream. */
static void
read_all(reader_fn *fn, void *ctx, const char *bytes, size_t n)
{
	struct reader *r = reader_new(fn, ctx);
	struct err e = {0};
	size_t used;
	bool cut;

	for (; n > 0; bytes += used, n -= used) {
		ck_assert_int_eq(reader_step(r, bytes, n, READER_LAST, &used,
					     &e), 0);
		ck_assert_uint_gt(used, 0);
		ck_assert_uint_le(used, n);
	}
	ck_assert_int_eq(reader_end(r, &cut, &e), 0);
	reader_free(r);
}

static int
check_same(void *ctx, const struct reader_item *item, struct err *e)
{
	struct fact *kept = ctx;

	(void)e;
	ck_assert_int_eq(item->what, READ_FACT);
	ck_assert_int_eq(fact_compare(kept, item->fact), 0);
	kept->at_ms = -1;
	return 0;
}

/* What is written of a fact is read as the same fact. */
static void
check_again(const struct fact *f, const char *written, size_t n)
{
	struct fact *kept = fact_copy(f);

	ck_assert_int_eq(fact_compare(kept, f), 0);
	read_all(check_same, kept, written, n);
	ck_assert_int_eq(kept->at_ms, -1);
	free(kept);
}

static int
sign_item(void *ctx, const struct reader_item *item, struct err *e)
{
	struct buf *b = ctx;
	size_t before;

	(void)e;
	buf_printf(b, "%s", whats[item->what]);
	before = b->len;
	if (item->fact != NULL) {
		record_write(b, item->fact);
		check_again(item->fact, b->data + before, b->len - before);
		return 0;
	}
	if (item->message[0] != '\0' && item->what != READ_BARE)
		buf_printf(b, ": %s", item->message);
	buf_puts(b, "\n");
	return 0;
}

static void
golden_sign(const char *bytes, size_t n, char *out, size_t cap)
{
	struct buf b;

	buf_init(&b, out, cap);
	read_all(sign_item, &b, bytes, n);
	ck_assert(!b.full);
}

START_TEST(test_golden)
{
	golden_folder("tests/golden/karpenter", golden_sign);
}
END_TEST

#define CLAIM "\"time\":\"2026-01-02T03:04:05Z\",\"NodeClaim\":{\"name\":\"a\"}"
#define CREATED "{\"logger\":\"controller\",\"message\":\"created nodeclaim\"," CLAIM "}"
#define AT "2026-01-02T03:04:05Z "

static void
check_read(const char *text, const char *want)
{
	char got[4096];
	struct buf b;

	buf_init(&b, got, sizeof(got));
	read_all(sign_item, &b, text, strlen(text));
	ck_assert_str_eq(got, want);
}
#define FACT "{\"at\":\"2026-01-02T03:04:05.000000Z\",\"what\":\"created\",\"claim\":\"a\"}\n"

/* Pieces of another line that is too long do not end up in the next one. */
START_TEST(test_pieces)
{
	static char text[2 * 1100000];
	struct buf b;

	buf_init(&b, text, sizeof(text));
	for (int i = 0; i < 3; i++) {
		buf_puts(&b, AT "stdout P ");
		buf_puts(&b, i == 0 ? "{\"message\":\"" : "");
		memset(buf_more(&b, 600000), 'x', 600000);
		buf_puts(&b, "\n");
	}
	buf_puts(&b, AT "stdout F \"}\n" AT "stdout F " CREATED "\n");
	check_read(text, "broken\nbroken\nbroken\nbroken\n" FACT);
	check_read(AT "stderr P {\"message\":\n" AT "stdout F " CREATED "\n" AT
		   "stderr P \"created no\n" AT "stderr F declaim\"," CLAIM "}",
		   FACT FACT);
	check_read(AT "stderr P {\"message\":\"created\n", "broken\n");
}
END_TEST

/* A time is found in the object, in the nearest object around it, and in the text
 * before or behind it. */
static const char *const timed[] = {
	"{\"t\":1,\"time\":1767323045,%}",
	"{\"time\":1767323045000,%}",
	"{\"event_timestamp\":1767323045000000,%}",
	"{\"ts\":\"2026-01-02 03:04:05,000\",%}",
	"{\"@timestamp\":\"2026-01-02T04:04:05.0+0100\",%}",
	"{\"timestamp\":\"1767323045.000\",\"ingestion_time\":1767399999,%}",
	"{\"date\":\"2026-01-01T00:00:00Z\",\"in\":{\"time\":1767323045,%}}",
	"{\"time\":\"2026-01-02T03:04:05Z\",\"a\":{\"b\":[{%}]}}",
	"[\"1767323045000000000\",\"{\\\"x\\\":1}\"]\n1767323045 {%}",
	"[pod/x-1767399999] 2026-01-02T03:04:05Z {%}",
	"{%},2026-01-02 03:04:05.000,x",
	"{\"a\":[[\"1767323045000000000\",{%}]]}",
};

START_TEST(test_time)
{
	char text[512] = "", got[1024];
	const char *mark = strchr(timed[_i], '%');
	struct buf b;

	buf_init(&b, text, sizeof(text));
	buf_add(&b, timed[_i], (size_t)(mark - timed[_i]));
	buf_puts(&b, "\"message\":\"created nodeclaim\",\"NodeClaim\":{"
		     "\"name\":\"a\"}");
	buf_puts(&b, mark + 1);
	buf_init(&b, got, sizeof(got));
	read_all(sign_item, &b, text, strlen(text));
	ck_assert_msg(strstr(got, FACT) != NULL, "%s: %s", text, got);
}
END_TEST

/* What is larger than the window is read piece by piece, and what an answer of
 * Prometheus says besides is not lost. */
static unsigned seen[READ_WHATS];

static int
count_item(void *ctx, const struct reader_item *item, struct err *e)
{
	(void)ctx, (void)e;
	seen[item->what]++;
	return 0;
}

START_TEST(test_window)
{
	char text[4096], *p = text;
	struct reader *r = reader_new(count_item, NULL);
	size_t n, used, window = 300;
	struct err e = {0};
	struct buf b;
	bool cut;

	memset(seen, 0, sizeof(seen));
	buf_init(&b, text, sizeof(text));
	buf_puts(&b, "{\"status\":\"success\",\"isPartial\":true,\"data\":{"
		     "\"resultType\":\"matrix\",\"result\":[");
	for (int i = 0; i < 20; i++)
		buf_printf(&b, "%s{\"metric\":{\"a\":\"%d\"},\"values\":[]}",
			   i > 0 ? ", " : "", i);
	buf_puts(&b, "]}, \"warnings\":[\"x\"]}\n");
	for (n = b.len; n > 0; p += used, n -= used) {
		size_t shown = n < window ? n : window;

		ck_assert_int_eq(reader_step(r, p, shown, n > shown
							  ? READER_FULL
							  : READER_LAST,
					     &used, &e), 0);
	}
	ck_assert_int_eq(reader_end(r, &cut, &e), 0);
	ck_assert_uint_eq(seen[READ_SERIES], 20);
	ck_assert_uint_eq(seen[READ_ANSWER], 1);
	ck_assert_uint_eq(seen[READ_BROKEN] + seen[READ_OTHER], 0);
	ck_assert(!cut);
	reader_free(r);
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

/* Facts that differ in anything are not one fact that is told twice. */
START_TEST(test_differs)
{
	static const struct fact_node nodes[] = {{"n", "c"}, {"n", "c"}},
				      claim[] = {{"n", "d"}},
				      node[] = {{"o", "c"}};
	struct fact like, others[13];

	fact_init(&like, FACT_DECIDED, 5);
	like.nodes = nodes;
	like.nodes_n = 1;
	for (size_t i = 0; i < 13; i++)
		others[i] = like;
	others[0].at_ms = 6;
	others[1].kind = FACT_DELETING;
	others[2].maker = MAKER_STATIC;
	others[3].claim = "x";
	others[4].node = "x";
	others[5].pool = "x";
	others[6].action = "x";
	others[7].reason = "x";
	others[8].pods = 7;
	others[9].savings = 7;
	others[10].price = 7;
	others[11].nodes_n = 2;
	others[12].nodes = claim;
	for (size_t i = 0; i < 13; i++) {
		ck_assert_int_lt(fact_compare(&like, &others[i]), 0);
		ck_assert_int_gt(fact_compare(&others[i], &like), 0);
	}
	others[0] = like;
	others[0].nodes = node;
	ck_assert_int_lt(fact_compare(&like, &others[0]), 0);
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

	ck_assert_int_eq(fact_dollars_parse(dollars[_i].text,
				       strlen(dollars[_i].text), &v),
			 dollars[_i].v < 0 ? -1 : 0);
	ck_assert_int_eq(v, dollars[_i].v);
	ck_assert_int_eq(fact_dollars_parse("-1.5", 4, &v), 0);
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

/* --- what an answer of Prometheus tells ---------------------------------- */

static struct buf told;
static char told_text[4096];

static int
tell_short(void *ctx, const struct fact *f, struct err *e)
{
	(void)ctx, (void)e;
	buf_printf(&told, "%s@%lld %s%s", fact_name(f->kind),
		   (long long)(f->at_ms - 1772445600000) / 1000, f->claim,
		   fact_maker_name(f->maker));
	for (size_t i = 0; i < f->nodes_n; i++)
		buf_printf(&told, "%s%s", i > 0 ? "+" : "", f->nodes[i].node);
	if (f->pods >= 0)
		buf_printf(&told, " with %lld pods", f->pods);
	buf_puts(&told, "; ");
	return 0;
}

static int step_s = 30;

/* A series of these samples; "" leaves one out. */
static void
series(struct matrix *m, const char *labels, const char *const *values)
{
	char text[2048];
	struct err e = {0};
	struct buf b;

	buf_init(&b, text, sizeof(text));
	buf_printf(&b, "{\"metric\":{%s,\"nodepool\":\"web\"},\"values\":[",
		   labels);
	for (int i = 0, n = 0; values[i] != NULL; i++)
		if (values[i][0] != '\0')
			buf_printf(&b, "%s[%d,\"%s\"]", n++ > 0 ? "," : "",
				   1772445600 + step_s * i, values[i]);
	buf_puts(&b, "]}");
	ck_assert(!b.full);
	ck_assert_int_eq(matrix_series(m, text, b.len, &e), SNAPSHOT_TAKEN);
}
#define SERIES(m, labels, ...)                                                 \
	series(m, labels, (const char *const[]){__VA_ARGS__, NULL})
#define NAMED(name) "\"__name__\":\"karpenter_" name "\""
#define LIFE(node)                                                             \
	NAMED("nodes_current_lifetime_seconds") ",\"node_name\":\"" node "\""

/* Two replicas of a Prometheus, and a pod of Karpenter that follows another. */
START_TEST(test_replicas)
{
	static const char *const replicas[] = {",\"replica\":\"a\"",
					       ",\"replica\":\"b\""};
	char labels[2][200];
	struct matrix_sums sums;
	struct err e = {0};

	told_text[0] = '\0';
	for (int n = 1; n <= 2; n++) {
		struct matrix *m = matrix_new();
		char one[sizeof(told_text)];

		for (int i = 0; i < n; i++) {
			(void)snprintf(labels[0], sizeof(labels[0]), "%s%s",
				       NAMED("nodeclaims_created_total")
				       ",\"reason\":\"provisioned\",\"pod\":\"x\"",
				       replicas[i]);
			SERIES(m, labels[0], "1", "1", "2", "2");
			(void)snprintf(labels[0], sizeof(labels[0]), "%s%s",
				       NAMED("nodeclaims_created_total")
				       ",\"reason\":\"drifted\",\"pod\":\"y\"",
				       replicas[i]);
			SERIES(m, labels[0], "", "", "", "", "1", "2");
			(void)snprintf(labels[1], sizeof(labels[1]), "%s%s",
				       LIFE("a"), replicas[i]);
			SERIES(m, labels[1], "", "", "5", "35", "65", "95");
			(void)snprintf(labels[1], sizeof(labels[1]), "%s%s",
				       LIFE("b"), replicas[i]);
			SERIES(m, labels[1], "", "", "3", "33", "63", "93",
			       "123");
			(void)snprintf(labels[1], sizeof(labels[1]), "%s%s",
				       LIFE("c"), replicas[i]);
			SERIES(m, labels[1], "", "", "", "", "", "5", "35");
		}
		memcpy(one, told_text, sizeof(one));
		buf_init(&told, told_text, sizeof(told_text));
		ck_assert_int_eq(matrix_end(m, tell_short, NULL, &sums, &e), 0);
		if (n == 2)
			ck_assert_str_eq(one, told_text);
		matrix_free(m);
	}
	ck_assert_ptr_nonnull(strstr(told_text, "aprovisioner"));
	ck_assert_ptr_null(strstr(told_text, "bprovisioner"));
}
END_TEST

/* Karpenter was restarted, so its counters began anew: what they have then was
 * counted since. */
START_TEST(test_anew)
{
	struct matrix *m = matrix_new();
	struct matrix_sums sums;
	struct err e = {0};

	SERIES(m, LIFE("a"), "", "10", "40", "70", "100", "130", "160", "190",
	       "220");
	SERIES(m, LIFE("b"), "", "", "", "10", "40", "70");
	SERIES(m, LIFE("c"), "", "", "", "11", "41", "71", "101", "131", "161");
	SERIES(m, LIFE("d"), "", "", "", "", "", "5", "35", "65", "95");
	SERIES(m, NAMED("nodeclaims_created_total") ",\"reason\":\"provisioned\"",
	       "7", "8", "8", "2", "2", "3", "3", "3", "3");
	SERIES(m, NAMED("nodeclaims_disrupted_total") ",\"reason\":\"empty\"",
	       "4", "4", "4", "4", "4", "4", "1", "1", "1");
	buf_init(&told, told_text, sizeof(told_text));
	ck_assert_int_eq(matrix_end(m, tell_short, NULL, &sums, &e), 0);
	for (const char *n = "abcd"; *n != '\0'; n++) {
		char want[24];

		(void)snprintf(want, sizeof(want), " %cprovisioner; ", *n);
		ck_assert_msg(strstr(told_text, want) != NULL, "%c: %s", *n,
			      told_text);
	}
	/* The counter is seen after the Node's last sample. */
	ck_assert_ptr_nonnull(strstr(told_text, "decided@150 b; "));
	ck_assert_uint_eq(sums.lost, 0);
	matrix_free(m);
}
END_TEST

static int
times(const char *what)
{
	int n = 0;

	for (const char *at = told_text; (at = strstr(at, what)) != NULL; at++)
		n++;
	return n;
}

/* Answers overlap, and several replicas of Karpenter are scraped: what is told
 * twice counts once. */
START_TEST(test_overlap)
{
	struct matrix *m = matrix_new();
	struct matrix_sums sums;
	struct err e = {0};

	SERIES(m, LIFE("z"), "900", "930", "960", "990", "1020", "1050");
	for (int n = 0; n < 2; n++) {
		SERIES(m, LIFE("a"), "", "10", "40", "70", "100", "130");
		SERIES(m, LIFE("c"), "", "11", "41", "71", "101", "131");
		SERIES(m, NAMED("nodeclaims_created_total")
		       ",\"reason\":\"provisioned\"",
		       "7", "8", "8", "8", "8", "8");
	}
	/* The clock of another one is wrong by more than a minute. */
	SERIES(m, LIFE("a"), "", "", "", "", "10", "40");
	buf_init(&told, told_text, sizeof(told_text));
	ck_assert_int_eq(matrix_end(m, tell_short, NULL, &sums, &e), 0);
	ck_assert_int_eq(times("registered"), 2);
	ck_assert_int_eq(times("provisioner"), 1);
	ck_assert_int_eq(times("gone"), 0);
	matrix_free(m);
}
END_TEST

/* What a counter has counted is not a Node that joined or went much later. */
START_TEST(test_much_later)
{
	struct matrix *m = matrix_new();
	struct matrix_sums sums;
	struct err e = {0};

	step_s = 600;
	SERIES(m, LIFE("z"), "9000", "9600", "10200", "10800", "11400", "12000",
	       "12600", "13200", "13800", "14400", "15000", "15600");
	SERIES(m, LIFE("a"), "", "", "", "10", "610", "1210", "1810", "2410",
	       "3010");
	SERIES(m, NAMED("nodeclaims_created_total")
	       ",\"reason\":\"provisioned\"", "7", "8", "8", "8");
	SERIES(m, NAMED("nodeclaims_disrupted_total") ",\"reason\":\"empty\"",
	       "7", "8", "8", "8");
	step_s = 30;
	buf_init(&told, told_text, sizeof(told_text));
	ck_assert_int_eq(matrix_end(m, tell_short, NULL, &sums, &e), 0);
	ck_assert_int_eq(times("registered@1790 a"), 1);
	ck_assert_int_eq(times("provisioner"), 0);
	ck_assert_int_eq(times("gone@4800 a"), 2);
	ck_assert_int_eq(times("decided"), 0);
	ck_assert_uint_eq(sums.lost, 1);
	matrix_free(m);
}
END_TEST

#define DISRUPTED(more)                                                        \
	NAMED("nodeclaims_disrupted_total") ",\"reason\":\"drifted\"" more
#define INITIATED(more)                                                        \
	NAMED("pods_disruption_initiated_total") ",\"reason\":\"drifted\"" more
#define SPOT ",\"capacity_type\":\"spot\""
#define RESERVED ",\"capacity_type\":\"reserved\""

/* Since Karpenter 1.15 a step may be that of two series, and there are pods.  A
 * Node that is not known takes its share of them. */
START_TEST(test_one_step)
{
	struct matrix *m = matrix_new();
	struct matrix_sums sums;
	struct err e = {0};

	SERIES(m, LIFE("z"), "900", "930", "960", "990", "1020", "1050", "1080",
	       "1110", "1140");
	SERIES(m, LIFE("a"), "900", "930");
	SERIES(m, LIFE("b"), "900", "930", "960", "990");
	SERIES(m, LIFE("c"), "900", "930", "960", "990");
	SERIES(m, LIFE("d"), "900", "930", "960", "990", "1020", "1050");
	SERIES(m, DISRUPTED(SPOT), "1", "2", "2", "3", "3", "3");
	SERIES(m, DISRUPTED(RESERVED), "1", "1", "1", "2", "2", "4");
	SERIES(m, INITIATED(SPOT), "", "", "7", "9", "9", "9");
	SERIES(m, INITIATED(RESERVED), "", "", "0", "4", "4", "10");
	buf_init(&told, told_text, sizeof(told_text));
	ck_assert_int_eq(matrix_end(m, tell_short, NULL, &sums, &e), 0);
	ck_assert_msg(strstr(told_text, "decided@30 a; ") != NULL, "%s",
		      told_text);
	ck_assert_msg(strstr(told_text, "decided@90 b+c with 6 pods; ") != NULL,
		      "%s", told_text);
	ck_assert_msg(strstr(told_text, "decided@150 d with 3 pods; ") != NULL,
		      "%s", told_text);
	ck_assert_int_eq(times("decided"), 3);
	ck_assert_uint_eq(sums.lost, 1);
	matrix_free(m);
}
END_TEST

/* In a window without the end of a string or a cell, each step takes a half, so
 * the work is linear. */
static const char *const unended[] = {"{\\\"", "{\"\"a", "{\\\"a\\\":1,"};

START_TEST(test_unended)
{
	static char text[1u << 20];
	struct reader *r = reader_new(count_item, NULL);
	size_t n = 0, used, unit = strlen(unended[_i]);
	struct err e = {0};
	unsigned steps = 0;

	for (; n + unit <= sizeof(text); n += unit)
		memcpy(text + n, unended[_i], unit);
	for (size_t at = 0; at < n; at += used, steps++)
		ck_assert_int_eq(reader_step(r, text + at, n - at, READER_FULL,
					     &used, &e), 0);
	ck_assert_uint_le(steps, 42);
	reader_free(r);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/karpenter");
	TCase *tc = tcase_create("karpenter");

	tcase_add_test(tc, test_golden);
	tcase_add_test(tc, test_pieces);
	tcase_add_loop_test(tc, test_time, 0,
			    sizeof(timed) / sizeof(timed[0]));
	tcase_add_test(tc, test_window);
	tcase_add_loop_test(tc, test_unended, 0,
			    sizeof(unended) / sizeof(unended[0]));
	tcase_add_test(tc, test_replicas);
	tcase_add_test(tc, test_order);
	tcase_add_test(tc, test_differs);
	tcase_add_loop_test(tc, test_dollars, 0,
			    sizeof(dollars) / sizeof(dollars[0]));
	tcase_add_test(tc, test_counters);
	tcase_add_test(tc, test_anew);
	tcase_add_test(tc, test_overlap);
	tcase_add_test(tc, test_much_later);
	tcase_add_test(tc, test_one_step);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
