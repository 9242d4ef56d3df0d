/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "core/base/duration.h"
#include "core/controller/journal.h"
#include "suite.h"

/* The two rings of what has happened, and the turns as text. */

static struct journal j;

static void
setup(void)
{
	memset(&j, 0, sizeof(j));
}

static void
turns(int from, int n)
{
	for (int i = from; i < from + n; i++)
		journal_turn(&j, i, TURN_HELD, TURN_BY_SCALE_UP, "p");
}

/* Reads what is left and returns how many that are; *first and *last are the
 * times of the first and the last of them. */
static int
read_all(uint64_t *before, int64_t *first, int64_t *last)
{
	struct turn t;
	int n = 0;

	*first = *last = -1;
	while (journal_turn_at(&j, before, &t)) {
		if (n++ == 0)
			*first = t.at_ms;
		else
			ck_assert_int_eq(t.at_ms, *last - 1);
		*last = t.at_ms;
	}
	return n;
}

START_TEST(test_newest_first)
{
	uint64_t before = UINT64_MAX;
	int64_t first, last;

	ck_assert_int_eq(read_all(&before, &first, &last), 0);
	before = UINT64_MAX;
	turns(0, 3);
	ck_assert_int_eq(read_all(&before, &first, &last), 3);
	ck_assert_int_eq(first, 2);
	ck_assert_int_eq(last, 0);
}
END_TEST

/* The latest are kept, all of them and no more, however many there were. */
START_TEST(test_bounded)
{
	for (int n = JOURNAL_TURNS - 1; n < 3 * JOURNAL_TURNS; n += 517) {
		uint64_t before = UINT64_MAX;
		int64_t first, last;
		int kept = n < JOURNAL_TURNS ? n : JOURNAL_TURNS;

		setup();
		turns(0, n);
		ck_assert_int_eq(read_all(&before, &first, &last), kept);
		ck_assert_int_eq(first, n - 1);
		ck_assert_int_eq(last, n - kept);
	}
}
END_TEST

/* What is added while somebody reads comes not twice, and does not shift what
 * is still to be read. */
START_TEST(test_added_meanwhile)
{
	uint64_t before = UINT64_MAX;
	int64_t first, last;
	struct turn t;

	turns(0, JOURNAL_TURNS);
	ck_assert(journal_turn_at(&j, &before, &t));
	ck_assert_int_eq(t.at_ms, JOURNAL_TURNS - 1);
	turns(JOURNAL_TURNS, 10);
	ck_assert_int_eq(read_all(&before, &first, &last),
			 JOURNAL_TURNS - 1 - 10);
	ck_assert_int_eq(first, JOURNAL_TURNS - 2);
	ck_assert_int_eq(last, 10);
	/* All that was to be read has been overwritten. */
	before = 5;
	ck_assert(!journal_turn_at(&j, &before, &t));
}
END_TEST

START_TEST(test_writes)
{
	struct written w;
	char uid[UID_BYTES];

	ck_assert(!journal_written(&j, "u", &w));
	journal_write(&j, 1, "u", ACT_HOLD, WRITTEN_FAILED);
	journal_write(&j, 2, "v", ACT_CLASSIFY, WRITTEN_GONE);
	journal_write(&j, 3, "u", ACT_HOLD, WRITTEN_OK);
	ck_assert(journal_written(&j, "u", &w));
	ck_assert_int_eq(w.at_ms, 3);
	ck_assert(w.act == ACT_HOLD && w.how == WRITTEN_OK);
	ck_assert(journal_written(&j, "v", &w));
	ck_assert(w.act == ACT_CLASSIFY && w.how == WRITTEN_GONE);
	ck_assert(!journal_written(&j, "w", &w));
	/* The oldest go first. */
	for (int i = 0; i < JOURNAL_WRITES - 2; i++) {
		snprintf(uid, sizeof(uid), "uid-%d", i);
		journal_write(&j, 4 + i, uid, ACT_CLEAR, WRITTEN_OK);
	}
	ck_assert(journal_written(&j, "v", &w));
	journal_write(&j, 9999, "x", ACT_CLEAR, WRITTEN_OK);
	ck_assert(!journal_written(&j, "v", &w));
	ck_assert(journal_written(&j, "u", &w));
	journal_write(&j, 9999, "y", ACT_CLEAR, WRITTEN_OK);
	ck_assert(!journal_written(&j, "u", &w));
	ck_assert(journal_written(&j, "uid-5", &w));
	ck_assert_int_eq(w.at_ms, 9);
}
END_TEST

START_TEST(test_shifted)
{
	uint64_t before = UINT64_MAX;
	struct written w;
	struct turn t;

	turns(100, 1);
	journal_write(&j, 200, "u", ACT_HOLD, WRITTEN_OK);
	j.since_ms = 300;
	journal_shift(&j, -50);
	ck_assert_int_eq(j.since_ms, 250);
	ck_assert(journal_turn_at(&j, &before, &t));
	ck_assert_int_eq(t.at_ms, 50);
	ck_assert(journal_written(&j, "u", &w));
	ck_assert_int_eq(w.at_ms, 150);
}
END_TEST

/* --- as text -------------------------------------------------------------- */

#define NOW INT64_C(1767323045000) /* 2026-01-02T03:04:05Z */
#define HEAD "enforce cluster term=7\n"
#define END "since=2026-01-01T03:04:05Z\n"

static struct rules rules;
static char text[16384], again[16384];

static struct journal_lead
lead(int32_t term)
{
	return (struct journal_lead){
		.rules = &rules, .term = term, .since_ms = NOW - JOURNAL_MS};
}

static const char *
write_text(char *to, size_t cap)
{
	struct journal_lead l = lead(7);
	struct buf b;

	buf_init(&b, to, cap);
	journal_text_write(&j, &l, NOW, &b);
	ck_assert(!b.full);
	ck_assert_uint_eq(strlen(to), b.len);
	return to;
}

static void
text_setup(void)
{
	setup();
	memset(&rules, 0, sizeof(rules));
}

/* A text, and what is written after it was read. */
static const struct {
	const char *name, *lines, *want;
} reads[] = {
	{"a scope", "2026-01-02T03:00:00Z held scale-up scope= machine=web-1\n",
	 NULL},
	{"its end", "2026-01-02T03:00:00Z released quiet scope=web held=12m30s\n"
		    "2026-01-02T02:00:00Z held scale-up scope=web\n", NULL},
	{"by hand", "2026-01-02T03:00:00Z held hold-until nodepool=web "
		    "until=2026-01-05T00:00:00Z reason=a sale; until=noon\n",
	 NULL},
	{"by tickets", "2026-01-02T03:00:00Z released ticket-ended "
		       "nodepool=web held=1h\n"
		       "2026-01-02T02:00:00Z held ticket nodepool=web "
		       "until=2026-01-02T02:05:00Z reason=ticket ci\n", NULL},
	{"the cap", "2026-01-02T03:00:00Z capped cap scope= held=1h\n", NULL},
	{"released", "2026-01-02T03:00:00Z released released-at nodepool=web "
		     "until=2026-01-02T03:00:00Z\n", NULL},
	{"resumed", "2026-01-02T03:00:00Z resumed by-hand nodepool=web held=1h "
		    "reason=a sale\n", NULL},
	{"a hold of last week that is in force",
	 "2025-12-24T00:00:00Z held hold-until nodepool=web "
	 "until=2026-01-05T00:00:00Z\n", NULL},
	{"one of last week that is over",
	 "2025-12-24T00:00:00Z held hold-until nodepool=web "
	 "until=2026-01-02T00:00:00Z\n", ""},
	{"a day ago", "2026-01-01T03:04:05Z released quiet scope=\n", ""},
	{"a little ahead", "2026-01-02T03:04:10Z held scale-up scope=\n", NULL},
	{"ahead", "2026-01-02T03:04:11Z held scale-up scope=\n", ""},
	{"far ahead", "9999-12-31T23:59:59Z held scale-up scope=\n", ""},
	{"long ago", "0001-01-01T00:00:00Z held hold-until nodepool=web "
		     "until=2026-01-05T00:00:00Z\n", ""},
	{"out of order", "2026-01-02T03:00:00Z held scale-up scope=\n"
			 "2026-01-02T03:00:01Z released quiet scope=\n",
	 "2026-01-02T03:00:00Z held scale-up scope=\n"},
	{"of a later release",
	 "2026-01-02T03:00:00Z melted heat scope=\n"
	 "2026-01-02T02:00:00Z held scale-up scope= colour=red machine=m\n",
	 "2026-01-02T02:00:00Z held scale-up scope= machine=m\n"},
	{"a cause of a later release",
	 "2026-01-02T03:00:00Z held moon nodepool=web\n"
	 "2026-01-02T02:00:00Z held hold-until nodepool=web\n",
	 "2026-01-02T02:00:00Z held hold-until nodepool=web\n"},
	{"no time", "yesterday held scale-up scope=\n", ""},
	{"no cause", "2026-01-02T03:00:00Z held\n", ""},
	{"no name", "2026-01-02T03:00:00Z held hold-until nodepool=\n", ""},
	{"two names", "2026-01-02T03:00:00Z held hold-until nodepool=w scope=\n",
	 ""},
	{"a name that is none", "2026-01-02T03:00:00Z held scale-up "
				"scope=\033[2J\n", ""},
	{"a machine that is none", "2026-01-02T03:00:00Z held scale-up scope= "
				   "machine=\302\233m\n", ""},
	{"a long name", "2026-01-02T03:00:00Z held scale-up scope="
			"0123456789012345678901234567890123456789"
			"012345678901234567890123\n", ""},
	{"no duration", "2026-01-02T03:00:00Z released quiet scope= held=-5m\n",
	 ""},
	{"a hold has no duration",
	 "2026-01-02T03:00:00Z held scale-up scope= held=5m\n",
	 "2026-01-02T03:00:00Z held scale-up scope=\n"},
	{"what a terminal obeys",
	 "2026-01-02T03:00:00Z resumed by-hand nodepool=web "
	 "reason=a\033[2J\xe2\x80\xae\xff\n",
	 "2026-01-02T03:00:00Z resumed by-hand nodepool=web reason=a?[2J??\n"},
};

START_TEST(test_text_reads)
{
	const char *want = reads[_i].want != NULL ? reads[_i].want
						  : reads[_i].lines;
	struct journal_lead l = lead(8);

	snprintf(text, sizeof(text), HEAD "%s" END, reads[_i].lines);
	ck_assert_int_eq(journal_text_read(&j, 0, text, &l, NOW), 0);
	ck_assert(l.whole && !l.cut);
	ck_assert_int_eq(l.since_ms, NOW - JOURNAL_MS);
	snprintf(text, sizeof(text), HEAD "%s" END, want);
	ck_assert_msg(strcmp(write_text(again, sizeof(again)), text) == 0,
		      "%s: %s", reads[_i].name, again);
}
END_TEST

#define LINE "2026-01-02T03:00:00Z held scale-up scope=\n"

/* The first line and the last one. */
static const struct {
	const char *text;
	int32_t term;
	bool taken, whole, cut;
} leads[] = {
	{HEAD LINE END, 7, true, true, false},
	{HEAD LINE END, 8, true, true, false},
	{HEAD LINE END, 9, true, false, false},
	{HEAD LINE END, 6, true, false, false},
	{"enforce cluster\n" LINE END, 7, true, false, false},
	{HEAD LINE, 7, true, false, false},
	{HEAD LINE "cut=2026-01-02T03:00:00Z\n", 7, true, true, true},
	{HEAD LINE "cut=2026-01-01T03:00:00Z\n", 7, true, true, false},
	{HEAD LINE "since=9999-01-01T00:00:00Z\n", 7, true, false, false},
	{HEAD LINE "since=0001-01-01T00:00:00Z\n", 7, true, false, false},
	{HEAD LINE "since=\n", 7, true, false, false},
	{"observe cluster term=7\n" LINE END, 7, false, false, false},
	{"enforce nodepool term=7\n" LINE END, 7, false, false, false},
	{LINE END, 7, false, false, false},
	{"", 7, false, false, false},
	{"\n\n", 7, false, false, false},
};

START_TEST(test_text_leads)
{
	struct journal_lead l = lead(leads[_i].term);

	ck_assert_int_eq(journal_text_read(&j, 0, leads[_i].text, &l, NOW),
			 leads[_i].taken ? 0 : -1);
	ck_assert_int_eq(l.whole, leads[_i].whole);
	ck_assert_int_eq(l.cut, leads[_i].cut);
	ck_assert_uint_eq(j.turns_n, leads[_i].taken);
}
END_TEST

/* The newest JOURNAL_KEPT, and since when that is all. */
START_TEST(test_text_bounds)
{
	struct journal_lead l = lead(7);

	for (int i = 0; i < JOURNAL_KEPT; i++)
		journal_turn(&j, NOW - JOURNAL_KEPT * 1000 + i * 1000,
			     TURN_HELD, TURN_BY_SCALE_UP, "p");
	ck_assert_ptr_nonnull(strstr(write_text(text, sizeof(text)), END));
	journal_turn(&j, NOW, TURN_HELD, TURN_BY_SCALE_UP, "p");
	ck_assert_ptr_null(strstr(write_text(text, sizeof(text)), "since="));
	ck_assert_ptr_nonnull(strstr(text, "cut=2026-01-02T03:03:02Z\n"));
	setup();
	ck_assert_int_eq(journal_text_read(&j, 0, text, &l, NOW), 0);
	ck_assert_uint_eq(j.turns_n, JOURNAL_KEPT);
	/* Nobody is made to take more. */
	strcpy(again, HEAD);
	for (int i = 0; i <= JOURNAL_KEPT; i++)
		strcat(again, LINE);
	setup();
	ck_assert_int_eq(journal_text_read(&j, 0, again, &l, NOW), 0);
	ck_assert_uint_eq(j.turns_n, JOURNAL_KEPT);
}
END_TEST

/* With the longest names and reasons as many as have room. */
START_TEST(test_text_room)
{
	struct journal_lead l = lead(7);
	unsigned kept = 0;

	for (int i = 0; i < JOURNAL_KEPT; i++) {
		struct turn *t = journal_turn(&j, NOW - 60000 + i * 1000,
					      TURN_RELEASED, TURN_BY_RELEASE,
					      "p");

		t->nodepool = true;
		t->held_ms = DURATION_MS_MAX - 1;
		t->until_ms = NOW;
		memset(t->scope, 'p', sizeof(t->scope) - 1);
		memset(t->machine, 'm', sizeof(t->machine) - 1);
		memset(t->reason, 'r', sizeof(t->reason) - 1);
	}
	for (size_t cap = 1000; cap <= sizeof(text); cap += 769) {
		write_text(text, cap);
		ck_assert_ptr_nonnull(strstr(text, "\ncut="));
		memset(&j.turns_n, 0, sizeof(j.turns_n));
		ck_assert_int_eq(journal_text_read(&j, 0, text, &l, NOW), 0);
		ck_assert(l.whole && l.cut);
		ck_assert_uint_ge(j.turns_n, kept);
		kept = (unsigned)j.turns_n;
		j.turns_n = JOURNAL_KEPT;
	}
	ck_assert_uint_gt(kept, 30);
}
END_TEST

/* A ring that is full takes a text as well, and keeps its older turns. */
START_TEST(test_text_in_a_full_ring)
{
	struct journal_lead l = lead(7);
	uint64_t before = UINT64_MAX;
	int64_t last = INT64_MAX;
	struct turn t;
	int n = 0;

	for (int i = 0; i < 2 * JOURNAL_TURNS; i++)
		journal_turn(&j, NOW - 300000 + i * 100, TURN_HELD,
			     TURN_BY_SCALE_UP, "own");
	strcpy(text, HEAD "2026-01-02T03:04:00Z held scale-up scope=b\n"
			  "2026-01-02T03:02:00Z held scale-up scope=a\n" END);
	ck_assert_int_eq(journal_text_read(&j, j.turns_n - 5, text, &l, NOW),
			 0);
	for (; journal_turn_at(&j, &before, &t); n++) {
		ck_assert_int_le(t.at_ms, last);
		last = t.at_ms;
		ck_assert_str_eq(t.scope, n == 0 ? "b" : n == 1 ? "a" : "own");
	}
	/* Those of the last three minutes and a half are gone. */
	ck_assert_int_gt(n, 100);
	ck_assert_int_lt(n, JOURNAL_TURNS);
	ck_assert_int_lt(last, NOW - 125000);
	/* All were this lead's own. */
	ck_assert_int_eq(journal_text_read(&j, 0, text, &l, NOW), 0);
	before = UINT64_MAX;
	for (n = 0; journal_turn_at(&j, &before, &t); n++)
		;
	ck_assert_int_eq(n, 2);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("core/journal");
	TCase *tc = tcase_create("journal");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_newest_first);
	tcase_add_test(tc, test_bounded);
	tcase_add_test(tc, test_added_meanwhile);
	tcase_add_test(tc, test_writes);
	tcase_add_test(tc, test_shifted);
	suite_add_tcase(s, tc);
	tc = tcase_create("text");
	tcase_add_checked_fixture(tc, text_setup, NULL);
	tcase_add_loop_test(tc, test_text_reads, 0,
			    (int)(sizeof(reads) / sizeof(reads[0])));
	tcase_add_loop_test(tc, test_text_leads, 0,
			    (int)(sizeof(leads) / sizeof(leads[0])));
	tcase_add_test(tc, test_text_bounds);
	tcase_add_test(tc, test_text_room);
	tcase_add_test(tc, test_text_in_a_full_ring);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
