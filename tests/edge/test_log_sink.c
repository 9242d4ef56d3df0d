/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/limits.h"
#include "edge/log.h"
#include "suite.h"

/*
 * The log with a reader of stderr that is slow, stalled or gone.  The pipe has
 * one page.  A test that blocks runs into Check's timeout.
 */

static int saved = -1, reader = -1;

static void
stderr_piped(void)
{
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_ge(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
	saved = dup(STDERR_FILENO);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	reader = ends[0];
	log_open(LOG_TEXT, LOG_INFO);
}

static void
stderr_back(void)
{
	dup2(saved, STDERR_FILENO);
	close(saved);
	if (reader >= 0)
		close(reader);
	reader = -1;
}

/* Reads until nothing waits any more and the pipe is empty.  The caller frees
 * the text. */
static char *
read_all(void)
{
	size_t cap = 4u << 20, n = 0;
	char *text = malloc(cap);
	bool flushed = false;

	ck_assert_ptr_nonnull(text);
	fcntl(reader, F_SETFL, O_NONBLOCK);
	for (ssize_t got = 0; got > 0 || !flushed;) {
		flushed = log_flush();
		got = read(reader, text + n, cap - n - 1);
		n += got > 0 ? (size_t)got : 0;
	}
	text[n] = '\0';
	return text;
}

/* The value of the line's field; the line has to have it. */
static long
field(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	ck_assert_msg(at != NULL, "%.80s", line);
	return strtol(at + strlen(key), NULL, 10);
}

#define LINES 10000	/* of 60 bytes: more than the buffer holds */

START_TEST(stalled_reader)
{
	char *text, *line, *rest;
	long next = 0, lost;

	stderr_piped();
	for (long i = 0; i < LINES; i++)
		LOG(LOG_INFO, "a line of some length", LI("i", i));
	lost = (long)log_dropped();
	ck_assert_int_gt(lost, 0);
	ck_assert(!log_flush());
	text = read_all();
	stderr_back();

	/* The first ones in order and whole, and then how many are missing. */
	for (line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (strstr(line, "log lines dropped") != NULL)
			break;
		ck_assert_int_eq(field(line, " i="), next++);
	}
	ck_assert_ptr_nonnull(line);
	ck_assert_int_eq(field(line, " count="), lost);
	ck_assert_int_eq(next + lost, LINES);
	ck_assert_ptr_null(strtok_r(NULL, "\n", &rest));
	free(text);
}
END_TEST

START_TEST(a_reader_that_comes_back)
{
	char *text;

	stderr_piped();
	for (long i = 0; i < LINES; i++)
		LOG(LOG_INFO, "a line of some length", LI("i", i));
	free(read_all());
	LOG(LOG_INFO, "after");
	text = read_all();
	stderr_back();
	ck_assert_ptr_nonnull(strstr(text, " INFO after\n"));
	ck_assert_ptr_null(strstr(text, "dropped"));	/* told once */
	free(text);
}
END_TEST

START_TEST(reader_gone)
{
	uint64_t before;

	stderr_piped();
	before = log_dropped();
	close(reader);
	reader = -1;
	for (int i = 0; i < 3; i++)
		LOG(LOG_INFO, "nobody reads this");
	stderr_back();
	/* This is where it says how many are missing, not in a later test. */
	(void)log_flush();
	ck_assert_uint_eq(log_dropped() - before, 3);
}
END_TEST

#define THREADS 4
#define EACH 3000

static void *
logs(void *name)
{
	for (long i = 0; i < EACH; i++)
		LOG(LOG_INFO, "line", LS("of", name), LI("i", i));
	return NULL;
}

static void *
reads(void *ctx)
{
	*(char **)ctx = NULL;
	(void)usleep(20000);
	*(char **)ctx = read_all();
	return NULL;
}

/* Each thread's lines come whole and in its order; those that do not come are
 * counted. */
START_TEST(several_threads)
{
	static char *const names[THREADS] = {"a", "b", "c", "d"};
	pthread_t loggers[THREADS], taker;
	char *texts[2], *line, *rest;
	long last[THREADS] = {-1, -1, -1, -1}, seen = 0, lost = 0;

	stderr_piped();
	pthread_create(&taker, NULL, reads, &texts[0]);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&loggers[i], NULL, logs, names[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(loggers[i], NULL);
	pthread_join(taker, NULL);
	texts[1] = read_all();
	stderr_back();

	for (int t = 0; t < 2; t++) {
		for (line = strtok_r(texts[t], "\n", &rest); line != NULL;
		     line = strtok_r(NULL, "\n", &rest)) {
			const char *of = strstr(line, " of=\"");
			long *mine;

			if (of == NULL) {
				lost += field(line, " count=");
				continue;
			}
			mine = &last[of[5] - 'a'];
			ck_assert_int_gt(field(line, " i="), *mine);
			*mine = field(line, " i=");
			seen++;
		}
		free(texts[t]);
	}
	ck_assert_int_eq(seen + lost, THREADS * EACH);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/log_sink");
	TCase *c = tcase_create("readers");

	tcase_add_test(c, stalled_reader);
	tcase_add_test(c, a_reader_that_comes_back);
	tcase_add_test(c, reader_gone);
	tcase_add_test(c, several_threads);
	suite_add_tcase(s, c);
	return suite_run(s);
}
