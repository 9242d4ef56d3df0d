/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/limits.h"
#include "edge/output.h"
#include "edge/signals.h"
#include "suite.h"

/*
 * What is printed to a reader that is slow, stalled or gone.  The pipe has one
 * page.  A test that blocks runs into Check's timeout.
 */

static struct output out;
static int reader = -1;

static void
piped(void)
{
	int ends[2];

	(void)signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_ge(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
	ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	reader = ends[0];
	output_init(&out, ends[1]);
}

static void
unpiped(void)
{
	int given = out.given;

	output_done(&out);
	(void)close(given);
	if (reader >= 0)
		(void)close(reader);
	reader = -1;
}

#define LINES 5000

static void
add_lines(void)
{
	for (int i = 0; i < LINES; i++)
		output_line(&out, "line %d", i);
}

/* Reads until nothing waits any more and the pipe is empty: each line once, in
 * order. */
static void
read_lines(void)
{
	char bytes[4096], want[20], line[20];
	int next = 0, n = 0;
	ssize_t got = 1;

	while (out.n > 0 || got > 0) {
		got = read(reader, bytes, sizeof(bytes));
		output_flush(&out);
		for (ssize_t i = 0; i < got; i++) {
			line[n++] = bytes[i];
			ck_assert_int_lt(n, 20);
			if (bytes[i] != '\n')
				continue;
			line[n] = '\0';
			(void)snprintf(want, sizeof(want), "line %d\n", next++);
			ck_assert_str_eq(line, want);
			n = 0;
		}
	}
	ck_assert_int_eq(next, LINES);
	ck_assert_int_eq(n, 0);
}

START_TEST(a_reader_that_comes_late)
{
	add_lines();
	ck_assert_uint_gt(out.n, 40000);
	read_lines();
	add_lines();	/* in the room that there is */
	read_lines();
	ck_assert_int_eq(out.error, 0);
}
END_TEST

START_TEST(a_line_is_never_cut_in_a_pipe)
{
	char bytes[4096];
	ssize_t n;

	add_lines();
	ck_assert_int_gt(read(reader, bytes, sizeof(bytes)), 0);
	output_flush(&out);
	n = read(reader, bytes, sizeof(bytes));
	ck_assert_int_gt(n, 4000);
	ck_assert_int_eq(bytes[n - 1], '\n');
}
END_TEST

START_TEST(a_reader_that_takes_nothing)
{
	struct err e = {0};
	size_t n;

	add_lines();
	n = out.n;
	ck_assert_int_eq(output_wait(&out, 0, 1, &e), -1);
	ck_assert_int_eq(e.code, ERR_TIMEOUT);
	ck_assert_str_eq(e.text, "stdout: nobody reads it");
	ck_assert_uint_eq(out.n, n);
	ck_assert_int_eq(output_wait(&out, n, 1, &e), 0);
	read_lines();
}
END_TEST

START_TEST(a_signal_ends_the_wait)
{
	struct signals s;
	struct err e = {0};

	signals_block(&s);
	add_lines();
	(void)raise(SIGTERM);
	ck_assert(signals_pending());
	ck_assert_int_eq(output_wait(&out, 0, INT64_MAX, &e), -1);
	ck_assert_int_eq(e.code, ERR_CANCELLED);
	ck_assert_int_eq(signals_take(&s, 0), SIGTERM);
	ck_assert_int_eq(signals_take(&s, 0), SIGTERM);
	ck_assert(!signals_pending());
	signals_restore(&s);
}
END_TEST

/* Nothing is taken twice, and the second one is not blocked.  SIGHUP counts
 * unless nohup has seen to it that it is ignored. */
START_TEST(the_second_signal)
{
	struct signals s;
	sigset_t now;

	(void)signal(SIGHUP, _i == 0 ? SIG_DFL : SIG_IGN);
	signals_block(&s);
	(void)pthread_sigmask(SIG_SETMASK, NULL, &now);
	ck_assert_int_eq(sigismember(&now, SIGTERM), 1);
	ck_assert_int_eq(sigismember(&now, SIGHUP), _i == 0);
	ck_assert_int_eq(signals_take(&s, 0), 0);
	(void)raise(SIGINT);
	ck_assert_int_eq(signals_take(&s, 1000), SIGINT);
	(void)pthread_sigmask(SIG_SETMASK, NULL, &now);
	ck_assert_int_eq(sigismember(&now, SIGTERM), 0);
	ck_assert_int_eq(sigismember(&now, SIGINT), 0);
	(void)signal(SIGHUP, SIG_DFL);
}
END_TEST

/* nohup */
START_TEST(a_signal_that_is_ignored)
{
	struct signals s;

	(void)signal(SIGHUP, SIG_IGN);
	signals_block(&s);
	(void)raise(SIGHUP);
	ck_assert_int_eq(signals_take(&s, 0), 0);
	signals_restore(&s);
	(void)signal(SIGHUP, SIG_DFL);
}
END_TEST

START_TEST(a_reader_that_is_gone)
{
	struct err e = {0};

	(void)close(reader);
	reader = -1;
	add_lines();
	ck_assert_uint_eq(out.n, 0);
	ck_assert_int_eq(output_wait(&out, 0, INT64_MAX, &e), -1);
	ck_assert_str_eq(e.text, "stdout: Broken pipe");
}
END_TEST

START_TEST(full)
{
	static char bytes[OUTPUT_WAITING_MAX];

	memset(bytes, 'x', sizeof(bytes));
	output_add(&out, bytes, sizeof(bytes) - 1);
	ck_assert(!output_is_full(&out));	/* a page is in the pipe */
	output_add(&out, bytes, 4097);
	ck_assert(output_is_full(&out));
}
END_TEST

static const struct {
	const char *name, *text, *want;
} shown[] = {
	{"escape", "a\033[31mb", "a?[31mb\n"},
	{"newline", "a\nb", "a?b\n"},
	{"C1", "a\xc2\x9b" "31mb", "a?31mb\n"},
	{"bidi", "a\xe2\x80\xae" "b", "a?b\n"},
	{"no UTF-8", "a\xff" "b", "a?b\n"},
	{"UTF-8", "\xc3\xbc", "\xc3\xbc\n"},
};

START_TEST(what_a_terminal_would_obey)
{
	char got[64] = "";

	output_line(&out, "%s", shown[_i].text);
	ck_assert_int_gt(read(reader, got, sizeof(got) - 1), 0);
	ck_assert_msg(strcmp(got, shown[_i].want) == 0, "%s: %s",
		      shown[_i].name, got);
}
END_TEST

START_TEST(a_line_that_is_too_long)
{
	static char text[2 * OUTPUT_LINE_MAX], got[2 * OUTPUT_LINE_MAX];

	memset(text, 'x', sizeof(text) - 1);
	output_line(&out, "%s", text);
	ck_assert_int_eq(read(reader, got, sizeof(got)), OUTPUT_LINE_MAX - 1);
	ck_assert_int_eq(got[OUTPUT_LINE_MAX - 2], '\n');
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/output");
	TCase *tc = tcase_create("output");

	tcase_add_checked_fixture(tc, piped, unpiped);
	tcase_add_test(tc, a_reader_that_comes_late);
	tcase_add_test(tc, a_line_is_never_cut_in_a_pipe);
	tcase_add_test(tc, a_reader_that_takes_nothing);
	tcase_add_test(tc, a_signal_ends_the_wait);
	tcase_add_loop_test(tc, the_second_signal, 0, 2);
	tcase_add_test(tc, a_signal_that_is_ignored);
	tcase_add_test(tc, a_reader_that_is_gone);
	tcase_add_test(tc, full);
	tcase_add_loop_test(tc, what_a_terminal_would_obey, 0,
			    sizeof(shown) / sizeof(shown[0]));
	tcase_add_test(tc, a_line_that_is_too_long);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
