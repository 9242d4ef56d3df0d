/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/ticket.h"
#include "objects.h"
#include "run.h"

/* What a ticket says: which NodePools it holds, until when, and what is wrong
 * with it (docs/rules.md#tickets). */

#define SEEN ((int64_t)1767323045000)
#define SECOND 1000
#define HOUR ((int64_t)3600000)
#define WEEK TICKET_MAX_MS

/* --- patterns ------------------------------------------------------------- */

static struct ticket t;

/* The patterns that are kept, with a '|' behind each. */
static const char *
kept(void)
{
	static char text[2 * TICKET_PATTERNS_BYTES];

	text[0] = '\0';
	for (const char *p = t.patterns; *p != '\0'; p += strlen(p) + 1) {
		strcat(text, p);
		strcat(text, "|");
	}
	return text;
}

/* Adds n patterns of that many characters to the annotation's value. */
static void
add(char *value, unsigned n, size_t bytes)
{
	while (n-- > 0) {
		size_t used = strlen(value);

		memset(value + used, 'x', bytes);
		strcpy(value + used + bytes, ",");
	}
}

static const struct {
	const char *value, *kept;
	bool all;
} splits[] = {
	{NULL, "", true},
	{"", "", true},
	{" , ,\t\r\n,", "", true},
	{"web", "web|", false},
	{"web,batch", "web|batch|", false},
	{"web batch", "web|batch|", false},
	{"web\tbatch\r\ngpu\n", "web|batch|gpu|", false},
	{" web ,\t batch\n, ", "web|batch|", false},
	{",,web,,batch,,", "web|batch|", false},
	{"web-*,b?,[a-c]*", "web-*|b?|[a-c]*|", false},
	{"web;batch", "web;batch|", false},
	{"web,web", "web|web|", false},
};

START_TEST(commas_and_blanks)
{
	ticket_set_patterns(&t, splits[_i].value);
	ck_assert_str_eq(kept(), splits[_i].kept);
	ck_assert_int_eq(t.all, splits[_i].all);
	ck_assert_uint_eq(t.left_out, 0);
}
END_TEST

/* 64 patterns, and each further one is counted. */
START_TEST(many_patterns)
{
	char value[4096] = "";

	for (int n = 1; n <= TICKET_PATTERNS_MAX + 3; n++) {
		char one[16];

		snprintf(one, sizeof(one), "p%d,", n);
		strcat(value, one);
		ticket_set_patterns(&t, value);
		ck_assert_uint_eq(t.left_out, n <= 64 ? 0 : n - 64);
	}
	ck_assert(ticket_names(&t, "p1"));
	ck_assert(ticket_names(&t, "p64"));
	ck_assert(!ticket_names(&t, "p65"));
	ck_assert(!t.all);
}
END_TEST

/* A pattern that is too long is left out, and those behind it are not. */
START_TEST(long_patterns)
{
	char value[1024] = "";

	add(value, 1, NODEPOOL_PATTERN_BYTES - 1);
	ticket_set_patterns(&t, value);
	ck_assert_uint_eq(strlen(kept()), NODEPOOL_PATTERN_BYTES);
	ck_assert_uint_eq(t.left_out, 0);
	value[0] = '\0';
	add(value, 1, NODEPOOL_PATTERN_BYTES);
	ticket_set_patterns(&t, value);
	ck_assert_str_eq(kept(), "");
	ck_assert_uint_eq(t.left_out, 1);
	/* It does not hold all because of that. */
	ck_assert(!t.all);
	ck_assert(!ticket_names(&t, "web"));
	strcat(value, "web,");
	add(value, 1, NODEPOOL_PATTERN_BYTES + 1);
	ticket_set_patterns(&t, value);
	ck_assert_str_eq(kept(), "web|");
	ck_assert_uint_eq(t.left_out, 2);
}
END_TEST

/* A value of 2 KiB, and not a byte more.  A shorter pattern may still have
 * room. */
START_TEST(two_kib)
{
	const size_t most = NODEPOOL_PATTERN_BYTES - 1;
	char value[4096] = "";
	size_t used;

	add(value, 15, most);
	used = strlen(value);
	add(value, 1, most - 9);
	strcat(value, "webwebweb");
	ck_assert_uint_eq(strlen(value), 2048);
	ticket_set_patterns(&t, value);
	ck_assert_uint_eq(t.left_out, 0);
	ck_assert_uint_eq(strlen(kept()), TICKET_PATTERNS_BYTES - 1);
	ck_assert(ticket_names(&t, "webwebweb"));
	strcat(value, "a");
	ticket_set_patterns(&t, value);
	ck_assert_uint_eq(t.left_out, 1);
	ck_assert(!ticket_names(&t, "webwebweba"));
	value[used] = '\0';
	add(value, 1, 20);
	add(value, 1, most);
	strcat(value, "web");
	ticket_set_patterns(&t, value);
	ck_assert_uint_eq(t.left_out, 1);
	ck_assert_uint_eq(strlen(kept()),
			  15 * (most + 1) + 21 + strlen("web|"));
	ck_assert(ticket_names(&t, "web"));
}
END_TEST

/* Nothing is left of the patterns before. */
START_TEST(set_again)
{
	struct ticket fresh = {.all = false};
	char value[4096] = "";

	add(value, TICKET_PATTERNS_MAX + 1, 20);
	ticket_set_patterns(&t, value);
	ticket_set_patterns(&t, "web");
	ticket_set_patterns(&fresh, "web");
	ck_assert_uint_eq(t.left_out, 0);
	ck_assert_mem_eq(t.patterns, fresh.patterns, sizeof(t.patterns));
	ticket_set_patterns(&t, NULL);
	ck_assert(t.all);
	ck_assert_str_eq(kept(), "");
	ticket_set_patterns(&t, "web");
	ck_assert(!t.all);
}
END_TEST

static const struct {
	const char *value, *nodepool;
	bool names;
} names[] = {
	{"web", "web", true},
	{"web", "web-2", false},
	{"web", "we", false},
	{"web", "Web", false},
	{"web-*", "web-2", true},
	{"web-*", "web", false},
	{"*", "web", true},
	{"w?b", "web", true},
	{"[ab]*", "batch", true},
	{"[ab]*", "web", false},
	{"[!a]*", "web", true},
	{"web,batch", "batch", true},
	{"web,batch", "web,batch", false},
	{"web,batch", "gpu", false},
	{"", "web", true},
	{NULL, "web", true},
	{"[", "web", false},
};

START_TEST(which_nodepools)
{
	ticket_set_patterns(&t, names[_i].value);
	ck_assert_int_eq(ticket_names(&t, names[_i].nodepool), names[_i].names);
}
END_TEST

/* --- until when ----------------------------------------------------------- */

static const struct {
	int64_t renewed_ms, lasts_ms, until_ms;
} ends[] = {
	{SEEN, HOUR, SEEN + HOUR},
	{SEEN, SECOND, SEEN + SECOND},
	/* behind */
	{SEEN - 30 * SECOND, HOUR, SEEN - 30 * SECOND + HOUR},
	{SEEN - 1, HOUR, SEEN - 1 + HOUR},
	{SEEN - 2 * HOUR, HOUR, SEEN - HOUR},
	/* ahead */
	{SEEN + 1, HOUR, SEEN + HOUR},
	{SEEN + 30 * SECOND, HOUR, SEEN + HOUR},
	{SEEN + TICKET_AHEAD_MAX_MS, HOUR, SEEN + HOUR},
	{SEEN + TICKET_AHEAD_MAX_MS + 1, HOUR, STAMP_NONE},
	{SEEN + 52 * WEEK, HOUR, STAMP_NONE},
	/* 7 days */
	{SEEN, WEEK, SEEN + WEEK},
	{SEEN, WEEK + SECOND, SEEN + WEEK},
	{SEEN, INT64_MAX, SEEN + WEEK},
	{SEEN - HOUR, 2 * WEEK, SEEN - HOUR + WEEK},
	{SEEN + 60 * SECOND, 2 * WEEK, SEEN + WEEK},
	/* It does not say. */
	{STAMP_NONE, HOUR, STAMP_NONE},
	{SEEN, 0, STAMP_NONE},
	{SEEN, -SECOND, STAMP_NONE},
	{STAMP_NONE, 0, STAMP_NONE},
};

START_TEST(until_when)
{
	t = ticket_new("ci", NULL, ends[_i].renewed_ms, ends[_i].lasts_ms);
	ck_assert_int_eq(ticket_until_ms(&t, SEEN), ends[_i].until_ms);
}
END_TEST

/* --- what is wrong -------------------------------------------------------- */

static const struct {
	int64_t renewed_ms, lasts_ms;
	unsigned left_out;
	enum ticket_flaw flaw;
} flaws[] = {
	{SEEN, HOUR, 0, TICKET_GOOD},
	{SEEN - HOUR + 1, HOUR, 0, TICKET_GOOD},
	{SEEN + CLOCK_SHIFT_MS, HOUR, 0, TICKET_GOOD},
	{SEEN, WEEK, 0, TICKET_GOOD},
	{STAMP_NONE, HOUR, 0, TICKET_ENDLESS},
	{SEEN, 0, 0, TICKET_ENDLESS},
	{SEEN, -1, 0, TICKET_ENDLESS},
	{SEEN - HOUR, HOUR, 0, TICKET_OVER},
	{SEEN - 2 * HOUR, HOUR, 0, TICKET_OVER},
	{SEEN, WEEK + 1, 0, TICKET_LONG},
	{SEEN + CLOCK_SHIFT_MS + 1, HOUR, 0, TICKET_AHEAD},
	{SEEN + TICKET_AHEAD_MAX_MS, HOUR, 0, TICKET_AHEAD},
	{SEEN + TICKET_AHEAD_MAX_MS + 1, HOUR, 0, TICKET_FAR_AHEAD},
	{SEEN, HOUR, 1, TICKET_BROAD},
	/* The first of several. */
	{STAMP_NONE, 2 * WEEK, 1, TICKET_ENDLESS},
	{SEEN - 2 * WEEK, 2 * WEEK, 0, TICKET_OVER},
	{SEEN - 2 * HOUR, HOUR, 1, TICKET_OVER},
	{SEEN + HOUR, 2 * WEEK, 1, TICKET_FAR_AHEAD},
	{SEEN + 60 * SECOND, 2 * WEEK, 1, TICKET_LONG},
	{SEEN + 60 * SECOND, HOUR, 1, TICKET_AHEAD},
};

START_TEST(what_is_wrong)
{
	t = ticket_new("ci", NULL, flaws[_i].renewed_ms, flaws[_i].lasts_ms);
	t.left_out = flaws[_i].left_out;
	ck_assert_int_eq(ticket_flaw(&t, SEEN), flaws[_i].flaw);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

int
main(void)
{
	Suite *s = suite_create("ticket");
	TCase *p = run_case(s, "patterns"), *u = run_case(s, "until");

	tcase_add_loop_test(p, commas_and_blanks, 0, ROWS(splits));
	tcase_add_test(p, many_patterns);
	tcase_add_test(p, long_patterns);
	tcase_add_test(p, two_kib);
	tcase_add_test(p, set_again);
	tcase_add_loop_test(p, which_nodepools, 0, ROWS(names));
	tcase_add_loop_test(u, until_when, 0, ROWS(ends));
	tcase_add_loop_test(u, what_is_wrong, 0, ROWS(flaws));
	return suite_run(s);
}
