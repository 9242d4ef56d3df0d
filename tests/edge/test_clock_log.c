/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/limits.h"
#include "edge/clock.h"
#include "edge/log.h"
#include "edge/repeat.h"
#include "suite.h"

/* --- clock ---------------------------------------------------------------- */

#define T0 INT64_C(1767323045000) /* 2026-01-02T03:04:05Z */

static int64_t
anchor_of(const struct clock *c)
{
	struct now n = clock_now(c);

	return n.server_ms - n.boot_ms;
}

START_TEST(wall_clock_until_the_first_date)
{
	struct clock *c = clock_new();
	int64_t before = clock_wall_ms(), boot = clock_boot_ms();
	struct now n = clock_now(c);

	ck_assert_int_ge(n.server_ms, before);
	ck_assert_int_le(n.server_ms, clock_wall_ms());
	ck_assert_int_ge(n.boot_ms, boot);
	ck_assert_int_le((int64_t)(clock_boot_us() / 1000), clock_boot_ms());
	clock_date(c, T0, 990, 1000);
	ck_assert_int_eq(anchor_of(c), T0 - 1000);
	clock_free(c);
}
END_TEST

static const struct {
	const char *name;
	int64_t off[12]; /* samples, in ms from T0; 0 ends them */
	int64_t want;
} medians[] = {
	{"one", {7}, 7},
	{"mean of two", {10, 20}, 15},
	{"one odd server", {1, 2, 3600000, 3}, 2},
	{"a slow answer", {-9000, 4, 5}, 4},
	{"negative", {-10, -20}, -15},
	{"only the last eight count",
	 {-9, -9, -9, 100, 101, 102, 103, 104, 105, 106, 107},
	 103},
};

START_TEST(median)
{
	struct clock *c = clock_new();
	int64_t got;

	for (int i = 0; medians[_i].off[i] != 0; i++)
		clock_date(c, T0 + medians[_i].off[i] + 5000 * i,
			   5000 * (int64_t)i, 5000 * (int64_t)i);
	got = anchor_of(c) - T0;
	ck_assert_msg(got == medians[_i].want, "%s: %lld", medians[_i].name,
		      (long long)got);
	clock_free(c);
}
END_TEST

/* Each answer was asked for at 10 s and is read at 16 s. */
static const struct {
	const char *name;
	bool known;	/* an earlier answer has set the anchor to T0 */
	int64_t date;	/* in ms from T0 */
	int64_t want;
} lates[] = {
	{"made when asked for", true, 10000, 0},
	{"made when read", true, 16000, 0},
	{"cut to the second before", true, 9001, 0},
	{"none better", false, 10000, -6000},
	/* The clock moves no further than it must. */
	{"the server's clock was set back", true, 8000, -4000},
	{"the server's clock was set on", true, 30000, 14000},
};

START_TEST(an_answer_that_lay_unread)
{
	struct clock *c = clock_new();
	int64_t got;

	if (lates[_i].known)
		clock_date(c, T0 + 5000, 5000, 5000);
	/* There are so many of them that they would be the majority. */
	for (int i = 0; i < 8; i++)
		clock_date(c, T0 + lates[_i].date, 10000, 16000);
	got = anchor_of(c) - T0;
	ck_assert_msg(got == lates[_i].want, "%s: %lld", lates[_i].name,
		      (long long)got);
	clock_free(c);
}
END_TEST

START_TEST(shift_is_told_once)
{
	struct clock *c = clock_new();
	int64_t by = 42, wall = clock_wall_ms() - clock_boot_ms();

	ck_assert(!clock_shifted(c, &by));
	clock_date(c, wall, 0, 0);
	ck_assert(!clock_shifted(c, &by));
	/* The median moves with the majority. */
	clock_date(c, wall + 60000, 0, 0);
	clock_date(c, wall + 60000, 0, 0);
	ck_assert(clock_shifted(c, &by));
	ck_assert_int_ge(by, 60000 - 2000);
	ck_assert_int_le(by, 60000 + 2000);
	ck_assert(!clock_shifted(c, &by));
	clock_date(c, wall + 60000 + CLOCK_SHIFT_MS, 0, 0);
	ck_assert(!clock_shifted(c, &by));
	clock_free(c);
}
END_TEST

/* --- log ------------------------------------------------------------------ */

static int saved = -1, ends[2];
static int64_t since;

static void
capture(void)
{
	since = clock_wall_ms();
	ck_assert_int_eq(pipe(ends), 0);
	saved = dup(STDERR_FILENO);
	dup2(ends[1], STDERR_FILENO);
}

static char *
captured(void)
{
	static char text[65536];
	ssize_t n;

	dup2(saved, STDERR_FILENO);
	close(saved);
	close(ends[1]);
	n = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Replaces the stamp, which must be there and not be older than the test, by
 * "T". */
static const char *
without_stamp(char *line, bool json)
{
	char *at = line + (json ? strlen("{\"ts\":\"") : 0);
	int64_t ms;
	char stamp[32];

	(void)snprintf(stamp, sizeof(stamp), "%.24s", at);
	ck_assert_msg(stamp_parse(stamp, &ms) == 0, "%s", line);
	ck_assert_int_ge(ms, since);
	ck_assert_int_le(ms, clock_wall_ms());
	ck_assert_int_eq(at[23], 'Z');
	memmove(at + 1, at + 24, strlen(at + 24) + 1);
	*at = 'T';
	return line;
}

#define EURO "\xe2\x82\xac"
/* DEL, a C1 and what turns the direction of a line */
#define OBEYED "\x7f\xc2\x9b\xe2\x80\xae"
#define ESCAPED "\\u007f\\u009b\\u202e"

START_TEST(json_line)
{
	log_open(LOG_JSON, LOG_INFO);
	capture();
	LOG(LOG_INFO, "held", LS("node", "a\"b\\\n\x01" EURO), LI("n", -5),
	    LS("none", NULL), LS("bad", "x\xff" OBEYED));
	ck_assert_str_eq(without_stamp(captured(), true),
			 "{\"ts\":\"T\",\"level\":\"info\",\"msg\":\"held\","
			 "\"node\":\"a\\\"b\\\\\\n\\u0001" EURO "\",\"n\":-5,"
			 "\"none\":\"\",\"bad\":\"x\xef\xbf\xbd" ESCAPED
			 "\"}\n");
}
END_TEST

START_TEST(text_line)
{
	log_open(LOG_TEXT, LOG_INFO);
	capture();
	LOG(LOG_WARN, "not held", LS("node", "a b\r\x1b[0m" OBEYED),
	    LI("n", 5));
	ck_assert_str_eq(without_stamp(captured(), false),
			 "T WARN not held node=\"a b\\u000d\\u001b[0m" ESCAPED
			 "\" n=5\n");
}
END_TEST

START_TEST(no_fields)
{
	log_open(LOG_TEXT, LOG_INFO);
	capture();
	LOG(LOG_ERROR, "out of luck");
	ck_assert_str_eq(without_stamp(captured(), false),
			 "T ERROR out of luck\n");
}
END_TEST

START_TEST(levels)
{
	static const enum log_level all[] = {LOG_ERROR, LOG_WARN, LOG_INFO,
					     LOG_DEBUG};

	for (size_t i = 0; i < 4; i++) {
		size_t lines = 0;

		log_open(LOG_TEXT, all[i]);
		capture();
		for (size_t j = 0; j < 4; j++) {
			LOG(all[j], "line");
			ck_assert_int_eq(log_enabled(all[j]), j <= i);
		}
		for (char *at = captured(); (at = strchr(at, '\n')); at++)
			lines++;
		ck_assert_uint_eq(lines, i + 1);
	}
}
END_TEST

START_TEST(long_string)
{
	char s[600], want[700];

	memset(s, 'a', sizeof(s));
	s[512] = '\0';
	log_open(LOG_TEXT, LOG_INFO);
	capture();
	LOG(LOG_INFO, "x", LS("s", s));
	(void)snprintf(want, sizeof(want), "T INFO x s=\"%s\"\n", s);
	ck_assert_str_eq(without_stamp(captured(), false), want);

	/* One byte more is cut, and no character is split. */
	s[512] = 'a';
	s[513] = '\0';
	memcpy(s + 507, EURO, 3);
	capture();
	LOG(LOG_INFO, "x", LS("s", s));
	(void)snprintf(want, sizeof(want),
		       "T INFO x s=\"%.507s\xe2\x80\xa6\"\n", s);
	ck_assert_str_eq(without_stamp(captured(), false), want);
}
END_TEST

/* A long line stays one line and valid JSON, and a pipe takes it whole. */
START_TEST(long_line)
{
	char s[512];
	char *line;
	size_t n;

	memset(s, '\x02', sizeof(s) - 1);
	s[sizeof(s) - 1] = '\0';
	log_open(LOG_JSON, LOG_INFO);
	capture();
	LOG(LOG_INFO, "x", LS("a", s), LS("b", s), LI("c", 3), LS("d", s));
	line = captured();
	n = strlen(line);
	ck_assert_uint_le(n, PIPE_BUF);
	ck_assert_ptr_nonnull(strstr(line, "\"a\":\"\\u0002"));
	ck_assert_ptr_null(strstr(line, "\"b\""));
	ck_assert_str_eq(line + n - strlen(",\"c\":3,\"cut\":1}\n"),
			 ",\"c\":3,\"cut\":1}\n");
}
END_TEST

START_TEST(ratelimit)
{
	log_open(LOG_TEXT, LOG_INFO);
	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(log_ratelimit("again and again", 3), i < 3);
		ck_assert_int_eq(log_ratelimit("once", 1), i < 1);
	}
}
END_TEST

/* --- the limiter, with the time given ------------------------------------- */

static struct repeats limiter;

static void
limiter_new(void)
{
	limiter = (struct repeats)REPEATS_INIT;
}

START_TEST(repeats_by_the_minute)
{
	const char *phrase = NULL;
	unsigned n = 0;

	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(repeats_allow(&limiter, "p", 2, 1000 + i),
				 i < 2);
	ck_assert(!repeats_report(&limiter, 60999, &phrase, &n));
	ck_assert(repeats_report(&limiter, 61000, &phrase, &n));
	ck_assert_str_eq(phrase, "p");
	ck_assert_uint_eq(n, 8);
	ck_assert(!repeats_report(&limiter, 61000, &phrase, &n));
	ck_assert(repeats_allow(&limiter, "p", 2, 61000));
	ck_assert(repeats_allow(&limiter, "p", 2, 61000));
	ck_assert(!repeats_allow(&limiter, "p", 2, 61000));
}
END_TEST

START_TEST(repeats_none_kept_back)
{
	const char *phrase;
	unsigned n;

	ck_assert(repeats_allow(&limiter, "p", 1, 0));
	ck_assert(!repeats_report(&limiter, 90000, &phrase, &n));
	ck_assert(repeats_allow(&limiter, "p", 1, 90000));
	ck_assert(!repeats_allow(&limiter, "p", 1, 90001));
}
END_TEST

START_TEST(repeats_one_past_the_table)
{
	static char names[REPEAT_PHRASES + 1][16];
	const char *phrase;
	unsigned n, reports = 0;

	for (int i = 0; i <= REPEAT_PHRASES; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "p%d", i);
		ck_assert(repeats_allow(&limiter, names[i], 1, 0));
		/* The phrase that finds no room is neither held back nor
		 * forgotten. */
		ck_assert_int_eq(repeats_allow(&limiter, names[i], 1, 0),
				 i == REPEAT_PHRASES);
	}
	while (repeats_report(&limiter, REPEAT_WINDOW_MS, &phrase, &n))
		reports++;
	ck_assert_uint_eq(reports, REPEAT_PHRASES);
	ck_assert(repeats_allow(&limiter, "new", 1, REPEAT_WINDOW_MS));
	ck_assert(!repeats_allow(&limiter, "new", 1, REPEAT_WINDOW_MS));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/clock_log");
	TCase *c = tcase_create("clock"), *l = tcase_create("log"),
	      *r = tcase_create("repeats");

	tcase_add_test(c, wall_clock_until_the_first_date);
	tcase_add_loop_test(c, median, 0, sizeof(medians) / sizeof(medians[0]));
	tcase_add_loop_test(c, an_answer_that_lay_unread, 0,
			    sizeof(lates) / sizeof(lates[0]));
	tcase_add_test(c, shift_is_told_once);
	tcase_add_test(l, json_line);
	tcase_add_test(l, text_line);
	tcase_add_test(l, no_fields);
	tcase_add_test(l, levels);
	tcase_add_test(l, long_string);
	tcase_add_test(l, long_line);
	tcase_add_test(l, ratelimit);
	tcase_add_checked_fixture(r, limiter_new, NULL);
	tcase_add_test(r, repeats_by_the_minute);
	tcase_add_test(r, repeats_none_kept_back);
	tcase_add_test(r, repeats_one_past_the_table);
	suite_add_tcase(s, c);
	suite_add_tcase(s, l);
	suite_add_tcase(s, r);
	return suite_run(s);
}
