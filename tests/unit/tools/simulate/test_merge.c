/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "tools/simulate/merge.h"
#include "suite.h"

/* Files of this test, and what the merge of them gives: the claims in the order
 * in which they come. */
static char names[4][64];
static const char *files[4];
static size_t files_n;
static struct tally tally;
static char got[4096];
static struct err e;

/* The same files, and all else anew. */
static void
setup_again(void)
{
	got[0] = '\0';
	tally_init(&tally);
	e = (struct err){0};
}

static void
setup(void)
{
	files_n = 0;
	setup_again();
}

static void
teardown(void)
{
	while (files_n > 0)
		(void)unlink(files[--files_n]);
}

static FILE *
add_file(void)
{
	char *name = names[files_n];
	int fd;

	(void)snprintf(name, sizeof(names[0]), "/tmp/test_merge.XXXXXX");
	fd = mkstemp(name);
	ck_assert_int_ge(fd, 0);
	files[files_n++] = name;
	return fdopen(fd, "w");
}

#define DAY 86400

static void
created(FILE *f, int second, const char *claim)
{
	char at[STAMP_BYTES];

	stamp_format((int64_t)second * 1000 + 1767323045000, at);
	(void)fprintf(f, "{\"at\":\"%s\",\"what\":\"created\",\"claim\":\"%s\"}\n",
		      at, claim);
}

/* Each pair is a second and a claim. */
struct at {
	int second;
	const char *claim;
};

static void
file_of(const struct at *at)
{
	FILE *f = add_file();

	for (; at->claim != NULL; at++)
		created(f, at->second, at->claim);
	(void)fclose(f);
}
#define FILE_OF(...) file_of((const struct at[]){__VA_ARGS__, {0, NULL}})

static int
merge_all(void)
{
	struct merge *m = merge_open(files, files_n, &tally, &e);
	const struct fact *f = NULL;
	int64_t before = INT64_MIN;
	int rc = -1;

	while (m != NULL && (rc = merge_next(m, &f, &e)) > 0) {
		ck_assert_int_ge(f->at_ms, before);
		before = f->at_ms;
		(void)strcat(got, f->claim);
	}
	merge_close(m);
	return rc;
}

START_TEST(test_order)
{
	FILE_OF({0, "a"}, {50, "c"}, {20, "b"}, {51, "d"}, {200, "e"},
		{139, "x"}, {140, "f"});
	ck_assert_int_eq(merge_all(), 0);
	/* f is 60 s late, and x has been overtaken by nobody. */
	ck_assert_str_eq(got, "abcdxfe");
	ck_assert_uint_eq(tally.late, 0);
}
END_TEST

/* The logs of several pods, one after another. */
START_TEST(test_runs)
{
	FILE_OF({0, "a"}, {100, "c"}, {1000, "e"}, {9000, "i"},
		{30, "b"}, {700, "d"}, {2000, "g"}, {9001, "j"},
		{1001, "f"}, {3000, "h"});
	ck_assert_int_eq(merge_all(), 0);
	ck_assert_str_eq(got, "abcdefghij");
	ck_assert_uint_eq(tally.late, 0);
}
END_TEST

/* Not everything can be kept until the end. */
START_TEST(test_late)
{
	FILE *f = add_file();
	const struct fact *fact;
	struct merge *m;
	int n = 0;

	for (int i = 0; i < SIMULATE_FACTS_MAX; i++)
		created(f, 60 * i, "a");
	created(f, 30, "x");
	(void)fclose(f);
	m = merge_open(files, files_n, &tally, &e);
	while (merge_next(m, &fact, &e) > 0)
		n += fact != NULL && fact->claim[0] == 'a';
	merge_close(m);
	ck_assert_int_eq(n, SIMULATE_FACTS_MAX);
	ck_assert_uint_eq(tally.late, 1);
}
END_TEST

START_TEST(test_files)
{
	FILE_OF({5, "b"}, {15, "d"}, {4000, "g"}, {4001, "h"});
	FILE_OF({0, "a"}, {5, "b"}, {10, "c"}, {15, "d"}, {20, "e"},
		{3000, "f"}, {3000, "f"});
	FILE_OF({2 * DAY, "i"});	/* the only one in its file */
	ck_assert_int_eq(merge_all(), 0);
	ck_assert_str_eq(got, "abcdefghi");
	ck_assert_uint_eq(tally.duplicates, 3);
	ck_assert_uint_eq(tally.late + tally.odd_times, 0);
}
END_TEST

/* Rotated files, given in any order. */
START_TEST(test_rotated)
{
	FILE_OF({1000, "c"}, {1001, "d"});
	FILE_OF({0, "a"}, {1, "b"});
	ck_assert_int_eq(merge_all(), 0);
	ck_assert_str_eq(got, "abcd");
}
END_TEST

START_TEST(test_odd_times)
{
	FILE_OF({9 * DAY, "x"}, {0, "a"}, {1, "b"}, {7 * DAY, "y"}, {2, "c"},
		{3 * DAY, "d"}, {3 * DAY + 1, "e"}, {5 * DAY, "f"});
	ck_assert_int_eq(merge_all(), 0);
	ck_assert_str_eq(got, "abcdef");
	ck_assert_uint_eq(tally.odd_times, 2);
}
END_TEST

/* A line that is far from all others does not count, and a real gap does no
 * harm: the log goes on after it. */
static const struct {
	struct at lines[8];
	const char *want;
	uint64_t odd, line;
} alone[] = {
	{{{0, "a"}, {1, "b"}, {6 * DAY, "c"}}, "abc", 0, 0},
	{{{0, "a"}, {1, "b"}, {8 * DAY, "x"}}, "ab", 1, 3},
	{{{0, "a"}, {1, "b"}, {80 * DAY, "c"}, {81 * DAY, "d"}}, "abcd", 0, 0},
	{{{0, "a"}, {1, "b"}, {80 * DAY, "x"}, {160 * DAY, "x"}}, "ab", 2, 3},
	{{{0, "a"}, {1, "b"}, {80 * DAY, "x"}, {90 * DAY, "c"},
	  {90 * DAY, "d"}}, "abcd", 1, 3},
	{{{0, "a"}, {6 * DAY, "b"}, {6 * DAY, "c"}}, "abc", 0, 0},
	{{{0, "x"}, {8 * DAY, "a"}, {8 * DAY, "b"}}, "ab", 1, 1},
	{{{0, "a"}, {1, "b"}, {5 * DAY, "c"}, {15 * DAY, "d"},
	  {15 * DAY, "e"}}, "abcde", 0, 0},
};

START_TEST(test_alone)
{
	file_of(alone[_i].lines);
	ck_assert_int_eq(merge_all(), 0);
	ck_assert_str_eq(got, alone[_i].want);
	ck_assert_uint_eq(tally.odd_times, alone[_i].odd);
	ck_assert_uint_eq(tally.odd_line, alone[_i].line);
	if (alone[_i].odd > 0)
		ck_assert_str_eq(tally.odd_file, files[0]);
}
END_TEST

/* Nor do they count if they are many. */
static const char *const unset[] = {
	"0001-01-01T00:00:00Z", "1970-01-01T00:01:00Z", "1999-12-31T23:59:59Z",
	"2100-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
};

static void
created_at(FILE *f, const char *at)
{
	for (int i = 0; i < 3; i++)
		(void)fprintf(f, "{\"at\":\"%s\",\"what\":\"created\","
				 "\"claim\":\"x%d\"}\n", at, i);
	(void)fprintf(f, "{\"time\":\"%s\",\"message\":\"found\"}\n", at);
	(void)fprintf(f, "{\"record\":\"karpenter-node-holder.io/record/v1\","
			 "\"until\":\"%s\"}\n", at);
}

START_TEST(test_unset)
{
	FILE *f = add_file();

	if (_i % 2 == 0)
		created_at(f, unset[_i / 2]);
	created(f, 0, "a");
	created(f, 1, "b");
	if (_i % 2 == 1)
		created_at(f, unset[_i / 2]);
	(void)fclose(f);
	ck_assert_int_eq(merge_all(), 0);
	ck_assert_str_eq(got, "ab");
	ck_assert_int_eq(tally.to_ms - tally.from_ms, 1000);
	ck_assert_uint_eq(tally.odd_times, 3);
	ck_assert_uint_eq(tally.odd_line, _i % 2 == 0 ? 1 : 3);
}
END_TEST

/* Lines without facts end the period. */
START_TEST(test_ticks)
{
	FILE *f = add_file();

	created(f, 0, "a");
	created(f, 3, "b");
	(void)fprintf(f, "{\"time\":\"2026-01-02T03:14:05Z\",\"logger\":\"c\","
			 "\"message\":\"found\"}\n");
	(void)fclose(f);
	ck_assert_int_eq(merge_all(), 0);
	ck_assert_str_eq(got, "ab");
	ck_assert_int_eq(tally.to_ms - tally.from_ms, 600000);
	ck_assert_uint_eq(tally.messages_n, 1);
	ck_assert_str_eq(tally.messages[0].text, "found");
}
END_TEST

static void
found(FILE *f, int second)
{
	char at[STAMP_BYTES];

	stamp_format((int64_t)second * 1000 + 1767323045000, at);
	(void)fprintf(f, "{\"time\":\"%s\",\"message\":\"found\"}\n", at);
}

/* A file ends when its lines end, also if one line of it is of use, or none:
 * rotation may have cut a log there.  A single time that is far ahead does not
 * count. */
START_TEST(test_quiet_end)
{
	FILE *f = add_file();

	created(f, 0, "a");
	for (int i = 1; i <= 60; i++)
		found(f, 60 * i);
	(void)fclose(f);
	ck_assert_int_eq(merge_all(), 0);
	ck_assert_int_eq(tally.to_ms - tally.from_ms, 3600000);
	f = add_file();
	found(f, 7000);
	found(f, 7200);
	found(f, 9 * DAY);
	(void)fclose(f);
	setup_again();
	ck_assert_int_eq(merge_all(), 0);
	ck_assert_int_eq(tally.to_ms - tally.from_ms, 7200000);
	ck_assert_str_eq(got, "a");
	f = add_file();
	found(f, 8000);
	(void)fclose(f);
	setup_again();
	ck_assert_int_eq(merge_all(), 0);
	ck_assert_int_eq(tally.to_ms - tally.from_ms, 8000000);
	ck_assert_uint_eq(tally.odd_times, 0);
}
END_TEST

/* A record that was quiet for days says so itself. */
START_TEST(test_until)
{
	FILE *f = add_file();

	created(f, 0, "a");
	created(f, 1, "b");
	(void)fprintf(f, "{\"record\":\"karpenter-node-holder.io/record/v1\","
			 "\"until\":\"2026-01-09T03:04:05Z\"}\n");
	(void)fclose(f);
	ck_assert_int_eq(merge_all(), 0);
	ck_assert_int_eq(tally.to_ms - tally.from_ms, 7LL * DAY * 1000);
}
END_TEST

/* A line without a fact confirms the fact before it, and does not refute it. */
START_TEST(test_confirmed)
{
	FILE *f = add_file();

	created(f, 0, "a");
	created(f, 1, "b");
	created(f, 3 * DAY, "c");
	found(f, 3 * DAY - 3600);
	found(f, 3 * DAY + 1);
	created(f, 3 * DAY - 3600, "d");	/* too late, as c counts */
	created(f, 3 * DAY + 2, "e");
	(void)fclose(f);
	ck_assert_int_eq(merge_all(), 0);
	ck_assert_uint_eq(tally.odd_times, 0);
	ck_assert_str_eq(got, "abdce");
}
END_TEST

static void
long_line(FILE *f, size_t n)
{
	for (size_t i = 0; i < n; i += 1000)
		(void)fprintf(f, "%01000d", 7);
	(void)fputc('\n', f);
}

START_TEST(test_long_lines)
{
	FILE *f = add_file();

	created(f, 0, "a");
	long_line(f, 900000);
	created(f, 1, "b");
	long_line(f, 3 * ITEM_BYTES_MAX);
	created(f, 2, "c");
	long_line(f, ITEM_BYTES_MAX + 5000);
	(void)fclose(f);
	ck_assert_int_eq(merge_all(), 0);
	ck_assert_str_eq(got, "abc");
	ck_assert_uint_eq(tally.too_long, 2);
	ck_assert_uint_eq(tally.what[READ_BROKEN], 1);
	ck_assert_uint_eq(tally.lines, 6);
}
END_TEST

/* Decisions about very many nodes do not all wait in memory until a minute of
 * the log has been read. */
START_TEST(test_large_facts)
{
	struct merge *m;
	const struct fact *fact;
	FILE *f = add_file();

	for (int i = 0; i < 40; i++) {
		(void)fprintf(f, "{\"at\":\"2026-01-02T03:04:%02dZ\",\"what\":"
				 "\"decided\",\"nodes\":[{\"node\":\"n\"}", i);
		for (int k = 0; k < 4500; k++)
			(void)fprintf(f, ",{\"node\":\"%0200d\"}", k);
		(void)fprintf(f, "]}\n");
	}
	(void)fclose(f);
	m = merge_open(files, files_n, &tally, &e);
	ck_assert_int_eq(merge_next(m, &fact, &e), 1);
	ck_assert_uint_eq(fact->nodes_n, 4501);
	ck_assert_uint_lt(tally.lines, 37);
	merge_close(m);
}
END_TEST

/* Two members, as rotation appends them. */
static void
gzip_to(const char *name, const char *claim, int second)
{
	char line[200], at[STAMP_BYTES];
	gzFile gz = gzopen(name, "ab");

	stamp_format((int64_t)second * 1000 + 1767323045000, at);
	(void)snprintf(line, sizeof(line),
		       "{\"at\":\"%s\",\"what\":\"created\",\"claim\":\"%s\"}\n",
		       at, claim);
	ck_assert_int_gt(gzputs(gz, line), 0);
	ck_assert_int_eq(gzclose(gz), Z_OK);
}

START_TEST(test_gzip)
{
	(void)fclose(add_file());
	gzip_to(files[0], "a", 0);
	gzip_to(files[0], "b", 1);
	ck_assert_int_eq(merge_all(), 0);
	ck_assert_str_eq(got, "ab");
}
END_TEST

START_TEST(test_cut_gzip)
{
	struct merge *m;
	const struct fact *f;
	FILE *file;
	long size;

	(void)fclose(add_file());
	gzip_to(files[0], "a", 0);
	gzip_to(files[0], "b", 1);
	file = fopen(files[0], "r+");
	(void)fseek(file, 0, SEEK_END);
	size = ftell(file);
	(void)fclose(file);
	ck_assert_int_eq(truncate(files[0], size - 12), 0);
	m = merge_open(files, 1, &tally, &e);
	ck_assert_int_eq(merge_next(m, &f, &e), 1);
	ck_assert_str_eq(f->claim, "a");
	while (merge_next(m, &f, &e) > 0)
		;
	ck_assert_uint_eq(tally.damaged, 1);
	ck_assert_ptr_nonnull(strstr(merge_warning(m), "gzip data is cut"));
	ck_assert_ptr_null(merge_warning(m));
	merge_close(m);
}
END_TEST

START_TEST(test_refused)
{
	FILE *f = add_file();

	(void)fprintf(f, "{\"record\":\"karpenter-node-holder.io/record/v9\"}\n");
	(void)fclose(f);
	ck_assert_int_eq(merge_all(), -1);
	ck_assert_int_eq(e.code, ERR_INPUT);
	ck_assert_ptr_nonnull(strstr(e.text, "record/v9\", expected"));
	files[files_n++] = "/nowhere";
	ck_assert_int_eq(merge_all(), -1);
	ck_assert_str_eq(e.text, "/nowhere: No such file or directory");
	files[0] = "/";
	files_n = 1;
	ck_assert_int_eq(merge_all(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "Is a directory"));
	files[0] = names[0];
}
END_TEST

START_TEST(test_messages)
{
	char text[20];

	for (int i = 0; i < SIMULATE_MESSAGES_MAX + 5; i++) {
		(void)snprintf(text, sizeof(text), "message %d", i);
		tally_message(&tally, text);
	}
	for (int i = 0; i < 3; i++)
		tally_message(&tally, "message 255");
	for (int i = 0; i < 2; i++)
		tally_message(&tally, "message 0");
	tally_sort(&tally);
	ck_assert_uint_eq(tally.messages_n, SIMULATE_MESSAGES_MAX);
	ck_assert_uint_eq(tally.messages_rest, 5);
	ck_assert_str_eq(tally.messages[0].text, "message 255");
	ck_assert_uint_eq(tally.messages[0].n, 4);
	ck_assert_uint_eq(tally.messages[1].n, 3);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("tools/simulate/merge");
	TCase *tc = tcase_create("merge");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_order);
	tcase_add_test(tc, test_late);
	tcase_add_test(tc, test_runs);
	tcase_add_test(tc, test_files);
	tcase_add_test(tc, test_rotated);
	tcase_add_test(tc, test_odd_times);
	tcase_add_loop_test(tc, test_alone, 0,
			    sizeof(alone) / sizeof(alone[0]));
	tcase_add_loop_test(tc, test_unset, 0,
			    2 * sizeof(unset) / sizeof(unset[0]));
	tcase_add_test(tc, test_ticks);
	tcase_add_test(tc, test_quiet_end);
	tcase_add_test(tc, test_confirmed);
	tcase_add_test(tc, test_until);
	tcase_add_test(tc, test_long_lines);
	tcase_add_test(tc, test_large_facts);
	tcase_add_test(tc, test_gzip);
	tcase_add_test(tc, test_cut_gzip);
	tcase_add_test(tc, test_refused);
	tcase_add_test(tc, test_messages);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
