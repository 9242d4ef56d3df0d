/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/table/tickets.h"
#include "objects.h"
#include "run.h"

/* The table of tickets by itself, and step by step beside a naive model. */

#define SEEN ((int64_t)1767323045000)
#define SECOND 1000
#define MINUTE 60000
#define MAX 8

static struct tickets ts;

static void
setup(void)
{
	ck_assert_int_eq(tickets_init(&ts, MAX), 0);
}

static void
teardown(void)
{
	tickets_done(&ts);
}

/* The ticket of that name, renewed and seen now, for some minutes. */
static struct ticket_entry *
put(const char *name, int minutes, int64_t now_ms)
{
	struct ticket t = ticket_new(name, NULL, now_ms, minutes * MINUTE);

	return tickets_put(&ts, &t, 1, now_ms);
}

/* --- one ticket ----------------------------------------------------------- */

START_TEST(found_until_dropped)
{
	struct ticket_entry *a, *b, *c;

	ck_assert_ptr_null(tickets_find(&ts, "a"));
	a = put("a", 1, SEEN);
	b = put("b", 2, SEEN);
	c = put("c", 3, SEEN);
	ck_assert_ptr_eq(tickets_find(&ts, "a"), a);
	ck_assert_ptr_eq(tickets_find(&ts, "b"), b);
	ck_assert_ptr_eq(tickets_find(&ts, "c"), c);
	ck_assert_ptr_eq(put("b", 5, SEEN), b);
	ck_assert_int_eq(b->until_ms, SEEN + 5 * MINUTE);
	tickets_drop(&ts, b);
	ck_assert_ptr_null(tickets_find(&ts, "b"));
	ck_assert_ptr_eq(tickets_find(&ts, "a"), a);
	ck_assert_ptr_eq(tickets_find(&ts, "c"), c);
	/* Its place is used again, and nothing of it is left there. */
	b->nodepools[1] = 1;
	ck_assert_ptr_eq(put("d", 1, SEEN + MINUTE), b);
	ck_assert_ptr_null(tickets_find(&ts, "b"));
	ck_assert_int_eq(b->seen_ms, SEEN + MINUTE);
	ck_assert(!tickets_holds(b, 64));
}
END_TEST

/* Its latest line is kept, whatever has changed in it. */
START_TEST(what_is_kept)
{
	struct ticket t = ticket_new("a", "web", SEEN, MINUTE);
	struct ticket_entry *e = tickets_put(&ts, &t, 3, SEEN);

	ck_assert_uint_eq(e->generation, 3);
	ck_assert_int_eq(e->flaw, TICKET_GOOD);
	strcpy(t.reason, "a sale");
	strcpy(t.holder, "shop");
	strcpy(t.rv, "17");
	e = tickets_put(&ts, &t, 4, SEEN);
	ck_assert_str_eq(e->ticket.reason, "a sale");
	ck_assert_str_eq(e->ticket.holder, "shop");
	ck_assert_str_eq(e->ticket.rv, "17");
	ck_assert_uint_eq(e->generation, 4);
	ticket_set_patterns(&t, "batch");
	t.left_out = 1;
	e = tickets_put(&ts, &t, 4, SEEN);
	ck_assert(ticket_names(&e->ticket, "batch"));
	ck_assert_int_eq(e->flaw, TICKET_BROAD);
}
END_TEST

/* A line without a renewal leaves the moment at which the renewal was seen. */
START_TEST(a_renewal_moves_what_was_seen)
{
	int64_t later = SEEN + 10 * SECOND;
	struct ticket t = ticket_new("a", NULL, SEEN + MINUTE, MINUTE);
	struct ticket_entry *e = tickets_put(&ts, &t, 1, SEEN);

	ck_assert_int_eq(e->seen_ms, SEEN);
	ck_assert_int_eq(e->until_ms, SEEN + MINUTE);
	strcpy(t.rv, "2");
	ck_assert_ptr_eq(tickets_put(&ts, &t, 1, later), e);
	ck_assert_int_eq(e->seen_ms, SEEN);
	ck_assert_int_eq(e->until_ms, SEEN + MINUTE);
	t.lasts_ms = 2 * MINUTE;
	(void)tickets_put(&ts, &t, 1, later);
	ck_assert_int_eq(e->seen_ms, SEEN);
	ck_assert_int_eq(e->until_ms, SEEN + 2 * MINUTE);
	t.renewed_ms++;
	(void)tickets_put(&ts, &t, 1, later);
	ck_assert_int_eq(e->seen_ms, later);
	ck_assert_int_eq(e->until_ms, later + 2 * MINUTE);
	/* Another ticket of the same name. */
	strcpy(t.uid, "another");
	(void)tickets_put(&ts, &t, 1, later + SECOND);
	ck_assert_int_eq(e->seen_ms, later + SECOND);
	ck_assert_int_eq(e->until_ms, later + SECOND + 2 * MINUTE);
}
END_TEST

START_TEST(a_ticket_that_is_over)
{
	struct ticket t = ticket_new("a", NULL, SEEN - MINUTE, MINUTE);
	struct ticket_entry *e = tickets_put(&ts, &t, 1, SEEN);

	ck_assert_int_eq(e->flaw, TICKET_OVER);
	ck_assert_int_eq(e->until_ms, SEEN);
	ck_assert_uint_eq(tickets_hold(&ts, 0, SEEN).n, 0);
	t.renewed_ms = STAMP_NONE;
	e = tickets_put(&ts, &t, 1, SEEN);
	ck_assert_int_eq(e->flaw, TICKET_ENDLESS);
	ck_assert_int_eq(e->until_ms, STAMP_NONE);
	/* What was good when it was seen stays good when it ends. */
	e = put("b", 1, SEEN);
	t = e->ticket;
	ck_assert_int_eq(tickets_put(&ts, &t, 1, SEEN + 2 * MINUTE)->flaw,
			 TICKET_GOOD);
}
END_TEST

static struct ticket
changed(int what)
{
	struct ticket t = ticket_new("a", "web", SEEN, MINUTE);

	switch (what) {
	case 0: strcpy(t.rv, "2"); break;
	case 1: strcpy(t.holder, "shop"); break;
	case 2: strcpy(t.reason, "a sale"); break;
	case 3: strcpy(t.uid, "another"); break;
	case 4: t.renewed_ms++; break;
	case 5: t.lasts_ms++; break;
	case 6: ticket_set_patterns(&t, "web,batch"); break;
	case 7: t.left_out++; break;
	case 8: ticket_set_patterns(&t, NULL); break;
	}
	return t;
}

START_TEST(which_are_the_same)
{
	struct ticket a = ticket_new("a", "web", SEEN, MINUTE), b = changed(_i);
	struct ticket none = ticket_new("a", "", SEEN, MINUTE), all = none;

	ck_assert_int_eq(tickets_same(&a, &b), _i <= 2);
	none.all = false;	/* all of its patterns are too long */
	ck_assert(!tickets_same(&none, &all));
}
END_TEST

/* --- lists ---------------------------------------------------------------- */

START_TEST(what_a_list_does_not_show)
{
	struct ticket t;
	struct ticket_entry *e;
	uint32_t i = 0, n = 0;

	for (int k = 0; k < 6; k++) {
		t = ticket_new("a", NULL, SEEN, MINUTE);
		t.name[0] += k;
		(void)tickets_put(&ts, &t, k % 2 ? 2 : 1, SEEN);
	}
	tickets_drop(&ts, tickets_find(&ts, "c"));
	while ((e = tickets_stale(&ts, 2, &i)) != NULL) {
		ck_assert_str_eq(e->ticket.name, n == 0 ? "a" : "e");
		n++;
		tickets_drop(&ts, e);
	}
	ck_assert_uint_eq(n, 2);
	i = 0;
	ck_assert_ptr_null(tickets_stale(&ts, 2, &i));
	i = 0;
	ck_assert_str_eq(tickets_stale(&ts, 0, &i)->ticket.name, "b");
}
END_TEST

START_TEST(full)
{
	struct ticket_entry *e;
	char name[] = "a";

	for (; name[0] < 'a' + MAX; name[0]++)
		ck_assert_ptr_nonnull(put(name, 1, SEEN));
	ck_assert_ptr_null(put("x", 1, SEEN));
	ck_assert_ptr_null(tickets_find(&ts, "x"));
	/* Those that are there are still renewed. */
	e = put("c", 9, SEEN + SECOND);
	ck_assert_ptr_nonnull(e);
	ck_assert_int_eq(e->until_ms, SEEN + SECOND + 9 * MINUTE);
	tickets_drop(&ts, e);
	ck_assert_ptr_eq(put("x", 1, SEEN), e);
	ck_assert_ptr_null(put("y", 1, SEEN));
}
END_TEST

START_TEST(turned_away)
{
	char name[16];
	int again = 0;

	ck_assert(tickets_turn_away(&ts, "x"));
	ck_assert(!tickets_turn_away(&ts, "x"));
	ck_assert(tickets_turn_away(&ts, ""));
	/* Each is new once, and most are remembered. */
	tickets_done(&ts);
	ck_assert_int_eq(tickets_init(&ts, TICKETS_MAX), 0);
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		ck_assert(tickets_turn_away(&ts, name));
	}
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		again += tickets_turn_away(&ts, name);
	}
	ck_assert_int_le(again, 20);
}
END_TEST

START_TEST(forgotten)
{
	ck_assert(tickets_turn_away(&ts, "x"));
	for (int i = 0; i < 2; i++) {
		(void)put("a", 1, SEEN);
		(void)put("b", 1, SEEN);
		tickets_drop(&ts, tickets_find(&ts, "a"));
		ck_assert_uint_eq(ts.n, 1);
		tickets_forget(&ts);
		ck_assert_uint_eq(ts.n, 0);
		ck_assert_ptr_null(tickets_find(&ts, "b"));
	}
	ck_assert(tickets_turn_away(&ts, "x"));
}
END_TEST

/* tickets.namespace is empty. */
START_TEST(no_table)
{
	struct tickets none;
	struct ticket t = ticket_new("a", NULL, SEEN, MINUTE);
	uint32_t i = 0;

	ck_assert_int_eq(tickets_init(&none, 0), 0);
	ck_assert_ptr_null(tickets_find(&none, "a"));
	ck_assert_ptr_null(tickets_put(&none, &t, 1, SEEN));
	ck_assert_ptr_null(tickets_stale(&none, 2, &i));
	ck_assert_int_eq(tickets_hold(&none, 0, SEEN).until_ms, STAMP_NONE);
	tickets_shift(&none, MINUTE);
	tickets_forget(&none);
	tickets_done(&none);
}
END_TEST

/* --- places --------------------------------------------------------------- */

START_TEST(places_and_bits)
{
	static const uint32_t places[] = {0,  1,   63,
					  64, 65, 127, SCOPES_MAX - 1};
	const int n = sizeof(places) / sizeof(places[0]);
	struct ticket t = ticket_new("a", "web-*", SEEN, MINUTE);
	struct ticket_entry *e = tickets_put(&ts, &t, 1, SEEN);

	for (int i = 0; i < n; i++) {
		tickets_place(e, places[i], "batch");
		ck_assert(!tickets_holds(e, places[i]));
		tickets_place(e, places[i], "web-1");
		for (int k = 0; k < n; k++)
			ck_assert_int_eq(tickets_holds(e, places[k]), k <= i);
	}
	for (int i = 0; i < n; i++) {
		tickets_place(e, places[i], "web");	/* another NodePool */
		for (int k = 0; k < n; k++)
			ck_assert_int_eq(tickets_holds(e, places[k]), k > i);
	}
	for (unsigned i = 0; i < SCOPES_MAX / 64; i++)
		ck_assert_uint_eq(e->nodepools[i], 0);
}
END_TEST

/* --- several tickets ------------------------------------------------------ */

START_TEST(the_last_and_the_first_end)
{
	static const int minutes[] = {3, 7, 5, 7, 1};
	struct ticket_hold h = tickets_hold(&ts, 9, SEEN);
	char name[] = "a";

	ck_assert_uint_eq(h.n, 0);
	ck_assert_int_eq(h.until_ms, STAMP_NONE);
	ck_assert_int_eq(h.next_ms, STAMP_NONE);
	ck_assert_ptr_null(h.last);
	for (int i = 0; i < 5; i++, name[0]++)
		tickets_place(put(name, minutes[i], SEEN), 9, "web");
	/* It holds another NodePool. */
	tickets_place(put("f", 9, SEEN), 10, "batch");
	h = tickets_hold(&ts, 9, SEEN);
	ck_assert_uint_eq(h.n, 5);
	ck_assert_int_eq(h.until_ms, SEEN + 7 * MINUTE);
	ck_assert_int_eq(h.next_ms, SEEN + MINUTE);
	ck_assert_str_eq(h.last->ticket.name, "b");
	h = tickets_hold(&ts, 9, SEEN + MINUTE - 1);
	ck_assert_uint_eq(h.n, 5);
	h = tickets_hold(&ts, 9, SEEN + MINUTE);
	ck_assert_uint_eq(h.n, 4);
	ck_assert_int_eq(h.next_ms, SEEN + 3 * MINUTE);
	tickets_drop(&ts, tickets_find(&ts, "b"));
	h = tickets_hold(&ts, 9, SEEN + 5 * MINUTE);
	ck_assert_uint_eq(h.n, 1);
	ck_assert_int_eq(h.until_ms, SEEN + 7 * MINUTE);
	ck_assert_int_eq(h.next_ms, SEEN + 7 * MINUTE);
	ck_assert_str_eq(h.last->ticket.name, "d");
	h = tickets_hold(&ts, 9, SEEN + 7 * MINUTE);
	ck_assert_uint_eq(h.n, 0);
	ck_assert_ptr_null(h.last);
	ck_assert_uint_eq(tickets_hold(&ts, 10, SEEN + 7 * MINUTE).n, 1);
	ck_assert_uint_eq(tickets_hold(&ts, 11, SEEN).n, 0);
}
END_TEST

/* --- the clock is set ----------------------------------------------------- */

START_TEST(shifted)
{
	int64_t by_ms = _i == 0 ? 10 * MINUTE : -10 * MINUTE;
	struct ticket_entry *e = put("a", 5, SEEN), *gone = put("b", 5, SEEN);
	struct ticket t = ticket_new("c", NULL, STAMP_NONE, MINUTE);
	struct ticket_entry *endless = tickets_put(&ts, &t, 1, SEEN);

	tickets_drop(&ts, gone);
	tickets_shift(&ts, by_ms);
	ck_assert_int_eq(e->seen_ms, SEEN + by_ms);
	ck_assert_int_eq(e->until_ms, SEEN + by_ms + 5 * MINUTE);
	ck_assert_int_eq(gone->until_ms, STAMP_NONE);
	ck_assert_int_eq(endless->until_ms, STAMP_NONE);
	/* A line that says the same changes nothing of that. */
	t = e->ticket;
	strcpy(t.rv, "2");
	(void)tickets_put(&ts, &t, 2, SEEN + by_ms + MINUTE);
	ck_assert_int_eq(e->until_ms, SEEN + by_ms + 5 * MINUTE);
	ck_assert_int_eq(e->flaw, TICKET_GOOD);
	ck_assert_str_eq(e->ticket.rv, "2");
	ck_assert_uint_eq(e->generation, 2);
	/* A renewal counts by the clock of today. */
	t.renewed_ms = SEEN + by_ms + 2 * MINUTE;
	(void)tickets_put(&ts, &t, 2, t.renewed_ms);
	ck_assert_int_eq(e->until_ms, SEEN + by_ms + 7 * MINUTE);
}
END_TEST

/* --- words ---------------------------------------------------------------- */

static const struct {
	const char *holder, *reason, *words;
} words[] = {
	{"", "", "ticket ci"},
	{"bob", "", "ticket ci of bob"},
	{"", "a sale", "ticket ci: a sale"},
	{"bob", "a sale", "ticket ci of bob: a sale"},
};

START_TEST(what_people_read)
{
	struct ticket_entry e = {.ticket = ticket_new("ci", NULL, SEEN, 1)};
	char out[REASON_BYTES];

	strcpy(e.ticket.holder, words[_i].holder);
	strcpy(e.ticket.reason, words[_i].reason);
	tickets_words(&e, out, sizeof(out));
	ck_assert_str_eq(out, words[_i].words);
}
END_TEST

/* Names, holders and reasons of the greatest length, and whole characters. */
START_TEST(words_are_cut)
{
	struct ticket_entry e = {.ticket = ticket_new("ci", NULL, SEEN, 1)};
	char out[REASON_BYTES], small[16];

	strcpy(e.ticket.holder, "bob");
	tickets_words(&e, small, sizeof(small));
	ck_assert_str_eq(small, "ticket ci of…");
	strcpy(e.ticket.holder, "");
	strcpy(e.ticket.reason, "öffnen");
	tickets_words(&e, small, 16);	/* no room for the ö */
	ck_assert_str_eq(small, "ticket ci: …");
	strcpy(e.ticket.reason, "öl");
	tickets_words(&e, small, 15);
	ck_assert_str_eq(small, "ticket ci: öl");
	memset(e.ticket.name, 'n', sizeof(e.ticket.name) - 1);
	memset(e.ticket.holder, 'h', sizeof(e.ticket.holder) - 1);
	memset(e.ticket.reason, 'r', sizeof(e.ticket.reason) - 1);
	e.ticket.name[sizeof(e.ticket.name) - 1] = '\0';
	e.ticket.holder[sizeof(e.ticket.holder) - 1] = '\0';
	e.ticket.reason[sizeof(e.ticket.reason) - 1] = '\0';
	tickets_words(&e, out, sizeof(out));
	ck_assert_uint_eq(strlen(out), sizeof(out) - 1);
	ck_assert_int_eq(strncmp(out, "ticket nnn", 10), 0);
	ck_assert_str_eq(out + sizeof(out) - 1 - strlen("…"), "…");
}
END_TEST

/* --- random histories ----------------------------------------------------- */

#define NAMES 12
#define PLACES 70

/* What the table ought to say of each name. */
static struct model {
	bool in, holds[PLACES];
	int64_t renewed_ms, lasts_ms, seen_ms;
	uint32_t generation;
} model[NAMES];

static int64_t
model_until(const struct model *m)
{
	int64_t from =
		m->renewed_ms < m->seen_ms ? m->renewed_ms : m->seen_ms;

	return from + m->lasts_ms;
}

static void
model_put(struct dice *d, int k, uint32_t generation, int64_t now)
{
	struct model *m = &model[k], was = *m;
	char name[] = "a";
	struct ticket t;
	struct ticket_entry *e;
	int in = 0;

	for (int i = 0; i < NAMES; i++)
		in += model[i].in;
	name[0] += k;
	if (!m->in || roll(d, 2) == 0)
		m->renewed_ms = now + between(d, -MINUTE, MINUTE);
	if (!m->in || roll(d, 4) == 0)
		m->lasts_ms = between(d, SECOND, 2 * MINUTE);
	t = ticket_new(name, NULL, m->renewed_ms, m->lasts_ms);
	e = tickets_put(&ts, &t, generation, now);
	if (!m->in && in == MAX) {
		ck_assert_ptr_null(e);
		*m = was;
		return;
	}
	ck_assert_ptr_nonnull(e);
	if (!m->in || m->renewed_ms != was.renewed_ms)
		m->seen_ms = now;
	if (!m->in)
		memset(m->holds, 0, sizeof(m->holds));
	m->in = true;
	m->generation = generation;
	for (int i = 0; i < 3; i++) {
		uint32_t place = roll(d, PLACES);

		tickets_place(e, place, "any");
		m->holds[place] = true;
	}
}

static void
model_drop(int k)
{
	char name[] = "a";
	struct ticket_entry *e;

	name[0] += k;
	e = tickets_find(&ts, name);
	ck_assert_int_eq(e != NULL, model[k].in);
	if (e != NULL)
		tickets_drop(&ts, e);
	model[k].in = false;
}

/* A list has ended that showed those of this generation. */
static void
model_listed(uint32_t generation)
{
	struct ticket_entry *e;
	uint32_t i = 0;

	while ((e = tickets_stale(&ts, generation, &i)) != NULL)
		tickets_drop(&ts, e);
	for (int k = 0; k < NAMES; k++)
		model[k].in = model[k].in && model[k].generation == generation;
}

static void
model_compare(uint32_t place, int64_t now)
{
	struct ticket_hold h = tickets_hold(&ts, place, now);
	int64_t last = STAMP_NONE, first = STAMP_NONE;
	unsigned n = 0;

	for (int k = 0; k < NAMES; k++) {
		int64_t until = model_until(&model[k]);

		if (!model[k].in || !model[k].holds[place] || until <= now)
			continue;
		n++;
		last = until > last ? until : last;
		first = first == STAMP_NONE || until < first ? until : first;
	}
	ck_assert_uint_eq(h.n, n);
	ck_assert_int_eq(h.until_ms, last);
	ck_assert_int_eq(h.next_ms, first);
	if (n > 0)
		ck_assert_int_eq(h.last->until_ms, last);
}

START_TEST(as_a_naive_table)
{
	struct dice d = dice_new((uint64_t)_i + 1);
	uint32_t generation = 1;
	int64_t now = SEEN;

	memset(model, 0, sizeof(model));
	for (int step = 0; step < 3000; step++) {
		uint32_t what = roll(&d, 100);

		now += roll(&d, 5 * SECOND);
		if (what < 80)
			model_put(&d, (int)roll(&d, NAMES), generation, now);
		else if (what < 95)
			model_drop((int)roll(&d, NAMES));
		else if (what < 97)
			generation++;
		else if (what < 98)
			model_listed(generation);
		for (int i = 0; i < 5; i++)
			model_compare(roll(&d, PLACES), now);
	}
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

int
main(void)
{
	Suite *s = suite_create("tickets");
	TCase *o = run_case(s, "one"), *l = run_case(s, "lists");
	TCase *m = run_case(s, "many"), *w = run_case(s, "words");

	tcase_add_checked_fixture(o, setup, teardown);
	tcase_add_test(o, found_until_dropped);
	tcase_add_test(o, what_is_kept);
	tcase_add_test(o, a_renewal_moves_what_was_seen);
	tcase_add_test(o, a_ticket_that_is_over);
	tcase_add_loop_test(o, which_are_the_same, 0, 9);
	tcase_add_loop_test(o, shifted, 0, 2);
	tcase_add_checked_fixture(l, setup, teardown);
	tcase_add_test(l, what_a_list_does_not_show);
	tcase_add_test(l, full);
	tcase_add_test(l, turned_away);
	tcase_add_test(l, forgotten);
	tcase_add_test(l, no_table);
	tcase_add_checked_fixture(m, setup, teardown);
	tcase_add_test(m, places_and_bits);
	tcase_add_test(m, the_last_and_the_first_end);
	tcase_add_loop_test(m, as_a_naive_table, 0, 8);
	tcase_add_loop_test(w, what_people_read, 0, ROWS(words));
	tcase_add_test(w, words_are_cut);
	return suite_run(s);
}
